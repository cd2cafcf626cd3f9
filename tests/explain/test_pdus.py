"""The PDU of each lost packet: blocks are lost at moments that the scenario sets.

So their numbers are known.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from lasthop import Results, Scenario
from lasthop.cli import main
from lasthop.explain import Loss, explain
from tests.explain.plants import HIDDEN

#: From 1.2 s on nothing arrives in the downlink.
LTE = """
[scenario]
name = "pipe"
duration = "2 s"
[bearer.air]
kind = "lte-rlc"
between = ["server", "phone"]
downlink = { loss = "0 %", grant = "500 B" }
uplink = { loss = "0 %" }
[bearer.air.rlc]
mode = "um"
[flow.f]
from = "server"
to = "phone"
transport = "udp"
app = { kind = "cbr", rate = "80 kbit/s", size = "100 B" }
[[at]]
t = "1.1995 s"
set = { "bearer.air.downlink.loss" = "100 %" }
[[at]]
t = "1.2215 s"
set = { "bearer.air.downlink.loss" = "0 %" }
"""
UMTS = (
    LTE.replace("lte-rlc", "umts")
    .replace("downlink.loss", "downlink.bler")
    .replace('downlink = { loss = "0 %", grant = "500 B" }', 'downlink = { bler = "0 %" }')
    .replace('uplink = { loss = "0 %" }', 'uplink = { bler = "0 %" }')
)
#: 400 B in IP and UDP have 428 B, with the PID of PDCP 429; one each 100 ms.
SLOW = 'flow.f.app={ kind = "cbr", rate = "32 kbit/s", size = "400 B" }'


def losses(text: str, *keys: str) -> list[Loss]:
    return explain(Scenario.parse(text).with_([*keys, "output.explain=true"]).run(), "f").budget.losses


def test_unacknowledged_mode_of_lte() -> None:
    """A packet of 128 B each 10 ms finds a grant of 500 B: packet n is PDU n.

    Packets 120 to 122 are lost.
    """
    found = losses(LTE)
    assert [x.packet for x in found] == [120, 121, 122]
    for x in found:
        (pdu,) = x.pdus
        assert (pdu.layer, pdu.direction, pdu.sn, pdu.sends, pdu.lost) == ("rlc-um", "downlink", x.packet, 1, True)
        # With the 2 B of PDCP's header all of the SDU is in it.
        assert (pdu.first_octet, pdu.end_octet) == (0, 130)
        assert (x.place, x.cause, x.stage) == ("air", "radio-loss", "transmission")
        assert x.pdu == f"datagram of 100 B, in RLC UM PDU {x.packet} (downlink)"


def test_unacknowledged_mode_of_umts() -> None:
    """429 B need 11 PDUs of 40 B: packet n begins in 11 n.

    TS 25.322 clause 9.2.1.3: 1 B of the 41 is the number.

    The first octet of the first is the length indicator that says so (LI 111 1100): it carries 39
    B. Numbers have 7 bits: 11 x 12 = 132 is 4. All are lost in the TTI of packet 12.
    """
    (loss,) = losses(UMTS, "bearer.air.rlc.mode=um", SLOW)
    assert (loss.packet, loss.stage) == (12, "transmission")
    assert [pdu.sn for pdu in loss.pdus] == [n % 128 for n in range(132, 143)]
    assert [(pdu.first_octet, pdu.end_octet) for pdu in loss.pdus][:2] == [(0, 39), (39, 79)]
    assert loss.pdus[-1].end_octet == 429
    assert loss.pdu == "datagram of 400 B, in RLC UM PDU 4 (downlink) and 10 more"


def test_transparent_mode_has_no_numbers() -> None:
    """10 B in IP and UDP are 38 B, with PDCP's 39: a block has 40."""
    small = 'flow.f.app={ kind = "cbr", rate = "8 kbit/s", size = "10 B" }'
    found = losses(UMTS, "bearer.air.rlc.mode=tm", small)
    assert found
    for x in found:
        assert [(pdu.layer, pdu.sn, pdu.end_octet) for pdu in x.pdus] == [("rlc-tm", None, 39)]
        assert x.pdu == "datagram of 10 B, in RLC TM PDU (downlink)"


def test_the_discard_timer_of_acknowledged_mode() -> None:
    """Nothing arrives for 2.8 s, and after 300 ms RLC gives packet 12 up.

    PDUs 132 to 142, 40 B each.
    """
    long = UMTS.replace("1.2215 s", "4 s").replace('duration = "2 s"', 'duration = "6 s"')
    found = losses(long, "bearer.air.rlc.mode=am", "bearer.air.rlc.am.timer_discard=300 ms", SLOW)
    assert found[0].cause in ("rlc-discard-timer", "rlc-reset")
    assert (found[0].packet, found[0].stage) == (12, "rlc-retransmission")
    assert [pdu.sn for pdu in found[0].pdus] == list(range(132, 143))
    assert {pdu.layer for pdu in found[0].pdus} == {"rlc-am"}


