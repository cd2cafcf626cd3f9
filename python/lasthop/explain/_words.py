"""An explanation in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from lasthop import _format
from lasthop.explain._model import BUSY, CLAUSES, HELD, KEPT_BACK, TRANSIT, Budget, Part

#: Parts below this share are not worth a sentence.
WORTH = 0.05
#: So many sentences about parts.
MOST = 3


def sentences(budget: Budget, timeouts: int, depth: Callable[[Part], str]) -> list[str]:
    """What a user should know first: the largest causes, then losses, then `timeouts`.

    These are the timeouts of the sender.

    Args:
        budget: what is described.
        timeouts: how often the retransmission timer has expired.
        depth: how much waited at the place of a part, in words; empty: not known, or no more than
            the path holds.
    """
    worth = [p for p in budget.parts if budget.share(p) >= WORTH][:MOST] or budget.parts[:1]
    found = [_of_part(budget, p, depth(p), first=i == 0) for i, p in enumerate(worth)]
    if budget.packets == 0:
        found.append("None of its packets arrived: there is no delay to divide.")
    if budget.losses:
        found += _of_losses(budget)
    if timeouts:
        found.append(f"The retransmission timer expired {_times(timeouts)}.")
    return found


def _of_part(budget: Budget, part: Part, depth: str, first: bool) -> str:
    share = f"{100 * budget.share(part):.0f} %"
    where = f" ({part.cause.where})" if part.cause.place else ""
    if part.cause.name == "ack-lost":
        where += _why(budget, part.cause.place)
    time = _format.duration(part.ns / 1e9)
    if budget.packets is not None:
        mean = _format.duration(part.ns / 1e9 / max(budget.packets, 1))
        return f"{share} of the one-way delay, {mean} a packet, is {part.cause.words}{where}."
    whole = "of the transfer" if first else "of it"
    name, words = part.cause.name, part.cause.words.removesuffix(", where ACKs were")
    if len(part.cause.names) > 1:
        way = " on the path of its ACKs" if part.cause.way == "ack" else ""
        return f"{share} {whole}, {time}, went into one or more of these{where}{way}: {words}."
    if name in {**BUSY, **HELD, **TRANSIT}:
        whose = "its ACKs" if part.cause.way == "ack" else "its octets"
        if name in ("queue", "rlc-queue", "wifi-queue"):
            return f"For {share} {whole}, {time}, {whose} were in {words}{where}{f': {depth}' if depth else ''}."
        way = " on the path of its ACKs" if part.cause.way == "ack" and name not in ("delayed-ack", "ack-lost") else ""
        return f"{share} {whole}, {time}, went into {words}{where}{way}."
    if name in ("unaccounted", "lost"):
        return f"{share} {whole}, {time}, is {words}."
    did = CLAUSES.get(name, f"its sender was limited by {words}")
    said = f"{share} {whole}, {time}, {did}"
    if not did.startswith("went into"):
        said = f"For {said}"
    if not part.cause.place:
        return f"{said}."
    # What is repaired was lost.
    after = " at" if name == "recovery" else " after losses at"
    return f"{said}{after} {part.cause.place}{_why(budget, part.cause.place)}."


def _why(budget: Budget, place: str) -> str:
    """The most frequent cause of losses at a place, after a colon."""
    causes = Counter(x.cause for x in budget.losses if x.place == place)
    return f": {causes.most_common(1)[0][0]}" if causes else ""


def _of_losses(budget: Budget) -> list[str]:
    by = Counter((x.where, x.cause) for x in budget.losses if x.cause not in KEPT_BACK)
    kept = Counter(x.place for x in budget.losses if x.cause in KEPT_BACK)
    found = []
    if len(by) == 1:
        (place, cause), n = by.most_common(1)[0]
        found.append(f"{n} of its packets {'was' if n == 1 else 'were'} lost at {place} ({cause}).")
    elif by:
        losses = [f"{n} at {place} ({cause})" for (place, cause), n in by.most_common(MOST)]
        more = sum(by.values()) - sum(n for _, n in by.most_common(MOST))
        rest = f", {more} elsewhere" if more else ""
        found.append(f"{sum(by.values())} of its packets were lost: {', '.join(losses)}{rest}.")
    found += [f"The snoop agent at {place} kept back {n} duplicates." for place, n in sorted(kept.items())]
    return found


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")
