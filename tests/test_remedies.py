"""Remedies that errors and warnings write as `key = value`.

Set, they end the mistake and make no other.

Every such remedy in the sources is provoked here, or listed with the reason why it cannot be set as
it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

import lasthop as lh

ROOT = Path(__file__).parent.parent
#: What writes the messages about scenarios.
SOURCES = [
    *(ROOT / "crates/sim/src/spec").rglob("*.rs"),
    *(ROOT / f"crates/{file}.rs" for file in ("tcp/src/unused", "tcp/src/options/mod", "wifi/src/network/check")),
]
REMEDY = re.compile(r"`([\w.{}-]+) = ([^`]+)`(?: or `(\"[^`]+\")`)?")
#: Remedies that are not set in the scenario as it is, and why.
NOT_SET = {
    "autostart = false": "belongs to a second flow, which does not exist yet",
    'start = "fault.{}"': "belongs to an `[[at]]` or a `[[when]]`, which does not exist yet",
    'drop = { kind = "disc", radius = ... }': "the radius is left to the user",
}

HEAD = '[scenario]\nname = "x"\nduration = "10 s"\n'
FLOW = '[flow.ftp]\nfrom = "server"\nto = "phone"\n'
WIRED = f'{HEAD}[link.l]\nbetween = ["server", "phone"]\nrate = "1 Mbit/s"\n{FLOW}'
CELL = f'{HEAD}[link.l]\nbetween = ["server", "enb"]\n[cell.enb]\nresource_blocks = 25\n[ue.phone]\n{FLOW}'
WLAN = f'{HEAD}[link.l]\nbetween = ["server", "ap"]\n[ap.ap]\n[station.phone]\n{FLOW}'
TALK = f"""{HEAD}[cell.enb]
[ue.speaker]
rlc.mode = "um"
[ue.listener]
rlc.mode = "um"
[multicast.group]
from = "speaker"
to = ["listener"]
[flow.talk]
from = "speaker"
to = "group"
transport = "udp"
app = "cbr"
"""
PAIR = f"{HEAD}[cell.enb]\nresource_blocks = 25\n[ue.phone]\n[ue.other]\n{FLOW.replace('server', 'other')}"
HEX = '{ kind = "hex", rings = 0, isd = "500 m" }'
EDGE = '{ kind = "soft", edge = { first = 0, count = 2 } }'
CONTROLS = {
    "vegas": ["vegas_alpha=1", "vegas_beta=4", "vegas_gamma=1", 'vegas_rto="fine"', 'vegas_base_start="clock"',
              'vegas_sample_order="after-decision"', 'vegas_reading="ns2"'],
    "cubic": ['cubic_reading="linux"', "cubic_beta=0.7", "cubic_c=0.4", "cubic_fast_convergence=true",
              "cubic_friendliness=true", "abe=true"],
    "westwood": ['westwood_reading="paper"', 'zero_interval="skip"'],
    "hybla": ['hybla_rtt0="25 ms"'],
    "radio-aware": ['hint_base="cubic"', 'hint_rtt="min"', "hint_queue_term=true", 'hint_queue_threshold="9 kB"',
                    "hint_gain=1", 'hint_timeout="1 s"'],
}  # fmt: skip
PROXY = ("link.l.between=['server', 'pep']", "link.m.between=['pep', 'phone']", "node.pep.kind=proxy")
Case: TypeAlias = tuple[str, tuple[str, ...]]


def cases() -> Iterator[Case]:
    """Scenarios and the keys that make a mistake in them."""
    tcp = "flow.ftp.tcp"
    for coupled in CONTROLS.values():
        for key in coupled:
            yield CELL, (f"{tcp}.cc=bic", f"{tcp}.{key}")
    for keys in (
        'profile="linux-6", ack_every=3',
        'accecn_option="full"',
        "gso=true",
        'send_buffer_start="9 kB"',
        'send_buffer_max="9 MB"',
        'receive_buffer_start="9 kB"',
        "abe_beta=0.8",
        "loss_probe=true",
        "dsack=true, sack=false",
        'sack_on_timeout="keep", sack=false',
        "l4s=true",
        'cc="bbr", recovery="newreno"',
        "burst_read=true, manual_read=true",
        'recovery="sack", sack=false, profile="ns2"',
        "ack_ahead=10, split_acks=4",
        "ack_ahead=10, manual_read=true",
    ):
        yield WIRED, (f"{tcp}={{{keys}}}",)
    for text in (CELL, WLAN):
        yield text, (f'{tcp}.mss="536 B"',)
    yield WIRED, ("flow.ftp.app=dash", f"{tcp}.ack_ahead=10")
    yield WIRED, (*PROXY, "node.pep.accept.ack_ahead=10")
    yield WIRED, ("flow.ftp.count=3",)
    yield WIRED, (f"{tcp}.cc=dctcp",)
    yield WIRED, ("at=[{t='1 s'}]",)
    yield WIRED, ("fault.z={link='l.forward', action='drop', hold='1 s'}",)
    yield WIRED, ("scenario.profile=simulte",)
    yield WIRED, ("flow.ftp.stop='1 s'", "at=[{t='5 s', start='flow.ftp'}]")
    yield CELL, (f"{tcp}.cc=radio-aware",)
    yield CELL, ("hint.h.flows=['ftp']",)
    far = ["enb.radio.position=['0 m', '0 m', '0 m']", "enb.radio.power='66 dBm'", "enb.uplink.power_aware=false"]
    yield CELL, (*(f"cell.{key}" for key in far), "ue.phone.radio.position=['200 km', '0 m', '0 m']")
    yield CELL, ("cell.enb.timing.uplink_fill='214 us'",)
    layout = ("cell.enb.radio.antenna=sector", f"layout.enb.sites={HEX}", f"cell.enb.downlink.reuse={EDGE}")
    yield CELL, layout
    yield CELL, (*layout, "layout.enb.blocks_by_sector=true")
    yield CELL, (*layout[1:2], "layout.enb.sectors=2", "layout.enb.azimuth=0", "ue.phone.drop=sector")
    yield CELL, layout[1:2]
    yield CELL, (*layout[1:2], "ue.phone.ring={inner='1 m', outer='9 m'}")
    yield CELL, ("handover={}", "core.gateway=enb", "ue.phone.pdcp.handover=lossless", "ue.phone.rlc.mode=um")
    yield WLAN, ("station.phone.drop=layout",)
    yield WLAN, ("ap.ap.streams=1", "station.phone.rate={kind='fixed', mcs=0, streams=2}")
    pair = ("sidelink.p.between=['phone', 'other']", "sidelink.p.selection={}")
    yield PAIR, pair
    dedicated = [f"ue.{end}.dedicated.own={{flows=['ftp'], rlc={{mode='am'}}}}" for end in ("phone", "other")]
    modes = [f"ue.{end}.rlc.mode=um" for end in ("phone", "other")]
    yield PAIR, (*pair, "sidelink.p.flows=['ftp']", *modes, *dedicated)
    yield PAIR, (pair[0], "sidelink.p.rlc.mode=am")
    yield TALK, ("flow.talk.transport=tcp",)
    yield TALK, ("flow.talk.app=media",)
    yield TALK, ("multicast.group.rlc.mode=am",)


Found: TypeAlias = dict[tuple[str | None, str], str]


@cache
def found(text: str, sets: tuple[str, ...]) -> tuple[Found, Found]:
    """Errors and warnings by key and message, with all that they say."""
    try:
        diagnostics, errors = lh.Scenario.parse(text, set=list(sets)).warnings, False
    except lh.LasthopError as error:
        diagnostics, errors = error.diagnostics, True
    texts: Found = {(d["key"], d["message"]): f"{d['message']}; {d['help'] or ''}" for d in diagnostics}
    return (texts, {}) if errors else ({}, texts)


def remedies(said: str) -> Iterator[tuple[str, str]]:
    for key, value, otherwise in REMEDY.findall(said):
        yield key, value
        if otherwise:
            yield key, otherwise


def places(key: str | None, said: str, remedy: str) -> Iterator[str]:
    """The full keys that a remedy's may stand for, the most probable first."""
    yield remedy
    tables = [*re.findall(r"`\[?([a-z]+(?:\.[\w-]+)+)\]?`", said), key or ""]
    for table in tables:
        parts = table.split(".")
        for length in range(len(parts), 0, -1):
            yield ".".join([*parts[:length], remedy])
    # "There", "at the bottleneck", "of a UE in this cell".
    yield from (f"{table}.{remedy}" for table in ("ap.ap", "link.l", "ue.phone"))


