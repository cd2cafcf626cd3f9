"""Writes THIRD-PARTY.md and the SBOM of the page: everything of others that the wheel carries.

python release/third_party.py

The Rust crates are those that the extension module links on the platforms of the wheels, by `cargo metadata`. Their
texts are all files of a licence, copyright or notice in the packages of the registry, also of what a crate carries
inside (the C library in `zstd-sys`). The packages that are built into the page of runs are those of
`viewer/package-lock.json` that are not only for development; `npm ci` gets them, and `npm sbom` lists them in
CycloneDX (`viewer/page.cdx.json`). maturin writes the SBOM of the Rust crates when it builds the wheel.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "THIRD-PARTY.md"
VIEWER = ROOT / "viewer"
SBOM = VIEWER / "page.cdx.json"

#: The platforms of the wheels, as in `deny.toml`.
PLATFORMS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
)

#: Names of files with the text of a licence, a copyright or a notice.
TEXTS = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)([._-].*)?", re.IGNORECASE)

HEAD = """\
# Third-party software

The wheel of Lasthop carries the software below: Rust crates, linked into the extension module, and packages of npm,
built into the page of runs and of reports. Python packages that Lasthop depends on are not in the wheel; each is
installed with its own licence. The extension module also contains the standard library of Rust (Apache-2.0 or MIT,
copyright The Rust Project Developers).

Where a package offers a choice of licences, Lasthop uses it under one that `deny.toml` allows. `make third-party`
writes this file from `Cargo.lock` and `viewer/package-lock.json`.
"""


class Part(NamedTuple):
    """One package of others."""

    name: str
    version: str
    licence: str  # SPDX expression, as the package states it
    texts: tuple[tuple[str, str], ...]  # name of a file, and its text


def linked_crates() -> list[dict[str, Any]]:
    """The packages of other authors that the extension module links, as `cargo metadata` lists them.

    Procedural macros and build scripts run while the extension is built; neither they nor what they use is linked.
    """
    found: dict[str, dict[str, Any]] = {}
    for platform in PLATFORMS:
        command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", platform]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
        data = json.loads(done.stdout)
        packages = {package["id"]: package for package in data["packages"]}
        nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
        waiting = [id_ for id_, package in packages.items() if package["name"] == "lasthop-py"]
        seen: set[str] = set()
        while waiting:
            id_ = waiting.pop()
            if id_ in seen or any("proc-macro" in target["kind"] for target in packages[id_]["targets"]):
                continue
            seen.add(id_)
            uses = (use for use in nodes[id_]["deps"] if any(kind["kind"] is None for kind in use["dep_kinds"]))
            waiting += [use["pkg"] for use in uses]
        found |= {id_: packages[id_] for id_ in seen if packages[id_]["source"] is not None}
    return sorted(found.values(), key=lambda package: (package["name"], package["version"]))


def texts_in(folder: Path) -> tuple[tuple[str, str], ...]:
    """The licence texts of a package, by their path in it."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and TEXTS.fullmatch(path.name))
    return tuple((str(path.relative_to(folder)), path.read_text(encoding="utf-8")) for path in files)


def rust_crates() -> list[Part]:
    """The linked crates with their texts."""
    parts = []
    for package in linked_crates():
        texts = texts_in(Path(package["manifest_path"]).parent)
        parts.append(Part(package["name"], package["version"], package["license"], texts))
    return parts


def npm_packages() -> list[Part]:
    """The packages that are built into the page of runs."""
    subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=VIEWER, check=True)
    locked = json.loads((VIEWER / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    parts = []
    for place, package in sorted(locked.items()):
        if place and not package.get("dev"):
            name = place.rpartition("node_modules/")[2]
            parts.append(Part(name, package["version"], package["license"], texts_in(VIEWER / place)))
    return parts


def page_sbom() -> str:
    """The SBOM of the page, without the serial number and the time of writing: equal packages give equal bytes."""
    command = ["npm", "sbom", "--sbom-format", "cyclonedx", "--omit", "dev", "--package-lock-only"]
    done = subprocess.run(command, cwd=VIEWER, check=True, stdout=subprocess.PIPE)
    bom = json.loads(done.stdout)
    bom.pop("serialNumber", None)
    bom["metadata"].pop("timestamp", None)
    return json.dumps(bom, indent=2) + "\n"


def document(rust: list[Part], npm: list[Part]) -> str:
    """The text of THIRD-PARTY.md. Equal texts stand there once, with the names of all packages that have them."""
    lines = [HEAD]
    for title, parts in (("Rust crates", rust), ("Packages of npm", npm)):
        lines += [f"## {title}\n", "| package | version | licence |", "|---|---|---|"]
        lines += [f"| {part.name} | {part.version} | {part.licence} |" for part in parts]
        lines.append("")
    users: dict[str, list[str]] = {}
    for part in (*rust, *npm):
        for name, text in part.texts:
            plain = "\n".join(line.rstrip() for line in text.strip().splitlines())
            users.setdefault(plain, []).append(f"{part.name} {part.version} ({name})")
    lines.append("## Texts\n")
    for text, names in sorted(users.items(), key=lambda item: item[1]):
        lines += [*(f"* {name}" for name in names), "", "````text", text, "````", ""]
    without = [f"* {part.name} {part.version}: {part.licence}" for part in (*rust, *npm) if not part.texts]
    if without:
        lines += ["## Packages without a text of their own\n", "These packages name their licence only.\n", *without]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    """Writes both files; the exit code."""
    OUT.write_text(document(rust_crates(), npm_packages()), encoding="utf-8")
    SBOM.write_text(page_sbom(), encoding="utf-8")
    print(f"{OUT.relative_to(ROOT)}, {SBOM.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
