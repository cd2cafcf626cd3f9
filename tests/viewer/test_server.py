"""The server of `lasthop view`: only this machine, only with the token, only these runs."""

from __future__ import annotations

import http.client
import itertools
import json
import math
import socket
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop import LasthopError, Results
from lasthop._results import Tables
from lasthop._values import Value
from lasthop.cli import main
from lasthop.explain import explain
from lasthop.report import run_report
from lasthop.viewer import Viewer
from lasthop.viewer._embed import ROWS, thinned
from lasthop.viewer._excerpt import excerpt
from lasthop.viewer._explained import BANDS, LARGEST, TIMELINE_ROWS, explained, finer
from lasthop.viewer._index import arrow, index
from tests.scenarios import WIRED


@pytest.fixture(scope="module")
def run() -> Results:
    return lh.Scenario.parse(WIRED).run()


@pytest.fixture(scope="module")
def viewer(run: Results) -> Iterator[Viewer]:
    with Viewer({"wired": run}) as viewer:
        yield viewer


def get(viewer: Viewer, path: str, host: str | None = None, method: str = "GET") -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", viewer.port, timeout=10)
    connection.request(method, path, headers={"Host": host} if host else {})
    response = connection.getresponse()
    found = response.status, response.read(), dict(response.getheaders())
    connection.close()
    return found


def test_the_token_is_needed(viewer: Viewer) -> None:
    assert get(viewer, f"/{viewer.token}/index.json")[0] == 200
    for path in ("/", "/index.json", "/wrong/index.json", f"/{viewer.token[:-1]}/index.json", "//index.json"):
        status, body, _ = get(viewer, path)
        assert (status, b"wired" in body) == (403, False), path


def test_another_name_of_this_machine_is_refused(viewer: Viewer) -> None:
    path = f"/{viewer.token}/index.json"
    assert get(viewer, path, f"localhost:{viewer.port}")[0] == 200
    for host in ("example.org", f"example.org:{viewer.port}", "127.0.0.1", "localhost:1"):
        assert get(viewer, path, host)[0] == 403, host


def test_only_the_loopback_interface_listens(viewer: Viewer) -> None:
    for family, kind, _, _, address in socket.getaddrinfo(socket.gethostname(), viewer.port, type=socket.SOCK_STREAM):
        if str(address[0]).startswith(("127.", "::1")):
            continue
        with socket.socket(family, kind) as other:
            other.settimeout(2)
            assert other.connect_ex(address) != 0, address


def test_nothing_but_page_index_and_tables(viewer: Viewer) -> None:
    base = f"/{viewer.token}/"
    for path in (
        "x",
        "../",
        "%2e%2e/%2e%2e/etc/passwd",
        "table/0",
        "table/0/tcp/more",
        "table/9/tcp",
        "table/x/tcp",
        "table/²/tcp",
    ):
        assert get(viewer, base + path.replace("²", "%C2%B2"))[0] == 404, path
    for path in ("table/0/no", "table/0/tcp?columns=nothing", "table/0/..%2fmanifest"):
        status, body, _ = get(viewer, base + path)
        assert status == 422, path
        assert body
    assert get(viewer, base, method="POST")[0] == 501


def test_headers_keep_the_page_to_itself(viewer: Viewer) -> None:
    _, body, headers = get(viewer, f"/{viewer.token}/")
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert b"default-src 'none'" in body
    assert b"connect-src 'self'" in body


def test_a_table_comes_as_it_is(viewer: Viewer, run: Results) -> None:
    status, body, _ = get(viewer, f"/{viewer.token}/table/0/tcp?columns=time_s,flow,snd_cwnd,pacing_rate_bps")
    assert status == 200
    table = pa.ipc.open_stream(body).read_all()
    assert table["time_s"].to_pylist() == run.tcp["time_s"].to_pylist()
    assert table["flow"].to_pylist() == run.tcp["flow"].to_pylist()
    assert all(x != x for x in table["pacing_rate_bps"].to_pylist()), "missing is NaN"


def test_the_index_names_what_there_is(run: Results) -> None:
    about = index({"a": run})["runs"][0]
    assert {t["name"] for t in about["tables"]} == set(run.table_names)
    tcp = next(t for t in about["tables"] if t["name"] == "tcp")
    assert tcp["rows"] == run.tcp.num_rows
    assert tcp["series"] == ["flow"]
    assert {c["name"]: c["unit"] for c in tcp["columns"]}["rtt_us"] == "us"
    assert about["duration_s"] == 5
    json.dumps(about, allow_nan=False)


def test_places_of_cells_and_terminals() -> None:
    run = lh.Scenario.load("lte-handover").with_({"scenario.duration": "0.1 s"}).run()
    places = {p["name"]: p for p in index({"a": run})["runs"][0]["places"]}
    assert places["east"] == {"name": "east", "kind": "cell", "x": 750.0, "y": 0.0}
    assert "car" not in places, "it moves"


