"""A control in a program of the user: a crate whose `main` is `lasthop_sim::command`.

The program makes the runs of the judged control. This package reads the cases, writes the scenarios
and evaluates the tables.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lasthop import _core
from lasthop._core import CongestionControl, RateControl
from lasthop._errors import mistake
from lasthop._results import Results
from lasthop.campaign._faults import nearest
from lasthop.campaign.work import RunFailedError

#: What describes itself within this time is such a program [s].
_ANSWERS_WITHIN = 30.0
#: So often a run is asked whether it is to be given up [s].
_ASKED_EVERY = 0.05
_REMEDY = "its `main` calls lasthop_sim::command(&extensions), as examples/own-cc-crate/src/bin/judged.rs does"


@dataclass(frozen=True)
class Program:
    """A program and the name of the control in it."""

    path: Path
    name: str

    @property
    def digest(self) -> str:
        """Digest of the program and the name: another build is another control."""
        hasher = hashlib.blake2b(self.name.encode(), digest_size=32)
        hasher.update(self.path.read_bytes())
        return hasher.hexdigest()

    def declared(self) -> type[CongestionControl | RateControl]:
        """A class with the control's variables and without its behaviour.

        Scenarios are checked with this class.

        Raises:
            LasthopError: the file is not such a program, it contains another version of Lasthop, or
                it has no such control.
        """
        found = self._described()
        if found["lasthop"] != _core.__version__:
            raise mistake(
                f"'{self.path}' was built with Lasthop {found['lasthop']}, this is {_core.__version__}",
                "build it again with the sources of this version",
            )
        # Where two have the name the congestion control is meant.
        rates = {control["name"]: (RateControl, control) for control in found["rate-control"]}
        controls = rates | {control["name"]: (CongestionControl, control) for control in found["cc"]}
        if self.name not in controls:
            raise mistake(f"'{self.path}' has no control '{self.name}'", nearest(self.name, controls))
        base, control = controls[self.name]
        variables = {v["name"]: v["unit"] for v in control["variables"] if not v["name"].startswith("media.")}
        return type("InAProgram", (base,), {"observables": variables, "version": self.digest, "l4s": control["l4s"]})

    def _described(self) -> dict[str, Any]:
        try:
            done = subprocess.run(
                [self.path, "describe"], capture_output=True, text=True, timeout=_ANSWERS_WITHIN, check=False
            )
            found = json.loads(done.stdout) if done.returncode == 0 else None
        except (OSError, ValueError, subprocess.TimeoutExpired):
            found = None
        if not isinstance(found, dict) or "lasthop" not in found:
            raise mistake(f"'{self.path}' is no program with controls", _REMEDY)
        lists = all(isinstance(found.get(kind), list) for kind in ("cc", "rate-control"))
        if not lists and found["lasthop"] == _core.__version__:
            raise mistake(f"'{self.path}' is no program with controls", _REMEDY)
        return found

    @contextmanager
    def run(self, scenario: str, folder: Path, stopped: Callable[[], bool]) -> Iterator[Results]:
        """Runs a scenario; its results exist during the block only.

        Args:
            scenario: its text.
            folder: the folder of the files that the scenario names.
            stopped: called about every 50 ms; true ends the run.

        Raises:
            RunFailedError: the program failed; the text has its last line.
            KeyboardInterrupt: `stopped` has ended the run.
        """
        with TemporaryDirectory(prefix="lasthop-judge-") as place:
            file, out = Path(place) / "scenario.toml", Path(place) / "out"
            file.write_text(scenario, encoding="utf-8")
            log = Path(place) / "errors"
            command = [str(p) for p in (self.path, "run", file, "--out", out, "--relative-to", folder.resolve())]
            with log.open("wb") as errors:
                child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
                try:
                    while (code := child.poll()) is None:
                        if stopped():
                            raise KeyboardInterrupt
                        time.sleep(_ASKED_EVERY)
                finally:
                    child.kill()
                    child.wait()
            if code != 0:
                lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
                ended = f"signal {-code}" if code < 0 else f"code {code}"
                raise RunFailedError(f"{self.path.name} ended with {ended}: {lines[0] if lines else 'no message'}")
            yield Results.load(out)


def program_of(text: str, folder: Path) -> Program | None:
    """The program and control that `PROGRAM:NAME` means; None: the text has another form.

    Raises:
        LasthopError: the file exists and is not a program.
    """
    file, _, name = text.rpartition(":")
    if not file or not name or file.endswith(".py"):
        return None
    path = (folder / file).resolve()
    if not path.is_file():
        raise mistake(f"there is no program '{file}'", f"it is looked for in {path.parent}; cargo build --release")
    if not os.access(path, os.X_OK):
        raise mistake(f"'{file}' cannot be executed", _REMEDY)
    return Program(path, name)
