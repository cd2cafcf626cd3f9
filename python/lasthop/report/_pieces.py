"""The generic pieces of a report: page, section, figure, table."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def page(title: str, body_html: str, subtitle: str = "") -> str:
    """A complete HTML document around `body_html`.

    It is inserted as it is: escape what is not yours.

    `title` and `subtitle` are plain text.
    """
    template = environment().get_template("page.html.j2")
    return template.render(title=title, subtitle=subtitle, body=Markup(body_html))


def section(heading: str, body_html: str, anchor: str = "") -> str:
    """A headed section of a page. `heading` is plain text, `body_html` is inserted as it is."""
    where = Markup(' id="{}"').format(anchor) if anchor else Markup("")
    return Markup("<section{}>\n<h2>{}</h2>\n{}\n</section>\n").format(where, heading, Markup(body_html))


def figure_svg(fig: Figure, caption: str = "", wide: bool = False, anchor: str = "") -> str:
    """A figure as vector graphics inside the page, with a caption.

    The caption is plain text, and the text for a screen reader.

    A `wide` figure takes the whole width of the page; on a small screen it can be moved sideways.
    `anchor` is its id in the page.

    The SVG is in a data URI, so that ids of several figures on a page cannot meet, and "save
    image as" gives a usable .svg. The same figure gives the same bytes.
    """
    # Percent-encoded text is shorter than base64 of it.
    data = Markup(quote(compact(svg_bytes(fig).decode("utf-8")), safe=_PLAIN))
    image = Markup('<img alt="{}" src="data:image/svg+xml;charset=utf-8,{}">').format(caption, data)
    if wide:
        image = Markup('<div class="scroll" tabindex="0">{}</div>').format(image)
    name = Markup(' id="{}"').format(anchor) if anchor else Markup("")
    return Markup("<figure{}{}>\n{}\n<figcaption>{}</figcaption>\n</figure>\n").format(
        name, _class("wide" if wide else ""), image, caption
    )


def table_html(
    headers: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    classes: str | Sequence[str] = "",
) -> str:
    """A table. Cells are escaped unless they are `markupsafe.Markup`.

    `classes`: a text is the class of the whole table; a sequence gives one class to each column.
    The style sheet has "num" (right-aligned figures), "wide" (wraps, takes the space), "good",
    "bad", "unclear" and "mute".
    """
    if isinstance(classes, str):
        table_class, column_class = classes, [""] * len(headers)
    else:
        table_class, column_class = "", [*classes, *[""] * (len(headers) - len(classes))]
    head = Markup("").join(_cell("th", h, c) for h, c in zip(headers, column_class, strict=True))
    body = Markup("\n").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(_cell("td", v, c) for v, c in zip(row, column_class, strict=True)),
        )
        for row in rows
    )
    return Markup(
        '<div class="scroll" tabindex="0"><table{}>\n'
        "<thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody>\n</table></div>\n"
    ).format(_class(table_class), head, body)


def svg_bytes(fig: Figure) -> bytes:
    """The figure as SVG, the same bytes each time: fixed ids, no date.

    `savefig` gives the same bytes, but draws twice: first without output, because drawing lays the
    axes out. Here they are laid out without that.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    from lasthop.plot._style import STYLE
    from lasthop.plot._style import Figure as Housed

    out = io.BytesIO()
    before, engine, dpi = fig.canvas, fig.get_layout_engine(), fig.dpi
    canvas = FigureCanvasSVG(fig)
    try:
        with rc_context(STYLE if isinstance(fig, Housed) else {"svg.hashsalt": "lasthop"}):
            fig.dpi = _SVG_DPI
            if engine is not None:
                engine.execute(fig)
                fig.set_layout_engine("none")
            print_svg: Callable[..., None] = canvas.print_svg
            print_svg(out, metadata={"Date": None})
    finally:
        fig.set_layout_engine(engine)
        fig.dpi = dpi
        fig.set_canvas(before)
    return out.getvalue()


#: What stays as it is in the address of a figure: neither the end of an attribute nor of the
#: address.
_PLAIN = " !$()*+,/:;=?@[]^{|}~'"
#: SVG is in points.
_SVG_DPI = 72
_NOT_DRAWN = re.compile(r"<!--.*?-->|<metadata>.*?</metadata>|<!DOCTYPE[^>]*>", re.DOTALL)
_DECIMALS = re.compile(r"(?<![\w.])-?\d+\.\d{3,}")


def compact(svg: str) -> str:
    """A figure in fewer characters: lengths to 0.01 points, and only what is drawn.

    Matplotlib writes six decimals of a point. Factors of `scale(...)` keep theirs, since they
    multiply glyphs.
    """
    parts = re.split(r"(scale\([^)]*\))", _NOT_DRAWN.sub("", svg))
    parts[::2] = [_DECIMALS.sub(lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), part) for part in parts[::2]]
    text = re.sub(r"\s+", " ", re.sub(r">\s+<", "><", "".join(parts)))
    # In an address a double quote takes three characters. Between single ones an apostrophe would
    # end the value.
    return text if "'" in text else text.replace('"', "'")


@cache
def environment() -> Environment:
    """The templates of this package; everything is escaped unless marked."""
    return Environment(
        loader=PackageLoader("lasthop.report"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _cell(tag: str, value: Any, css: str) -> Markup:
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(tag), _class(css), escape("" if value is None else value))


def _class(css: str) -> Markup:
    return Markup(' class="{}"').format(css) if css else Markup("")
