"""Small campaigns from the words of a command line: `--axis flow.ftp.tcp.cc=reno,cubic`."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lasthop._core import CampaignFile
from lasthop._errors import mistake
from lasthop._values import assignments, plain_text
from lasthop.campaign._quantity import quantity
from lasthop.campaign.definition import Campaign, Given, campaign_text, named_axes, remedies

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: `10 ms..100 ms:10 ms`, by step; `..x2` by factor, `..#10` by count.
_RANGE = re.compile(r"(?P<from>[^.:#]+(?:\.\d[^.:#]*)?)\.\.(?P<to>[^:#]+?)(?::(?P<how>[x#]?)(?P<by>.+))\Z")
_SEED_RANGE = re.compile(r"(\d{1,20})\.\.(\d{1,20})\Z")


def campaign_of(
    base: str,
    axes: Sequence[str] = (),
    metrics: Sequence[str] = (),
    *,
    name: str | None = None,
    seeds: str | None = None,
    until: str | None = None,
    keep: Sequence[str] = (),
    where: Sequence[str] = (),
    cc: Sequence[str] = (),
    schedulers: Sequence[str] = (),
    limit: int | None = None,
    set: Sequence[str] = (),
) -> Campaign:
    """The campaign that the flags of `lasthop sweep` describe.

    Args:
        base: a scenario file, or the name of a bundled scenario.
        axes: `KEY=A,B,C`, or `KEY=FROM..TO:STEP` (`:xFACTOR`, `:#COUNT`); `NAME:KEY=...` names the
            axis.
        metrics: `NAME=EXPRESSION`, or `NAME=FILE.py:FUNCTION`.
        name: of the campaign; None: made of the base and the axes.
        seeds: see `seeds_of`; None: 5, or the `min` of `until`.
        until: the stopping rule.
        keep: tables that are kept whole.
        where: conditions on labels.
        cc: `NAME=FILE.py:CLASS`.
        schedulers: `NAME=FILE.py:CLASS`.
        limit: more runs than this are refused.
        set: scenario keys as `key=value`.

    Raises:
        LasthopError: a flag has another form, or the campaign has a mistake.
    """
    given = _axes(axes)
    head = {
        "name": name if name is not None else "-".join([Path(base).stem, *given]),
        "base": base,
        "seeds": None if seeds is None else seeds_of(seeds),
        "until": until,
        "keep": list(keep),
        "where": list(where),
        "limit": limit,
    }
    tables = {
        "cc": dict(_pair("--cc", text, "NAME=FILE.py:CLASS") for text in cc),
        "scheduler": dict(_pair("--scheduler", text, "NAME=FILE.py:CLASS") for text in schedulers),
        "metric": {n: _metric(e) for n, e in (_pair("--metric", text, "NAME=EXPRESSION") for text in metrics)},
    }
    text = plain_text(campaign_text(head, given, tables), "the command line")
    with remedies():
        file = CampaignFile.parse(text, "the command line, as a file", Path(), assignments(set))
    return Campaign.of(file, Given(flags=True))


def seeds_of(text: str) -> Any:
    """What `--seeds` means: `5` is five from 1 on, `10..19` these ten, `3,7,9` a list.

    Raises:
        LasthopError: the text has another form.
    """
    plain = text.strip()
    if found := _SEED_RANGE.match(plain):
        first, last = int(found[1]), int(found[2])
        if last < first:
            raise mistake(f"--seeds {plain}: the last is below the first", "write the smaller number first")
        return {"first": first, "count": last - first + 1}
    parts = [p.strip() for p in plain.split(",")]
    if not all(re.fullmatch(r"\d{1,20}", p, re.ASCII) for p in parts):
        raise mistake(f"--seeds '{plain[:60]}' is no number of seeds", "such as 5, 10..19 or 3,7,9")
    return int(parts[0]) if len(parts) == 1 else [int(p) for p in parts]


def _axes(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Axes by name, each with the keys of `[axis.NAME]`."""
    plain: dict[str, dict[str, Any]] = {}
    for text in texts:
        key, values = _pair("--axis", text, "KEY=A,B,C")
        name, colon, rest = key.partition(":")
        table = {"key": (rest if colon else key).strip(), **_values(values)}
        names = [name.strip()] if colon else list(named_axes({**plain, table["key"]: []}))
        if names[-1] in plain or (not colon and any(t["key"] == table["key"] for t in plain.values())):
            raise mistake(f"--axis {text}: there is an axis of this key already", "give all values in one --axis")
        plain[names[-1]] = table
    return plain


def _values(text: str) -> dict[str, Any]:
    """`values` or `range` of an axis."""
    found = _RANGE.match(text.strip())
    if found:
        how = {"": "step", "x": "factor", "#": "count"}[found["how"]]
        return {"range": {"from": _value(found["from"]), "to": _value(found["to"]), how: _value(found["by"])}}
    first, dots, last = text.partition("..")
    if dots and quantity(_value(first or "?")) is not None and quantity(_value(last or "?")) is not None:
        plain = text.strip()
        raise mistake(
            f"--axis ...={plain}: the range has no step",
            f"{plain}:STEP by steps, {plain}:xFACTOR by a factor, {plain}:#COUNT for so many values",
        )
    return {"values": [_value(part) for part in _split(text)]}


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no quotes and no brackets."""
    parts, depth, quote, start = [], 0, "", 0
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "[{":
            depth += 1
        elif char in "]}":
            depth -= 1
        elif char == "," and depth <= 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]


def _value(text: str) -> Any:
    """A value as `--set` takes it: TOML, and what is none is a text."""
    plain = text.strip()
    if not plain:
        raise mistake("--axis: a value is empty", "write values between the commas; an empty text is ''")
    try:
        found: Mapping[str, Any] = tomllib.loads(f"v = {plain}")
    except tomllib.TOMLDecodeError:
        if plain[0] in "\"'[{":
            raise mistake(f"--axis: {plain[:60]} has no end, or is no TOML", "close quotes and brackets") from None
        return plain
    value = found["v"]
    return value if isinstance(value, (bool, int, float, str, list, dict)) and len(found) == 1 else plain


def _metric(text: str) -> Any:
    """An expression, or the table of a function."""
    file, colon, function = text.strip().rpartition(":")
    if colon and file.endswith(".py") and function.isidentifier():
        return {"python": text.strip()}
    return text


def _pair(option: str, text: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (equals and name.strip() and value.strip()):
        raise mistake(f"{option} '{text[:80]}' is not of the form {form}")
    return name.strip(), value
