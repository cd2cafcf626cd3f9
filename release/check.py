"""Checks the files of a release: contents, size, metadata, platform tag, stable ABI and SBOM.

python release/check.py [--tools] FILE [FILE ...]
python release/check.py --tag v0.1.0

Each file is a wheel or an sdist. The contents are compared with the source tree in both directions: a file that is
not of the package is an error, and so is a file of the package that is missing. twine, auditwheel and abi3audit
check platform, metadata and stable ABI with `--tools`.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent

#: Largest sizes [bytes].
LARGEST_WHEEL = 15_000_000
LARGEST_SDIST = 5_000_000

#: What a wheel has beside the package. `{dist}` is the folder of its metadata.
BESIDE_THE_PACKAGE = (
    "{dist}/METADATA",
    "{dist}/RECORD",
    "{dist}/WHEEL",
    "{dist}/entry_points.txt",
    "{dist}/licenses/LICENSE-APACHE",
    "{dist}/licenses/LICENSE-MIT",
    "{dist}/licenses/THIRD-PARTY.md",
    "{dist}/sboms/lasthop-py.cyclonedx.json",
    "{dist}/sboms/page.cdx.json",
)

#: What an sdist has beside the package and the crates.
BESIDE_THE_SOURCES = (
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "PKG-INFO",
    "THIRD-PARTY.md",
    "pyproject.toml",
    "release/pypi.md",
    "viewer/page.cdx.json",
)

#: glibc that the wheel for Linux may ask for at most: that of manylinux_2_17.
GLIBC = (2, 17)


def version() -> str:
    """The version of this source tree: that of the Cargo workspace."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    return str(manifest["workspace"]["package"]["version"])


