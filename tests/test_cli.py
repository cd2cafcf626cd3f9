"""The command: help that explains, exit codes, one JSON object, no traceback."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from lasthop._registry import on_request
from lasthop.cli import _output, main
from tests.scenarios import UMTS, WIRED

MINE = """
from lasthop import CongestionControl

class Mine(CongestionControl):
    def on_ack(self, ack):
        self.slow_start(ack)
"""


def lasthop(*args: str) -> Result:
    return CliRunner().invoke(main, args, prog_name="lasthop")


def lasthop_json(*args: str, code: int = 0) -> dict[str, Any]:
    result = lasthop(*args, "--json")
    assert result.exit_code == code, result.output
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def verbs(group: click.Command = main, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [path]
    for name, command in getattr(group, "commands", {}).items():
        found += verbs(command, (*path, name))
    return found


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test has a folder of its own with two scenarios."""
    monkeypatch.chdir(tmp_path)
    Path("wired.toml").write_text(WIRED)
    Path("umts.toml").write_text(UMTS)
    Path("mine.py").write_text(MINE)
    return tmp_path


@pytest.mark.parametrize("path", verbs(), ids=lambda p: " ".join(p) or "lasthop")
def test_every_verb_explains_itself_with_an_example(path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    result = lasthop(*path, "--help")
    assert result.exit_code == 0
    assert "lasthop" in result.stdout.split("Usage:")[1].split("\n", 1)[1], "an example"
    assert [line for line in result.stdout.splitlines() if len(line) > 80] == []


def test_help_documents_exit_codes_and_needs_no_question() -> None:
    assert "Exit codes:" in lasthop("--help").stdout
    for command in ((), ("study",), ("scenarios",)):
        result = lasthop(*command)
        assert (result.exit_code, result.stdout[:6]) == (0, "Usage:")


def test_a_run_leaves_its_folder_and_says_what_to_do_next() -> None:
    result = lasthop("run", "wired.toml")
    assert result.exit_code == 0, result.output
    assert "results/wired-1" in result.stdout
    assert "lasthop report results/wired-1" in result.stdout
    assert "ftp" in result.stdout
    names = {p.name for p in Path("results/wired-1").iterdir()}
    assert {"manifest.json", "summary.json", "flows.parquet", "tcp.parquet"} <= names
    assert [p.name for p in Path("results").iterdir()] == ["wired-1"]


def test_a_run_takes_overrides_and_prints_one_object() -> None:
    found = lasthop_json("run", "umts.toml", "--set", "flow.ftp.tcp.cc=vegas", "--seed", "7", "--out", "x")
    assert (found["seed"], found["out"]) == (7, "x")
    assert found["flows"][0]["cc"] == "vegas"


def test_a_run_takes_a_congestion_control_from_a_file() -> None:
    own = ["--cc", "mine=mine.py:Mine", "--set", "flow.ftp.tcp.cc=mine"]
    found = lasthop_json("run", "wired.toml", *own)
    assert found["flows"][0]["cc"] == "mine"
    assert lasthop("validate", "wired.toml", *own).exit_code == 0


def test_a_file_with_a_congestion_control_imports_what_is_beside_it(room: Path) -> None:
    """As it does when Python runs it; also in a function, when the run has begun."""
    (room / "own").mkdir()
    (room / "own/base.py").write_text("import lasthop as lh\nHALF = 0.5\n")
    (room / "own/wide.py").write_text(
        "from base import lh\n"
        "class Wide(lh.CongestionControl):\n"
        "    def on_ack(self, ack):\n"
        "        from base import HALF\n"
        "        self.cwnd += HALF\n"
    )
    (room / "own/wrong.py").write_text("from bese import lh\n")
    own = ["--cc", "mine=own/wide.py:Wide", "--set", "flow.ftp.tcp.cc=mine"]
    assert lasthop_json("run", "wired.toml", *own)["flows"][0]["cc"] == "mine"
    refused = lasthop("run", "wired.toml", "--cc", "mine=own/wrong.py:Wide")
    assert refused.exit_code == 1
    assert "--cc mine: 'wrong.py' cannot be loaded: ModuleNotFoundError: No module named 'bese'" in refused.stderr


def test_a_folder_with_runs_is_not_a_run_and_the_message_names_one() -> None:
    assert lasthop("run", "wired.toml", "--out", "results/a").exit_code == 0
    for verb in ("report", "view"):
        refused = lasthop(verb, "results")
        assert refused.exit_code == 1
        assert "name one, such as 'results/a'" in refused.stderr


def test_quiet_is_quiet() -> None:
    assert lasthop("run", "wired.toml", "-q").stdout == ""


def test_results_are_replaced_only_by_force(room: Path) -> None:
    assert lasthop("run", "wired.toml", "--out", "o").exit_code == 0
    before = (room / "o/flows.parquet").read_bytes()
    refused = lasthop("run", "wired.toml", "--out", "o")
    assert refused.exit_code == 1
    assert "--force" in refused.stderr
    assert lasthop("run", "wired.toml", "--out", "o", "--force", "--seed", "2").exit_code == 0
    assert (room / "o/flows.parquet").read_bytes() != before
    assert sorted(p.name for p in room.iterdir()) == ["mine.py", "o", "umts.toml", "wired.toml"]


def test_force_never_deletes_what_is_no_result(room: Path) -> None:
    (room / "home").mkdir()
    (room / "home/thesis.tex").write_text("years of work")
    result = lasthop("run", "wired.toml", "--out", "home", "--force")
    assert result.exit_code == 1
    assert (room / "home/thesis.tex").exists()
    (room / "file").write_text("")
    assert lasthop("run", "wired.toml", "--out", "file").exit_code == 1


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["run", "nix.toml"], 1, "nix.toml"),
        (["run", "nix"], 1, "bundled are:"),
        (["run", "wired.toml", "--set", "link.path.dely=1"], 1, "delay"),
        (["run", "wired.toml", "--set", 'link.path.delay="3 kg"'], 1, "kg"),
        (["run", "wired.toml", "--set", "nonsense"], 1, "nonsense"),
        (["run", "."], 1, "error"),
        (["validate", "nix.toml"], 1, "nix.toml"),
        (["describe", "cc", "vgas"], 1, "did you mean 'vegas'"),
        (["describe", "colour"], 1, "lasthop describe"),
        (["describe", "tables", "tpc"], 1, "did you mean 'tcp'"),
        (["describe", "vegas"], 1, "lasthop describe cc vegas"),
        (["describe", "keys", "lnk"], 1, "did you mean 'link'"),
        (["describe", "flow.ftp.tcp.vegas_alfa"], 1, "flow.ftp.tcp.vegas_alpha"),
        (["describe", "cc", "vegas", "more"], 1, "lasthop describe cc"),
        (["report", "nix"], 1, "nix"),
        (["report", "."], 1, "manifest.json"),
        (["scenarios", "copy", "nix"], 1, "there are:"),
        (["import-trace", "nix.csv", "out"], 1, "nix.csv"),
        (["study", "run", "nix"], 1, "nix"),
        (["run", "wired.toml", "--cc", "mine"], 2, "NAME=FILE.py:CLASS"),
        (["run", "wired.toml", "--cc", "mine=nix.py:Mine"], 1, "nix.py"),
        (["run", "wired.toml", "--cc", "mine=wired.toml:Mine"], 1, ".py"),
        (["run", "wired.toml", "--cc", "mine=mine.py:Nine"], 1, "it has: Mine"),
        (["run", "wired.toml", "--cc", "mine=mine.py:Mine", "--set", "flow.ftp.tcp.cc=mein"], 1, "mine"),
        (["run"], 2, "SCENARIO"),
        (["rum"], 2, "run"),
        (["run", "wired.toml", "--seed", "x"], 2, "--seed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_end_with_a_message_and_a_code(args: list[str], code: int, words: str) -> None:
    result = lasthop(*args)
    assert result.exit_code == code, result.output
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    error = lasthop_json(*args, code=code)["error"]
    assert error["kind"] == {1: "input", 2: "usage"}[code]
    assert error["message"]
    assert not Path("results").exists()


def test_a_broken_scenario_is_shown_with_its_place() -> None:
    Path("bad.toml").write_text(WIRED.replace('"20 ms"', '"20 parsec"'))
    result = lasthop("validate", "bad.toml")
    line = 1 + WIRED.splitlines().index('delay = "20 ms"')
    assert result.exit_code == 1
    assert f"bad.toml:{line}:" in result.stderr
    (diagnostic,) = lasthop_json("validate", "bad.toml", code=1)["error"]["diagnostics"]
    assert (diagnostic["file"], diagnostic["line"]) == ("bad.toml", line)


def test_validate_prints_the_effective_scenario() -> None:
    assert "valid" in lasthop("validate", "wired.toml").stdout
    effective = lasthop("validate", "wired.toml", "--effective").stdout
    Path("effective.toml").write_text(effective)
    assert lasthop("validate", "effective.toml", "--effective").stdout == effective


def test_describe_shows_the_defaults_in_force() -> None:
    keys = lasthop_json("describe", "keys")["keys"]
    found = {(k["path"], k.get("kind")): k.get("default") for k in keys}
    assert len(found) == len(keys), "path and kind together name a key"
    assert found["bearer.<name>.downlink.tti", "umts"] == '"10 ms"'
    assert found["bearer.<name>.downlink.tti", "lte-rlc"] == '"1 ms"'
    assert found["bearer.<name>.uplink.tti", "umts"] == '"20 ms"'
    assert found["bearer.<name>.uplink.blocks", "umts"] == "4"
    assert found["link.<name>.loss", None] == '"0 %"'
    assert found["link.<name>.reverse.loss", None] == "the link's"
    assert found["flow.<name>.tcp.min_rto", None] == "the profile's"


def test_describe_knows_keys_plugins_and_tables() -> None:
    overview = lasthop_json("describe")
    assert {"scenario", "link", "bearer", "flow", "output"} <= set(overview["sections"])
    assert {"reno", "vegas"} <= set(overview["plugins"]["cc"])
    kinds = {
        "cc",
        "rate-control",
        "profile",
        "cell-profile",
        "scenario-profile",
        "queue",
        "scheduler",
        "app",
        "trace-format",
    }
    assert kinds == set(overview["plugins"])
    assert {"flows", "tcp", "events", "geometry"} <= set(overview["tables"])
    for kind, names in overview["plugins"].items():
        for name in names:
            assert lasthop_json("describe", kind, name)["plugin"]["name"] == name
            assert name in lasthop("describe", kind, name).stdout
    for table in overview["tables"]:
        described = lasthop_json("describe", "tables", table)["table"]
        assert (f"`output.{table} = true`" in described["description"]) == (table in on_request()), table
        columns = described["columns"]
        assert all(c["name"] and c["description"] for c in columns)
        assert columns[0]["name"] in lasthop("describe", "tables", table).stdout
    assert "range    0 s to 1 s" in lasthop("describe", "scenario.jitter").stdout
    keys = {k["path"] for k in lasthop_json("describe", "keys")["keys"]}
    assert {"scenario.duration", "link.<name>.delay", "flow.<name>.from", "output.packets"} <= keys
    assert {k["path"] for k in lasthop_json("describe", "link.wired.delay")["keys"]} == {"link.<name>.delay"}
    assert lasthop_json("describe", "keys", "link") == lasthop_json("describe", "link")
    assert "link.*.rate" in lasthop("describe", "runtime").stdout
    assert re.search(r"^min_rto +200 ms|^mss +512 B", lasthop("describe", "profile", "ns2").stdout, re.MULTILINE)
    both = lasthop("describe", "profile", "ns3-3.28").stdout
    assert re.search(r"^key of flow.NAME.tcp", both, re.MULTILINE)
    assert re.search(r"^downlink.mcs_rule +\"lowest\" +the worst CQI", both, re.MULTILINE), both
    assert "uplink.request" in lasthop("describe", "profile", "simulte").stdout
    whole = lasthop("describe", "profile", "ns3-3.44").stdout
    assert re.search(r"^ue.NAME.rlc.am.t_poll_retransmit +\"20 ms\" +LteRlcAm::Poll", whole, re.MULTILINE)
    assert re.search(r"^key of cell.NAME", whole, re.MULTILINE), whole
    lte = ("validate", "lte-download", "--effective", "--set", "scenario.profile=ns3-3.44")
    assert "#   cell.enb.timing.decode = 3  (" in lasthop(*lte).stdout
    assert "# " not in lasthop("validate", "lte-download", "--effective").stdout
    assert "did you mean 'simulte'?" in lasthop("describe", "profile", "simult").output
    one = lasthop("describe", "flow.ftp.tcp.recovery").stdout
    assert re.search(r"^newreno +Fast recovery", one, re.MULTILINE), one
    schema = json.loads(lasthop("describe", "--schema").stdout)
    assert "$defs" in schema


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize(
    "what",
    [
        "",
        "link",
        "flow.ftp.tcp.cc",
        "flow.ftp.tcp",
        "cell",
        "tables",
        "tables tcp",
        "cc",
        "cc vegas",
        "profile linux-6",
        "runtime",
    ],
)
def test_describe_fits_the_terminal(what: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = io.StringIO()
    console = Console(file=seen, force_terminal=True, width=width, highlight=False, color_system=None)
    monkeypatch.setattr(_output, "stdout", lambda: console)
    assert lasthop("describe", *what.split()).exit_code == 0
    lines = seen.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    # Columns of a few letters make a table of a hundred lines for a key.
    assert len([line for line in lines if len(line.strip()) < 4]) <= len(lines) / 4


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("flow.ftp.cc", "flow.<name>.tcp.cc"),
        ("lnk.wired.rat", "link.wired.rate"),
        ("flow.ftp.tpc.cc", "flow.ftp.tcp.cc"),
        ("link.wired.queue.paquets", "link.wired.queue.packets"),
    ],
)
def test_a_misspelt_key_is_guessed_word_by_word(path: str, meant: str) -> None:
    assert f"'{meant}'" in lasthop("describe", "keys", path).stderr


