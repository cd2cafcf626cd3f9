"""The scenarios and campaigns that come with the package."""

from __future__ import annotations

from difflib import get_close_matches
from os import PathLike
from pathlib import Path

from lasthop._errors import mistake
from lasthop._files import is_there


def bundled() -> dict[str, Path]:
    """The bundled scenarios: name and file."""
    return _files("scenarios")


def campaigns() -> dict[str, Path]:
    """The bundled campaigns: name and file."""
    return _files("campaigns")


def scenario_file(scenario: str | PathLike[str]) -> Path:
    """The file that `scenario` means: a path, or the name of a bundled scenario.

    A path takes precedence where such a file exists.

    Raises:
        LasthopError: there is neither. A text with a slash or a dot is always a path; where it is
            the name of a bundled scenario with `.toml`, the message has that name.
    """
    return _file(scenario, "scenario", bundled())


def campaign_file(campaign: str | PathLike[str]) -> Path:
    """The file that `campaign` means: a path, or the name of a bundled campaign.

    A path takes precedence where such a file exists.

    Raises:
        LasthopError: as for `scenario_file`. For the name of a bundled scenario the message says
            how to vary this scenario.
    """
    name = str(campaign)
    if name in bundled() and name not in campaigns() and not is_there(Path(campaign)):
        raise mistake(
            f"'{name}' is a scenario, not a campaign",
            f"vary it: lasthop sweep --base {name} --axis KEY=A,B --metric NAME=EXPRESSION",
        )
    return _file(campaign, "campaign", campaigns())


def _files(folder: str) -> dict[str, Path]:
    return {p.stem: p for p in sorted((Path(__file__).parent / folder).glob("*.toml"))}


def _file(wanted: str | PathLike[str], kind: str, known: dict[str, Path]) -> Path:
    if not str(wanted):
        raise mistake(f"the name of the {kind} is empty", f"a TOML file, or the name of a bundled {kind}")
    path = Path(wanted)
    if is_there(path):
        return path
    name = str(wanted)
    if name in known:
        return known[name]
    if "/" not in name and "." not in name:
        near = get_close_matches(name, known, 1)
        meant = f"did you mean '{near[0]}'? " if near else ""
        raise mistake(
            f"there is no file '{name}', nor a bundled {kind} of this name",
            f"{meant}bundled are: {', '.join(known) or 'none'}",
        )
    stem = name.removesuffix(".toml")
    if stem in known:
        raise mistake(
            f"there is no file '{name}'",
            f"the bundled {kind} is '{stem}'; 'lasthop scenarios copy {stem}' writes the file",
        )
    return path
