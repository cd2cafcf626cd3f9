"""Every key of a scenario with values that nobody means: refused at its place, or a run that ends.

The keys come from the reference that the program prints, so a new key is tried without being named
here.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lasthop import LasthopError, _core

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_LINK = """
[scenario]
name = "t"
duration = "40 ms"
[link.l]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "1 ms"
"""


def _flow(to: str, more: str = "") -> str:
    return f'[flow.f]\nfrom = "a"\nto = "{to}"\n{more}\n'


_UDP = 'transport = "udp"\napp = { kind = "cbr", rate = "1 Mbit/s" }'
_CELL = "[cell.b]\n[ue.u]\n[ue.v]\n"
#: A small scenario with each table, by the table's name.
SCENARIOS = {
    "link": [_LINK + _flow("b"), _LINK + _flow("b", _UDP)],
    "bearer": [
        _LINK + f'[bearer.x]\nkind = "{kind}"\nbetween = ["b", "u"]\n' + _flow("u") for kind in ("umts", "lte-rlc")
    ],
    "cell": [_LINK + _CELL + _flow("u")],
    "handover": [
        _LINK + '[link.k]\nbetween = ["a", "g"]\n[core]\ngateway = "g"\n[handover]\n[cell.b]\n[cell.c]\n'
        '[cell.c.radio]\nposition = ["500 m", "0 m", "30 m"]\n[ue.u]\ncell = "c"\n' + _flow("u")
    ],
    "layout": [
        _LINK + '[cell.b]\n[layout.b]\nsites = { kind = "hex", rings = 0, isd = "500 m" }\n'
        '[ue.u]\ncount = 2\ndrop = { kind = "layout" }\n[flow.f]\nfrom = "u"\nto = "a"\n'
    ],
    "sidelink": [
        _LINK + _CELL + '[sidelink.x]\nbetween = ["u", "v"]\nrlc.mode = "um"\n[flow.f]\nfrom = "u"\nto = "v"\n'
    ],
    "multicast": [
        _LINK
        + _CELL
        + f'[multicast.x]\nfrom = "u"\nto = ["v"]\nrlc.mode = "um"\n[flow.f]\nfrom = "u"\nto = "x"\n{_UDP}\n'
    ],
    "ap": [_LINK + "[ap.b]\n[station.s]\n" + _flow("s")],
    "node": [
        _LINK + '[link.k]\nbetween = ["b", "c"]\nrate = "5 Mbit/s"\n[node.b]\nkind = "proxy"\n' + _flow("c"),
        _LINK
        + '[link.k]\nbetween = ["b", "c"]\nrate = "5 Mbit/s"\n[node.b]\nkind = "snoop"\ntowards = "k"\n'
        + _flow("c"),
    ],
    "hint": [_LINK + _CELL + "[hint.h]\n" + _flow("u")],
    "fault": [_LINK + '[fault.d]\nlink = "l.forward"\naction = "hold"\nhold = "1 ms"\nflow = "f"\n' + _flow("b")],
    "when": [_LINK + '[[when]]\nvar = "cwnd"\nabove = 10.5\nstop = "flow.f"\n' + _flow("b")],
    "at": [_LINK + '[[at]]\nt = "10 ms"\nstop = "flow.f"\n' + _flow("b")],
}
_LIKE = {
    "ue": ["cell", "layout"],
    "radio": ["cell"],
    "core": ["handover"],
    "wlan": ["ap"],
    "station": ["ap"],
    "flow": ["link"],
}
_NAMES = {"link": "l", "bearer": "x", "cell": "b", "layout": "b", "ue": "u", "sidelink": "x", "multicast": "x"}
_NAMES |= {"ap": "b", "station": "s", "node": "b", "hint": "h", "flow": "f"}

#: Values that are never meant, and values that may be, by the type of a key.
HOSTILE = {
    "number": ["nan", "inf", "-inf", "-1.0", "0.0", "1e300", "-1e300", "1e-300", '"x"', "true", '""'],
    "whole number": ["-1", "0", "2147483648", "4294967295", "9223372036854775807", "1.5", '"x"', "nan"],
    "time": ['"0 s"', '"1 ns"', '"-1 s"', '"80000 h"', '"nan s"', "5", "inf", '""', '"5 kbit/s"'],
    "size": ['"0 B"', '"1 B"', '"8e15 B"', '"-1 B"', '"5 s"', "nan", '""'],
    "rate": ['"0 bit/s"', '"1 bit/s"', '"1e14 bit/s"', '"-1 bit/s"', '"5 s"', "inf"],
    "share": ['"0 %"', '"100 %"', '"-1 %"', "nan", "1.5", '"0.01"', '""'],
    "gain or loss": ['"400 dB"', '"-400 dB"', '"401 dB"', "0", "nan"],
    "distance": ['"0 m"', '"1 mm"', '"1000 km"', '"-1000 km"', "inf"],
    "power": ['"-300 dBm"', '"100 dBm"', "nan"],
    "speed": ['"0 m/s"', '"1000 m/s"', '"-1 m/s"', "nan"],
    "frequency": ['"0 Hz"', '"1 Hz"', '"1 THz"', "nan"],
    "text": ['""', '"\\u202e"', '"\\u0007"', "5"],
    # A number, a time, a size or a word such as "infinity": the key's own default says which.
    "value": [
        *("nan", "inf", "-1", "0", "1.5", "4294967295", "9223372036854775807", '"x"', '""', "true", "[]", "{}"),
        *('"infinity"', '"-infinity"', '"0 s"', '"1 ns"', '"-1 s"', '"80000 h"', '"0 B"', '"8e15 B"', '"400 dB"'),
        *('"\\u202e"', '"\\u0007"'),
    ],
}
GOOD = {
    "number": ["1.0", "0.5", "2.0", "10.0", "100.0"],
    "whole number": ["1", "2", "4", "10", "100"],
    "time": ['"1 ms"', '"10 ms"', '"100 ms"', '"1 s"', '"10 s"'],
    "size": ['"1500 B"', '"100 B"', '"10 kB"', '"100 kB"'],
    "rate": ['"1 Mbit/s"', '"6 Mbit/s"'],
    "share": ['"10 %"'],
    "gain or loss": ['"3 dB"', '"0 dB"'],
    "distance": ['"10 m"', '"100 m"'],
    "power": ['"20 dBm"'],
    "speed": ['"1 m/s"'],
    "frequency": ['"2 GHz"', '"20 MHz"'],
    "text": ['"x"'],
    "value": ['"infinity"'],
}
#: Wall time of a run of 40 ms of simulated time [s], on a machine that is busy. A run that is slow
#: for a reason (a source of 100 Tbit/s) is stopped, which is what a user would do.
LONGEST = 3.0


@cache
def keys() -> list[dict[str, Any]]:
    return [k for k in json.loads(_core.describe())["keys"] if base_type(k) in HOSTILE]


def base_type(key: dict[str, Any]) -> str:
    return str(key["type"]).split(": ")[-1]


def listed(key: dict[str, Any], value: str) -> list[str]:
    """`value` in the places of lists, and a list that is too long.

    As it is, or in each place of a list with good ones around it.
    """
    length = re.match(r"list(?: of (\d))?: ", str(key["type"]))
    if length is None:
        return [value]
    n, good = int(length.group(1) or 1), GOOD[base_type(key)][0]
    places = [[value if i == j else good for j in range(n)] for i in range(n)]
    return [f"[{', '.join(place)}]" for place in [*places, [value] * (n + 1)]]


def concrete(key: dict[str, Any]) -> str:
    table, *rest = key["path"].split(".")
    words = [
        _NAMES.get(table, "d") if i == 0 and w == "<name>" else {"<name>": "d", "<n>": "0"}.get(w, w)
        for i, w in enumerate(rest)
    ]
    return ".".join([table, *words])


def settings(key: dict[str, Any], path: str) -> Iterator[list[str]]:
    """What may have to be set first.

    The kind of the table that the key is in, or of one around it.
    """
    if not key.get("kind"):
        yield []
        return
    parts = path.split(".")
    for i in range(len(parts) - 1, 1, -1):
        yield [f'{".".join(parts[:i])}.kind="{key["kind"]}"']


def placed(key: dict[str, Any]) -> tuple[str, list[str], str] | None:
    """A scenario that takes the key with a sensible value.

    Its text, what is set before, and the key's path.
    """
    path = concrete(key)
    table = path.split(".")[0]
    default = key.get("default")
    known = [default] if default and not default.startswith("the ") else []
    for text in [t for like in _LIKE.get(table, [table if table in SCENARIOS else "link"]) for t in SCENARIOS[like]]:
        for before in settings(key, path):
            for value in [*known, *(listed(key, good)[0] for good in GOOD[base_type(key)])]:
                if not isinstance(read(text, [*before, f"{path}={value}"]), LasthopError):
                    return text, before, path
    return None


def read(text: str, sets: list[str]) -> _core.Scenario | LasthopError:
    """The scenario, or what is wrong with it."""
    try:
        return _core.Scenario.parse(text, "t.toml", None, sets)
    except LasthopError as error:
        return error


def run_to_its_end(scenario: _core.Scenario) -> None:
    began = time.monotonic()

    class TooLongError(Exception):
        pass

    def watch(_share: float) -> None:
        if time.monotonic() - began > LONGEST:
            raise TooLongError

    # A capture is a file, which needs a folder.
    captured = "capture" in tomllib.loads(scenario.to_toml()).get("output", {})
    try:
        with tempfile.TemporaryDirectory() as room:
            _core.run(scenario, Path(room) / "run" if captured else None, watch)
    except TooLongError:
        assert time.monotonic() - began < 2 * LONGEST, "a run that cannot be stopped"


SECTIONS = sorted({k["path"].split(".")[0] for k in keys()})


@pytest.mark.parametrize("section", SECTIONS)
def test_every_key_refuses_or_runs(section: str) -> None:
    wanted = [k for k in keys() if k["path"].split(".")[0] == section]
    for key in wanted:
        place = placed(key)
        if place is None:
            continue
        text, before, path = place
        for value in (v for hostile in HOSTILE[base_type(key)] for v in listed(key, hostile)):
            what = f"{before} {path}={value}"
            began = time.monotonic()
            found = read(text, [*before, f"{path}={value}"])
            assert time.monotonic() - began < LONGEST, f"{what} takes long to read"
            if isinstance(found, LasthopError):
                assert found.diagnostics, what
                assert all(d["line"] is not None for d in found.diagnostics), f"{what}: {found}"
                assert "\u202e" not in str(found), what
                continue
            assert not re.search(r"\b(nan|inf)\b|\\u202e|\\u0007", value), f"{what} is accepted"
            run_to_its_end(found)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4_000_000, "kB of memory"


def test_most_keys_are_tried() -> None:
    """The rest needs more beside it than these scenarios have.

    Such as the other keys of its table.
    """
    tried = sum(placed(key) is not None for key in keys())
    assert tried >= 0.85 * len(keys()), f"{tried} of {len(keys())}"
