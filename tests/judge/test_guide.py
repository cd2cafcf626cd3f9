"""The guides of the judge: what they show is right, and the reference names every function."""

from __future__ import annotations

import re
from pathlib import Path

import lasthop as lh
from lasthop.judging._functions import FUNCTIONS
from lasthop.judging.reading import _KEYS

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "add-a-case.md").read_text(encoding="utf-8")


def test_the_smallest_case_of_the_guide_is_one(tmp_path: Path) -> None:
    text, *_ = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
    file = tmp_path / "case.toml"
    file.write_text(text, encoding="utf-8")
    found = lh.judge("bbr3", [file], store=tmp_path)
    assert [(row.id, row.verdict) for row in found.rows] == [("DRAIN-1", "pass")]
    assert len(found.rows[0].points) == 2


def test_the_reference_has_every_function_and_every_key() -> None:
    assert [name for name in FUNCTIONS if not re.search(rf"`[^`]*\b{name}\b", GUIDE)] == []
    assert [key for key in _KEYS if not re.search(rf"`\[*(case\.)?{key}\b", GUIDE)] == []
