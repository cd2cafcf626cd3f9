"""Runs a scenario in a guest."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lasthop
from lasthop import LasthopError, Results
from lasthop._errors import mistake
from lasthop._files import Earlier, whole_folder
from lasthop.linux._boot import LONGER, LimitError, boot
from lasthop.linux._guest import SHARE
from lasthop.linux._scratch import scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lasthop import Scenario
    from lasthop.linux._build import Kernel

#: Wall time that a run may take, by default [s].
LIMIT = 3600.0
#: What the folder of a run holds.
_EARLIER = Earlier(
    "manifest.json",
    ("lasthop", "scenario", "scenario_hash", "tables"),
    ("scenario.toml", "summary.json", "report.html"),
)


def at(nodes: Iterable[str]) -> list[str]:
    """Overrides of a scenario that give these nodes a real kernel's TCP."""
    return [f'node."{node}"={{kind="linux"}}' for node in nodes]


def run(
    scenario: Scenario,
    kernel: Kernel,
    out: Path,
    replace: bool = False,
    capture: Path | None = None,
    limit: float = LIMIT,
    watch: Callable[[], None] = lambda: None,
    progress: Callable[[float], None] | None = None,
) -> Results:
    """Runs a scenario with nodes of a real kernel and leaves its results in `out`.

    Args:
        scenario: a scenario, of which some nodes have `kind = "linux"`.
        kernel: the kernel.
        out: the folder of the results. It appears when they are complete.
        replace: an earlier run's results may be replaced.
        capture: a file for a packet capture; an earlier one is replaced.
        limit: wall time after which the guest is asked to end [s].
        watch: called about every 50 ms; an exception that it raises ends the guest.
        progress: called with the share of the scenario's duration that has passed, above 0 to 1,
            whenever it has become larger.

    Raises:
        FolderInUseError: `out` holds something (with `replace`: something else than results).
        LasthopError: the scenario has something that the kernel's sockets cannot carry, the guest
            has failed, or its limit has passed.
        KeyboardInterrupt: Ctrl-C has ended the run. After it and after the limit `out` has the
            results up to then, unless the guest did not end by itself.
    """
    if scenario.cc or scenario.schedulers:
        raise mistake("a guest does not have policies of your own", "leave --cc and --scheduler out")
    text, name, sets = scenario.core.source()
    stopped: BaseException | None = None
    with whole_folder(out, _EARLIER if replace else None) as partial, scratch() as folder:
        job: dict[str, Any] = {
            "text": text,
            "name": name,
            "set": sets,
            "base": str(Path(scenario.core.base_dir).absolute()),
            "folder": str(Path.cwd()),
            "capture": None if capture is None else capture.name,
        }
        (folder / "job.json").write_text(json.dumps(job))

        passed = 0.0

        def look() -> None:
            nonlocal passed
            watch()
            if progress is not None:
                # The guest may be writing the file: its beginning is no number, or a smaller one.
                with contextlib.suppress(OSError, ValueError):
                    # The guest's clock may be a nanosecond beyond the end.
                    share = min(float((folder / SHARE).read_text()), 1.0)
                    if share > passed:
                        passed = share
                        progress(share)

        try:
            stop = (folder / "stop").touch
            console = boot(kernel.path, _program(folder), scenario.seed, limit, watch=look, stop=stop)
        except (KeyboardInterrupt, LimitError) as interrupt:
            stopped, console = interrupt, ""
        answer = folder / "answer.json"
        found = json.loads(answer.read_text()) if answer.exists() else {}
        if "error" in found:
            error = LasthopError(found["error"])
            error.diagnostics = found["diagnostics"]
            raise error
        if not found and stopped is None:
            remedy = "`lasthop linux build --force`"
            if not kernel.manifest:
                remedy = f"{kernel.path} has to be a User-mode Linux kernel; without --kernel the cache's is taken"
            raise mistake(f"the guest has halted without an answer\n{console[-2000:]}".rstrip(), remedy)
        if found:
            for made in sorted((folder / "out").iterdir()):
                shutil.move(made, partial / made.name)
            if capture is not None:
                for made in sorted((folder / "capture").iterdir()):
                    shutil.move(made, capture.parent / made.name)
        elif stopped is not None:
            raise stopped
    if isinstance(stopped, LimitError):
        message = f"the guest was ended after {limit:g} s of wall time; its results up to then are complete in {out}"
        raise mistake(message, LONGER, LimitError)
    if stopped is not None:
        raise stopped
    return Results.load(out)


def _program(folder: Path) -> list[str]:
    """The guest's first process: its files are the host's, and it leaves none beside them."""
    package = Path(lasthop.__file__).parent.parent
    start = f"import sys; sys.path.insert(0, {str(package)!r}); from lasthop.linux import _guest; "
    start += f"from pathlib import Path; _guest.main(Path({str(folder)!r}))"
    return [sys.executable, "-I", "-B", "-c", start]
