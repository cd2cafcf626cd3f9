"""`lasthop wireshark-profile`: what Wireshark needs to read captures of Lasthop."""

from __future__ import annotations

from pathlib import Path

import click

from lasthop._core import write_files
from lasthop._errors import mistake
from lasthop.cli import _output

COLUMNS = (
    ("No.", "%m"),
    ("Time", "%t"),
    ("Point", "%Cus:frame.interface_name:0:R"),
    ("Source", "%s"),
    ("Destination", "%d"),
    ("Protocol", "%p"),
    ("Length", "%L"),
    ("Info", "%i"),
    ("Comment", "%Cus:frame.comment:0:R"),
)

#: Name, filter, background, foreground (red, green, blue, each 0 to 65535). The first that matches
#: holds.
COLORS = (
    ("dropped", 'frame.comment contains "dropped at"', (0xB000, 0x2000, 0x2000), (0xFFFF, 0xFFFF, 0xFFFF)),
    (
        "lost on the air",
        'frame.comment matches "lost on the air|CRC failure|not received"',
        (0xF000, 0xC000, 0xB000),
        (0x4000, 0x0000, 0x0000),
    ),
    ("retransmission", 'frame.comment contains "retransmission"', (0xFFFF, 0xE800, 0xA000), (0x3000, 0x2000, 0x0000)),
    ("radio", "mac-lte or rlc-lte or pdcp-lte or rlc or wlan", (0xE400, 0xF000, 0xFFFF), (0x1000, 0x2000, 0x3000)),
    ("tcp", "tcp", (0xF4F4, 0xF4F4, 0xF0F0), (0x1200, 0x1200, 0x1200)),
    ("udp", "udp", (0xEC00, 0xF800, 0xEC00), (0x1200, 0x2700, 0x1200)),
)

#: Shown?, name, filter, colour, kind, value, field.
GRAPHS = (
    (True, "All octets", "", "#2E3436", "Line", "Bits", ""),
    (True, "Retransmissions", 'frame.comment contains "retransmission"', "#F57900", "Impulse", "Packets", ""),
    (True, "Drops", 'frame.comment contains "dropped at"', "#CC0000", "Dot", "Packets", ""),
    (False, "HARQ failures", "mac-lte.crc-status == 0", "#A40000", "Impulse", "Packets", ""),
    (False, "TCP window", "tcp", "#3465A4", "Line", "MAX(Y Field)", "tcp.window_size"),
)

#: The logical channels by which captures distinguish the modes of LTE's RLC:
#: `access/lte/capture.rs`.
CHANNELS = (
    *((lcid, lcid - 2, "AM") for lcid in range(3, 7)),
    *((lcid, lcid - 2, "UM, SN Len=10") for lcid in (7, 8)),
    *((lcid, lcid - 2, "UM, SN Len=5") for lcid in (9, 10)),
)


def profile(rlc: bool = False) -> dict[str, str]:
    """The files of a profile by name.

    `rlc`: RLC of LTE is followed in frames of RLC, not in those of MAC.
    """
    frames = "Only-RLC-frames" if rlc else "Only-MAC-frames"
    columns = ",\n\t".join(f'"{title}", "{what}"' for title, what in COLUMNS)
    preferences = [
        "# Written by lasthop wireshark-profile.",
        f"gui.column.format: \n\t{columns}",
        "mac-lte.lcid_to_drb_mapping_source: From static table",
        "mac-lte.attempt_rrc_decode: FALSE",
        "rlc-lte.call_pdcp_for_drb: 12-bit SN",
        f"rlc-lte.do_sequence_analysis_am: {frames}",
        f"rlc-lte.do_sequence_analysis: {frames}",
        "rlc-lte.reassembly: TRUE",
        "pdcp-lte.show_user_plane_as_ip: TRUE",
        "tcp.calculate_timestamps: TRUE",
        "ip.check_checksum: TRUE",
    ]
    graphs = [
        ",".join(f'"{field}"' for field in ("Enabled" if on else "Disabled", *rest, "None", "1"))
        for on, *rest in GRAPHS
    ]
    colors = [f"@{name}@{what}@{_color(back)}{_color(front)}" for name, what, back, front in COLORS]
    return {
        "preferences": "\n".join(preferences) + "\n",
        "colorfilters": "\n".join(colors) + "\n",
        "io_graphs": "\n".join(graphs) + "\n",
        "heuristic_protos": "rlc_udp,1\nrlc_lte_udp,1\npdcp_lte_udp,1\n",
        "drb_logchans": "".join(f'"LCID {lcid}","{bearer}","{mode}"\n' for lcid, bearer, mode in CHANNELS),
    }


def _color(rgb: tuple[int, int, int]) -> str:
    return f"[{','.join(map(str, rgb))}]"


@click.command("wireshark-profile")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--rlc", is_flag=True, help="For bearers of kind lte-rlc, which have no MAC: follow RLC by its own frames."
)
@click.option("--force", is_flag=True, help="Replace files of a profile that is there.")
def wireshark_profile(folder: Path, rlc: bool, force: bool) -> None:
    """Write a Wireshark profile for captures of Lasthop.

    DIR becomes the profile's folder, below 'profiles' of Wireshark's personal configuration ('About
    Wireshark', 'Folders'). It has the preferences by which MAC of LTE decodes down to RLC, PDCP, IP
    and TCP, the heuristics for RLC of UMTS and LTE, columns with the point of observation and the
    comment, colours, and I/O graphs.

    \b
    Examples:
      lasthop wireshark-profile ~/.config/wireshark/profiles/lasthop
      lasthop wireshark-profile ~/.config/wireshark/profiles/lasthop-rlc --rlc
    """
    files = profile(rlc)
    there = [name for name in files if (folder / name).exists()]
    if there and not force:
        raise mistake(f"'{folder}' has {', '.join(there)} already", "--force replaces them; another DIR keeps them")
    for note in write_files([(folder / name, text.encode()) for name, text in files.items()]):
        _output.note(note)
    _output.line(f"Profile: {folder}")
    _output.line(f"Choose it in Wireshark at the right of the status bar, or: tshark -C {folder.name} -r run.pcapng")
