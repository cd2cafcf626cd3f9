"""How figures look and how they are saved. No pyplot, no global state, no display needed."""

from __future__ import annotations

import io
from os import PathLike
from typing import IO, Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as _MplFigure
from matplotlib.lines import Line2D

from lasthop._errors import mistake

#: Okabe and Ito, "Color Universal Design" (2008), ordered for lines on white: yellow, too light for
#: them, is absent.
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", "-.", ":")

COLUMN_INCHES = 3.5
GOLDEN = 0.618
LEGEND_MOST = 9

#: What files say of themselves, by format: no date, so that the same figure gives the same bytes.
#: Of other formats matplotlib takes no metadata, not even none of them.
_METADATA: dict[str, dict[str, None]] = {
    "eps": {},
    "pdf": {"CreationDate": None},
    "png": {},
    "ps": {},
    "svg": {"Date": None},
    "svgz": {"Date": None},
}

#: What every figure has.
STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#444444",
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same letters everywhere
    "font.size": 8,
    "grid.alpha": 1.0,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "lines.linewidth": 1.0,
    "path.simplify": True,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "lasthop",
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "xtick.labelcolor": "black",
    "ytick.labelcolor": "black",
}


class Figure(_MplFigure):
    """A matplotlib figure whose `savefig` gives the same bytes each time (fixed ids, no date)."""

    def savefig(self, fname: str | PathLike[str] | IO[Any], **kwargs: Any) -> None:
        """Saves as `.pdf`, `.svg`, `.png` and so on; arguments as for matplotlib."""
        form = str(kwargs.get("format") or str(fname).rpartition(".")[2]).lower()
        if form in _METADATA:
            kwargs["metadata"] = {**_METADATA[form], **(kwargs.get("metadata") or {})}
        kwargs.setdefault("dpi", 300)
        with mpl.rc_context(STYLE):
            super().savefig(fname, **kwargs)

    def content(self, form: str) -> bytes:
        """The file that `savefig` writes.

        Args:
            form: a format of matplotlib's, such as "svg", "pdf" or "png".

        Raises:
            LasthopError: matplotlib does not write this format, or not without another program.
        """
        known = sorted(self.canvas.get_supported_filetypes())
        if form.lower() not in known:
            raise mistake(f"pictures are not written as '{form}'", f"formats are: {', '.join(known)}")
        out = io.BytesIO()
        try:
            self.savefig(out, format=form.lower())
        except (RuntimeError, ValueError) as err:
            raise mistake(
                f"the picture cannot be written as '{form}': {err}", "choose another format: svg, pdf or png"
            ) from err
        return out.getvalue()

    def _repr_png_(self) -> bytes:
        """What a notebook shows."""
        out = io.BytesIO()
        self.savefig(out, format="png", dpi=160)
        return out.getvalue()


class _Housed(Figure):
    """A figure whose axes get the house style whenever they are added."""

    def add_subplot(self, *args: Any, **kwargs: Any) -> Any:
        """Axes in the house style; arguments as for matplotlib."""
        with mpl.rc_context(STYLE):
            axes = super().add_subplot(*args, **kwargs)
            axes.grid(True)
        return axes


def blank_figure(width: float, height: float) -> Figure:
    """A figure without axes in the house style; `subplots` adds them.

    Args:
        width: inches.
        height: inches.
    """
    with mpl.rc_context(STYLE):
        fig = _Housed(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(fig)
    return fig


def new_figure(
    xlabel: str,
    ylabel: str,
    width: float = COLUMN_INCHES,
    height: float | None = None,
) -> tuple[Figure, Axes]:
    """An empty figure with one pair of axes in the house style.

    Args:
        xlabel: label with unit, such as "Time (s)".
        ylabel: label with unit.
        width: inches; a column of a two-column paper is 3.5.
        height: inches; None: the golden ratio.
    """
    with mpl.rc_context(STYLE):
        fig = Figure(figsize=(width, height or width * GOLDEN), layout="constrained")
        FigureCanvasAgg(fig)
        axes = fig.add_subplot()
        axes.grid(True)
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
    return fig, axes


def line_style(index: int) -> dict[str, Any]:
    """Colour and dashes of the n-th line: seven colours, then the same colours dashed."""
    n = len(OKABE_ITO)
    return {"color": OKABE_ITO[index % n], "linestyle": DASHES[index // n % len(DASHES)]}


def legend(axes: Axes) -> None:
    """A legend when there is something to distinguish, above the axes so that it hides nothing."""
    labels = axes.get_legend_handles_labels()[1]
    entries = len(labels)
    figure = axes.get_figure(root=True)
    width = figure.get_figwidth() if figure else COLUMN_INCHES
    if entries < 2:
        return
    if entries > LEGEND_MOST:
        axes.set_title(f"{entries} curves", loc="left", fontsize=7)
        return
    with mpl.rc_context(STYLE):
        made = axes.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1.0),
            ncols=min(entries, 3, _columns(labels, width)),
            borderaxespad=0.2,
            columnspacing=1.2,
        )
    for handle in made.legend_handles:
        if isinstance(handle, Line2D) and handle.get_marker() == ".":
            handle.set_markersize(6)  # a dot as small as the data's could not be seen
            handle.set_alpha(1.0)


def _columns(labels: list[str], width: float) -> int:
    """How many legend columns fit into a figure `width` inches wide.

    A letter of 7 pt takes about 0.055 inches.
    """
    widest = max(map(len, labels)) * 0.055 + 0.4
    return max(1, int((width - 0.5) / widest))