def test_report_is_written_beside_the_tables() -> None:
    lasthop("run", "umts.toml", "--out", "o")
    found = lasthop_json("report", "o")
    html = Path(found["report"]).read_text(encoding="utf-8")
    assert 'id="table-0-tcp"' in html
    assert lasthop("report", "o", "--out", "elsewhere/x.html").exit_code == 0
    assert Path("elsewhere/x.html").read_text(encoding="utf-8") == html


def test_bundled_scenarios_are_listed_copied_and_run() -> None:
    names = [s["name"] for s in lasthop_json("scenarios", "list")["scenarios"]]
    assert {"dumbbell", "umts-download", "trace-link", "web-over-umts", "change-during-run"} <= set(names)
    written = lasthop_json("scenarios", "copy", "trace-link", "mine")["written"]
    assert len(written) == 3
    assert lasthop("scenarios", "copy", "trace-link", "mine").exit_code == 1
    assert lasthop("run", "mine/trace-link.toml", "--set", "scenario.duration=2 s").exit_code == 0
    assert lasthop("run", "dumbbell", "--set", "scenario.duration=2 s").exit_code == 0


def test_traces_are_imported() -> None:
    rows = "\n".join(f"{0.5 * i},{4 + i % 3}" for i in range(40))
    Path("measured.csv").write_text(f"time_s,mbps\n{rows}\n")
    found = lasthop_json("import-trace", "measured.csv", "cell.down")
    assert found["written"] == "cell.down"
    lines = [int(x) for x in Path("cell.down").read_text().split()]
    assert lines == sorted(lines)
    assert len(lines) * 1500 * 8 / 20e6 == pytest.approx(5.0, rel=0.05)
    shown = lasthop("import-trace", "measured.csv", "cell.down", "--format", "mbps-csv").stdout
    assert "cell.down" in shown
    assert re.search(r"^mean rate +4\.98 Mbit/s$", shown, re.MULTILINE), shown
    assert "{" not in shown


