"""What a figure of a campaign shows: the keys of `[figure.NAME]`, read and checked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Literal

from lasthop._core import LasthopError
from lasthop._errors import diagnostic
from lasthop._registry import run_tables
from lasthop.campaign.tidy import Label, same_label

Kind = Literal["line", "heat", "cdf", "rank"]
Scale = Literal["auto", "linear", "log"]
Width = Literal["column", "page"]

_KINDS = ("line", "heat", "cdf", "rank")
_SCALES = ("auto", "linear", "log")

#: Width of a figure by its name [mm]: one column and both columns of a two-column paper.
WIDTHS: Mapping[str, float] = {"column": 85.0, "page": 180.0}

#: Keys of `[figure.NAME]`: name, what it takes, default, meaning.
KEYS: tuple[tuple[str, str, str, str], ...] = (
    (
        "kind",
        '"line" | "heat" | "cdf" | "rank"',
        "",
        "Lines with bands, a heat map, cumulative distributions, a ranking.",
    ),
    ("metric", "text, list", "the first metric", "Metrics shown; a row of panels for each one (rank: a column)."),
    ("x", "axis", "the first free axis", "Axis of the campaign along the horizontal axis (line, heat)."),
    ("y", "axis", "the next free axis", "Axis of the campaign along the vertical axis (heat)."),
    ("lines", "axis", "", "A curve for each of its labels (line, cdf)."),
    ("columns", "axis", "", "A column of panels for each of its labels."),
    ("rows", "axis", "", "A row of panels for each of its labels; with one metric only."),
    ("where", "table", "", "Points shown: for an axis the label, or a list of labels."),
    ("over", "list", "", "Axes whose runs are pooled into one distribution (cdf)."),
    ("column", "text", "", 'Distribution of a column of a kept table, "tcp.rtt_us", instead of a metric (cdf).'),
    ("level", "share", '"95 %"', "Level of the intervals, 50 % to 99.99 %."),
    ("width", '"column" | "page"', '"column"', "One column of a paper, 85 mm, or both, 180 mm."),
    ("height", "length", "by content", "Height, 20 mm to 400 mm."),
    (
        "x_scale",
        '"auto" | "linear" | "log"',
        '"auto"',
        "auto: log where neighbouring labels differ by a factor (line), else linear.",
    ),
    ("y_scale", '"auto" | "linear" | "log"', '"auto"', "auto: linear (line)."),
    ("colour_scale", '"auto" | "linear" | "log"', '"auto"', "auto: linear (heat)."),
    ("x_label", "text", "name and unit", "Title of the horizontal axis."),
    ("y_label", "text", "name and unit", "Title of the vertical axis."),
    ("caption", "text", "", "A sentence below the figure in the report."),
)
_NAMES = tuple(k[0] for k in KEYS)

#: Keys that only some kinds have.
_ONLY: Mapping[str, tuple[str, ...]] = {
    "x": ("line", "heat"),
    "y": ("heat",),
    "lines": ("line", "cdf"),
    "columns": ("line", "heat", "cdf"),
    "rows": ("line", "heat", "cdf"),
    "over": ("cdf",),
    "column": ("cdf",),
    "x_scale": ("line", "cdf", "rank"),
    "y_scale": ("line",),
    "colour_scale": ("heat",),
}

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*\Z")
_MM = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(mm|cm|in)\s*\Z")
_TO_MM = {"mm": 1.0, "cm": 10.0, "in": 25.4}


class FigureError(LasthopError):
    """A mistake in the description of a figure."""

    #: Dotted path of the key, such as "figure.delay.x".
    key: str = ""
    #: What is wrong, without place and remedy.
    what: str = ""
    #: The remedy.
    help: str = ""


@dataclass(frozen=True)
class FigureSpec:
    """A figure of a campaign. The fields are the keys of `[figure.NAME]`.

    Attributes:
        name: its name, that of the files too: letters, digits, `_`, `-`.
        kind: "line" (mean and interval along an axis), "heat" (mean over two axes), "cdf"
            (distribution over runs, or over the rows of a kept table), "rank" (points sorted by
            their mean, with intervals).
        metric: names of metrics; empty: the campaign's first one.
        x: axis along the horizontal axis; None: the first axis that nothing else uses (line, heat).
        y: axis along the vertical axis; None: the next such axis (heat).
        lines: axis whose labels are the curves (line, cdf).
        columns: axis whose labels are columns of panels.
        rows: axis whose labels are rows of panels.
        where: for axes the labels that are shown.
        over: axes whose runs are pooled (cdf).
        column: "TABLE.COLUMN" of a kept table (cdf).
        level: level of the intervals, 0.5 to 0.9999.
        width: "column", 85 mm, or "page", 180 mm.
        height: height [mm], 20 to 400; None: by content.
        x_scale: "linear", "log" or "auto".
        y_scale: "linear", "log" or "auto".
        colour_scale: "linear", "log" or "auto" (heat).
        x_label: title of the horizontal axis.
        y_label: title of the vertical axis.
        caption: a sentence for below the figure.

    Raises:
        FigureError: a value is out of its range or does not fit the kind.
    """

    name: str
    kind: Kind
    metric: tuple[str, ...] = ()
    x: str | None = None
    y: str | None = None
    lines: str | None = None
    columns: str | None = None
    rows: str | None = None
    where: tuple[tuple[str, tuple[Label, ...]], ...] = ()
    over: tuple[str, ...] = ()
    column: str | None = None
    level: float = 0.95
    width: Width = "column"
    height: float | None = None
    x_scale: Scale = "auto"
    y_scale: Scale = "auto"
    colour_scale: Scale = "auto"
    x_label: str | None = None
    y_label: str | None = None
    caption: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise self.error(
                "", f"'{self.name}' is no name of a figure", "letters, digits, '_' and '-': it names files"
            )
        scales = [(key, _SCALES) for key in ("x_scale", "y_scale", "colour_scale")]
        for key, allowed in (("kind", _KINDS), ("width", tuple(WIDTHS)), *scales):
            if getattr(self, key) not in allowed:
                raise self._unknown(key, str(getattr(self, key)), allowed)
        for key, kinds in _ONLY.items():
            if getattr(self, key) not in (None, (), "auto") and self.kind not in kinds:
                raise self.error(key, f"'{key}' means nothing in a figure of kind '{self.kind}'", _kinds_of(kinds))
        if not 0.5 <= self.level <= 0.9999:
            raise self.error("level", f"the level {self.level:g} is outside of 0.5 to 0.9999", "such as '95 %'")
        if self.height is not None and not 20 <= self.height <= 400:
            raise self.error("height", f"a height of {self.height:g} mm is outside of 20 to 400 mm", "such as '60 mm'")
        if self.column is not None and self.metric:
            raise self.error("column", "'metric' and 'column' are both given", "leave one out")
        if self.column is not None and not re.fullmatch(r"\w+\.\w+", self.column):
            raise self.error("column", f"'{self.column}' is no column of a table", "TABLE.COLUMN, such as 'tcp.rtt_us'")
        if self.rows is not None and len(self.metric) > 1:
            raise self.error(
                "rows", "several metrics are rows of panels already", "leave 'rows' out, or name one metric"
            )
        self._each_axis_once()

    @staticmethod
    def parse(name: str, table: Mapping[str, Any]) -> FigureSpec:
        """Reads the table `[figure.NAME]`.

        Args:
            name: NAME.
            table: its keys (see `KEYS`) with plain values: texts, numbers, lists, tables.

        Raises:
            FigureError: a key or value is not known; `.key` is its place.
        """
        return _Reader(name, table).spec()

    def check(
        self, axes: Mapping[str, Sequence[Label]], metrics: Sequence[str], keep: Iterable[str] | None = None
    ) -> None:
        """Checks the names in it against a campaign.

        Args:
            axes: labels of each axis.
            metrics: names of the metrics.
            keep: tables that are kept; None: not known.

        Raises:
            FigureError: an axis, label, metric or table that the campaign does not have, or an axis
                with several labels that the figure neither shows nor chooses from.
        """
        for key in ("x", "y", "lines", "columns", "rows"):
            if (axis := getattr(self, key)) is not None and axis not in axes:
                raise self._unknown(key, axis, tuple(axes), "axis")
        for axis in self.over:
            if axis not in axes:
                raise self._unknown("over", axis, tuple(axes), "axis")
        for axis, chosen in self.where:
            if axis not in axes:
                raise self._unknown(f"where.{axis}", axis, tuple(axes), "axis")
            for label in chosen:
                if not any(same_label(label, known) for known in axes[axis]):
                    raise self._unknown(f"where.{axis}", str(label), tuple(map(str, axes[axis])), "label")
        for metric in self.metric:
            if metric not in metrics:
                raise self._unknown("metric", metric, tuple(metrics), "metric")
        if self.column is None and not metrics:
            raise self.error("metric", "the campaign has no metric", "define one in [metric]")
        if self.column is not None and keep is not None and (table := self.column.split(".")[0]) not in keep:
            raise self.error("column", f"table '{table}' is not kept", f'add it to the campaign: keep = ["{table}"]')
        self._check_column()
        self.completed(axes, metrics)

    def _check_column(self) -> None:
        """The column is one of its table's, and has numbers."""
        if self.column is None:
            return
        table, _, column = self.column.partition(".")
        columns = {c["name"]: c["type"] for c in run_tables().get(table, {"columns": []})["columns"]}
        if columns and column not in columns:
            near = get_close_matches(column, columns, 1)
            raise self.error(
                "column",
                f"the table '{table}' has no column '{column}'",
                f"did you mean '{near[0]}'?" if near else "there are: " + ", ".join(columns),
            )
        if columns.get(column) in ("string", "bool"):
            raise self.error("column", f"the column '{self.column}' has no numbers", "a column with numbers")

    def completed(self, axes: Mapping[str, Sequence[Label]], metrics: Sequence[str]) -> FigureSpec:
        """The same figure with its defaults: the metric, `x` and `y`.

        Raises:
            FigureError: an axis with several labels is neither shown nor chosen from.
        """
        single = {axis for axis, chosen in self.where if len(chosen) == 1}
        used = {getattr(self, k) for k in ("x", "y", "lines", "columns", "rows")} | set(self.over) | single
        free = [a for a, labels in axes.items() if a not in used and len(labels) > 1]
        given: dict[str, Any] = {}
        for key in ("x", "y"):
            if self.kind in _ONLY[key] and getattr(self, key) is None:
                if not (found := free or [a for a in axes if a not in used]):
                    raise self.error(key, f"no axis is left for '{key}'", "name one, or use fewer of them elsewhere")
                given[key] = found[0]
                used.add(found[0])
                free = free[1:]
        if free and self.kind != "rank":
            places = "'lines', 'columns' or 'rows'" if self.kind != "heat" else "'columns' or 'rows'"
            pooled = f", pool it with over = ['{free[0]}']" if self.kind == "cdf" else ""
            raise self.error(
                "",
                f"axis '{free[0]}' has {len(axes[free[0]])} labels and the figure shows it nowhere",
                f"put it in {places}{pooled}, or choose a label: where = {{ {free[0]} = ... }}",
            )
        if not self.metric and self.column is None:
            given["metric"] = tuple(metrics[:1])
        return _replaced(self, given)

    def chosen(self, axis: str) -> tuple[Label, ...] | None:
        """The labels of an axis that are shown; None: all."""
        return dict(self.where).get(axis)

    def error(self, key: str, what: str, help: str) -> FigureError:
        """A mistake at a key of this figure."""
        return _error(self.name, key, what, help)

    def _unknown(self, key: str, word: str, known: Sequence[str], what: str = "") -> FigureError:
        near = get_close_matches(word, known, 1)
        meant = f"did you mean '{near[0]}'? " if near else ""
        message = f"the campaign has no {what} '{word}'" if what else f"'{key}' is not '{word}'"
        return self.error(key, message, f"{meant}there are: {', '.join(known) or 'none'}")

    def _each_axis_once(self) -> None:
        seen: dict[str, str] = {}
        places = [(k, getattr(self, k)) for k in ("x", "y", "lines", "columns", "rows")]
        for key, axis in [*places, *(("over", a) for a in self.over)]:
            if axis is None:
                continue
            if axis in seen:
                raise self.error(key, f"axis '{axis}' is '{seen[axis]}' already", "an axis has one place in a figure")
            seen[axis] = key


