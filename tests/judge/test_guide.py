"""The guides of the judge: what they show is right, and the reference names every function."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import lasthop as lh
from lasthop.judging._functions import FUNCTIONS
from lasthop.judging.reading import _KEYS

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "add-a-case.md").read_text(encoding="utf-8")


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


def test_the_steps_of_the_guide_on_judging_work_in_an_empty_folder(tmp_path: Path) -> None:
    """The files as the page shows them, and its script as it stands."""
    page = (ROOT / "docs" / "guides" / "judge.md").read_text(encoding="utf-8")
    example = (ROOT / "examples" / "judge_a_control.py").read_text(encoding="utf-8")
    shown = re.findall(
        r"literalinclude.*judge_a_control.*\n:language: \w+\n(?::prepend: (.*)\n)?"
        r':start-after: "(.*)"\n:end-before: "(.*)"',
        page,
    )
    control, case, mutant = (
        f"{before}\n" + example.split(f"{first}\n")[1].split(last)[0] for before, first, last in shown
    )
    (tmp_path / "my_cc.py").write_text(control + mutant, encoding="utf-8")
    (tmp_path / "promise.toml").write_text(case, encoding="utf-8")
    script = page.split("as a script beside both")[1]
    (tmp_path / "judged.py").write_text(script.split("```python\n")[1].split("```")[0], encoding="utf-8")
    done = subprocess.run([sys.executable, "judged.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("PROMISE-1 pass")
    assert (tmp_path / "results" / "mine" / "report.html").is_file()
    (command,) = re.findall(r"^ +lasthop (judge my_cc.py:ForgottenCut .*)$", page, re.MULTILINE)
    words = [sys.executable, "-m", "lasthop", *command.split()]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert re.search(r"PROMISE-1 +fail", done.stdout), done.stderr
    (snippet,) = (text for text in re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL) if "my_cc.py:" in text)
    (tmp_path / "promise.toml").write_text(f"{case}\n{snippet}", encoding="utf-8")
    (command,) = re.findall(r"^ +lasthop (judge --file promise.toml --mutants)$", GUIDE, re.MULTILINE)
    words = [sys.executable, "-m", "lasthop", *command.split()]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 of 1 mutants are found" in done.stdout, done.stderr
