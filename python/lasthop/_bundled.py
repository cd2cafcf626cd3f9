"""The scenarios that come with the package."""

from __future__ import annotations

from difflib import get_close_matches
from os import PathLike
from pathlib import Path

from lasthop._errors import mistake


def bundled() -> dict[str, Path]:
    """The bundled scenarios: name and file."""
    folder = Path(__file__).parent / "scenarios"
    return {p.stem: p for p in sorted(folder.glob("*.toml"))}


def scenario_file(scenario: str | PathLike[str]) -> Path:
    """The file that `scenario` means: a path, or the name of a bundled scenario where no such file exists.

    Raises:
        LasthopError: neither; a text with a slash or a dot is always a path, and where it is the name of a bundled
            scenario with `.toml`, the message has that name.
    """
    if not str(scenario):
        raise mistake("the name of the scenario is empty", "a TOML file, or the name of a bundled scenario")
    path = Path(scenario)
    if path.exists():
        return path
    name, known = str(scenario), bundled()
    if name in known:
        return known[name]
    if "/" not in name and "." not in name:
        near = get_close_matches(name, known, 1)
        meant = f"did you mean '{near[0]}'? " if near else ""
        raise mistake(
            f"there is no file '{name}', nor a bundled scenario of this name",
            f"{meant}bundled are: {', '.join(known)}",
        )
    stem = name.removesuffix(".toml")
    if stem in known:
        raise mistake(
            f"there is no file '{name}'",
            f"the bundled scenario is '{stem}'; 'lasthop scenarios copy {stem}' writes the file",
        )
    return path