def test_a_broken_trace_is_one_message_at_the_key_that_names_it() -> None:
    Path("broken.down").write_text("5\nsoon\n")
    Path("t.toml").write_text(WIRED.replace('rate = "5 Mbit/s"', 'trace = "broken.down"'))
    shown = lasthop("validate", "t.toml").stderr
    assert shown.count("error") == 1
    assert "broken.down: line 2: `soon`" in shown
    assert shown.count("-->") == 1


def test_packetdrill_scripts_are_counted_and_a_failure_is_explained() -> None:
    script = """
     0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
    +0   listen(3, 1) = 0
    +0   < S 0:0(0) win 30000 <mss 1000>
    +0   > S. 0:0(0) ack 1 <mss 1460>
    +.1  < . 1:1(0) ack 1 win 30000
    +0   accept(3, ..., ...) = 4
    +0   write(4, ..., 800) = 800
    +0   > P. 1:801(800) ack 1
    """
    Path("drills/good").mkdir(parents=True)
    Path("drills/bad").mkdir()
    Path("drills/good/write.pkt").write_text(script)
    Path("drills/bad/write.pkt").write_text(script.replace("1:801(800)", "1:901(900)"))
    Path("drills/bad/other.pkt").write_text(script + "+0 sendfile(4, 5, 0, 10) = 10\n")
    found = lasthop_json("packetdrill", "drills", code=1)
    assert [s["verdict"] for s in found["scripts"]] == ["not-applicable", "failed", "passed"]
    assert found["categories"]["drills/good"]["passed"] == 1
    shown = lasthop("packetdrill", "drills/bad").stdout
    assert "drills/bad/write.pkt:9:5: failed" in shown
    assert "expected:" in shown
    assert "the system call sendfile()" in shown
    good = lasthop("packetdrill", "drills/good", "-v", "--cc", "reno", "--profile", "rfc")
    assert good.exit_code == 0, good.output
    assert "P. 1:801(800) ack 1" in good.stdout
    assert lasthop("packetdrill", "drills", "--profile", "nt4").exit_code == 2