def test_cells_of_a_layout_have_the_places_of_the_manifest() -> None:
    run = lh.Scenario.load("lte-7-sites").with_({"scenario.duration": "0.2 s"}).run()
    entry = index({"a": run})["runs"][0]
    places = {p["name"]: p for p in entry["places"]}
    assert len(places) == 21
    assert places["macro-2-1"] == {"name": "macro-2-1", "kind": "cell", "x": 500.0, "y": 0.0, "azimuth": 30.0}
    assert (entry["moving"], entry["wraps"]) == (["phone"], True)


@pytest.mark.parametrize("cells", [None, 3, [3], [{"name": "a"}], [{"name": "a", "x_m": "0", "y_m": True}]])
def test_damaged_places_of_cells_are_left_out(run: Results, cells: object) -> None:
    tables = {name: run.table(name) for name in run.table_names}
    odd = Results(Tables(json.dumps({**run.manifest, "places": cells}), json.dumps(run.summary), tables))
    assert index({"a": odd})["runs"][0]["places"] == []


def test_members_that_are_placed_at_random_are_where_they_were_placed() -> None:
    """The ring of the scenario: 2 to 50 m around the access point at the origin."""
    run = lh.Scenario.load("wifi-beside-lte").with_({"scenario.duration": "0.2 s"}).run()
    entry = index({"a": run})["runs"][0]
    places = {p["name"]: p for p in entry["places"]}
    assert set(places) == {"enb", "home", *(f"laptop-{k}" for k in range(1, 9))}
    assert all(2 <= math.hypot(p["x"], p["y"]) <= 50 for name, p in places.items() if name.startswith("laptop"))
    assert len({(p["x"], p["y"]) for p in places.values()}) == 9, "only the two antennas have one place"
    assert entry["moving"] == ["phone"]


def test_every_kind_of_column_becomes_numbers_or_texts() -> None:
    table = pa.table(
        {
            "u": pa.array([1, None], pa.uint64()),
            "b": pa.array([True, None]),
            "t": pa.array(["x", None]),
            "d": pa.array(["x", "y"]).dictionary_encode(),
            "n": pa.array([None, None], pa.float64()),
        }
    )
    back = pa.ipc.open_stream(arrow(table)).read_all()
    assert back["u"].to_pylist()[0] == 1.0
    assert back["b"].to_pylist()[0] == 1.0
    assert back["t"].to_pylist() == ["x", ""]
    assert back["d"].to_pylist() == ["x", "y"]
    assert pa.ipc.open_stream(arrow(table.slice(0, 0))).read_all().num_rows == 0


def test_a_report_is_one_file_and_the_same_twice(run: Results) -> None:
    html = run_report(run)
    assert html == run_report(run)
    assert "connect-src 'none'" in html
    assert len(html) < 3_000_000


def test_a_copy_keeps_whole_packets_around_what_happened(run: Results) -> None:
    assert excerpt(run, 10**6) is None, "all fit"
    full = lh.Scenario.parse(WIRED).with_({"output.explain": True}).run()
    chosen = excerpt(full, 3000)
    assert chosen is not None
    kept = {name: chosen.of(full.table(name)) for name in ("packets", "stages")}
    assert 1000 < sum(len(t) for t in kept.values()) <= 3000
    for name, table in kept.items():
        rows = [r["packet"] for r in full.table(name).to_pylist() if r["packet"] in set(chosen.packets.tolist())]
        assert table["packet"].to_pylist() == rows, "a packet has all of its rows"
    ends = [(s.start, s.end) for s in chosen.stretches]
    assert all(a[1] < b[0] for a, b in itertools.pairwise(ends))
    sent = {r["packet"]: r["time_s"] for r in full.packets.to_pylist() if r["event"] == "sent"}
    inside = {n for n, at in sent.items() if any(a <= at < b for a, b in ends)}
    assert inside == set(chosen.packets.tolist())
    dropped = next(r["time_s"] for r in full.packets.to_pylist() if r["event"] == "dropped")
    assert any(s.start <= dropped < s.end and "first drop" in s.what for s in chosen.stretches)


def test_a_timeline_has_the_shares_of_the_budget() -> None:
    full = lh.Scenario.parse(WIRED).with_({"output.explain": True}).run()
    (found,) = [f for f in explained(full) if f["of"] == "time"]
    timeline, parts = found["timeline"], found["parts"]
    assert len(timeline["shares"]) == min(len(parts), TIMELINE_ROWS)
    assert sum(timeline["whole_s"]) == pytest.approx(sum(p["s"] for p in parts), rel=1e-4)
    for part, row in zip(parts, timeline["shares"], strict=False):
        s = sum(share * whole for share, whole in zip(row, timeline["whole_s"], strict=True))
        assert s == pytest.approx(part["s"], abs=1e-3)


