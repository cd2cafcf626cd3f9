"""Draws a figure of a campaign from its results table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from textwrap import wrap
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from lasthop._errors import mistake
from lasthop.campaign.figures import _panels
from lasthop.campaign.figures._quantities import (
    Positions,
    measured,
    positions,
    shown_unit,
    text,
    title,
    with_unit,
)
from lasthop.campaign.figures._spec import WIDTHS, FigureSpec
from lasthop.campaign.ranking import Ranked, ranking
from lasthop.campaign.tidy import Estimate, Label, Labels, Tidy, plain, student_estimate, tidy
from lasthop.plot._style import Figure

#: More curves, panels or cells than these cannot be told apart.
MOST_CURVES = 14
MOST_PANELS = 60
MOST_RANKED = 60
#: Runs from which on a distribution over runs has a band: at 95 % it is then 0.25 to either side.
LEAST_BANDED = 30
#: Points along a curve of a distribution.
_CURVE_POINTS = 800


def draw(spec: FigureSpec, results: Any) -> Figure:
    """`lasthop.campaign.figures.draw`."""
    data = tidy(results)
    spec.check(data.axes, list(data.units))
    for axis, labels in spec.where:
        data = data.where(axis, labels)
    spec = spec.completed(data.axes, list(data.units))
    with _panels.style():
        if spec.kind == "heat":
            return _Heat(spec, data).figure()
        if spec.kind == "cdf":
            return _Distribution(spec, data, results).figure()
        if spec.kind == "rank":
            return _rank(spec, data)
        return _Lines(spec, data).figure()


@dataclass(frozen=True)
class _Place:
    """What a panel shows."""

    row: int
    column: int
    metric: str
    row_label: Label | None
    column_label: Label | None


class _Panelled:
    """A figure of panels by metric, or label of an axis, and label of another axis."""

    def __init__(self, spec: FigureSpec, data: Tidy) -> None:
        self.spec, self.data = spec, data
        self.row_labels: Sequence[Label | None] = data.axes[spec.rows] if spec.rows else [None]
        self.column_labels: Sequence[Label | None] = data.axes[spec.columns] if spec.columns else [None]
        self.metrics: Sequence[str] = spec.metric or ("",)
        rows = len(self.metrics) * len(self.row_labels)
        if rows * len(self.column_labels) > MOST_PANELS:
            key = "rows" if spec.rows else "columns"
            raise spec.error(key, f"{rows * len(self.column_labels)} panels", f"at most {MOST_PANELS} fit a figure")
        self.curve_labels: Sequence[Label | None] = data.axes[spec.lines] if spec.lines else [None]
        if len(self.curve_labels) > MOST_CURVES:
            raise spec.error("lines", f"{len(self.curve_labels)} curves", f"at most {MOST_CURVES} can be told apart")
        self.rows = rows

    @property
    def width(self) -> float:
        return WIDTHS[self.spec.width]

    def places(self) -> list[_Place]:
        rows = list(product(self.metrics, self.row_labels))
        return [
            _Place(i, j, metric, label, column)
            for i, (metric, label) in enumerate(rows)
            for j, column in enumerate(self.column_labels)
        ]

    def above(self) -> float:
        """Height of the legend [mm]."""
        if self.spec.lines is None:
            return 0.0
        return 4.0 * _panels.legend_rows([text(v) for v in self.curve_labels if v is not None], self.width)

    def shared(self) -> str:
        """Which panels share the axis of a metric: all of one metric."""
        return "row" if len(self.metrics) > 1 else "all"

    def add_legend(self, grid: _panels.Grid, joined: bool = True, marked: bool = True) -> None:
        """The legend of the curves, which are `joined` by lines and `marked` by markers."""
        if self.spec.lines is None or len(self.curve_labels) < 2:
            return
        without: dict[str, Any] = {**({} if joined else {"linestyle": ""}), **({} if marked else {"marker": ""})}
        handles = [Line2D([], [], **{**_panels.curve(i), **without}) for i in range(len(self.curve_labels))]
        texts = [text(v) for v in self.curve_labels if v is not None]
        name = title(self.spec.lines, self.data.axis_units[self.spec.lines])
        _panels.legend(grid.figure, handles, texts, name, self.width)

    def panel_titles(self, axes: Axes, place: _Place) -> None:
        """The label of a column above its first panel, that of a row beside its last one."""
        if place.column_label is not None and place.row == 0:
            axes.set_title(self._named(self.spec.columns, place.column_label))
        if place.row_label is not None and place.column == len(self.column_labels) - 1:
            axes.annotate(
                self._named(self.spec.rows, place.row_label),
                (1.02, 0.5),
                xycoords="axes fraction",
                rotation=-90,
                va="center",
                ha="left",
            )

    def x_title(self, axes: Axes, place: _Place, name: str, panel_mm: float) -> None:
        """The title of the horizontal axis: below each panel, or below the middle one where it is wider than one."""
        shown = self.spec.x_label or name
        columns = len(self.column_labels)
        if len(shown) * _panels.LETTER <= panel_mm or place.column == columns // 2:
            axes.set_xlabel(shown)

    def _named(self, axis: str | None, label: Label) -> str:
        return f"{title(str(axis), '')}: {with_unit(label, self.data.axis_units[str(axis)])}"


class _Lines(_Panelled):
    """Mean and interval along an axis."""

    def __init__(self, spec: FigureSpec, data: Tidy) -> None:
        super().__init__(spec, data)
        self.x = str(spec.x)
        #: Means and ends of intervals by metric, in the unit that is shown.
        self.drawn: dict[str, list[float]] = {}
        self.places_of_x = positions(data.axes[self.x], data.axis_units[self.x])
        auto = "log" if self.places_of_x.by_factor else "linear"
        self.x_scale = auto if spec.x_scale == "auto" else spec.x_scale
        self.y_scale = "linear" if spec.y_scale == "auto" else spec.y_scale
        if self.x_scale == "log" and (not self.places_of_x.numeric or min(self.places_of_x.at) <= 0):
            raise spec.error("x_scale", f"axis '{self.x}' has labels that are not above 0", "x_scale = 'linear'")

    def figure(self) -> Figure:
        columns = len(self.column_labels)
        turned = _panels.turned_mm(self.places_of_x, _panels.panel_width(self.spec, columns))
        grid = _panels.grid(self.spec, self.rows, columns, above=self.above() + turned, sharey=self.shared())
        estimates = {m: self.data.estimates(m, self.spec.level) for m in self.metrics}
        single = False
        for metric in self.metrics:
            factor, unit = shown_unit(self.data.units[metric], _largest(estimates[metric].values()))
            for place in (p for p in self.places() if p.metric == metric):
                axes = grid.panels[place.row][place.column]
                axes.grid(True)
                single |= self._panel(axes, place, estimates[metric], factor)
                self.panel_titles(axes, place)
                if place.column == 0:
                    axes.set_ylabel(self.spec.y_label or title(metric, unit))
                if place.row == self.rows - 1:
                    self.x_title(axes, place, title(self.x, self.places_of_x.unit), grid.panel_mm)
                _panels.label_ticks(axes.xaxis, self.x_scale, self.places_of_x, grid.panel_mm)
            for place in (p for p in self.places() if p.metric == metric and p.column == 0):
                self._vertical(grid.panels[place.row][0], metric, unit)
        self.add_legend(grid, joined=self.places_of_x.numeric)
        if single:
            grid.figure.supxlabel("open markers: one seed, no interval", fontsize=_panels.POINTS, ha="right", x=0.99)
        return grid.figure

    def _panel(self, axes: Axes, place: _Place, estimates: Mapping[Labels, Estimate], factor: float) -> bool:
        """Draws the curves; whether one has a point without interval."""
        if self.x_scale == "log":
            axes.set_xscale("log")
        if self.y_scale == "log":
            axes.set_yscale("log", nonpositive="mask")
        single = False
        for i, label in enumerate(self.curve_labels):
            found = self._along_x(estimates, place, label)
            at = np.array(self.places_of_x.at)
            order = np.argsort(at, kind="stable")
            at, found = at[order], [found[k] for k in order]
            mean = np.array([math.nan if e is None else e.mean for e in found]) * factor
            low = np.array([math.nan if e is None or not e.bounded else e.low for e in found]) * factor
            high = np.array([math.nan if e is None or not e.bounded else e.high for e in found]) * factor
            single |= self._curve(axes, i, at, mean, low, high)
            self.drawn.setdefault(place.metric, []).extend(v for v in (*mean, *low, *high) if math.isfinite(v))
        axes.margins(x=0.08 if self.places_of_x.numeric else 0.12)
        return single

    def _along_x(
        self, estimates: Mapping[Labels, Estimate], place: _Place, label: Label | None
    ) -> list[Estimate | None]:
        fixed = {self.spec.rows: place.row_label, self.spec.columns: place.column_label, self.spec.lines: label}
        names = self.data.axis_names
        found: list[Estimate | None] = []
        for x in self.data.axes[self.x]:
            wanted = {**fixed, self.x: x}
            key = tuple(wanted[n] if n in wanted else self.data.axes[n][0] for n in names)
            found.append(estimates.get(key))  # type: ignore[arg-type]
        return found

    def _curve(self, axes: Axes, index: int, at: Any, mean: Any, low: Any, high: Any) -> bool:
        look = _panels.curve(index)
        bounded = np.isfinite(low)
        if self.y_scale == "log":
            low = np.where(bounded & (low <= 0), mean / 1e6, low)  # as far down as the axis goes
        if self.places_of_x.numeric:
            axes.plot(at, mean, clip_on=False, zorder=3, **look)
            axes.fill_between(at, low, high, where=bounded, color=look["color"], alpha=0.2, lw=0, zorder=1)
            lone = bounded & ~np.isfinite(np.r_[np.nan, mean[:-1]]) & ~np.isfinite(np.r_[mean[1:], np.nan])
            if lone.any():
                _bars(axes, at[lone], mean[lone], low[lone], high[lone], look)
        else:
            # Labels have no order, so no line joins them; curves stand side by side.
            beside = 0.7 / len(self.curve_labels)
            at = at + (index - (len(self.curve_labels) - 1) / 2) * beside
            axes.plot(at, mean, clip_on=False, zorder=3, **{**look, "linestyle": ""})
            _bars(axes, at[bounded], mean[bounded], low[bounded], high[bounded], look)
        open_ = np.isfinite(mean) & ~bounded
        if open_.any():
            axes.plot(at[open_], mean[open_], **{**look, "linestyle": ""}, mfc="white", clip_on=False, zorder=4)
        return bool(open_.any())

    def _vertical(self, axes: Axes, metric: str, unit: str) -> None:
        """Limits and ticks of a metric's axis: a linear one begins at 0 unless all is far above it."""
        finite = self.drawn.get(metric, [])
        if not finite:
            return
        low, high = min(finite), max(finite)
        if self.y_scale == "log":
            positive = [v for v in finite if v > 0]
            if positive:
                low, high = min(positive), max(positive)
                axes.set_ylim(low / (high / low) ** 0.06 / 1.05, high * (high / low) ** 0.06 * 1.05)
                _panels.value_ticks(axes.yaxis, "log", unit, low, high)
            return
        if low >= 0 and low < 0.6 * high:
            axes.set_ylim(0, high * 1.06)
        else:
            room = (high - low or abs(high) or 1.0) * 0.08
            axes.set_ylim(low - room, high + room)
        _panels.value_ticks(axes.yaxis, "linear", unit, *axes.get_ylim())


