"""`lasthop ss`: words, order and formats are those of iproute2.

Its misc/ss.c, `tcp_stats_print`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop import LasthopError, Results
from lasthop._results import Tables
from lasthop.cli import main
from lasthop.export import sockets_at
from lasthop.export._ss import bandwidth
from tests.scenarios import WIRED

SAMPLE: dict[str, Any] = {
    "time_s": 1.0, "flow": "ftp", "snd_cwnd": 10.0, "snd_ssthresh": 7.0, "rtt_us": 900.0, "rttvar_us": 100.0,
    "min_rtt_us": 850.5, "rto_us": 204000.0, "unacked": 4, "sacked": 2, "lost": 1, "retrans": 1, "total_retrans": 3,
    "bytes_acked": 14480, "notsent_bytes": 2896, "pacing_rate_bps": 12_345_678.0,
}  # fmt: skip


def results(*samples: dict[str, Any]) -> Results:
    flows = [{"flow": f, "src": "a", "dst": "b", "cc": "cubic", "end_s": 99.0} for f in ("ftp", "web", "voice")]
    tables = {"flows": pa.Table.from_pylist(flows), "tcp": pa.Table.from_pylist([{**SAMPLE, **s} for s in samples])}
    return Results(Tables("{}", "{}", tables))


def test_a_full_line() -> None:
    """Times in ms with `%g`; the rate with three digits and a prefix."""
    (socket,) = sockets_at(results({}), 1.0)
    assert socket.line == (
        "cubic rto:204 rtt:0.9/0.1 cwnd:10 ssthresh:7 bytes_acked:14480 pacing_rate 12.3Mbps unacked:4 retrans:1/3"
        " lost:1 sacked:2 notsent:2896 minrtt:0.8505"
    )


def test_what_is_zero_or_infinite_is_not_shown() -> None:
    """Before the first sample Linux has no rtt.

    A threshold of 0xFFFF segments and more is not shown.
    """
    fresh = {name: 0 for name in SAMPLE if name not in ("time_s", "flow")}
    line = {"snd_cwnd": 10.0, "snd_ssthresh": -1.0, "rto_us": 1e6, "min_rtt_us": None, "pacing_rate_bps": None}
    (socket,) = sockets_at(results({**fresh, **line}), 1.0)
    assert socket.line == "cubic rto:1000 cwnd:10"
    (socket,) = sockets_at(results({**fresh, **line, "snd_ssthresh": 65535.0}), 1.0)
    assert "ssthresh" not in socket.line
    (socket,) = sockets_at(results({**fresh, **line, "snd_ssthresh": 65534.0}), 1.0)
    assert "ssthresh:65534" in socket.line


def test_the_last_sample_not_after_the_moment() -> None:
    made = results(
        {"time_s": 1.0, "unacked": 1},
        {"time_s": 1.5, "flow": "web", "unacked": 2},
        {"time_s": 2.0, "unacked": 3},
        {"time_s": 2.0, "unacked": 5},
        {"time_s": 3.0, "unacked": 4},
    )

    def seen(at_s: float, flow: str | None = None) -> list[tuple[str, int]]:
        return [(s.flow, s.sample["unacked"]) for s in sockets_at(made, at_s, flow)]

    assert seen(1.0) == [("ftp", 1)]
    assert seen(1.999) == [("ftp", 1), ("web", 2)]
    assert seen(2.0) == [("ftp", 5), ("web", 2)]
    assert seen(99.0, "ftp") == [("ftp", 4)]


@pytest.mark.parametrize(
    ("at_s", "flow", "said"),
    [
        (0.5, None, "the first is at 1 s"),
        (1.0, "nobody", "its flows are: ftp, web, voice"),
        (1.0, "voice", "not of TCP"),
        (99.1, None, "the run ends at 99 s: there is no state at 99.1 s"),
    ],
)
def test_mistakes_name_what_there_is(at_s: float, flow: str | None, said: str) -> None:
    with pytest.raises(LasthopError, match=said):
        sockets_at(results({}), at_s, flow)


@pytest.mark.parametrize(
    ("bps", "text"), [(999, "999"), (8000, "8k"), (9.92e6, "9.92M"), (55.001e9, "55G"), (2e12, "2T")]
)
def test_rates(bps: float, text: str) -> None:
    assert bandwidth(bps) == text


def test_the_command_line(tmp_path: Path) -> None:
    run = tmp_path / "run"
    made = lh.Scenario.parse(WIRED).run(out=run)
    last = max(t for t in made.tcp["time_s"].to_pylist() if t <= 2.5)
    shown = CliRunner().invoke(main, ["ss", str(run), "--at", "2500 ms"])
    assert shown.exit_code == 0
    head, line = shown.stdout.splitlines()
    assert head == f"ftp  server -> client  sampled at {last:.9g} s"
    assert line.startswith("\t reno rto:")
    printed = json.loads(CliRunner().invoke(main, ["ss", str(run), "--at", "2.5s", "--flow", "ftp", "--json"]).stdout)
    assert printed["at_s"] == 2.5
    assert printed["sockets"][0]["line"] == line.strip()
    assert printed["sockets"][0]["sample"]["time_s"] == last
    assert CliRunner().invoke(main, ["ss", str(run), "--at", "-1s"]).exit_code == 2
    assert CliRunner().invoke(main, ["ss", str(run), "--at", "soon"]).exit_code == 2

    done = CliRunner().invoke(main, ["export", str(run), "--format", "flowmonitor", "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["files"] == ["flowmon.xml"]
    assert (tmp_path / "run-flowmonitor" / "flowmon.xml").is_file()
    # The run's own folder is no export and stays.
    refused = CliRunner().invoke(main, ["export", str(run), "--format", "csv", "--out", str(run)])
    assert refused.exit_code == 1
    assert (run / "manifest.json").is_file()


def test_a_table_without_samples_has_another_remedy_than_a_later_moment() -> None:
    empty = lh.Scenario.parse(WIRED).set("flow.ftp.autostart", False).run()
    with pytest.raises(LasthopError, match="no sample at all") as refused:
        sockets_at(empty, 1.0)
    assert "none of them was started" in str(refused.value)
