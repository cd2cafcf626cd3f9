"""`lasthop linux`: scenarios with the TCP of a real Linux kernel, in virtual time."""

from __future__ import annotations

from pathlib import Path

import click

from lasthop.cli import _output
from lasthop.linux import _build

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group()
def linux() -> None:
    """Run scenarios with the TCP of a real Linux kernel, in virtual time.

    The kernel is User-mode Linux: a program, without root and without KVM. Its clock is virtual, so that a run is the
    same bit for bit however busy the machine is.

    \b
    Example:
      lasthop linux build
    """


@linux.command()
@click.option("--source", type=_FILE, metavar="FILE", help=f"A tarball of Linux 6.1. [{_build.SOURCE}]")
@click.option("--jobs", "-j", type=click.IntRange(min=1), metavar="N", help="Compilers at once. [one for each core]")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep the kernel here instead of the cache; 'lasthop linux run' takes it with --kernel DIR/linux.",
)
@click.option("--force", is_flag=True, help="Build it even if the same one is there.")
@_output.json_option
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but warnings and errors.")
def build(source: Path | None, jobs: int | None, output: Path | None, force: bool, as_json: bool, quiet: bool) -> None:
    """Build the kernel: about four minutes of one processor core, and 2 GB of disk space meanwhile.

    The sources are those of Debian's package linux-source-6.1. The kernel has all 17 congestion controls of Linux and
    is kept under ~/.cache/lasthop/linux with a manifest that says what it was built from.

    \b
    Examples:
      lasthop linux build
      lasthop linux build --source linux-6.1.192.tar.xz --jobs 4
    """
    say = str if as_json or quiet else _output.note
    kernel, fresh = _build.build(source, jobs, output, force, say)
    if as_json:
        _output.json_object({"kernel": str(kernel.path), "built": fresh, **kernel.manifest})
    elif not quiet:
        what = "built" if fresh else "there already"
        version, controls = kernel.manifest["linux"], len(kernel.manifest["congestion_controls"])
        _output.line(f"Linux {version} with {controls} congestion controls, {what}: {kernel.path}")