class _Heat(_Panelled):
    """The mean over two axes, as colours with their values."""

    def figure(self) -> Figure:
        x, y = (self.data.axes[str(a)] for a in (self.spec.x, self.spec.y))
        along, up = (
            positions(self.data.axes[a], self.data.axis_units[a]) for a in map(str, (self.spec.x, self.spec.y))
        )
        grid = _panels.grid(
            self.spec,
            self.rows,
            len(self.column_labels),
            row_mm=min(120.0, max(24.0, 6.5 * len(y) + 6)),
            above=_panels.turned_mm(along, _panels.panel_width(self.spec, len(self.column_labels))),
            sharey="all",
        )
        for metric in self.metrics:
            estimates = self.data.estimates(metric, self.spec.level)
            factor, unit = shown_unit(self.data.units[metric], _largest(estimates.values()))
            means = [e.mean * factor for e in estimates.values() if math.isfinite(e.mean)]
            norm = self._norm(means)
            panels = [p for p in self.places() if p.metric == metric]
            for place in panels:
                axes = grid.panels[place.row][place.column]
                cells = self._cells(estimates, place, factor)
                mesh = self._panel(axes, cells, norm, grid.panel_mm / len(x))
                self.panel_titles(axes, place)
                _panels.label_ticks(axes.xaxis, "linear", _in_order(along), grid.panel_mm)
                _panels.label_ticks(axes.yaxis, "linear", _in_order(up), 1e3, vertical=True)
                # Quantities grow upwards; other labels are read from the top.
                axes.set_ylim((0, len(y)) if up.numeric else (len(y), 0))
                if place.row == self.rows - 1:
                    self.x_title(axes, place, title(str(self.spec.x), along.unit), grid.panel_mm)
                if place.column == 0:
                    axes.set_ylabel(self.spec.y_label or title(str(self.spec.y), up.unit))
            whole = [grid.panels[p.row][p.column] for p in panels]
            bar = grid.figure.colorbar(mesh, ax=whole, pad=0.02, aspect=18, fraction=0.08)
            bar.set_label(title(metric, unit))
            bar.outline.set_visible(False)
            scale = "log" if isinstance(norm, LogNorm) else "linear"
            height = 4 if len(y) < 6 else 6
            _panels.value_ticks(bar.ax.yaxis, scale, unit, norm.vmin or 0.0, norm.vmax or 1.0, height)
            bar.ax.yaxis.set_minor_locator(NullLocator())
        return grid.figure

    def _norm(self, means: Sequence[float]) -> Normalize:
        low, high = min(means, default=0.0), max(means, default=1.0)
        if self.spec.colour_scale != "log":
            return Normalize(low, high)
        if low <= 0:
            raise self.spec.error("colour_scale", f"a mean is {low:g}, not above 0", "colour_scale = 'linear'")
        return LogNorm(low, high)

    def _cells(self, estimates: Mapping[Labels, Estimate], place: _Place, factor: float) -> Any:
        names = self.data.axis_names
        x, y = str(self.spec.x), str(self.spec.y)
        cells = np.full((len(self.data.axes[y]), len(self.data.axes[x])), math.nan)
        for (i, v), (j, u) in product(enumerate(self.data.axes[y]), enumerate(self.data.axes[x])):
            wanted = {self.spec.rows: place.row_label, self.spec.columns: place.column_label, x: u, y: v}
            key: Any = tuple(wanted[n] if n in wanted else self.data.axes[n][0] for n in names)
            if (found := estimates.get(key)) is not None:
                cells[i, j] = found.mean * factor
        return cells

    def _panel(self, axes: Axes, cells: Any, norm: Normalize, cell_mm: float) -> Any:
        axes.set_facecolor("#d9d9d9")  # a cell without value
        mesh = axes.pcolormesh(np.ma.masked_invalid(cells), cmap="cividis", norm=norm, edgecolors="white", lw=0.5)
        mesh.set_rasterized(False)
        for side in axes.spines.values():
            side.set_visible(False)
        axes.tick_params(length=0)
        texts = [[_three(v) for v in row] for row in cells]
        if max((len(t) for row in texts for t in row), default=0) * _panels.LETTER <= 0.95 * cell_mm:
            for (i, j), value in np.ndenumerate(cells):
                if math.isfinite(value):
                    dark = norm(value) < 0.5
                    axes.text(j + 0.5, i + 0.5, texts[i][j], ha="center", va="center", color="w" if dark else "k")
        return mesh