@pytest.mark.parametrize(
    "option", [["--mss", "nan"], ["--host", "windows"], ["-D", "="], ["--cc", "x"], ["--profile", ""]], ids=" ".join
)
def test_packetdrill_tells_a_wrong_option_from_a_failed_script(option: list[str], room: Path) -> None:
    (room / "a.pkt").write_text("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n")
    done = lasthop("packetdrill", "a.pkt", *option)
    assert done.exit_code == 2
    assert "packetdrill --help" in done.stderr


def test_packetdrill_refuses_an_empty_script_and_shortens_what_it_quotes() -> None:
    Path("empty.pkt").write_text("")
    found = lasthop_json("packetdrill", "empty.pkt", code=1)
    assert [s["verdict"] for s in found["scripts"]] == ["mistake"]
    Path("deep.pkt").write_text(f"+0 `{'(' * 100_000}`\n")
    assert max(map(len, lasthop("packetdrill", "deep.pkt").stdout.splitlines())) < 300


def test_packetdrill_takes_symbols_and_the_tool_s_options() -> None:
    Path("branch.pkt").write_text(
        """
     0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
    +0   connect(3, ..., ...) = -1 EINPROGRESS
#ifdef SIX
    +.1  > S 0:0(0) <mss 1440,sackOK,TS val 0 ecr 0,nop,wscale W>
#else
    +.1  > S 0:0(0) <mss 1460,sackOK,TS val 0 ecr 0,nop,wscale W>
#endif
    """.replace("connect", "fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n    +0   connect").replace("wscale W", "wscale 7")
    )
    verdict = lasthop_json("packetdrill", "branch.pkt", code=1)["scripts"][0]
    assert (verdict["line"], "timing" in verdict["message"]) == (8, True)
    assert lasthop("packetdrill", "branch.pkt", "--tolerance_usecs=100000").exit_code == 0
    six = ("-D", "SIX", "--ip_version", "ipv6", "--tolerance_usecs", "100000")
    assert lasthop("packetdrill", "branch.pkt", *six).exit_code == 0
    assert "option mss" in lasthop("packetdrill", "branch.pkt", "-DSIX", "--tolerance_usecs=100000").stdout
    bsd = lasthop("packetdrill", "branch.pkt", "--host", "bsd", "--tolerance_usecs=100000").stdout
    assert "option wscale: expected 7, actual 6" in bsd
    assert "linux or bsd" in lasthop("packetdrill", "branch.pkt", "--host", "vms").stderr
    assert "NAME=VALUE" in lasthop("packetdrill", "branch.pkt", "-D", "6").stderr
    assert "from 68 to 65535" in lasthop("packetdrill", "branch.pkt", "--mtu", "60").stderr


