"""An explanation in sentences."""

from __future__ import annotations

from collections import Counter
from typing import Any

from lasthop import _format
from lasthop.explain._model import BUSY, HELD, TRANSIT, Budget, Part

#: Parts below this share are not worth a sentence.
WORTH = 0.05
#: So many sentences about parts.
MOST = 3


def sentences(budget: Budget, row: dict[str, Any]) -> list[str]:
    """What a user should know first: the largest causes, then the losses."""
    worth = [p for p in budget.parts if budget.share(p) >= WORTH][:MOST] or budget.parts[:1]
    found = [_of_part(budget, p, first=i == 0) for i, p in enumerate(worth)]
    if budget.losses:
        found.append(_of_losses(budget))
    if budget.transport == "tcp" and row.get("timeouts"):
        n = int(row["timeouts"])
        found.append(f"The retransmission timer expired {_times(n)}.")
    return found


def _of_part(budget: Budget, part: Part, first: bool) -> str:
    share = f"{100 * budget.share(part):.0f} %"
    where = f" ({part.cause.place})" if part.cause.place else ""
    if part.cause.name == "ack-lost":
        where += _why(budget, part.cause.place)
    time = _format.duration(part.ns / 1e9)
    if budget.packets is not None:
        mean = _format.duration(part.ns / 1e9 / max(budget.packets, 1))
        return f"{share} of the one-way delay, {mean} a packet, is {part.cause.words}{where}."
    whole = "of the transfer" if first else "of it"
    if part.cause.name in {**BUSY, **HELD, **TRANSIT}:
        verb = "its ACKs were in" if part.cause.way == "ack" else "its octets were in"
        plain = part.cause.name in ("queue", "rlc-queue", "wifi-queue")
        if plain:
            return f"{share} {whole}, {time}, {verb} {part.cause.words.removesuffix(', where ACKs were')}{where}."
        what = part.cause.words.removesuffix(", where ACKs were")
        return f"{share} {whole}, {time}, went into {what}{where}{' of its ACKs' if verb.startswith('its A') else ''}."
    after = f" after losses at {part.cause.place}{_why(budget, part.cause.place)}" if part.cause.place else ""
    if part.cause.name in ("recovery", "timeout"):
        return f"{share} {whole}, {time}, was {part.cause.words}{after}."
    return f"{share} {whole}, {time}, its sender was limited by {part.cause.words}{after}."


def _why(budget: Budget, place: str) -> str:
    """Why packets were lost at a place, mostly."""
    causes = Counter(x.cause for x in budget.losses if x.place == place)
    return f": {causes.most_common(1)[0][0]}" if causes else ""


def _of_losses(budget: Budget) -> str:
    by = Counter((x.place, x.cause) for x in budget.losses)
    told = [f"{n} at {place} ({cause})" for (place, cause), n in by.most_common(MOST)]
    more = f", {sum(by.values()) - sum(n for _, n in by.most_common(MOST))} elsewhere" if len(by) > MOST else ""
    return f"{len(budget.losses)} of its packets were lost: {', '.join(told)}{more}."


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")
