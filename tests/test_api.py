"""The Python API: scenarios, runs, results, stepping."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import lasthop as lh
from lasthop._registry import run_tables
from tests import table_properties
from tests.scenarios import UMTS, WIRED

DOCUMENTED = {"flows", "tcp", "packets", "rlc", "mac", "queues", "events", "drops"}


@pytest.fixture(scope="module")
def umts() -> lh.Results:
    return lh.Scenario.parse(UMTS).run()


def as_dicts(results: lh.Results) -> dict[str, Any]:
    return {name: results.table(name).to_pydict() for name in results.table_names}


def test_a_scenario_knows_its_name_seed_and_length() -> None:
    s = lh.Scenario.parse(WIRED)
    assert (s.name, s.seed, s.duration) == ("wired", 1, 5.0)
    assert "wired" in repr(s)


def test_keys_are_changed_in_copies() -> None:
    s = lh.Scenario.parse(WIRED)
    t = s.with_(seed=9, duration="2 s").set("flow.ftp.tcp.cc", "vegas")
    assert (t.seed, t.duration, s.seed) == (9, 2.0, 1)
    assert '"vegas"' in t.to_toml()
    assert t.hash != s.hash


def test_the_effective_scenario_reads_back_as_itself() -> None:
    s = lh.Scenario.parse(UMTS)
    again = lh.Scenario.parse(s.to_toml())
    assert again.to_toml() == s.to_toml()
    assert again.hash == s.hash


def test_results_hold_every_documented_table(umts: lh.Results) -> None:
    assert set(umts.table_names) == DOCUMENTED
    assert len(umts.flows) == 1
    for name in DOCUMENTED:
        for field in umts.table(name).schema:
            assert b"description" in (field.metadata or {}), (name, field.name)
    assert umts.flows.schema.field("goodput_bps").metadata[b"unit"] == b"bit/s"
    assert umts.manifest["seed"] == 1
    assert umts.flows["goodput_bps"][0].as_py() > 50e3


def test_a_missing_table_is_a_clear_mistake(umts: lh.Results) -> None:
    with pytest.raises(lh.LasthopError, match=r"no table 'nothing'.*flows"):
        umts.table("nothing")


def test_each_table_is_a_property_and_an_absent_one_says_what_there_is(umts: lh.Results, tmp_path: Path) -> None:
    written = lh.Scenario.parse(UMTS).run(out=tmp_path / "out")
    tables = {n for n, p in vars(lh.Results).items() if getattr(p, "func", None) and "pa.Table" in _returns(p.func)}
    assert tables == {name.replace("-", "_") for name in run_tables()}
    for results in (umts, written, lh.Results.load(tmp_path / "out")):
        assert set(results.table_names) == DOCUMENTED
        for name in sorted(tables):
            if name in DOCUMENTED:
                assert getattr(results, name).equals(results.table(name)), name
            else:
                with pytest.raises(
                    lh.LasthopError,
                    match=rf"(?s)no table '{name}'; it recorded: .*drops.*(output.{name}=true|describe tables {name})",
                ) as caught:
                    getattr(results, name)
                assert len(str(caught.value)) < 300


def test_the_properties_are_those_that_the_registry_makes() -> None:
    source = table_properties.SOURCE.read_text(encoding="utf-8")
    assert source == table_properties.renewed(source), "run `make properties`"


def _returns(function: Any) -> str:
    return str(function.__annotations__["return"])


def test_bundled_scenarios_load_by_name_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert lh.Scenario.load("lte-handover").name == "lte-handover"
    with pytest.raises(lh.LasthopError, match=r"did you mean 'lte-handover'\?"):
        lh.Scenario.load("lte-handovr")
    with pytest.raises(lh.LasthopError, match=r"the bundled scenario is 'lte-handover'"):
        lh.Scenario.load("lte-handover.toml")
    # A file of one's own comes first.
    (tmp_path / "lte-handover").write_text(WIRED)
    assert lh.Scenario.load("lte-handover").name == "wired"


def test_a_folder_holds_what_memory_holds(tmp_path: Path) -> None:
    s = lh.Scenario.parse(UMTS)
    written = s.run(out=tmp_path / "out")
    loaded = lh.Results.load(tmp_path / "out")
    assert as_dicts(loaded) == as_dicts(written) == as_dicts(s.run())
    assert loaded.manifest == written.manifest
    assert loaded.summary == written.summary
    assert loaded.path == tmp_path / "out"
    assert loaded.flows.schema.equals(s.run().flows.schema, check_metadata=True)


def test_a_folder_that_is_gone_is_told_as_such(tmp_path: Path) -> None:
    lh.Scenario.parse(UMTS).run(out=tmp_path / "out")
    loaded = lh.Results.load(tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    with pytest.raises(lh.LasthopError, match="is gone"):
        _ = loaded.flows


def test_stepping_without_changes_gives_the_same_results(umts: lh.Results) -> None:
    sim = lh.Scenario.parse(UMTS).simulate()
    sim.step_until("1300 ms")
    assert sim.now == pytest.approx(1.3)
    assert sim.now_ns == 1_300_000_000
    assert sim.tcp_info("ftp")["snd_cwnd"] >= 1
    sim.step_until(2.0)
    assert as_dicts(sim.finish()) == as_dicts(umts)


def test_a_change_while_stepping_is_that_of_the_scenario() -> None:
    changed = UMTS.replace('t = "3 s"', 't = "2 s"').replace('"20 %"', '"30 %"')
    sim = lh.Scenario.parse(UMTS[: UMTS.index("[[at]]")] + UMTS[UMTS.index("[output]") :]).simulate()
    sim.step_until("2 s")
    sim.set("bearer.dch.downlink.bler", "30 %")
    stepped = sim.finish()
    planned = lh.Scenario.parse(changed).run()
    assert stepped.flows.to_pydict() == planned.flows.to_pydict()


def test_many_runs_come_in_order_and_do_not_depend_on_jobs(tmp_path: Path) -> None:
    base = lh.Scenario.parse(WIRED)
    family = [base.with_(seed=n) for n in range(1, 5)]
    calls: list[tuple[int, int]] = []
    one = lh.run_many(family, jobs=1, progress=lambda done, total: calls.append((done, total)))
    two = lh.run_many(family, jobs=2, outs=[tmp_path / str(n) for n in range(4)])
    assert [r.manifest["seed"] for r in one] == [1, 2, 3, 4]
    assert [as_dicts(r) for r in one] == [as_dicts(r) for r in two]
    assert calls[-1] == (4, 4)
    with pytest.raises(ValueError, match="4 scenarios need as many folders, not 1"):
        lh.run_many(family, outs=[tmp_path / "x"])


def test_keys_that_are_right_only_together_are_changed_together() -> None:
    red = lh.Scenario.parse(WIRED).with_({"link.path.queue": {"kind": "red", "min_packets": 5.0, "max_packets": 15.0}})
    both: dict[str, Any] = {"link.path.queue.min_packets": 20.0, "link.path.queue.max_packets": 60.0}
    assert "max_packets = 60" in red.with_(both).to_toml()
    with pytest.raises(lh.LasthopError, match="`max_packets` must not be below `min_packets`"):
        red.set("link.path.queue.min_packets", 20.0).set("link.path.queue.max_packets", 60.0)


def test_progress_is_told_and_an_exception_there_stops_the_run(tmp_path: Path) -> None:
    shares: list[float] = []
    lh.Scenario.parse(WIRED).run(progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)

    def stop(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lh.Scenario.parse(WIRED).run(out=tmp_path / "out", progress=stop)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (WIRED.replace('"20 ms"', '"20 Mbit/s"'), ["delay", ":10:9", "ms"]),
        (WIRED.replace("delay", "dely"), ["dely", "delay"]),
        (WIRED.replace('"5 Mbit/s"', '"-5 Mbit/s"'), ["rate"]),
        (WIRED.replace('to = "client"', 'to = "nobody"'), ["nobody"]),
        (WIRED.replace('app = "bulk"', 'app = "bluk"'), ["bluk", "bulk"]),
        ("[scenario", ["1"]),
        ("", ["scenario"]),
    ],
)
def test_mistakes_are_shown_with_place_and_remedy(text: str, words: list[str]) -> None:
    with pytest.raises(lh.LasthopError) as caught:
        lh.Scenario.parse(text, name="my.toml")
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert caught.value.diagnostics[0]["severity"] == "error"


def test_missing_files_are_mistakes(tmp_path: Path) -> None:
    with pytest.raises(lh.LasthopError, match=r"nix\.toml"):
        lh.Scenario.load(tmp_path / "nix.toml")
    with pytest.raises(lh.LasthopError, match="there is no folder"):
        lh.Results.load(tmp_path / "nix")
    with pytest.raises(lh.LasthopError, match=r"no manifest\.json"):
        lh.Results.load(tmp_path)


def test_pandas_and_polars_read_tables(umts: lh.Results) -> None:
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    assert isinstance(umts.flows.to_pandas(), pd.DataFrame)
    frame = pl.DataFrame(umts.tcp)
    assert frame.height == len(umts.tcp)
    # Without copies: polars looks at the very memory that Arrow holds.
    column = umts.tcp["time_s"].chunk(0)
    assert pl.from_arrow(column).to_arrow().buffers()[1].address == column.buffers()[1].address


def test_figures_come_from_a_real_run(umts: lh.Results, tmp_path: Path) -> None:
    for kind in ("cwnd", "rtt", "throughput", "sequence", "queue"):
        getattr(umts.plot, kind)().savefig(tmp_path / f"{kind}.pdf")
        assert (tmp_path / f"{kind}.pdf").stat().st_size > 2000


@pytest.mark.parametrize("file", ["manifest.json", "summary.json"])
@pytest.mark.parametrize("text", ["{", "7"])
def test_a_damaged_file_of_results_is_named(file: str, text: str, tmp_path: Path) -> None:
    lh.Scenario.parse(WIRED).with_({"scenario.duration": "0.1 s"}).run(out=tmp_path / "run")
    (tmp_path / "run" / file).write_text(text)
    with pytest.raises(lh.LasthopError, match=f"{file}' is damaged"):
        _ = lh.Results.load(tmp_path / "run").summary


def test_a_table_with_a_damaged_page_is_named(tmp_path: Path) -> None:
    """Its footer is whole, so that its schema is read; what is in it is not."""
    lh.Scenario.parse(WIRED).run(out=tmp_path / "run")
    path = tmp_path / "run" / "tcp.parquet"
    octets = bytearray(path.read_bytes())
    octets[4:1000] = b"\xff" * 996
    path.write_bytes(octets)
    with pytest.raises(lh.LasthopError, match=r"tcp\.parquet"):
        lh.Results.load(tmp_path / "run").table("tcp")