class _Reader:
    """Reads the plain values of a table."""

    def __init__(self, name: str, table: Mapping[str, Any]) -> None:
        self.name, self.table = name, table

    def spec(self) -> FigureSpec:
        for key in self.table:
            if key not in _NAMES:
                near = get_close_matches(str(key), _NAMES, 1)
                meant = f"did you mean '{near[0]}'? " if near else ""
                raise self.error(str(key), f"a figure has no key '{key}'", f"{meant}keys are: {', '.join(_NAMES)}")
        if "kind" not in self.table:
            raise self.error("kind", "the figure has no kind", f"kinds are: {', '.join(_KINDS)}")
        texts = ("kind", "x", "y", "lines", "columns", "rows", "column", "width", "x_scale", "y_scale", "colour_scale")
        labels = ("x_label", "y_label", "caption")
        given: dict[str, Any] = {key: self.text(key) for key in (*texts, *labels) if key in self.table}
        for key in ("metric", "over"):
            if key in self.table:
                given[key] = self.texts(key)
        if "where" in self.table:
            given["where"] = self.where()
        if "level" in self.table:
            given["level"] = self.share("level")
        if "height" in self.table:
            given["height"] = self.length("height")
        return FigureSpec(name=self.name, **given)

    def text(self, key: str) -> str:
        value = self.table[key]
        if not isinstance(value, str):
            raise self.error(key, f"'{key}' is a text, not {_kind(value)}", "put it in quotes")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.table[key]
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)) or not all(isinstance(v, str) for v in items):
            raise self.error(
                key, f"'{key}' is a text or a list of texts, not {_kind(value)}", f'{key} = ["one", "two"]'
            )
        return tuple(items)

    def where(self) -> tuple[tuple[str, tuple[Label, ...]], ...]:
        value = self.table["where"]
        if not isinstance(value, Mapping):
            raise self.error("where", f"'where' is a table, not {_kind(value)}", "where = { axis = 'label' }")
        chosen = []
        for axis, labels in value.items():
            items = labels if isinstance(labels, (list, tuple)) else [labels]
            if not items or not all(isinstance(v, (str, int, float)) for v in items):
                raise self.error(f"where.{axis}", "it is a label or a list of labels", "where = { axis = ['a', 'b'] }")
            chosen.append((str(axis), tuple(items)))
        return tuple(chosen)

    def share(self, key: str) -> float:
        value = self.table[key]
        number = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*%\s*", value) if isinstance(value, str) else None
        if number is not None:
            return round(float(number[1]) / 100, 12)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
        raise self.error(key, f"'{key}' is a share, not {_kind(value)}", f"{key} = '95 %', or 0.95")

    def length(self, key: str) -> float:
        value = self.table[key]
        found = _MM.match(value) if isinstance(value, str) else None
        if found is None:
            raise self.error(key, f"'{key}' is a length, not {_kind(value)}", f"{key} = '60 mm'; units are mm, cm, in")
        return float(found[1]) * _TO_MM[found[2]]

    def error(self, key: str, what: str, help: str) -> FigureError:
        return _error(self.name, key, what, help)


def _error(name: str, key: str, what: str, help: str) -> FigureError:
    place = f"figure.{name}" + (f".{key}" if key else "")
    error = FigureError(f"error: {place}: {what}\n  help: {help}")
    error.key, error.what, error.help = place, what, help
    error.diagnostics = [diagnostic(f"{place}: {what}", help, place)]
    return error


def _replaced(spec: FigureSpec, given: Mapping[str, Any]) -> FigureSpec:
    return replace(spec, **given) if given else spec


def _kinds_of(kinds: Sequence[str]) -> str:
    return f"it is for the kinds {', '.join(kinds)}"


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return f"'{value[:40]}'"
    if isinstance(value, (int, float)):
        return f"{value!r}"
    return "a table" if isinstance(value, Mapping) else "a list" if isinstance(value, (list, tuple)) else "this"
