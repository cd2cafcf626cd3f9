"""Fails when a crate depends on one that it must not know (ARCHITECTURE.md, "The rooms").

python tests/rooms.py
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ALLOWED = {
    "units": set[str](),
    "engine": {"units"},
    "net": {"units", "engine"},
    "tcp": {"units", "engine"},
    "radio": {"units", "engine"},
    "capture": {"units", "engine"},
    "ran": {"units", "engine", "net", "radio"},
    "wifi": {"units", "engine", "net", "radio"},
    "sim": {"units", "engine", "net", "tcp", "radio", "capture", "ran", "wifi"},
    "py": {"units", "engine", "net", "tcp", "radio", "capture", "ran", "wifi", "sim"},
}
ONLY_IN = {"pyo3": {"py"}, "pyo3-arrow": {"py"}}


def mistakes(crates: Path) -> list[str]:
    """Every arrow that points up or sideways, and every library outside its room."""
    found = []
    for manifest in sorted(crates.glob("*/Cargo.toml")):
        room = manifest.parent.name
        if room not in ALLOWED:
            found.append(f"{manifest}: ARCHITECTURE.md has no room '{room}'")
            continue
        for name in _dependencies(manifest.read_text(encoding="utf-8")):
            other = name.removeprefix("lasthop-")
            if other != name and other not in ALLOWED[room]:
                found.append(f"{manifest}: '{room}' must not know '{other}'")
            if room not in ONLY_IN.get(name, {room}):
                found.append(f"{manifest}: '{name}' belongs to {', '.join(ONLY_IN[name])} only")
    return found


def _dependencies(manifest: str) -> list[str]:
    """Names in [dependencies] (not in [dev-dependencies], where a test may bring in a neighbour)."""
    table = re.search(r"^\[dependencies\]\n(.*?)(?=^\[|\Z)", manifest, re.MULTILINE | re.DOTALL)
    return re.findall(r"^([\w-]+)", table[1], re.MULTILINE) if table else []


if __name__ == "__main__":
    problems = mistakes(Path(__file__).parent.parent / "crates")
    print("\n".join(problems) or "every arrow points downwards")
    sys.exit(bool(problems))
