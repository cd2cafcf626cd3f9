"""`lasthop results` and `lasthop compare` over the folder of a campaign.

Tables, JSON, CSV and SQL.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

from lasthop import LasthopError
from lasthop.campaign.contrast import contrasts
from lasthop.campaign.query import query
from lasthop.campaign.tidy import tidy
from lasthop.cli import main
from tests.campaign import folder, synthetic


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


@pytest.fixture(scope="module")
def bloat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    reason = {"buffer": "50 kB", "aqm": "none", "cc": "reno", "seed": 1, "metric": "rtt", "reason": "no row fits"}
    return folder.write(tmp_path_factory.mktemp("r") / "bloat", failures=[reason])


def test_the_table_has_a_row_for_each_point_with_means_and_intervals(bloat: Path) -> None:
    done = run("results", str(bloat))
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0].split() == ["buffer", "aqm", "cc", "runs", "goodput", "(Mbit/s)", "rtt", "(ms)"]
    assert len(lines) == 1 + 36 + 2
    found = tidy(synthetic.table()).estimates("goodput", 0.95)[("50 kB", "none", "reno")]
    mean, _, half = lines[1].split()[5:8]
    assert float(mean) == pytest.approx(found.mean / 1e6, rel=0.01)
    assert float(half) == pytest.approx(found.half_width / 1e6, rel=0.05)
    assert lines[-1] == "bloat: 36 points, 180 runs; intervals are of 95 %"


def test_points_at_which_seeds_change_nothing_are_named(tmp_path: Path) -> None:
    axes = {"cc": ["reno", "cubic", "bbr"]}
    # The goodput of bbr varies; its losses, like all others, do not.
    goodput = {"reno": 1e6, "cubic": 2e6, "bbr": 3e6}
    metrics: dict[str, tuple[str, synthetic.Value]] = {
        "goodput": ("bit/s", lambda at, seed: goodput[at["cc"]] + 1e4 * seed * (at["cc"] == "bbr")),
        "losses": ("1", lambda at, seed: 0.0),
    }
    made = folder.write(tmp_path / "same", synthetic.table(axes, metrics), toml='[campaign]\nname = "same"\n')
    said = "seeds change nothing at 2 points: all runs there are equal; scenario.jitter makes runs differ"
    for words in (("results", str(made)), ("results", str(made), "--metric", "losses")):
        assert run(*words).output.splitlines().count(said) == 1
    compared = run("compare", str(made), "--by", "cc", "--metric", "goodput")
    assert compared.output.splitlines()[-1] == said
    (line,) = (line.split() for line in compared.output.splitlines() if "reno - cubic" in line)
    assert "<0.001" not in line
    (whole,) = (line for line in compared.output.splitlines() if "cubic - bbr" in line)
    assert "<0.001" in whole
    printed = json.loads(run("compare", str(made), "--by", "cc", "--metric", "goodput", "--json").output)
    p_values = {(d["first"], d["second"]): (d["p"], d["p_holm"], d["differs"]) for d in printed["differences"]}
    assert p_values["reno", "cubic"] == (None, None, False)
    assert p_values["cubic", "bbr"][2] is True
    rule = folder.write(tmp_path / "rule", synthetic.table(axes, metrics), until="ci95(goodput) < 1 %, min 5, max 9")
    ends = "all runs there are equal; the stopping rule ends there, as more seeds are of no use; scenario.jitter makes"
    assert ends in run("results", str(rule)).output


def test_json_has_each_point_with_its_interval(bloat: Path) -> None:
    printed = json.loads(run("results", str(bloat), "--json", "--metric", "rtt", "--level", "99 %").output)
    assert (printed["campaign"], printed["level"], printed["runs"], printed["failures"]) == ("bloat", 0.99, 180, 1)
    assert printed["units"] == {"rtt": "ms"}
    assert len(printed["points"]) == 36
    expected = tidy(synthetic.table()).estimates("rtt", 0.99)
    for point in printed["points"]:
        rtt = point["metrics"]["rtt"]
        e = expected[tuple(point["labels"].values())]
        assert (rtt["mean"], rtt["low"], rtt["high"], rtt["n"]) == (e.mean, e.low, e.high, e.n)


def test_csv_is_the_table_run_by_run(bloat: Path) -> None:
    rows = list(csv.reader(io.StringIO(run("results", str(bloat), "--csv").output)))
    assert rows[0] == ["buffer", "aqm", "cc", "seed", "goodput", "rtt"]
    assert len(rows) == 181
    assert [float(r[5]) for r in rows[1:]] == synthetic.table()["rtt"].to_pylist()


def test_undecided_and_missing_values_are_named(tmp_path: Path) -> None:
    metrics = {**synthetic.one("ms", lambda at, s: None if (at["cc"], s) == ("bbr", 3) else 10.0 + s)}
    table = synthetic.table({"cc": ["reno", "bbr"]}, metrics)
    where = folder.write(tmp_path / "r", table, until="ci95(m) < 0.1 %, min 5, max 5")
    lines = run("results", str(where)).output.splitlines()
    assert lines[1].endswith("?")
    assert lines[2].endswith("? *")
    assert "? 1 undecided: the interval is too wide after the rule's most runs, 5" in lines
    assert "? 1 undecided: too few of the rule's at most 5 runs have a value" in lines
    assert any(line.startswith("* 1 value is missing") for line in lines)
    printed = json.loads(run("results", str(where), "--json").output)
    assert [p["metrics"]["m"]["verdict"] for p in printed["points"]] == ["undecided", "undecided"]


def test_a_point_that_the_rule_left_without_a_value_names_that_as_the_reason(tmp_path: Path) -> None:
    metrics = synthetic.one("ms", lambda at, s: None if at["cc"] == "none" else 10.0 + s)
    looks = [
        {"point": 0, "reached": False, "why": "no run has a value of m"},
        {"point": 1, "reached": False, "why": "a run has failed"},
    ]
    where = folder.write(
        tmp_path / "r", synthetic.table({"cc": ["none", "bbr"]}, metrics),
        until="ci95(m) < 0.1 %, min 5, max 12", looks=looks, points=[["none"], ["bbr"]],
    )  # fmt: skip
    lines = run("results", str(where)).output.splitlines()
    assert "? 1 undecided: no run has a value of m" in lines
    assert "? 1 undecided: a run has failed" in lines
    assert [line.split()[1] for line in lines[1:3]] == ["5", "5"]
    printed = json.loads(run("results", str(where), "--json").output)["points"]
    assert [p["metrics"]["m"]["why"] for p in printed] == ["no run has a value of m", "a run has failed"]


def test_intervals_of_other_metrics_and_levels_allow_for_the_rule(tmp_path: Path) -> None:
    where = folder.write(tmp_path / "r", until="ci99(rtt) < 50 %, min 5, max 40")
    lines = run("results", str(where)).output.splitlines()
    assert lines[-1].endswith("intervals are of 99 % and allow for the rule ci99(rtt) < 50 %, min 5, max 40")
    printed = json.loads(run("results", str(where), "--json", "--level", "95 %").output)
    plain = tidy(synthetic.table()).estimates("goodput", 0.95)
    for point in printed["points"]:
        goodput = point["metrics"]["goodput"]
        e = plain[tuple(point["labels"].values())]
        assert goodput["high"] - goodput["low"] > 1.1 * (e.high - e.low)


def test_compare_allows_for_the_rule(tmp_path: Path) -> None:
    args = ("--by", "cc", "--metric", "rtt", "--json")
    plain = json.loads(run("compare", str(folder.write(tmp_path / "a")), *args).output)["differences"]
    rule = "ci95(rtt) < 50 %, min 5, max 40"
    ruled = json.loads(run("compare", str(folder.write(tmp_path / "b", until=rule)), *args).output)["differences"]
    for a, b in zip(plain, ruled, strict=True):
        assert b["high"] - b["low"] > 1.1 * (a["high"] - a["low"])
        assert b["p"] > a["p"]
    shown = run("compare", str(tmp_path / "b"), "--by", "cc").output.splitlines()
    assert f"allow for the rule {rule}" in shown[-1]


def test_a_variant_without_a_value_does_not_widen_the_others(tmp_path: Path) -> None:
    metrics = synthetic.one(
        "ms",
        lambda at, s: None if at["v"] == "dead" else {"a": 0.0, "b": 3.0}[at["v"]] + synthetic.noise(s, len(at["v"])),
    )
    with_dead = folder.write(tmp_path / "r", synthetic.table({"v": ["a", "b", "dead"]}, metrics))
    without = folder.write(tmp_path / "s", synthetic.table({"v": ["a", "b"]}, metrics))
    printed, alone = (json.loads(run("compare", str(f), "--by", "v", "--json").output) for f in (with_dead, without))
    assert (printed["family"], len(printed["differences"])) == (1, 3)
    assert printed["differences"][0] == alone["differences"][0]
    assert "the 1 intervals" not in run("compare", str(with_dead), "--by", "v").output


def test_an_answer_of_many_rows_is_printed_batch_by_batch(tmp_path: Path) -> None:
    where = folder.write(tmp_path / "r")
    many = "SELECT range AS n, range * 0.5 AS h, 'x' AS t FROM range(120001)"
    rows = run("results", str(where), "--sql", many, "--csv").output.splitlines()
    assert (rows[0], rows[1], rows[-1], len(rows)) == ('"n","h","t"', '0,0.0,"x"', '120000,60000.0,"x"', 120_002)
    printed = json.loads(run("results", str(where), "--sql", many, "--json").output)
    assert printed["columns"] == ["n", "h", "t"]
    assert printed["rows"][-1] == [120000, 60000.0, "x"]
    lines = run("results", str(where), "--sql", many).output.splitlines()
    assert len(lines) == 1 + 1000 + 2
    assert lines[-1] == "These are the first 1,000 rows; --csv and --json print all"
    none = "SELECT * FROM range(0)"
    assert json.loads(run("results", str(where), "--sql", none, "--json").output) == {"columns": ["range"], "rows": []}
    assert run("results", str(where), "--sql", none, "--csv").output == '"range"\n'


def test_a_query_that_takes_long_has_no_progress_bar_among_its_rows(bloat: Path) -> None:
    sql = "SELECT current_setting('enable_progress_bar') AS bar"
    assert run("results", str(bloat), "--sql", sql, "--csv").output.split() == ['"bar"', "false"]


def test_a_query_that_fails_at_a_later_row_is_a_mistake_of_the_query(tmp_path: Path) -> None:
    late = "SELECT CASE WHEN range = 90000 THEN error('no such luck') ELSE range::VARCHAR END FROM range(100000)"
    done = run("results", str(folder.write(tmp_path / "r")), "--sql", late, "--csv")
    assert done.exit_code == 1
    assert "the query fails" in done.stderr
    assert "no such luck" in done.stderr


def test_sql_answers_over_results_failures_and_kept_tables(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    where = folder.write(tmp_path / "r", keep=["tcp"])
    (where / "tables").mkdir()
    pq.write_table(pa.table({"cc": ["reno"], "seed": [1], "rtt_us": [7]}), where / "tables" / "tcp.parquet")
    sql = "SELECT cc, avg(goodput) AS g FROM results WHERE aqm = 'none' GROUP BY cc ORDER BY g DESC"
    printed = json.loads(run("results", str(where), "--sql", sql, "--json").output)
    data = synthetic.table().to_pandas()
    expected = data[data["aqm"] == "none"].groupby("cc", observed=True)["goodput"].mean().sort_values(ascending=False)
    assert printed["columns"] == ["cc", "g"]
    assert [r[0] for r in printed["rows"]] == list(expected.index)
    assert [r[1] for r in printed["rows"]] == pytest.approx(list(expected))
    shown = run("results", str(where), "--sql", "SELECT rtt_us FROM tcp", "--csv").output
    assert shown.split() == ['"rtt_us"', "7"]
    assert run("results", str(where), "--sql", "SELECT count(*) FROM failures", "--csv").output.split()[1] == "0"


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT nothing FROM results", "table 'results' has buffer, aqm, cc, seed, goodput, rtt"),
        ("SELEC 1", "no SQL"),
        ("", "not one SELECT"),
        ("SELECT 1; SELECT 2", "not one SELECT"),
        ("DROP TABLE results", "not one SELECT"),
        ("INSERT INTO results VALUES (1)", "not one SELECT"),
        ("COPY results TO 'stolen.csv'", "not one SELECT"),
        ("ATTACH 'stolen.db'", "not one SELECT"),
        ("SET enable_external_access = true", "not one SELECT"),
        ("SELECT * FROM read_text('/etc/hostname')", "file system operations are disabled"),
        ("SELECT * FROM read_parquet('results.parquet')", "disabled"),
        ("SELECT * FROM sys", "does not exist"),
    ],
)
def test_a_query_only_reads_the_tables_of_the_campaign(
    bloat: Path, sql: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("results", str(bloat), "--sql", sql)
    assert done.exit_code == 1
    assert words in done.output
    assert not list(tmp_path.iterdir())


def test_a_million_rows_are_summed_right() -> None:
    n = 1_000_000
    table = pa.table({"cc": pa.array(np.arange(n) % 10), "seed": pa.array(np.arange(n)), "m": pa.array(np.ones(n))})
    answer = query("SELECT cc, sum(m) AS s FROM results GROUP BY cc ORDER BY cc", {"results": table})
    assert answer.to_pydict() == {"cc": list(range(10)), "s": [n / 10] * 10}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--metric", "gooput"], "there are: goodput, rtt"),
        (["--level", "12"], "outside of 50 %"),
        (["--level", "x"], "is no level"),
        (["--csv", "--json"], "two forms"),
        (["--sql", "SELECT 1", "--metric", "rtt"], "choose columns in the query"),
    ],
)
def test_mistakes_of_the_command_are_reported(bloat: Path, words: list[str], message: str) -> None:
    done = run("results", str(bloat), *words)
    assert done.exit_code in (1, 2)
    assert message in done.output


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    for verb in (["results"], ["compare", "--by", "cc"]):
        done = run(verb[0], str(tmp_path), *verb[1:])
        assert done.exit_code == 1
        assert "not the folder of a campaign" in done.output


def test_compare_pairs_labels_at_equal_other_labels_and_seeds(bloat: Path) -> None:
    printed = json.loads(run("compare", str(bloat), "--by", "cc", "--metric", "rtt", "--json").output)
    assert (printed["by"], printed["family"], len(printed["differences"])) == ("cc", 36, 36)
    first = printed["differences"][0]
    assert first["at"] == {"buffer": "50 kB", "aqm": "none"}
    assert (first["first"], first["second"], first["n"], first["unpaired"]) == ("reno", "cubic", 5, 0)
    at = {"buffer": "50 kB", "aqm": "none"}
    pairs = [synthetic.rtt({**at, "cc": "reno"}, s) - synthetic.rtt({**at, "cc": "cubic"}, s) for s in range(1, 6)]
    assert first["mean"] == pytest.approx(sum(pairs) / 5)
    assert {d["answer"] for d in printed["differences"]} <= {"higher", "lower", "undecided"}
    by_key = json.loads(run("compare", str(bloat), "--by", "key.of.cc", "--metric", "rtt", "--json").output)
    assert by_key == printed


def test_compare_says_what_common_seeds_saved_and_what_is_undecided(tmp_path: Path) -> None:
    """Common noise of the seeds cancels: b - a is 5 on each seed, c - a is noise only."""
    shift: dict[Any, Any] = {
        "a": lambda s: 0.0,
        "b": lambda s: 5.0 + 0.001 * synthetic.noise(s, 1),
        "c": lambda s: 0.1 * synthetic.noise(s, 2),
    }
    metrics = synthetic.one("ms", lambda at, s: 100 * synthetic.noise(s) + shift[at["v"]](s))
    where = folder.write(tmp_path / "r", synthetic.table({"v": ["a", "b", "c"]}, metrics))
    printed = json.loads(run("compare", str(where), "--by", "v", "--json").output)["differences"]
    assert [(d["first"], d["second"], d["answer"]) for d in printed] == [
        ("a", "b", "lower"),
        ("a", "c", "undecided"),
        ("b", "c", "higher"),
    ]
    assert printed[0]["variance_factor"] > 1e6
    lines = run("compare", str(where), "--by", "v").output.splitlines()
    assert lines[0].split()[:2] == ["metric", "v"]
    assert "undecided (interval contains zero" in lines[2]
    assert lines[-2] == "3 differences: 2 decided, 1 undecided (1: interval contains zero)"
    assert lines[-1] == "all intervals together cover at 95 %; those of 'saved' each for itself at 95 %"
    assert lines[1].split("x", 1)[1].count(" to ") == 1  # what common seeds saved, with its interval


def test_few_seeds_are_undecided_whatever_the_difference(tmp_path: Path) -> None:
    metrics = synthetic.one("ms", lambda at, s: {"a": 0.0, "b": 100.0}[at["v"]] + 0.01 * s)
    where = folder.write(tmp_path / "r", synthetic.table({"v": ["a", "b"]}, metrics, seeds=[1, 2, 3]))
    (found,) = json.loads(run("compare", str(where), "--by", "v", "--json").output)["differences"]
    assert (found["answer"], found["reason"]) == ("undecided", "too few seeds")


def test_holm_counts_all_metrics_and_all_other_labels() -> None:
    data = tidy(synthetic.table())
    one = contrasts(data, "cc", ["rtt"])
    both = contrasts(data, "cc")
    assert (len(one), len(both)) == (36, 72)
    same = [c for c in both if c.metric == "rtt"]
    for alone, beside in zip(one, same, strict=True):
        assert beside.difference.p == alone.difference.p
        assert beside.difference.p_holm is not None
        assert alone.difference.p_holm is not None
        assert beside.difference.p_holm >= alone.difference.p_holm
        assert beside.difference.low <= alone.difference.low


def test_compare_refuses_an_axis_with_one_label_and_one_that_is_not_there(tmp_path: Path) -> None:
    data = tidy(synthetic.table({"v": ["a"], "w": ["x", "y"]}, synthetic.one("1", lambda _at, s: float(s))))
    with pytest.raises(LasthopError, match=r"has one label \(a\).*\n.*several labels are: w"):
        contrasts(data, "v")
    done = run("compare", str(folder.write(tmp_path / "r", data.table)), "--by", "u")
    assert done.exit_code == 1
    assert "there are: v, w" in done.output
