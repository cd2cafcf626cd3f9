"""Draws a figure of a campaign from its results table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from lasthop._errors import mistake
from lasthop.campaign.figures import _panels, _quantities
from lasthop.campaign.figures._letters import POINTS, broken, drawable, line_count, widest_mm, width_mm
from lasthop.campaign.figures._quantities import Positions, measured, shown_unit
from lasthop.campaign.figures._spec import WIDTHS, FigureSpec
from lasthop.campaign.ranking import Ranked, ranking
from lasthop.campaign.tidy import Estimate, Label, Labels, Tidy, plain, stopped_estimate, student_estimate, tidy
from lasthop.plot._style import Figure

#: More curves, panels or cells than these cannot be distinguished.
MOST_CURVES = 14
MOST_PANELS = 60
MOST_RANKED = 60
#: Narrower panels of a ranking have no numbers beside them [mm].
LEAST_RANKED_PANEL_MM = 18.0
#: Height of a ranking, at most [mm]: that of the text of a page.
MOST_RANKED_MM = 230.0
#: Runs from which on a distribution over runs has a band: at 95 % it is then 0.25 to either side.
LEAST_BANDED = 30
#: Points along a curve of a distribution.
_CURVE_POINTS = 800
#: Room around the number of a cell [mm].
_ROOM = 0.8


def draw(spec: FigureSpec, results: Any) -> Figure:
    """`lasthop.campaign.figures.draw`."""
    data = tidy(results)
    spec.check(data.axes, list(data.units))
    for axis, labels in spec.where:
        data = data.where(axis, labels)
    spec = spec.completed(data.axes, list(data.units))
    for word in (*data.axis_names, *(str(label) for labels in data.axes.values() for label in labels), *spec.metric):
        drawable(word)  # other fonts that are needed are known before the style is set
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
            raise spec.error("lines", f"{len(self.curve_labels)} curves", f"at most {MOST_CURVES} can be distinguished")
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
        """Height of legend and titles above the panels, beyond one line [mm]."""
        rows = 0
        if self.spec.lines is not None:
            name = title(self.spec.lines, self.data.axis_units[self.spec.lines])
            rows += _panels.legend_rows([text(v) for v in self.curve_labels if v is not None], name, self.width)
        if self.spec.columns is not None:
            head, labels = self.column_titles(_panels.panel_width(self.spec, len(self.column_labels), self.beside_mm))
            rows += line_count(labels[0]) - 1 + (line_count(head) if head else 0)
        return 4.0 * rows

    @property
    def beside_mm(self) -> float:
        """Width of what stands beside the panels, about [mm]."""
        return 14.0

    def column_titles(self, panel_mm: float) -> tuple[str, list[str]]:
        """What stands above all panels, and the titles of the columns.

        The titles have equally many lines.
        """
        axis = str(self.spec.columns)
        labels = [with_unit(v, self.data.axis_units[axis]) for v in self.column_labels if v is not None]
        whole = [f"{title(axis, '')}: {label}" for label in labels]
        if widest_mm(whole) <= panel_mm:
            return "", whole
        lines = [broken(label, panel_mm) for label in labels]
        most = max(map(line_count, lines))
        return broken(f"{title(axis, '')}:", self.width - 20), [t + "\n" * (most - line_count(t)) for t in lines]

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

    def panel_titles(self, axes: Axes, place: _Place, grid: _panels.Grid) -> None:
        """The label of a column above its first panel, that of a row beside its last one."""
        if place.column_label is not None and place.row == 0:
            head, labels = self.column_titles(grid.panel_mm)
            axes.set_title(labels[place.column])
            if head and place.column == 0:
                axes.set_title(head + "\n" * line_count(labels[0]), loc="left")
        if place.row_label is not None and place.column == len(self.column_labels) - 1:
            named = f"{title(str(self.spec.rows), '')}: {with_unit(place.row_label, self._unit(self.spec.rows))}"
            axes.annotate(
                broken(named, 0.85 * grid.row_mm),
                (1.02, 0.5),
                xycoords="axes fraction",
                rotation=-90,
                va="center",
                ha="left",
                multialignment="center",
            )

    def x_title(self, axes: Axes, place: _Place, name: str, panel_mm: float) -> None:
        """The title of the horizontal axis: below each panel if it is narrower than one.

        A wider one is below the middle panel.
        """
        shown = drawable(self.spec.x_label or name)
        columns = len(self.column_labels)
        if width_mm(shown) <= panel_mm:
            axes.set_xlabel(shown)
        elif place.column == columns // 2:
            # A middle panel is in the middle of the figure, that right of the middle has less room
            # on its right.
            axes.set_xlabel(broken(shown, self.width - 16 if columns % 2 else panel_mm * max(1, columns - 1)))

    def y_title(self, axes: Axes, name: str, grid: _panels.Grid) -> None:
        """The title of the vertical axis, in lines that fit the panel."""
        axes.set_ylabel(broken(drawable(self.spec.y_label or name), 0.85 * grid.row_mm))

    def _unit(self, axis: str | None) -> str:
        return self.data.axis_units[str(axis)]


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
        estimates = {m: _drawn_estimates(self.data, m, self.spec.level) for m in self.metrics}
        single = False
        for metric in self.metrics:
            factor, unit = shown_unit(self.data.units[metric], _largest(estimates[metric].values()))
            for place in (p for p in self.places() if p.metric == metric):
                axes = grid.panels[place.row][place.column]
                axes.grid(True)
                single |= self._panel(axes, place, estimates[metric], factor)
                self.panel_titles(axes, place, grid)
                if place.column == 0:
                    self.y_title(axes, title(metric, unit), grid)
                if place.row == self.rows - 1:
                    self.x_title(axes, place, title(self.x, self.places_of_x.unit), grid.panel_mm)
                _panels.label_ticks(axes.xaxis, self.x_scale, self.places_of_x, grid.panel_mm)
            for place in (p for p in self.places() if p.metric == metric and p.column == 0):
                self._vertical(grid.panels[place.row][0], metric, unit)
        self.add_legend(grid, joined=self.places_of_x.numeric)
        grid.figure.align_ylabels()
        if single:
            grid.figure.supxlabel("open markers: one seed, no interval", fontsize=POINTS, ha="right", x=0.99)
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
        """Limits and ticks of a metric's axis.

        A linear one begins at 0 unless all is far above it.
        """
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

    @property
    def beside_mm(self) -> float:
        """Width of the colour bar and of what stands left of the panels, about [mm]."""
        return 26.0 + widest_mm(self.up.texts)

    def figure(self) -> Figure:
        columns = len(self.column_labels)
        panel = _panels.panel_width(self.spec, columns, self.beside_mm)
        grid = _panels.grid(
            self.spec,
            self.rows,
            columns,
            row_mm=min(120.0, max(24.0, self._cell_mm(panel / len(self.along.at)) * len(self.up.at) + 6)),
            above=self.above() + _panels.turned_mm(self.along, panel),
            sharey="all",
            beside=self.beside_mm,
        )
        shown: list[tuple[Axes, Any, Normalize]] = []
        for metric in self.metrics:
            estimates = self.data.estimates(metric, self.spec.level)
            factor, unit = shown_unit(self.data.units[metric], _largest(estimates.values()))
            norm = self._norm([e.mean * factor for e in estimates.values() if math.isfinite(e.mean)])
            panels = [p for p in self.places() if p.metric == metric]
            for place in panels:
                axes = grid.panels[place.row][place.column]
                cells = self._cells(estimates, place, factor)
                mesh = _mesh(axes, cells, norm)
                shown.append((axes, cells, norm))
                self.panel_titles(axes, place, grid)
                _panels.label_ticks(axes.xaxis, "linear", _in_order(self.along), grid.panel_mm)
                _panels.label_ticks(axes.yaxis, "linear", _in_order(self.up), 1e3, vertical=True)
                # Quantities grow upwards; other labels are read from the top.
                axes.set_ylim((0, len(self.up.at)) if self.up.numeric else (len(self.up.at), 0))
                if place.row == self.rows - 1:
                    self.x_title(axes, place, title(str(self.spec.x), self.along.unit), grid.panel_mm)
                if place.column == 0:
                    self.y_title(axes, title(str(self.spec.y), self.up.unit), grid)
            self._bar(grid, mesh, [grid.panels[p.row][p.column] for p in panels], metric, unit)
        grid.settle()
        for axes, _cells, _norm in shown:
            _panels.label_ticks(axes.xaxis, "linear", _in_order(self.along), grid.size(axes)[0])
        grid.settle()
        self._values(grid, shown)
        return grid.figure

    @cached_property
    def along(self) -> Positions:
        """Where the labels of the horizontal axis stand."""
        return positions(self.data.axes[str(self.spec.x)], self.data.axis_units[str(self.spec.x)])

    @cached_property
    def up(self) -> Positions:
        """Where the labels of the vertical axis stand."""
        return positions(self.data.axes[str(self.spec.y)], self.data.axis_units[str(self.spec.y)])

    def _bar(self, grid: _panels.Grid, mesh: Any, panels: list[Axes], metric: str, unit: str) -> None:
        """The colour bar of a metric beside its panels."""
        bar = grid.figure.colorbar(mesh, ax=panels, pad=0.02, aspect=18, fraction=0.08)
        rows = len(panels) // len(self.column_labels)
        bar.set_label(broken(title(metric, unit), (rows - 0.15) * grid.row_mm))
        bar.outline.set_visible(False)
        norm = mesh.norm
        scale = "log" if isinstance(norm, LogNorm) else "linear"
        height = 4 if len(self.up.at) < 6 else 6
        _panels.value_ticks(bar.ax.yaxis, scale, unit, norm.vmin or 0.0, norm.vmax or 1.0, height)
        bar.ax.yaxis.set_minor_locator(NullLocator())

    def _cell_mm(self, width: float) -> float:
        """Height of a cell of this width [mm].

        Where numbers have no room side by side, they are turned.
        """
        widest = 0.0
        for metric in self.metrics:
            found = self.data.estimates(metric, self.spec.level).values()
            factor, _ = shown_unit(self.data.units[metric], _largest(found))
            widest = max([widest, *(width_mm(_digits(3)(e.mean * factor)) for e in found)])
        return 6.5 if widest + _ROOM <= width else max(6.5, widest + 2 * _ROOM)

    def _values(self, grid: _panels.Grid, shown: Sequence[tuple[Axes, Any, Normalize]]) -> None:
        """The number of each cell, alike in all panels.

        In two digits, or turned, where three have no room.
        """
        width, height = grid.size(shown[0][0])
        wide, high = width / len(self.along.at) - _ROOM, height / len(self.up.at) - _ROOM
        values = [v for _axes, cells, _norm in shown for v in cells.flat if math.isfinite(v)]
        for digits, turned in ((3, False), (2, False), (3, True), (2, True)):
            widest = max((width_mm(_digits(digits)(v)) for v in values), default=0.0)
            across, along = (high, wide) if turned else (wide, high)
            if widest <= across and along >= _panels.LINE - _ROOM:
                break
        else:
            return
        for axes, cells, norm in shown:
            for (i, j), value in np.ndenumerate(cells):
                if math.isfinite(value):
                    axes.text(
                        j + 0.5,
                        i + 0.5,
                        _digits(digits)(value),
                        ha="center",
                        va="center",
                        rotation=90 if turned else 0,
                        color="w" if norm(value) < 0.47 else "k",  # the one with more contrast
                    )

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


def _mesh(axes: Axes, cells: Any, norm: Normalize) -> Any:
    """The colours of a panel."""
    axes.set_facecolor("#d9d9d9")  # a cell without value
    mesh = axes.pcolormesh(np.ma.masked_invalid(cells), cmap="cividis", norm=norm, edgecolors="white", lw=0.5)
    mesh.set_rasterized(False)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=0)
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
                self.panel_titles(axes, place, grid)
                axes.set_ylim(0, 1.02)
                axes.margins(x=0.03)
                if place.column == 0:
                    self.y_title(axes, "share of rows" if self.spec.column else "share of runs", grid)
                if place.row == self.rows - 1 or len(self.metrics) > 1:
                    self.x_title(axes, place, title(name, unit), grid.panel_mm)
                    axes.xaxis.set_tick_params(labelbottom=True)
                low, high = axes.get_xlim()
                _panels.value_ticks(axes.xaxis, self.x_scale, unit, low, high, 7, grid.panel_mm)
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
            raise mistake(f"table '{name}' is not available", "draw from the results of a campaign, not from a table")
        rows: pa.Table = self.results.kept(name)
        if column not in rows.column_names:
            raise self.spec.error(
                "column", f"table '{name}' has no '{column}'", f"it has: {', '.join(rows.column_names)}"
            )
        unit = _unit(rows, column)
        return self._rows_by_run(rows, column), _without_unit(column, unit), unit

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

        Over runs: the band of Dvoretzky, Kiefer and Wolfowitz with Massart's constant (Annals of
        Probability 18, 1990, 1269-1283), sqrt(ln(2 / alpha) / 2 n), which covers the whole curve;
        none for few runs, where it is wider than half of the figure, nor where the runs of several
        points are pooled. With a stopping rule alpha is divided by its looks: a band that covers at
        each of them covers at the one where it stops (Bonferroni). Over rows, which depend on each
        other: the interval of the mean of the runs' shares, at each value for itself.
        """
        n, rule = len(shares), self.data.rule
        if n < 2 or (self.spec.column is None and (self.spec.over or n < LEAST_BANDED)):
            return None
        if self.spec.column is None:
            looks = 1 if rule is None else len(rule.looks)
            half = math.sqrt(math.log(2 * looks / (1 - self.spec.level)) / (2 * n))
            return np.clip(share - half, 0, 1), np.clip(share + half, 0, 1)
        level = self.spec.level
        if rule is None:
            found = [student_estimate(column, level) for column in shares.T]
        else:
            found = [stopped_estimate(column, level, rule) for column in shares.T]
        return np.clip([e.low for e in found], 0, 1), np.clip([e.high for e in found], 0, 1)


