"""Letters of figures: how wide a text is, and where it is broken.

Also the replacement for a letter that no font has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from matplotlib import font_manager
from matplotlib.font_manager import FontProperties
from matplotlib.ft2font import FT2Font
from matplotlib.textpath import text_to_path

#: The one size of letters [pt]: that of footnotes in the two-column styles of IEEE and ACM.
POINTS = 8.0
#: Comes with matplotlib: the same letters everywhere.
FONT = "DejaVu Sans"
#: Fonts that may stand in for it where it lacks a letter, the first one that is installed and has
#: the letter.
_FURTHER = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans CJK KR",
    "Noto Sans CJK TC",
    "Source Han Sans SC",
    "PingFang SC",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "Droid Sans Fallback",
    "IPAGothic",
    "Arial Unicode MS",
    "Noto Sans",
)
_MM_PER_POINT = 25.4 / 72


def families() -> list[str]:
    """The font, and those that stand in for it where it lacks a letter.

    Letters of figures that were made before count.
    """
    return [FONT, *_standing_in]


#: Fonts that were needed so far.
_standing_in: list[str] = []


def drawable(text: str) -> str:
    """`text` with the letters that no installed font has as their code points: `[U+7F13]`.

    A letter that DejaVu Sans lacks is drawn in another font where one of a list of common fonts has
    it. Control characters and ends of lines become spaces.
    """
    plain = "".join(c if c.isprintable() else " " for c in text)
    return "".join(c if _has_letter(c) else f"[U+{ord(c):04X}]" for c in plain)


@lru_cache(maxsize=4096)
def _has_letter(letter: str) -> bool:
    if letter == " " or ord(letter) in _charmap(FONT):
        return True
    for name in _FURTHER:
        if ord(letter) in _charmap(name):
            if name not in _standing_in:
                _standing_in.append(name)
                width_mm.cache_clear()
            return True
    return False


@lru_cache(maxsize=32)
def _charmap(name: str) -> frozenset[int]:
    """The code points of a font; empty where it is not installed."""
    if name != FONT and name not in font_manager.get_font_names():
        return frozenset()
    return frozenset(FT2Font(font_manager.findfont(name, fallback_to_default=False)).get_charmap())


@lru_cache(maxsize=8192)
def width_mm(text: str) -> float:
    """Width of a line of text [mm]."""
    if not text:
        return 0.0
    size = FontProperties(family=families(), size=POINTS)
    width, _height, _descent = text_to_path.get_text_width_height_descent(text, size, ismath=False)
    return float(width) * _MM_PER_POINT


def widest_mm(texts: Sequence[str]) -> float:
    """Width of the widest of some texts, which may have several lines [mm]."""
    return max((width_mm(line) for text in texts for line in text.split("\n")), default=0.0)


def broken(text: str, most_mm: float) -> str:
    """`text` in lines no wider than `most_mm`.

    Broken at spaces, and within a word that is wider.
    """
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if width_mm(joined) <= most_mm:
            line = joined
            continue
        if line:
            lines.append(line)
        line = word
        while width_mm(line) > most_mm and len(line) > 1:
            count = next(n for n in range(len(line), 0, -1) if n == 1 or width_mm(line[:n]) <= most_mm)
            lines.append(line[:count])
            line = line[count:]
    return "\n".join([*lines, line] if line or not lines else lines)


def line_count(text: str) -> int:
    """Lines of a text that is broken."""
    return text.count("\n") + 1