def files_of(folder: str) -> set[str]:
    """The files below `folder` of the source tree: those that git lists, without git those that are there."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "-z", folder], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode == 0 and listed.stdout:
        return {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    found = (path for path in (ROOT / folder).rglob("*") if path.is_file())
    return {str(path.relative_to(ROOT)) for path in found if path.suffix not in (".pyc", ".so")}


def differences(expected: set[str], found: set[str]) -> list[str]:
    """What is wrong with the contents of a file of the release; empty: nothing."""
    wrong = [f"{name} is in it, but is not part of the package" for name in sorted(found - expected)]
    return wrong + [f"{name} is missing" for name in sorted(expected - found)]


def expected_in_wheel(dist: str, extension: str) -> set[str]:
    """The names of the files that a wheel has. `extension` is the file name of the extension module."""
    package = {name.removeprefix("python/") for name in files_of("python/lasthop")}
    return package | {f"lasthop/{extension}"} | {name.format(dist=dist) for name in BESIDE_THE_PACKAGE}


def expected_in_sdist(top: str) -> set[str]:
    """The names of the files that an sdist has, below its one folder."""
    sources = files_of("python/lasthop") | files_of("crates") | set(BESIDE_THE_SOURCES)
    return {f"{top}/{name}" for name in sources}


def wrong_metadata(text: str) -> list[str]:
    """What is wrong with METADATA or PKG-INFO."""
    fields = HeaderParser().parsestr(text)
    wanted = {
        "Name": "lasthop",
        "Version": version(),
        "License-Expression": "Apache-2.0 OR MIT",
        "Requires-Python": ">=3.10",
        "Description-Content-Type": "text/markdown; charset=UTF-8; variant=GFM",
    }
    wrong = [f"{name} is {fields[name]!r}, not {value!r}" for name, value in wanted.items() if fields[name] != value]
    links = re.findall(r"\]\((?!https://|#)([^)\s]*)", str(fields.get_payload()))
    return wrong + [f"its description links to {link}, which a page of PyPI does not have" for link in links]


def wrong_sbom(text: str, names: set[str]) -> list[str]:
    """What is wrong with an SBOM. `names` are packages that it has to list."""
    bom = json.loads(text)
    if bom.get("bomFormat") != "CycloneDX":
        return ["it is not of CycloneDX"]
    missing = names - {component["name"] for component in bom.get("components", [])}
    return [f"{name} is missing" for name in sorted(missing)]


def third_party(heading: str) -> set[str]:
    """The names in the table of THIRD-PARTY.md below `heading`."""
    section = (ROOT / "THIRD-PARTY.md").read_text(encoding="utf-8").split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return set(re.findall(r"^\| ([^ |]+) \| \d", section, re.MULTILINE))


def check_wheel(path: Path) -> list[str]:
    """What is wrong with a wheel."""
    dist = f"lasthop-{version()}.dist-info"
    with zipfile.ZipFile(path) as wheel:
        names = {name for name in wheel.namelist() if not name.endswith("/")}
        wrong = differences(expected_in_wheel(dist, "_core.abi3.so"), names)
        if wrong:
            return wrong
        texts = {name: wheel.read(name).decode() for name in names if name.startswith(dist)}
    wrong += wrong_metadata(texts[f"{dist}/METADATA"])
    sboms = {"lasthop-py.cyclonedx.json": "Rust crates", "page.cdx.json": "Packages of npm"}
    for name, heading in sboms.items():
        wrong += [f"{name}: {what}" for what in wrong_sbom(texts[f"{dist}/sboms/{name}"], third_party(heading))]
    if "-cp310-abi3-" not in path.name:
        wrong.append("its name does not say cp310-abi3")
    if path.stat().st_size > LARGEST_WHEEL:
        wrong.append(f"it has {path.stat().st_size} bytes, {LARGEST_WHEEL} at most are wanted")
    return wrong


def check_sdist(path: Path) -> list[str]:
    """What is wrong with an sdist."""
    top = f"lasthop-{version()}"
    with tarfile.open(path) as sdist:
        names = {member.name for member in sdist.getmembers() if not member.isdir()}
        wrong = differences(expected_in_sdist(top), names)
        if wrong:
            return wrong
        member = sdist.extractfile(f"{top}/PKG-INFO")
        text = member.read().decode() if member else ""
    wrong += wrong_metadata(text)
    if path.stat().st_size > LARGEST_SDIST:
        wrong.append(f"it has {path.stat().st_size} bytes, {LARGEST_SDIST} at most are wanted")
    return wrong


def check_with_tools(path: Path) -> list[str]:
    """What twine, auditwheel and abi3audit find wrong."""
    wrong = complaint([sys.executable, "-m", "twine", "check", "--strict", str(path)])
    if path.suffix == ".whl":
        wrong += complaint([sys.executable, "-m", "abi3audit", "--strict", "--report", str(path)])
        if "linux" in path.name:
            wrong += wrong_platform(path)
    return wrong


def wrong_platform(path: Path) -> list[str]:
    """What auditwheel finds wrong with the platform that the name of a wheel for Linux states."""
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(path)], capture_output=True, text=True, check=False
    )
    output = " ".join(done.stdout.split())
    found = re.search(r'consistent with the following platform tag: "manylinux_(\d+)_(\d+)_', output)
    if done.returncode or not found:
        return [f"auditwheel: {output or done.stderr}"]
    least = (int(found[1]), int(found[2]))
    wrong = [] if least <= GLIBC else [f"it needs glibc {least[0]}.{least[1]}"]
    tags = PurePosixPath(path.name).stem.rsplit("-", 1)[1].split(".")
    if f"manylinux_{GLIBC[0]}_{GLIBC[1]}" not in " ".join(tags):
        wrong.append(f"its name says {'.'.join(tags)}, not manylinux_{GLIBC[0]}_{GLIBC[1]}")
    return wrong


def complaint(command: list[str]) -> list[str]:
    """The output of a tool that fails; empty if it succeeds."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [f"{command[2]}: {(done.stdout + done.stderr).strip()}"] if done.returncode else []


def main() -> int:
    """Checks what the command line names; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--tag", help="a tag of the repository: it has to be v and the version")
    parser.add_argument("--tools", action="store_true", help="check with twine, auditwheel and abi3audit, too")
    arguments = parser.parse_args()
    failed = False
    if arguments.tag is not None and arguments.tag != f"v{version()}":
        print(f"the tag is {arguments.tag}, but the version in Cargo.toml asks for v{version()}")
        failed = True
    for path in arguments.files:
        wrong = check_wheel(path) if path.suffix == ".whl" else check_sdist(path)
        if arguments.tools:
            wrong += check_with_tools(path)
        failed |= bool(wrong)
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, {'; '.join(wrong) or 'as it has to be'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
