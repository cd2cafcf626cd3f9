"""Makes the kernel from Linux' sources and keeps it under the user's cache."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lasthop._errors import mistake
from lasthop.linux import _edits
from lasthop.linux._boot import boot, check_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Where Debian's package has the sources, and its name.
SOURCE = Path("/usr/src/linux-source-6.1.tar.xz")
PACKAGE = "linux-source-6.1"
#: Programs that the build starts, and Debian's packages of them.
PROGRAMS = {
    "gcc": "gcc",
    "ld": "binutils",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "tar": "tar",
    "xz": "xz-utils",
}
#: Disk space that sources and objects take while the kernel is built [B].
SPACE = 2_200_000_000
#: What the first process prints once it is there, before the list of congestion controls.
ALIVE = "lasthop: alive"

#: The octets of the XSAVE area: CPUID leaf 0xD, EBX (Intel SDM volume 1, section 13.2).
_XSAVE = """#include <cpuid.h>
#include <stdio.h>
int main(void)
{
	unsigned a, b = 0, c, d;
	__get_cpuid_count(0xd, 0, &a, &b, &c, &d);
	printf("%u\\n", b);
	return 0;
}
"""


class Kernel(NamedTuple):
    """A kernel and the sources from which it was built."""

    #: The program.
    path: Path
    #: Its manifest; of a kernel of the user's own: nothing.
    manifest: dict[str, Any]


def cache() -> Path:
    """Where kernels are kept: a folder under XDG_CACHE_HOME."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    base = given if given.is_absolute() else Path.home() / ".cache"
    return base / "lasthop" / "linux"


def find(kernel: Path | None = None) -> Kernel:
    """The kernel of the user's own, or the one in the cache.

    Raises:
        LasthopError: there is none, or an earlier version of Lasthop has built it.
    """
    if kernel is not None:
        path = kernel.absolute()
        if not (path.is_file() and os.access(path, os.X_OK)):
            raise mistake(f"{kernel} is no program", "give a User-mode Linux kernel, or leave --kernel out")
        return Kernel(path, _current(path.parent))
    check_host()
    folder = cache()
    manifest = _current(folder)
    if not manifest:
        raise mistake("no kernel was built yet", "`lasthop linux build` makes one: four minutes of one processor core")
    return Kernel(folder / "linux", manifest)


def _current(folder: Path) -> dict[str, Any]:
    """The manifest of a folder with a whole kernel of today's settings and edits.

    Nothing where there is none.
    """
    manifest = _manifest(folder)
    ours = _sources(manifest.get("xsave_octets", 0))
    if manifest and any(manifest.get(key) != value for key, value in ours.items()):
        raise mistake(
            f"the kernel in {folder} was built by another version of Lasthop, with other edits or settings",
            "`lasthop linux build` makes the one of this version: four minutes of one processor core",
        )
    return manifest


def _sources(xsave: int) -> dict[str, Any]:
    """What Lasthop adds to the sources, in hashes."""
    config = Path(__file__).with_name("kernel.config").read_bytes()
    edits = json.dumps(_edits.edits(xsave)).encode()
    return {
        "config_sha256": hashlib.sha256(config).hexdigest(),
        "edits_sha256": hashlib.sha256(edits).hexdigest(),
        "xsave_octets": xsave,
    }


def _manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder with a whole kernel; nothing where there is none."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        whole = manifest["kernel_sha256"] == _sha256(folder / "linux")
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return manifest if whole else {}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        # hashlib.file_digest is not in Python 3.10.
        found = hashlib.sha256()
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def build(
    source: Path | None = None,
    jobs: int | None = None,
    output: Path | None = None,
    force: bool = False,
    say: Callable[[str], object] = str,
) -> tuple[Kernel, bool]:
    """Builds the kernel, unless the folder has one of the same sources, settings and compiler.

    Args:
        source: a tarball of Linux 6.1; None: Debian's.
        jobs: compilers at once; None: one for each core.
        output: the folder for it; None: the cache.
        force: build it anyway.
        say: gets a line for each step.

    Returns:
        The kernel, and whether it was built now.

    Raises:
        LasthopError: something that the build needs is missing, or it has failed; the folder is as
            it was.
    """
    check_host()
    tarball = _source(source)
    _check_programs()
    folder = (output or cache()).absolute()
    compiler = _first_line(["gcc", "--version"])
    config = Path(__file__).with_name("kernel.config").read_text()
    with _workplace(folder) as work:
        xsave = _xsave(work)
        wanted: dict[str, Any] = {
            "source": str(tarball),
            "source_sha256": _sha256(tarball),
            "compiler": compiler,
            **_sources(xsave),
        }
        there = _manifest(folder)
        if not force and there and all(there.get(key) == value for key, value in wanted.items() if key != "source"):
            return Kernel(folder / "linux", there), False
        _check_space(work)
        say(f"unpacking {tarball}")
        tree = _unpack(tarball, work)
        _edits.apply(tree, xsave)
        (tree / "lasthop.config").write_text(config)
        say("building the kernel")
        _make(tree, ["allnoconfig", "KCONFIG_ALLCONFIG=lasthop.config"], work)
        _check_config(config, (tree / ".config").read_text())
        _make(tree, [f"-j{jobs or len(os.sched_getaffinity(0))}", "linux"], work)
        say("booting it")
        kernel = tree / "linux"
        found = check_boot(kernel)
        manifest = {"linux": _version(tree), **wanted, "congestion_controls": found, "kernel_sha256": _sha256(kernel)}
        _keep(kernel, manifest, folder, work)
    return Kernel(folder / "linux", manifest), True