def _rank(spec: FigureSpec, data: Tidy) -> Figure:
    """Points sorted by their mean, with intervals; a column of panels for each metric."""
    metrics = spec.metric
    first = ranking(data, metrics[0], spec.level)
    rows = [r for r in first if math.isfinite(r.estimate.mean)]
    if not rows:
        raise spec.error("metric", f"no run has a value of '{metrics[0]}'", "see the failures of the campaign")
    sizes = _Ranking.of(spec, data, rows)
    kept, between = _ends(rows, sizes.most_rows)
    names = sizes.names(data, kept)
    grid = _panels.grid(
        spec, 1, len(metrics), row_mm=sizes.row_mm * (len(kept) + bool(between)) + 6, sharex="none", sharey="none"
    )
    at = [float(i + (1 if between and i >= len(kept) // 2 else 0)) for i in range(len(kept))]
    for j, metric in enumerate(metrics):
        axes = grid.panels[0][j]
        of = data.estimates(metric, spec.level)
        found = [of[r.labels] for r in kept]
        factor, unit = shown_unit(data.units[metric], _largest(found))
        shown = _drawn_estimates(data, metric, spec.level)
        _ranked_panel(axes, at, [shown[r.labels] for r in kept], factor, "log" if spec.x_scale == "log" else "linear")
        name = drawable(spec.x_label) if spec.x_label and j == 0 else title(metric, unit)
        axes.set_xlabel(broken(name, max(sizes.panel_mm, 14.0)))
        axes.set_yticks(at, names if j == 0 else [""] * len(at))
        axes.set_ylim(max(at) + 0.7, -0.7)
        axes.tick_params(axis="y", length=0)
        if between:
            axes.text(
                0.5, len(kept) // 2, f"{between} more", ha="center", va="center", transform=axes.get_yaxis_transform()
            )
        if sizes.with_values:
            _values_beside(axes, at, found, factor)
    grid.settle()
    for j, metric in enumerate(metrics):
        axes = grid.panels[0][j]
        unit = shown_unit(data.units[metric], _largest([data.estimates(metric, spec.level)[r.labels] for r in kept]))[1]
        scale = "log" if spec.x_scale == "log" else "linear"
        _panels.value_ticks(axes.xaxis, scale, unit, *axes.get_xlim(), 4, grid.size(axes)[0])
    return grid.figure


@dataclass(frozen=True)
class _Ranking:
    """How a ranking is divided: names, a panel for each metric, numbers where they fit."""

    #: Room of the names, and of each panel [mm].
    names_mm: float
    panel_mm: float
    #: Height of a row [mm], and how many rows a page has.
    row_mm: float
    most_rows: int
    with_values: bool

    @staticmethod
    def of(spec: FigureSpec, data: Tidy, rows: Sequence[Ranked]) -> _Ranking:
        """The division for these points.

        Raises:
            FigureError: the metrics have no room side by side.
        """
        metrics, width = spec.metric, WIDTHS[spec.width]
        ends = _ends(rows, MOST_RANKED)[0]
        whole = _names(data, ends)
        # Names take at most half of the figure, or beside several metrics what these leave.
        most_mm = 0.5 * width if len(metrics) == 1 else width - 2 - len(metrics) * (LEAST_RANKED_PANEL_MM + 3)
        names_mm = min(widest_mm(whole), max(0.25 * width, most_mm))
        beside = 0.0
        for metric in metrics:
            estimates = data.estimates(metric, spec.level)
            factor = shown_unit(data.units[metric], _largest([estimates[r.labels] for r in ends]))[0]
            beside += widest_mm([_value_text(estimates[r.labels], factor) for r in ends]) + 2
        left = width - names_mm - 2 - 3 * len(metrics)
        with_values = (left - beside) / len(metrics) >= LEAST_RANKED_PANEL_MM
        panel_mm = (left - beside * with_values) / len(metrics)
        if panel_mm < 14:
            raise spec.error(
                "metric",
                f"{len(metrics)} metrics have no room side by side in {width:g} mm",
                "fewer metrics" + ("" if spec.width == "page" else ", or width = 'page'"),
            )
        lines = max(line_count(broken(name, names_mm + 0.1)) for name in whole)
        row_mm = 4.2 if lines == 1 else 3.6 * lines + 1
        most = int((min(spec.height or MOST_RANKED_MM, MOST_RANKED_MM) - 18) / row_mm)
        return _Ranking(names_mm, panel_mm, row_mm, max(2, min(MOST_RANKED, most)), with_values)

    def names(self, data: Tidy, rows: Sequence[Ranked]) -> list[str]:
        """The points by the labels that vary, in lines that fit."""
        return [broken(name, self.names_mm + 0.1) for name in _names(data, rows)]


def _value_text(e: Estimate, factor: float) -> str:
    return measured(e.mean * factor, e.low * factor, e.high * factor)


def _names(data: Tidy, rows: Sequence[Ranked]) -> list[str]:
    varying = [i for i, a in enumerate(data.axis_names) if len(data.axes[a]) > 1] or list(range(len(data.axis_names)))
    units = [data.axis_units[a] for a in data.axis_names]
    return [" · ".join(with_unit(r.labels[i], units[i]) for i in varying) for r in rows]


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
    if scale == "linear":
        left, right = axes.get_xlim()
        axes.set_xlim(left, right + 0.04 * (right - left))  # the last marker does not touch the numbers


def _values_beside(axes: Axes, at: Sequence[float], found: Sequence[Estimate], factor: float) -> None:
    for y, e in zip(at, found, strict=True):
        axes.annotate(
            _value_text(e, factor),
            (1.0, y),
            xytext=(3, 0),
            xycoords=axes.get_yaxis_transform(),
            textcoords="offset points",
            va="center",
            ha="left",
            annotation_clip=False,
        )


def _ends(rows: Sequence[Ranked], most: int) -> tuple[list[Ranked], int]:
    """The rows shown, and how many are left out.

    Where there are more than `most`, the first and the last rows are shown.
    """
    if len(rows) <= most:
        return list(rows), 0
    half = max(1, (most - 1) // 2)  # a row says how many are left out
    return [*rows[:half], *rows[-half:]], len(rows) - 2 * half


def _drawn_estimates(data: Tidy, metric: str, level: float) -> dict[Labels, Estimate]:
    """The estimates of a metric with intervals that end where its values do (`Tidy.least`)."""
    least = data.least(metric)
    found = data.estimates(metric, level)
    return {labels: replace(e, low=max(e.low, least)) if e.bounded else e for labels, e in found.items()}


def _bars(axes: Axes, at: Any, mean: Any, low: Any, high: Any, look: Mapping[str, Any]) -> None:
    axes.errorbar(at, mean, [mean - low, high - mean], fmt="none", ecolor=look["color"], elinewidth=0.9, capsize=1.8)


def _in_order(own: Positions) -> Positions:
    """The labels as cells of equal size, each at its middle."""
    return Positions(tuple(i + 0.5 for i in range(len(own.texts))), own.texts, own.unit, False, False)


def _largest(estimates: Any) -> float:
    return max((abs(e.mean) for e in estimates if math.isfinite(e.mean)), default=0.0)


def _digits(count: int) -> Callable[[float], str]:
    """How a cell's value is written: so many significant digits, but whole numbers whole."""

    def written(value: float) -> str:
        if not math.isfinite(value):
            return ""
        if value == 0 or abs(value) >= 10.0**count * (1 - 0.5 * 10.0**-count):
            return f"{value:.0f}" if abs(value) < 1e6 else f"{value:.{count - 1}e}"
        return f"{value:#.{count}g}".rstrip(".") if abs(value) >= 1e-3 else f"{value:.{count - 1}e}"

    return written


#: Endings of columns that say their unit.
_ENDINGS = {"us": "us", "s": "s", "ms": "ms", "ns": "ns", "bps": "bit/s", "bytes": "B", "bits": "bit", "db": "dB",
            "dbm": "dBm", "hz": "Hz", "m": "m", "packets": "packet"}  # fmt: skip


def _without_unit(column: str, unit: str) -> str:
    """The name of a column without the unit at its end: `rtt_us` is `rtt`.

    The title names the unit.
    """
    name, _, end = column.rpartition("_")
    return name if name and _ENDINGS.get(end) == unit else column


def text(label: Label) -> str:
    """A label in letters that can be drawn."""
    return drawable(_quantities.text(label))


def title(name: str, unit: str) -> str:
    """A name with its unit, in letters that can be drawn."""
    return drawable(_quantities.title(name, unit))


def with_unit(label: Label, unit: str) -> str:
    """A label with its unit, in letters that can be drawn."""
    return drawable(_quantities.with_unit(label, unit))


def positions(labels: Sequence[Label], unit: str) -> Positions:
    """Where labels stand, with texts that can be drawn."""
    found = _quantities.positions(labels, unit)
    return replace(found, texts=tuple(map(drawable, found.texts)), unit=drawable(found.unit))


def _unit(table: pa.Table, column: str) -> str:
    metadata = table.schema.field(column).metadata or {}
    return str((metadata.get(b"unit") or b"1").decode()) or "1"
