"""The first process of the guest.

It runs the scenario with the guest's own kernel, and halts the guest.
"""

from __future__ import annotations

import ctypes
import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

#: The file with the share of the duration that has passed.
SHARE = "share"
#: LINUX_REBOOT_CMD_POWER_OFF of reboot(2).
_POWER_OFF = 0x4321FEDC


def main(folder: Path) -> None:
    """Reads `job.json` in the folder, and writes `answer.json` there.

    Results are in `out` and `capture`.
    """
    libc = ctypes.CDLL(None)
    for kind, place in ((b"proc", b"/proc"), (b"sysfs", b"/sys"), (b"devtmpfs", b"/dev")):
        libc.mount(kind, place, kind, 0, None)
    try:
        _run(json.loads((folder / "job.json").read_text()), folder)
        answer: dict[str, object] = {"done": True}
    except BaseException as error:
        # The process that has started the guest raises it anew.
        text = str(error) or type(error).__name__
        answer = {"error": text, "diagnostics": getattr(error, "diagnostics", [])}
    part = folder / "answer.part"
    part.write_text(json.dumps(answer))
    part.replace(folder / "answer.json")
    libc.sync()
    libc.reboot(_POWER_OFF)


def _run(job: dict[str, Any], folder: Path) -> None:
    from lasthop import _core

    os.chdir(job["folder"])
    scenario = _core.Scenario.parse(job["text"], job["name"], job["base"], set=job["set"])
    capture = None
    if job["capture"] is not None:
        capture = folder / "capture" / job["capture"]
        capture.parent.mkdir()
    _core.linux_guest(scenario, folder / "stop", folder / SHARE, folder / "out", capture)