def check_boot(kernel: Path) -> list[str]:
    """Boots the kernel and reads its congestion controls.

    Raises:
        LasthopError: it does not boot, or lacks some.
    """
    controls = "/proc/sys/net/ipv4/tcp_available_congestion_control"
    # A first process that ends is a panic, so it halts the guest: LINUX_REBOOT_CMD_POWER_OFF of
    # reboot(2).
    script = (
        f"import ctypes; libc = ctypes.CDLL(None); libc.mount(b'proc', b'/proc', b'proc', 0, None); "
        f"print('{ALIVE}', open('{controls}').read(), flush=True); libc.reboot(0x4321fedc)"
    )
    text = boot(kernel, [sys.executable, "-I", "-S", "-c", script])
    words = next((line.removeprefix(ALIVE).split() for line in text.splitlines() if line.startswith(ALIVE)), None)
    missing = sorted(set(_edits.CONTROLS) - set(words or []))
    if words is None or missing:
        what = "does not start a program" if words is None else f"lacks {', '.join(missing)}"
        raise mistake(f"the kernel {what}", "take the sources of Linux 6.1 as they are")
    return sorted(words)


def _source(source: Path | None) -> Path:
    path = source or SOURCE
    if path.is_file():
        return path.absolute()
    if source is not None:
        raise mistake(f"{source}: no such file", "give a tarball of Linux 6.1, such as linux-6.1.tar.xz")
    raise mistake(
        f"{SOURCE} is not there: the sources of Linux",
        f"`apt install {PACKAGE}` (Debian 12), or give a tarball of Linux 6.1 with --source",
    )


def _check_programs() -> None:
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        packages = " ".join(sorted({PROGRAMS[name] for name in missing}))
        raise mistake(f"the build needs {', '.join(missing)}", f"`apt install {packages}`")


def _first_line(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.partition("\n")[0]


def _xsave(work: Path) -> int:
    source, program = work / "xsave.c", work / "xsave"
    source.write_text(_XSAVE)
    made = subprocess.run(["gcc", str(source), "-o", str(program)], capture_output=True, text=True, check=False)
    found = _first_line([str(program)]) if made.returncode == 0 else ""
    if not found.isdecimal():
        raise mistake(f"gcc cannot build programs: {made.stderr.strip()}", "`apt install gcc libc6-dev`")
    return int(found)


@contextlib.contextmanager
def _workplace(folder: Path) -> Iterator[Path]:
    """A folder beside the kernel's, on the same file system.

    Those that killed builds have left are removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("build-*"):
        process = old.name.split("-")[1]
        if process.isdecimal() and not Path("/proc", process).exists():
            shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"build-{os.getpid()}-", dir=folder) as name:
        yield Path(name)


def _check_space(work: Path) -> None:
    free = shutil.disk_usage(work).free
    if free < SPACE:
        raise mistake(
            f"{work.parent} has {free / 1e9:.1f} GB of free space, and the build takes {SPACE / 1e9:.1f} GB",
            "free some, or give another folder with --output",
        )


def _unpack(tarball: Path, work: Path) -> Path:
    place = work / "source"
    place.mkdir()
    done = subprocess.run(
        ["tar", "--extract", "--file", str(tarball), "--directory", str(place), "--strip-components=1"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0 or not (place / "Makefile").is_file():
        why = (done.stderr.strip().splitlines() or ["it has no Makefile"])[-1]
        raise mistake(f"{tarball} is no tarball of Linux: {why}", f"Debian's package {PACKAGE} has one")
    return place


def _make(tree: Path, words: list[str], work: Path) -> None:
    # Dates, users and hosts would make two builds differ.
    fixed = {"KBUILD_BUILD_TIMESTAMP": "1970-01-01", "KBUILD_BUILD_USER": "lasthop", "KBUILD_BUILD_HOST": "lasthop"}
    log = work / "log"
    with log.open("wb") as out:
        code = subprocess.run(
            ["make", "ARCH=um", *words],
            cwd=tree,
            env={**os.environ, "LC_ALL": "C", **fixed},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    if code != 0:
        lines = log.read_text(errors="replace").splitlines()
        errors = [line for line in lines if "error" in line.lower()] or lines
        shown = "\n".join(f"  | {line}" for line in errors[:8])
        raise mistake(f"the build of the kernel has failed (make: code {code})\n{shown}", "gcc 12 is known to build it")


def _check_config(wanted: str, made: str) -> None:
    """Settings whose conditions fail disappear without a word."""
    there = set(made.splitlines())
    lost = [line for line in wanted.splitlines() if line.startswith("CONFIG_") and line not in there]
    if lost:
        raise mistake(f"these sources do not know {', '.join(lost)}", "take Linux 6.1")


def _version(tree: Path) -> str:
    text = (tree / "Makefile").read_text()
    parts = [re.search(rf"^{key} = (\d+)$", text, re.MULTILINE) for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    return ".".join(part[1] for part in parts if part)


def _keep(kernel: Path, manifest: dict[str, Any], folder: Path, work: Path) -> None:
    """The manifest names the kernel's hash.

    So a pair of which one is old is not treated as complete.
    """
    ready = work / "manifest.json"
    ready.write_text(json.dumps(manifest, indent=2) + "\n")
    for path in (kernel, ready):
        with path.open("rb") as file:
            os.fsync(file.fileno())
    kernel.replace(folder / "linux")
    ready.replace(folder / "manifest.json")