class _Distribution(_Panelled):
    """Cumulative distributions over runs, or over the rows of a kept table."""

    def __init__(self, spec: FigureSpec, data: Tidy, results: Any) -> None:
        super().__init__(spec, data)
        self.results = results
        self.x_scale = "linear" if spec.x_scale == "auto" else spec.x_scale

    def figure(self) -> Figure:
        grid = _panels.grid(self.spec, self.rows, len(self.column_labels), above=self.above(), sharex=self.shared())
        for metric in self.metrics:
            groups, name, base = self._groups(metric)
            values = [v for runs in groups.values() for v in runs if len(v)]
            largest = max((float(np.max(np.abs(v))) for v in values), default=0.0)
            factor, unit = shown_unit(base, largest)
            for place in (p for p in self.places() if p.metric == metric):
                axes = grid.panels[place.row][place.column]
                axes.grid(True)
                if self.x_scale == "log":
                    axes.set_xscale("log")
                for i, label in enumerate(self.curve_labels):
                    key = (place.row_label, place.column_label, label)
                    self._curve(axes, i, [v * factor for v in groups.get(key, [])])
                self.panel_titles(axes, place)
                axes.set_ylim(0, 1.02)
                axes.margins(x=0.03)
                if place.column == 0:
                    axes.set_ylabel(self.spec.y_label or ("share of rows" if self.spec.column else "share of runs"))
                if place.row == self.rows - 1 or len(self.metrics) > 1:
                    self.x_title(axes, place, title(name, unit), grid.panel_mm)
                    axes.xaxis.set_tick_params(labelbottom=True)
                low, high = axes.get_xlim()
                _panels.value_ticks(axes.xaxis, self.x_scale, unit, low, high, max(3, int(grid.panel_mm / 13)))
        self.add_legend(grid, marked=False)
        return grid.figure

    def _groups(self, metric: str) -> tuple[dict[Any, list[Any]], str, str]:
        """The values of each curve by run: of a metric one a run, of a kept table many."""
        if self.spec.column is None:
            of: dict[Any, list[Any]] = {}
            for key, runs in self.data.samples(metric).items():
                values = [v for v in runs.values() if v is not None]
                of.setdefault(self._curve_of(key), []).extend(np.array([v]) for v in values)
            return of, metric, self.data.units[metric]
        name, _, column = self.spec.column.partition(".")
        if not hasattr(self.results, "kept"):
            raise mistake(f"table '{name}' is not at hand", "draw from the results of a campaign, not from a table")
        rows: pa.Table = self.results.kept(name)
        if column not in rows.column_names:
            raise self.spec.error(
                "column", f"table '{name}' has no '{column}'", f"it has: {', '.join(rows.column_names)}"
            )
        return self._rows_by_run(rows, column), column, _unit(rows, column)

    def _rows_by_run(self, rows: pa.Table, column: str) -> dict[Any, list[Any]]:
        for axis, labels in self.spec.where:
            there = plain(rows[axis])
            rows = rows.filter(pc.is_in(there, value_set=pa.array(list(labels), type=there.type)))
        names = [*self.data.axis_names, "seed"]
        keys = list(zip(*(plain(rows[n]).to_pylist() for n in names), strict=True))
        values = rows[column].cast(pa.float64()).to_numpy(zero_copy_only=False)
        codes: dict[Any, int] = {}
        of_row = np.array([codes.setdefault(k, len(codes)) for k in keys], dtype=np.int64)
        order = np.argsort(of_row, kind="stable")
        bounds = np.searchsorted(of_row[order], np.arange(len(codes) + 1))
        groups: dict[Any, list[Any]] = {}
        for key, code in codes.items():
            mine = values[order[bounds[code] : bounds[code + 1]]]
            groups.setdefault(self._curve_of(key[:-1]), []).append(mine[np.isfinite(mine)])
        return groups

    def _curve_of(self, key: Labels) -> tuple[Label | None, ...]:
        of = dict(zip(self.data.axis_names, key, strict=True))
        return tuple(of[a] if a else None for a in (self.spec.rows, self.spec.columns, self.spec.lines))

    def _curve(self, axes: Axes, index: int, runs: list[Any]) -> None:
        runs = [np.sort(r) for r in runs if len(r)]
        if not runs:
            return
        look = {k: v for k, v in _panels.curve(index).items() if k != "marker"}
        pooled = np.sort(np.concatenate(runs))
        if len(pooled) > _CURVE_POINTS:
            pooled = np.quantile(pooled, np.linspace(0, 1, _CURVE_POINTS), method="inverted_cdf")
        at = np.unique(pooled)
        # Each run weighs alike, however many rows it has.
        shares = np.array([np.searchsorted(r, at, side="right") / len(r) for r in runs])
        share = shares.mean(axis=0)
        axes.plot(np.r_[at[0], at], np.r_[0.0, share], drawstyle="steps-post", clip_on=True, zorder=3, **look)
        if band := self._band(shares, share):
            axes.fill_between(at, *band, step="post", color=look["color"], alpha=0.2, lw=0, zorder=1)

    def _band(self, shares: Any, share: Any) -> tuple[Any, Any] | None:
        """The interval of each share.

        Over runs: the band of Dvoretzky, Kiefer and Wolfowitz with Massart's constant (Annals of Probability 18, 1990,
        1269-1283), sqrt(ln(2 / alpha) / 2 n), which covers the whole curve; none for few runs, where it is wider
        than half of the figure, nor where the runs of several points are pooled. Over rows, which depend on each
        other: the Student interval of the runs' shares, at each value for itself.
        """
        n = len(shares)
        if n < 2 or (self.spec.column is None and (self.spec.over or n < LEAST_BANDED)):
            return None
        if self.spec.column is None:
            half = math.sqrt(math.log(2 / (1 - self.spec.level)) / (2 * n))
            return np.clip(share - half, 0, 1), np.clip(share + half, 0, 1)
        found = [student_estimate(column, self.spec.level) for column in shares.T]
        return np.clip([e.low for e in found], 0, 1), np.clip([e.high for e in found], 0, 1)


