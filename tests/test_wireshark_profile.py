"""The profile for Wireshark: tshark reads it, and with it RLC and MAC decode down to IP.

Where tshark is not installed the tests that need it say so; with LASTHOP_NEEDS_TSHARK in the
environment they fail.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from lasthop.cli import main
from lasthop.cli._wireshark import profile

UPPER_PDU = 252
#: IPv4 and UDP with 4 octets of data, without sums, in a PDCP PDU with a number of 12 bits.
IP = bytes.fromhex("4500002000010000401100000a0000010a000002") + struct.pack(">HHHH", 49152, 55000, 12, 0) + bytes(4)
PDCP = b"\x80\x05" + IP


def tagged(tag: int, name: str, octets: bytes) -> bytes:
    padded = name.encode() + bytes(-len(name) % 4)
    return struct.pack(">HH", tag, len(padded)) + padded + bytes(4) + octets


def write(path: Path, frames: list[bytes]) -> None:
    """A capture in the older format, pcap, which the simulator does not write."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, UPPER_PDU)
    path.write_bytes(head + b"".join(struct.pack("<IIII", 0, 0, len(f), len(f)) + f for f in frames))


def protocols(tmp_path: Path, frames: list[bytes], *more: str) -> list[str]:
    if shutil.which("tshark") is None:
        assert "LASTHOP_NEEDS_TSHARK" not in os.environ, "tshark is not installed"
        pytest.skip("tshark is not installed (package tshark)")
    home = tmp_path / "config"
    done = CliRunner().invoke(main, ["wireshark-profile", str(home / "profiles/lasthop"), *more])
    assert done.exit_code == 0, done.output
    capture = tmp_path / "t.pcap"
    write(capture, frames)
    said = subprocess.run(
        ["tshark", "-n", "-C", "lasthop", "-r", capture, "-T", "fields", "-e", "frame.protocols"],
        env={**os.environ, "WIRESHARK_CONFIG_DIR": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    complaints = [line for line in said.stderr.splitlines() if "Running as user" not in line]
    assert not complaints, complaints
    return said.stdout.split()


def am(sn: int, framing: int, octets: bytes) -> bytes:
    """An AMD PDU of LTE with one element."""
    return bytes([0x80 | framing << 3 | sn >> 8, sn & 255]) + octets


@pytest.mark.parametrize("lcid", [3, 6])
def test_mac_decodes_down_to_ip(tmp_path: Path, lcid: int) -> None:
    context = b"\x01\x01\x03\x02\x00\x3d\x03\x00\x01\x04\x00\x13\x07\x01\x01"
    parts = [am(0, 1, PDCP[:20]), am(1, 2, PDCP[20:])]
    frames = [tagged(12, "mac-lte-framed", context + bytes([lcid]) + part) for part in parts]
    whole = "exported_pdu:mac-lte-framed:mac-lte:rlc-lte"
    assert protocols(tmp_path, frames) == [whole, f"{whole}:pdcp-lte:ip:udp:data"]


def test_unacknowledged_mode_has_channels_of_its_own(tmp_path: Path) -> None:
    context = b"\x01\x00\x03\x02\x00\x3d\x03\x00\x01\x04\x00\x13\x07\x01\x01"
    ten = tagged(12, "mac-lte-framed", context + b"\x07" + b"\x00\x00" + PDCP)
    five = tagged(12, "mac-lte-framed", context + b"\x09" + b"\x00" + PDCP)
    whole = "exported_pdu:mac-lte-framed:mac-lte:rlc-lte:pdcp-lte:ip:udp:data"
    assert protocols(tmp_path, [ten, five]) == [whole, whole]


def test_frames_of_rlc_are_recognised_and_followed(tmp_path: Path) -> None:
    context = b"rlc-lte\x04\x02\x0a\x03\x01\x05\x00\x01\x06\x00\x05\x07\x00\x01\x01"
    parts = [am(0, 1, PDCP[:20]), am(1, 2, PDCP[20:])]
    frames = [tagged(13, "rlc_lte_udp", context + part) for part in parts]
    assert protocols(tmp_path, frames, "--rlc") == ["exported_pdu:rlc-lte", "exported_pdu:rlc-lte:pdcp-lte:ip:udp:data"]


def test_frames_of_pdcp_are_recognised(tmp_path: Path) -> None:
    # With a header, of the user plane, not compressed; numbers of 12 bits, downlink, bearer 1, UE
    # 1.
    context = b"pdcp-lte\x00\x02\x00\x02\x0c\x03\x01\x0d\x00\x01\x0e\x00\x01\x01"
    frames = [tagged(13, "pdcp_lte_udp", context + PDCP)]
    assert protocols(tmp_path, frames) == ["exported_pdu:pdcp-lte:ip:udp:data"]


def test_rlc_of_umts_is_recognised(tmp_path: Path) -> None:
    context = b"umts-rlc\x02\x04\x03\x02\x04\x01\x05\x00\x00\x00\x01\x06\x05\x07\x01\x01"
    # D/C 1, number 0, no poll, HE 01; length 32; padding.
    pdu = bytes([0x80, 0x01, 32 << 1 | 1, 0x7F << 1]) + IP + bytes(8)
    assert protocols(tmp_path, [tagged(13, "rlc_udp", context + pdu)]) == ["exported_pdu:rlc:ip:udp:data"]


def test_a_profile_that_is_there_is_kept_unless_told_otherwise(tmp_path: Path) -> None:
    folder = tmp_path / "lasthop"
    for arguments, code in ([], 0), ([], 1), (["--force", "--rlc"], 0):
        done = CliRunner().invoke(main, ["wireshark-profile", str(folder), *arguments])
        assert done.exit_code == code, done.output
    assert "Only-RLC-frames" in (folder / "preferences").read_text()
    assert {path.name for path in folder.iterdir()} == set(profile())
