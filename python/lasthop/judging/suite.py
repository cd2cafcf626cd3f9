"""Suites: folders and files of cases, bundled ones and those of the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from lasthop._errors import mistake
from lasthop._files import is_there
from lasthop.campaign._faults import nearest
from lasthop.judging._places import Places
from lasthop.judging.case import Case
from lasthop.judging.reading import load_cases

#: The folder of the suites that come with the package.
BUNDLED = Path(__file__).parent / "suites"


#: What may stand on the x axis of a figure beside metrics.
BUFFER, BOUND, PATHS = "buffer_bdp", "bound", "path"


@dataclass(frozen=True)
class SuiteFigure:
    """A figure of the first page, of a comparative case."""

    title: str
    case: str
    #: A metric, `buffer_bdp`, `path`, or `bound`: the larger of the baselines' values of `y`.
    x: str
    y: str


@dataclass(frozen=True)
class Suite:
    """Some cases of one source."""

    name: str
    title: str
    source: str
    cases: tuple[Case, ...]
    figures: tuple[SuiteFigure, ...] = ()
    #: What the source requires and no simulator can show.
    left_out: tuple[str, ...] = ()


def bundled() -> list[str]:
    """Names of the suites that come with the package."""
    return sorted(p.name for p in BUNDLED.iterdir() if (p / "suite.toml").is_file())


def load_suite(named: str | Path) -> Suite:
    """A suite.

    Args:
        named: the name of a bundled one, a folder of TOML files, or one file.

    Raises:
        LasthopError: there is no such suite, or its files have mistakes.
    """
    name = str(named)
    path = Path(named)
    if name in bundled() and not (is_there(path) and path.is_file()):
        path = BUNDLED / name
    elif not is_there(path):
        others = f"bundled are: {', '.join(bundled())}; others are files or folders of TOML"
        raise mistake(f"there is no suite '{name}'", nearest(name, bundled(), others))
    if path.is_file():
        cases = load_cases(path)
        return Suite(path.stem, path.name, "; ".join(dict.fromkeys(c.source for c in cases)), tuple(cases))
    title, source = name, ""
    head = path / "suite.toml"
    about = Places.load(head) if is_there(head) else None
    if about is not None:
        _check_head(about)
        title, source = (str(about.data.get("suite", {}).get(k, "")) for k in ("title", "source"))
    found: list[Case] = []
    for file in sorted(p for p in path.glob("*.toml") if p.name != "suite.toml"):
        found += load_cases(file)
    if not found:
        raise mistake(f"the folder '{path}' has no cases", "a case is a TOML file with a table [case]")
    seen: dict[str, str] = {}
    for case in found:
        if case.id in seen:
            raise mistake(
                f"'{case.id}' is a case of '{seen[case.id]}' and of '{case.file}'", "ids are unique in a suite"
            )
        seen[case.id] = case.file
    if about is None:
        return Suite(path.name, title, source, tuple(found))
    left_out = tuple(str(text) for text in about.data.get("suite", {}).get("left_out", []))
    return Suite(path.name, title, source, tuple(found), _figures(about, found), left_out)


def _check_head(about: Places) -> None:
    """`suite.toml` has the table [suite] with known keys.

    Raises:
        LasthopError: it has another one, or a value of another type.
    """
    for table in about.data:
        if table != "suite":
            remedy = "it has the table [suite]; cases stand in the other files of the folder"
            raise about.error((table,), f"unknown table `{table}`", remedy, at_key=True)
    head = about.data.get("suite", {})
    if not isinstance(head, dict):
        raise about.error(("suite",), "`suite` must be a table", 'such as [suite] title = "..."')
    for key, value in head.items():
        if key not in _HEAD:
            raise about.error(("suite", key), f"unknown key `{key}`", nearest(key, _HEAD), at_key=True)
        kind, words = _HEAD[key]
        if not isinstance(value, kind):
            raise about.error(("suite", key), f"`{key}` must be {words}", None)


#: Keys of `suite.toml`: type of the value, in words too.
_HEAD: dict[str, tuple[type, str]] = {
    "title": (str, "a text"), "source": (str, "a text"), "left_out": (list, "a list of texts"),
    "figure": (list, "a list of tables: [[suite.figure]]"),
}  # fmt: skip


def _figures(about: Places, cases: Sequence[Case]) -> tuple[SuiteFigure, ...]:
    """The figures that `suite.toml` defines."""
    found = []
    metrics = {case.id: [m.name for m in case.metrics] for case in cases if case.metrics}
    for number, entry in enumerate(about.data.get("suite", {}).get("figure", [])):
        at = ("suite", "figure", number)
        if not isinstance(entry, dict) or set(entry) != {"title", "case", "x", "y"}:
            raise about.error(at, "a figure has title, case, x and y", 'such as x = "buffer_bdp", y = "loss"')
        figure = SuiteFigure(*(str(entry[key]) for key in ("title", "case", "x", "y")))
        if figure.case not in metrics:
            raise about.error((*at, "case"), f"'{figure.case}' is no comparative case", nearest(figure.case, metrics))
        known = metrics[figure.case]
        for key, allowed in (("x", [*known, BUFFER, BOUND, PATHS]), ("y", known)):
            if entry[key] not in allowed:
                remedy = nearest(str(entry[key]), allowed)
                raise about.error((*at, key), f"{figure.case} has no metric '{entry[key]}'", remedy)
        found.append(figure)
    return tuple(found)


def chosen(suite: Suite, patterns: Sequence[str]) -> Suite:
    """The suite with the cases whose id matches one of the patterns; without patterns all cases."""
    if not patterns:
        return suite
    cases = tuple(c for c in suite.cases if any(fnmatchcase(c.id.lower(), p.lower()) for p in patterns))
    return replace(suite, cases=cases)