def works(text: str, sets: tuple[str, ...], mistake: tuple[str | None, str], key: str, value: str) -> bool:
    """Whether the mistake is gone with `key = value`, and nothing has become wrong."""
    before, _ = found(text, sets)
    errors, warnings = found(text, (*sets, f"{key}={value}"))
    # A warning is seen only where there is no error.
    return mistake not in errors and mistake not in warnings and errors.keys() <= before.keys()


@pytest.mark.parametrize(("text", "sets"), list(cases()), ids=lambda v: "; ".join(v) if isinstance(v, tuple) else "")
def test_a_remedy_ends_the_mistake(text: str, sets: tuple[str, ...]) -> None:
    assert not any(found(text, ())), "the scenario has a mistake of its own"
    errors, warnings = found(text, sets)
    checked = 0
    for mistake, said in (errors | warnings).items():
        for key, value in remedies(said):
            checked += 1
            if f"{key} = {value}" in NOT_SET:
                continue
            # A value that names another key instead of this one stands in its place.
            given = sets if mistake[0] != "scenario.profile" else ()
            tried = list(places(mistake[0], said, key))
            if not given:
                tried = [place for start in ("flow.ftp", "cell.enb") if (place := f"{start}.{key}")]
            assert any(works(text, given, mistake, place, value) for place in tried), f"{said}\n{key} = {value}"
    assert checked, f"no remedy in {errors | warnings}"


def written() -> set[str]:
    """The remedies in the sources; `{}` stands for what is filled in."""
    all_ = set()
    for path in SOURCES:
        code = path.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
        code = re.sub(r"^\s*//.*$", "", code, flags=re.MULTILINE)
        code = re.sub(r"\\\n\s*", "", code).replace('\\"', '"')
        for key, value in (pair for m in REMEDY.finditer(code) for pair in remedies(m[0])):
            all_.add(re.sub(r"(?<!\{)\{[a-z]*\}(?!\})", "{}", f"{key} = {value}").replace("{{", "{").replace("}}", "}"))
    return all_


def test_every_remedy_of_the_sources_is_tried() -> None:
    provoked = set()
    for text, sets in cases():
        errors, warnings = found(text, sets)
        for said in (errors | warnings).values():
            provoked |= {f"{key} = {value}" for key, value in remedies(said)}
    missing = [
        remedy
        for remedy in written() - NOT_SET.keys()
        if not any(re.fullmatch(re.escape(remedy).replace(r"\{\}", ".+"), p) for p in provoked)
    ]
    assert not missing
    assert len(written()) > 25
    assert NOT_SET.keys() <= written(), "a reason for nothing"