def test_a_cause_that_fills_a_moment_has_a_band_of_its_own() -> None:
    """The interruption of a handover is seen, however small its share of the run is."""
    near: dict[str, Value] = {
        "ue.car.radio.position": ["420 m", "20 m", "1.5 m"],
        "scenario.duration": "4 s",
        "output.explain": True,
    }
    run = lh.Scenario.load("lte-handover").with_(near).run()
    (found,) = explained(run)
    parts, shares = found["parts"], found["timeline"]["shares"]
    causes = [p["cause"] for p in parts]
    place = causes.index("interruption")
    assert place < BANDS
    assert max(shares[place]) > 0.2
    assert sorted(p["s"] for p in parts) == sorted(p.ns / 1e9 for p in explain(run, found["flow"]).budget.parts)
    assert [p["s"] for p in parts[:LARGEST]] == sorted((p["s"] for p in parts), reverse=True)[:LARGEST]
    for part, row in zip(parts[:BANDS], shares, strict=False):
        s = sum(share * whole for share, whole in zip(row, found["timeline"]["whole_s"], strict=True))
        assert s == pytest.approx(part["s"], abs=1e-3)
    # In a part of the time the cause dominates.
    (handover,) = [r["time_s"] for r in run.events.to_pylist() if r["kind"] == "handover-start"]
    part = finer(run, found["flow"], handover - 0.1, handover + 0.2)
    assert part
    (row,) = [
        k for k, p in enumerate(part["parts"]) if p["cause"] == "interruption" and p["place"] == parts[place]["place"]
    ]
    assert max(part["shares"][row]) > 0.5
    assert all({"cause": p["cause"], "place": p["place"]} in part["parts"] for p in parts[:2])


def test_progress_of_an_explanation_is_reported(viewer: Viewer, run: Results) -> None:
    """From 0 to 1 and never back; nobody asks, or it is over: there is none."""
    full = lh.Scenario.parse(WIRED).with_({"output.explain": True}).run()
    reported: list[tuple[str, float]] = []
    flows = {f["flow"] for f in explained(full, lambda flow, part: reported.append((flow, part)))}
    assert {flow for flow, _ in reported} == flows
    parts = [part for _, part in reported]
    assert parts[0] == 0
    assert parts == sorted(parts)
    assert parts[-1] == pytest.approx(1)
    assert len(parts) > 3
    assert viewer.answer("progress/0") == (200, "application/json", b"null")


def test_means_of_a_comparison_are_those_of_all_samples() -> None:
    scenario = lh.Scenario.load("wifi-slow-station").with_({"scenario.duration": "2 s"})
    run = scenario.run()
    one, _ = index({"a": run, "b": scenario.with_({"scenario.seed": 2}).run()})["runs"]
    found = {(m["of"], m["title"]): m["value"] for m in one["means"]}
    bytes_ = [r["bytes"] for r in run.queues.to_pylist() if r["queue"] == "wired.forward"]
    assert found["wired.forward", "Mean queue"] == pytest.approx(sum(bytes_) / len(bytes_))
    air = [r["airtime_s"] for r in run.wifi.to_pylist() if (r["station"], r["direction"]) == ("far", "downlink")]
    assert found["far downlink", "Airtime"] == pytest.approx(sum(air) / 2)
    assert "means" not in index({"a": run})["runs"][0]


def test_a_file_stays_small_whatever_is_in_it(run: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = len(run_report(run))
    monkeypatch.setattr("lasthop.viewer._embed.MOST", 20_000)
    monkeypatch.setattr("lasthop.viewer._embed.LEAST_ROWS", 10)
    assert len(run_report(run)) < whole - 5_000


def test_long_tables_are_thinned_and_packets_are_not() -> None:
    table = pa.table({"x": range(100_000)})
    short = thinned(table, ROWS)
    assert len(short) <= ROWS
    assert (short["x"][0].as_py(), short["x"][-1].as_py()) == (0, 99_999)
    assert thinned(short, ROWS) is short


def test_a_busy_port_is_said(viewer: Viewer, run: Results) -> None:
    with pytest.raises(LasthopError, match=f"port {viewer.port} cannot be used"):
        Viewer({"a": run}, viewer.port)


def test_what_is_no_run_is_said(tmp_path: Path) -> None:
    damaged, other = tmp_path / "damaged", tmp_path / "no"
    damaged.mkdir()
    (damaged / "campaign.json").write_text("{}")
    for folders, words in (
        ([damaged], "cannot read the results"),
        ([damaged, other], "holds a campaign or a study"),
        ([other], "there is no folder"),
    ):
        done = CliRunner().invoke(main, ["view", "--no-browser", *map(str, folders)])
        assert done.exit_code == 1
        assert words in done.stderr


def test_a_report_of_several_runs_needs_a_file(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["report", str(tmp_path), str(tmp_path)])
    assert done.exit_code == 2
    assert "--out" in done.stderr


def test_runs_in_folders_of_one_name_get_different_labels(tmp_path: Path) -> None:
    from lasthop.cli._view import labelled

    scenario = lh.Scenario.parse(WIRED).with_({"scenario.duration": "0.2 s"})
    for place in ("a", "b"):
        scenario.run(out=tmp_path / place / "run")
    assert list(labelled([tmp_path / "a" / "run", tmp_path / "b" / "run"])) == ["a/run", "b/run"]
    with pytest.raises(LasthopError, match="named twice"):
        labelled([tmp_path / "a" / "run", tmp_path / "a" / "run"])
