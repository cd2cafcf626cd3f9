"""Text of a drawn figure that is too faint to be read."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Text

from lasthop.harness.drawing import LEAST_CONTRAST, contrast


def faint(figure: Figure) -> list[str]:
    """Each text with less contrast than `LEAST_CONTRAST` to its ground.

    The ground is the colour that most of its place has without it.
    """
    figure.set_dpi(100)
    canvas = figure.canvas
    canvas.draw()
    texts = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    places = [t.get_window_extent() for t in texts]
    for text in texts:
        # An annotation keeps its arrow.
        text.set_alpha(0.0)
    canvas.draw()
    drawn = np.asarray(canvas.buffer_rgba())[:, :, :3]  # type: ignore[attr-defined]
    high = drawn.shape[0]
    found = []
    for text, place in zip(texts, places, strict=True):
        part = drawn[max(high - round(place.y1), 0) : high - round(place.y0), max(round(place.x0), 0) : round(place.x1)]
        if not part.size:
            continue
        shades, count = np.unique(part.reshape(-1, 3), axis=0, return_counts=True)
        ground = tuple(shades[count.argmax()] / 255)
        text.set_alpha(None)
        if (apart := contrast(to_rgba(text.get_color())[:3], ground)) < LEAST_CONTRAST:
            found.append(f"{text.get_text()!r}: {apart:.2f}")
    return found