def test_a_pdu_that_was_sent_too_often() -> None:
    """MaxDAT is 4: the PDU for which an SDU is discarded was sent as often."""
    text = UMTS.replace('"100 %"', '"60 %"').replace("1.2215 s", "5 s").replace('duration = "2 s"', 'duration = "6 s"')
    keys = ("bearer.air.rlc.mode=am", "bearer.air.rlc.am.max_dat=4", "bearer.air.rlc.am.on_max_dat=discard")
    found = [x for x in losses(text, *keys, SLOW) if x.cause == "rlc-max-dat"]
    assert found
    for x in found:
        assert {pdu.sn // 11 for pdu in x.pdus if pdu.sn is not None} == {x.packet}
    assert max(pdu.sends for x in found for pdu in x.pdus) in (3, 4)
    assert "sent" in " ".join(x.pdu or "" for x in found)


def test_what_was_never_sent_was_in_no_pdu() -> None:
    """Grants of 12 B carry a tenth of what comes: PDCP discards what RLC has not begun."""
    keys = ("bearer.air.rlc.mode=am", "bearer.air.pdcp.discard_timer=50 ms", "bearer.air.downlink.grant=12 B")
    found = losses(LTE, *keys)
    assert {x.cause for x in found} == {"rlc-discard-timer"}
    assert all(x.pdus == [] and x.pdu == "datagram of 100 B" for x in found)


def test_the_mpdu_of_a_wireless_lan() -> None:
    """The hidden station's MPDUs collide.

    They are numbered in the order of the packets (IEEE 802.11, 10.3.2.14.2).
    """
    results: Results = Scenario.parse(HIDDEN).with_(["output.explain=true"]).run()
    sent = [r["packet"] for r in results.packets.to_pylist() if r["event"] == "sent" and r["flow"] == "f"]
    found = [x for x in explain(results, "f").budget.losses if x.cause == "retry-limit"]
    assert found
    for x in found:
        (pdu,) = x.pdus
        assert (pdu.layer, pdu.direction, pdu.first_octet) == ("802.11", "uplink", None)
        assert pdu.sn == sent.index(x.packet) % 4096
    assert len({x.pdus[0].sends for x in found}) == 1, "all were sent as often as the limit allows"


@pytest.mark.parametrize("mode", ["um", "am"])
def test_the_transport_block_is_that_of_the_pdu(mode: str) -> None:
    """With the table `steps` the block is the one in which the lost PDU began its way."""
    keys = [f"ue.phone-{m}.rlc.mode={m}" for m in ("um", "am")]
    scenario = Scenario.load("lte-um-am").with_([*keys, "output.steps=true", "scenario.duration=4 s"])
    results = scenario.with_({"output.explain": True}).run()
    found = [x for x in explain(results, mode).budget.losses if x.pdus]
    if mode == "um":
        assert found
    for x in found:
        sent_s = x.pdus[0].sent_s
        rows = [
            r
            for r in results.table("steps").to_pylist()
            if r["packet"] == x.packet and r["step"] in ("data", "retransmission")
        ]
        assert any(r["time_s"] == sent_s and r["step"] == "data" for r in rows)
        assert "in transport block of" in (x.pdu or "")


def test_runs_without_the_option_have_no_such_table() -> None:
    results = Scenario.parse(LTE).run()
    assert "pdus" not in results.table_names
    assert all(x.pdus == [] for x in explain(results, "f").budget.losses)


@pytest.mark.skipif(
    shutil.which("tshark") is None and "LASTHOP_NEEDS_TSHARK" not in os.environ, reason="tshark is not installed"
)
def test_tshark_misses_the_same_numbers(tmp_path: Path) -> None:
    """UM's numbers missing among the second phone's PDUs are those in the table."""
    profiles = tmp_path / ".config/wireshark/profiles"
    profiles.mkdir(parents=True)
    CliRunner().invoke(main, ["wireshark-profile", str(profiles / "rlc"), "--rlc"], catch_exceptions=False)
    capture = tmp_path / "run.pcapng"
    keys = ["output.explain=true", 'output.capture.interfaces=["enb.rlc"]', "scenario.duration=6 s"]
    results = Scenario.load("lte-um-am").with_(keys).run(out=tmp_path / "run", capture=capture)
    wanted = ["-Y", "rlc-lte.direction == 1 and rlc-lte.ueid == 2", "-T", "fields", "-e", "rlc-lte.um.sn"]
    command = ["tshark", "-C", "rlc", "-n", "-r", str(capture), *wanted]
    environ = {name: value for name, value in os.environ.items() if name != "WIRESHARK_CONFIG_DIR"}
    environ |= {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / ".config")}
    said = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=300).stdout
    arrived = {int(line) for line in said.split()}
    assert len(arrived) > 150
    lost = {
        r["sn"] for r in results.table("pdus").to_pylist() if r["layer"] == "rlc-um" and r["direction"] == "downlink"
    }
    assert lost
    assert lost == set(range(max(arrived | lost) + 1)) - arrived


def test_what_finds_the_first_queue_full_was_not_let_in() -> None:
    """In the uplink a packet meets the RLC buffer in the moment in which it is sent.

    No stage has taken any time.
    """
    scenario = Scenario.load("lte-upload").with_(["scenario.duration=1.3 s", "output.explain=true"])
    found = explain(scenario.run(), "upload").budget.losses
    assert len(found) > 100
    assert {(x.cause, x.stage) for x in found} == {("rlc-buffer-full", "entry")}