def test_studies_are_listed() -> None:
    assert "umts-vegas" in [s["name"] for s in lasthop_json("study", "list")["studies"]]


def process(*args: str, **more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "lasthop", *args]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def test_as_a_process_it_prints_plain_text_without_a_terminal() -> None:
    run = process("run", "wired.toml")
    out, err = run.communicate()
    assert run.returncode == 0
    assert "\x1b" not in out + err
    assert err == ""


@pytest.mark.skipif(os.name != "posix", reason="head is a POSIX tool")
def test_a_reader_that_has_enough_is_no_error() -> None:
    command = f"{sys.executable} -m lasthop describe keys | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is a device of Linux")
@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("describe", "queue"), 1, "standard output: No space left on device"),
        (("scenarios", "list"), 1, "standard output: No space left on device"),
        (("completion", "bash"), 1, "standard output: No space left on device"),
        (("validate", "wired.toml", "--json"), 1, "standard output: No space left on device"),
        (("run", "wired.toml", "--json"), 1, "standard output: No space left on device"),
        ((), 1, "standard output: No space left on device"),
        # The mistake that came first is the one that is named.
        (("validate", "nowhere", "--json"), 1, "nowhere"),
        (("describe", "--nowhere", "--json"), 2, "No such option"),
    ],
)
def test_a_full_disk_at_standard_output_is_named_once(args: tuple[str, ...], code: int, message: str) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "lasthop", *args]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == code
    assert done.stderr.count("error: ") == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is a device of Linux")