def _rank(spec: FigureSpec, data: Tidy) -> Figure:
    """Points sorted by their mean, with intervals; a column of panels for each metric."""
    metrics = spec.metric
    first = ranking(data, metrics[0], spec.level)
    rows = [r for r in first if math.isfinite(r.estimate.mean)]
    if not rows:
        raise spec.error("metric", f"no run has a value of '{metrics[0]}'", "see the failures of the campaign")
    kept, between = _ends(rows)
    varying = [i for i, a in enumerate(data.axis_names) if len(data.axes[a]) > 1] or list(range(len(data.axis_names)))
    units = [data.axis_units[a] for a in data.axis_names]
    names = [" · ".join(with_unit(r.labels[i], units[i]) for i in varying) for r in kept]
    # Names take at most half of a figure with one metric, and less beside several.
    most = max(12, int(WIDTHS[spec.width] * (0.5 if len(metrics) == 1 else 0.3) / _panels.LETTER))
    names = ["\n".join(wrap(name, most)) for name in names]
    lines = max(name.count("\n") + 1 for name in names)
    row = (4.2 if lines == 1 else 3.6 * lines + 1) * (len(kept) + bool(between)) + 6
    grid = _panels.grid(spec, 1, len(metrics), row_mm=row, sharex="none", sharey="none")
    at = [float(i + (1 if between and i >= len(kept) // 2 else 0)) for i in range(len(kept))]
    for j, metric in enumerate(metrics):
        axes = grid.panels[0][j]
        of = data.estimates(metric, spec.level)
        found = [of[r.labels] for r in kept]
        factor, unit = shown_unit(data.units[metric], _largest(found))
        _ranked_panel(axes, at, found, factor, "log" if spec.x_scale == "log" else "linear")
        axes.set_xlabel(spec.x_label if spec.x_label and j == 0 else title(metric, unit))
        low, high = axes.get_xlim()
        _panels.value_ticks(axes.xaxis, "log" if spec.x_scale == "log" else "linear", unit, low, high, 4)
        axes.set_yticks(at, names if j == 0 else [""] * len(at))
        axes.set_ylim(max(at) + 0.7, -0.7)
        axes.tick_params(axis="y", length=0)
        if between:
            axes.text(
                0.5, len(kept) // 2, f"{between} more", ha="center", va="center", transform=axes.get_yaxis_transform()
            )
        _values_beside(axes, at, found, factor)
    return grid.figure


def _ranked_panel(axes: Axes, at: Sequence[float], found: Sequence[Estimate], factor: float, scale: str) -> None:
    axes.grid(True, axis="x")
    if scale == "log":
        axes.set_xscale("log", nonpositive="mask")
    look = _panels.curve(0)
    for y, e in zip(at, found, strict=True):
        if e.bounded:
            axes.plot([e.low * factor, e.high * factor], [y, y], color=look["color"], lw=1.2, solid_capstyle="butt")
        face = look["color"] if e.bounded else "white"
        axes.plot([e.mean * factor], [y], "o", color=look["color"], mfc=face, clip_on=False, zorder=3)
    if scale == "linear" and all(e.mean >= 0 for e in found if math.isfinite(e.mean)):
        low = min((e.low * factor for e in found if e.bounded), default=0.0)
        axes.set_xlim(left=min(0.0, low))


def _values_beside(axes: Axes, at: Sequence[float], found: Sequence[Estimate], factor: float) -> None:
    for y, e in zip(at, found, strict=True):
        axes.annotate(
            measured(e.mean * factor, e.low * factor, e.high * factor),
            (1.02, y),
            xycoords=axes.get_yaxis_transform(),
            va="center",
            ha="left",
            annotation_clip=False,
        )


def _ends(rows: Sequence[Ranked]) -> tuple[list[Ranked], int]:
    """The rows shown, the first and last where there are many, and how many are left out between them."""
    if len(rows) <= MOST_RANKED:
        return list(rows), 0
    half = MOST_RANKED // 2
    return [*rows[:half], *rows[-half:]], len(rows) - 2 * half


def _bars(axes: Axes, at: Any, mean: Any, low: Any, high: Any, look: Mapping[str, Any]) -> None:
    axes.errorbar(at, mean, [mean - low, high - mean], fmt="none", ecolor=look["color"], elinewidth=0.9, capsize=1.8)


def _in_order(own: Positions) -> Positions:
    """The labels as cells of equal size, each at its middle."""
    return Positions(tuple(i + 0.5 for i in range(len(own.texts))), own.texts, own.unit, False, False)


def _largest(estimates: Any) -> float:
    return max((abs(e.mean) for e in estimates if math.isfinite(e.mean)), default=0.0)


def _three(value: float) -> str:
    """Three significant digits, for a cell."""
    if not math.isfinite(value):
        return ""
    if value == 0 or abs(value) >= 99.95:
        return f"{value:.0f}" if abs(value) < 1e6 else f"{value:.2e}"
    return f"{value:#.3g}" if abs(value) >= 1e-3 else f"{value:.2e}"


def _unit(table: pa.Table, column: str) -> str:
    metadata = table.schema.field(column).metadata or {}
    return str((metadata.get(b"unit") or b"1").decode()) or "1"
