"""Three mistakes in a control, each found by the case that is for it.

The control without them passes.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop.cli import main

HERE = Path(__file__).parent


def test_the_right_control_passes(tmp_path: Path) -> None:
    place = f"{HERE / 'controls.py'}:Right"
    found = lh.judge(place, [HERE / "mutants.toml"], store=tmp_path, jobs=1)
    assert {row.id: row.verdict for row in found.rows} == {"CUT": "pass", "PACE": "pass", "FLOOR": "pass"}, [
        row.why for row in found.rows
    ]


def test_each_mutant_fails_by_the_check_that_names_it(tmp_path: Path) -> None:
    words = ["judge", "--file", str(HERE / "mutants.toml"), "--mutants", "--store", str(tmp_path), "--jobs", "1"]
    done = CliRunner().invoke(main, [*words, "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)["mutants"]
    assert {m["mutant"] for m in found} == {"forgotten-cut", "gain-off-by-a-tenth", "no-floor"}
    assert all(m["found"] and m["verdict"] == "fail" and m["failed"] == ["pass.1"] for m in found)


def test_a_mutant_that_is_not_found_is_reported(tmp_path: Path) -> None:
    text = (HERE / "mutants.toml").read_text(encoding="utf-8")
    (tmp_path / "controls.py").write_text((HERE / "controls.py").read_text(encoding="utf-8"), encoding="utf-8")
    file = tmp_path / "weak.toml"
    file.write_text(
        text.split("[[case]]")[1].replace("[0.45, 0.55]", "[0, 2]").join(["[[case]]", ""]), encoding="utf-8"
    )
    done = CliRunner().invoke(
        main, ["judge", "--file", str(file), "--mutants", "--store", str(tmp_path), "--jobs", "1"]
    )
    assert done.exit_code == 4, done.output
    assert "NOT FOUND" in done.output


SHEETS = f"{HERE / 'sheet_controls.py'}:"


@pytest.mark.parametrize(
    ("right", "mutant", "suite", "case", "verdicts", "why"),
    [
        ("Reno", "ForgottenCut", "rfc9743", "CCE-03", ("shown", "flag"), "loss on b-1"),
        ("Model", "GainOffByATenth", "bbr", "BBR-03", ("pass", "fail"), "pass.2"),
        ("Cautious", "ThresholdOfZero", "rfc9743", "CCE-01", ("shown", "error"), "ssthresh = 0: at least 1 segment"),
    ],
)
def test_the_bundled_sheets_find_a_mutant_of_each_of_three_controls(
    right: str, mutant: str, suite: str, case: str, verdicts: tuple[str, str], why: str, shared_store: Path
) -> None:
    rows = [
        lh.judge(SHEETS + name, [suite], cases=[case], quick=True, store=shared_store, jobs=1).rows[0]
        for name in (right, mutant)
    ]
    assert tuple(row.verdict for row in rows) == verdicts, [row.why for row in rows]
    assert why in rows[1].why