def test_a_full_disk_at_standard_error_does_not_change_the_exit_code() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "lasthop", "describe", "--nowhere"]
        assert subprocess.run(command, stderr=full, check=False).returncode == 2


def test_many_warnings_alike_are_counted() -> None:
    """Ten thousand of them took seconds to print, and hid the others."""
    late = "".join(f'[flow.late{i}]\nfrom = "server"\nto = "client"\nstart = "9 s"\n' for i in range(30))
    Path("late.toml").write_text(WIRED + late)
    said = lasthop("validate", "late.toml")
    assert said.exit_code == 0
    assert said.stderr.count("warning: this flow starts after the end of the run") == _output.MOST_ALIKE
    assert "20 more warnings: this flow starts after the end of the run" in said.stderr
    assert len([w for w in lasthop_json("validate", "late.toml")["warnings"] if "after the end" in w["message"]]) == 30


def test_the_command_starts_without_the_libraries_of_figures() -> None:
    """They take longer to load than a short run."""
    program = "import sys, lasthop.cli; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_run_names_the_files_of_its_capture(tmp_path: Path) -> None:
    """One file where it was asked for; of a ring the first and the last one that are left."""
    scenario = tmp_path / "wired.toml"
    scenario.write_text(WIRED)
    said = lasthop("run", str(scenario), "--capture", str(tmp_path / "a.pcapng"), "--out", str(tmp_path / "a")).output
    (line,) = (line for line in said.splitlines() if line.startswith("Capture: "))
    assert line.startswith(f"Capture: {tmp_path / 'a.pcapng'} (")
    assert line.endswith(" frames)")
    ring = ["--set", 'output.capture.ring={ size = "64 kB", files = 2 }']
    said = lasthop("run", str(scenario), *ring, "--out", str(tmp_path / "b")).output
    (line,) = (line for line in said.splitlines() if line.startswith("Capture: "))
    left = sorted(path.name for path in (tmp_path / "b").glob("*.pcapng"))
    assert len(left) == 2
    assert f"{tmp_path / 'b' / left[0]} to {left[1]} (" in line
    assert "; older files removed: " in line
    assert "Capture" not in lasthop("run", str(scenario), "--out", str(tmp_path / "c")).output
