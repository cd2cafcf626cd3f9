"""Every command and snippet of the pages runs, or stands below with the reason why it does not."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop import _core
from lasthop.cli import main
from tests.test_tutorial import commands_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    p.relative_to(DOCS).as_posix()
    for p in (*DOCS.glob("*.md"), *(DOCS / "guides").glob("*.md"), *(DOCS / "concepts").glob("*.md"))
    if p.name != "scorecards.md"
)
#: Pages whose commands and snippets other tests run.
ELSEWHERE = {
    "tutorial.md": "tests/test_tutorial.py",
    "tutorial-handover.md": "tests/test_tutorial.py",
    "tutorial-own-control.md": "tests/test_tutorial.py",
    "tutorial-slow-flow.md": "tests/test_tutorial.py",
    "tutorial-campaign.md": "tests/campaign/test_bufferbloat.py",
    "guides/campaign-results.md": "tests/campaign/test_bufferbloat.py",
    "guides/campaigns.md": "tests/campaign/test_guide.py",
    "guides/metrics.md": "tests/campaign/test_metric_values.py",
    "guides/add-a-case.md": "tests/judge/test_guide.py",
    "guides/judge.md": "tests/judge/test_guide.py",
}
#: Commands that are not run here (how they begin), and why.
NOT_RUN = {
    "lasthop study run": "minutes; tests/test_tutorial.py runs the study of the guide",
    "lasthop judge nada": "minutes; tests/judge/test_media.py",
    "lasthop view": "a server without end; tests/viewer",
    "lasthop live": "needs network namespaces and iperf3; tests/test_live.py",
    "lasthop linux": "needs a built kernel; tests/test_linux.py",
    "lasthop run lte-handover --set 'flow.download": "half a minute; the kernel's run beside it is not made",
    "lasthop packetdrill": "scripts of others; crates/packetdrill/tests run ours",
    "lasthop wireshark-profile": "writes to the home folder; tests/test_wireshark_profile.py",
    "lasthop validate bad.toml": "the page shows the mistakes; crates/sim/tests check them",
    "lasthop run my.toml": "no such file",
    "lasthop import-trace measured.csv": "a measurement of the reader; tests/test_capacity.py",
    "lasthop report results/cubic-1": "two runs of the reader; tests/test_report.py",
    "lasthop explain results/wifi": "any run of several flows; tests/explain/test_command.py",
    "lasthop report results/bufferbloat": "tests/campaign/test_campaign_report.py",
    "lasthop rem": "seconds; tests/test_survey.py",
    "lasthop survey": "seconds; tests/test_survey.py",
    "lasthop run lte-7-sites": "seconds; tests/test_scenarios.py runs each bundled scenario",
}
#: Lines for a shell that are no plain `lasthop` command (how they begin), and why they are not run.
SHELL = {
    "make ": "targets of the Makefile; the workflows make them (tests/test_ci.py)",
    "pip install": "installs; `make dist` installs the wheel in bare environments",
    "uv tool run": "as `pip install`",
    "pipx run": "as `pip install`",
    "sudo ": "changes the machine; tests/test_live.py has the same interface in a namespace",
    "source .venv": "changes the shell",
    "source lasthop-env": "changes the shell",
    'eval "$(lasthop completion': "changes the shell; tests/test_completion.py",
    "mkdir -p ~/.local/share/man": "writes to the home folder; tests/test_completion.py",
    "python docs/fill_outcomes.py": "outcomes of a release; tests/test_docs.py",
    "LASTHOP_SHARED=DIR python docs/measure_linux.py": "needs a built kernel, hours",
    "python docs/measure_live.py": "needs namespaces and iperf3, minutes of wall time",
    "valgrind ": "needs valgrind; `make bench-check`",
    "callgrind_annotate ": "as `valgrind`",
    "git clone": "repositories of others",
    "cargo ": "builds; tests/test_own_crate.py",
    "duckdb ": "the program of DuckDB; the results are Parquet files (tests/test_api.py)",
    "cmp ": "two runs of the reader; `make determinism`",
    "sbatch ": "needs Slurm; tests/campaign/test_sweep.py makes parts",
    "job=$(sbatch": "needs Slurm",
    "export LASTHOP_STORE": "belongs to a part of a Slurm job",
    "lasthop sweep campaign.toml": "parts and clusters; tests/campaign/test_sweep.py, tests/campaign/test_ray.py",
    "RAY_ADDRESS=auto": "a cluster; tests/campaign/test_ray.py",
}
#: First words of a line that is for a shell.
PROGRAMS = re.compile(
    r"(?:make|pip|uv|pipx|sudo|source|eval|mkdir|python|valgrind|callgrind_annotate|git|cargo|duckdb|cmp|tshark|cd|cp|"
    r"export|ray|sbatch|snakemake|docker|ip|gh|apt|curl|[A-Z_]+=\S+|\w+=\$\(\w+)\s"
)
#: Snippets of Python that are not run here, and why: page and a text of the snippet.
NOT_EXECUTED = {
    ("guides/campaigns-cluster.md", "rule whole"): "a Snakemake file",
}
FIRST = (DOCS / "tutorial" / "first.toml").read_text(encoding="utf-8")
CONTROL = (ROOT / "examples" / "own_congestion_control.py").read_text(encoding="utf-8")
SCHEDULER = (ROOT / "examples" / "own_scheduler.py").read_text(encoding="utf-8")


def marked(source: str, name: str) -> str:
    """What a page includes of an example."""
    return source.split(f"# [{name}]\n", 1)[1].split("# [end]", 1)[0]


#: Runs that a page takes for made.
FIRST_OF_ALL = {"guides/export.md": ["lasthop run umts-download"]}
#: What the snippets of a page find: code before them.
BEFORE = {
    "guides/own-congestion-control.md": "import lasthop as lh\n" + marked(CONTROL, "aimd"),
    "guides/own-scheduler.md": "import lasthop as lh\n" + marked(SCHEDULER, "late-first"),
}
#: The rate control of the guide, where the examples have one: files that its page takes for there,
#: and code before it.
RATE = ROOT / "examples" / "own_rate_control.py"
FILES: dict[str, str] = {}
if RATE.is_file():
    OWN_RATE = "import math\n\nimport lasthop as lh\n" + marked(RATE.read_text(encoding="utf-8"), "steady")
    FILES["my_rate.py"] = OWN_RATE
    FILES["call.toml"] = RATE.read_text(encoding="utf-8").split('SCENARIO = """\n', 1)[1].split('"""', 1)[0]
    BEFORE["guides/own-rate-control.md"] = OWN_RATE
    NOT_RUN["lasthop judge my_rate.py"] = "minutes; tests/test_own_rate_control.py"


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that pages speak of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    for name in ("first.toml", "a.toml"):
        Path(name).write_text(FIRST)
    for name in ("lte-fading", "lte-7-sites"):
        shutil.copy(ROOT / "python" / "lasthop" / "scenarios" / f"{name}.toml", tmp_path)
    shutil.copy("lte-fading.toml", "cell.toml")
    Path("my_cc.py").write_text("import lasthop as lh\n" + marked(CONTROL, "aimd"))
    Path("my_mac.py").write_text("import lasthop as lh\n" + marked(SCHEDULER, "late-first"))
    for name, text in FILES.items():
        Path(name).write_text(text)
    return tmp_path


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def commands(page: str) -> list[str]:
    """The indented commands of a page, in their order."""
    found = re.findall(r"^    (lasthop (?:[a-z-]|--).*)$", text_of(page), re.MULTILINE)
    return [re.sub(r" {2,}#.*", "", command) for command in found]


def is_left_out(command: str) -> bool:
    return any(command.startswith(start) for start in NOT_RUN)


def test_each_reason_belongs_to_a_command_or_snippet() -> None:
    all_commands = [c for page in PAGES for c in commands(page)]
    assert [start for start in NOT_RUN if not any(c.startswith(start) for c in all_commands)] == []
    assert [key for key in NOT_EXECUTED if not any(key[1] in block for block in fences(key[0], "python"))] == []
    assert [page for page in ELSEWHERE if page not in PAGES] == []
    assert [test for test in ELSEWHERE.values() if not (ROOT / test).is_file()] == []


def shell_lines(text: str) -> Iterator[str]:
    """Lines for a shell: of `sh` fences, and indented ones that begin with a program's name."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        joined = re.sub(r"\\\n\s*", "", block)
        yield from (line for line in joined.splitlines() if line and not line.startswith("#"))
    for line in re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL).splitlines():
        command = line.removeprefix("    ").removeprefix("$ ")
        if line.startswith("    ") and PROGRAMS.match(command):
            yield command


def test_each_other_line_for_a_shell_has_a_reason_not_to_run() -> None:
    files = [DOCS / p for p in PAGES if p not in ELSEWHERE or ELSEWHERE[p] == "tests/test_tutorial.py"]
    files += [ROOT / name for name in ("README.md", "CONTRIBUTING.md")]
    files += sorted((ROOT / "python" / "lasthop" / "studies").glob("*/README.md"))
    found = [line for file in files for line in shell_lines(file.read_text(encoding="utf-8"))]
    assert [line for line in found if not any(line.startswith(start) for start in SHELL)] == []
    assert [start for start in SHELL if not any(line.startswith(start) for line in found)] == []


def test_a_block_without_a_language_has_no_command_and_toml_stands_in_fences() -> None:
    """What stands otherwise is run or read by no test."""
    for page in PAGES:
        text = text_of(page)
        blocks = re.findall(r"^```(.*)\n((?:(?!```).*\n)*?)```", text, re.MULTILINE)
        assert [b for language, b in blocks if not language and b.startswith("lasthop ")] == [], page
        outside = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
        assert re.findall(r"^    \[{1,2}[a-z][\w.]*\]{1,2}$", outside, re.MULTILINE) == [], page


@pytest.mark.parametrize(
    "page", [p for p in PAGES if p not in ELSEWHERE and any(not is_left_out(c) for c in commands(p))]
)
def test_the_commands_of_a_page_run(page: str, room: Path) -> None:
    for command in [*FIRST_OF_ALL.get(page, ()), *commands(page)]:
        if is_left_out(command):
            continue
        line, _, file = command.partition(" > ")
        done = CliRunner().invoke(main, shlex.split(line)[1:], prog_name="lasthop")
        assert done.exit_code == 0, f"{command}\n{done.output}"
        if file:
            Path(file).write_text(done.stdout)


def fences(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL)


def python_pages() -> Iterator[str]:
    for page in PAGES:
        if page not in ELSEWHERE and any(not left_out(page, block) for block in fences(page, "python")):
            yield page


def left_out(page: str, block: str) -> bool:
    return any(p == page and text in block for p, text in NOT_EXECUTED)


@pytest.mark.parametrize("page", list(python_pages()))
def test_the_snippets_of_a_page_run(page: str, room: Path) -> None:
    """One after the other in one process, as a reader types them."""
    lh.Scenario.load("first.toml").run(out="results/first-1")
    lh.Scenario.load("umts-download", set={"output.explain": True}).run(out="results/umts")
    blocks = [b for b in fences(page, "python") if not left_out(page, b)]
    Path("page.py").write_text(BEFORE.get(page, "") + "\n".join(blocks), encoding="utf-8")
    environ = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, "page.py"], env=environ, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def known_paths() -> set[str]:
    """Each key of scenarios and campaigns, names as `*`."""
    keys = [k["path"] for k in json.loads(_core.describe())["keys"]]
    keys += [k["path"] for k in json.loads(_core.describe_campaign())]
    return {re.sub(r"<\w+>", "*", key) for key in keys}


def paths_in(table: dict[str, Any], at: str = "") -> Iterator[str]:
    for key, value in table.items():
        path = f"{at}.{key}" if at else key
        if isinstance(value, dict) and value:
            yield from paths_in(value, path)
        elif isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
            for v in value:
                yield from paths_in(v, f"{path}.*")
        else:
            yield path


def exists(path: str, known: set[str]) -> bool:
    parts = path.removesuffix(".kind").split(".")
    return any(
        len(parts) <= len(k) and all(a == b or b == "*" for a, b in zip(parts, k, strict=False))
        for k in (key.split(".") for key in known)
    )


#: Keys below these are names of the user, or of a plug-in.
FREE = re.compile(r"\.cc_parameters\.|^(metric|set|cc|scheduler|axis|figure|option)\.|\.set\.|\.options\.")


@pytest.mark.parametrize("page", [p for p in PAGES if p not in ELSEWHERE and fences(p, "toml")])
def test_the_keys_of_a_page_exist(page: str) -> None:
    known = known_paths()
    for block in fences(page, "toml"):
        table = tomllib.loads(block)
        unknown = [p for p in paths_in(table) if not FREE.search(p) and not exists(p, known)]
        assert unknown == [], block
        if "scenario" in table and "flow" in table:
            lh.Scenario.parse(block)


def test_wireshark_prints_what_the_guide_on_captures_says(room: Path) -> None:
    if shutil.which("tshark") is None:
        assert "LASTHOP_NEEDS_TSHARK" not in os.environ, "tshark is not installed"
        pytest.skip("tshark is not installed")
    page = "guides/captures.md"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    left = ("WIRESHARK_CONFIG_DIR", "XDG_CONFIG_HOME")
    environ = {k: v for k, v in os.environ.items() if k not in left}
    environ |= {"HOME": str(room), "PATH": path, "LC_ALL": "C.UTF-8", "TZ": "UTC"}

    def run(command: str) -> str:
        done = subprocess.run(
            command, shell=True, env=environ, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        return done.stdout

    run("lasthop wireshark-profile ~/.config/wireshark/profiles/lasthop")
    for command in commands(page):
        if not command.startswith("lasthop wireshark-profile"):
            run(command)
    wrong = []
    for command, lines in commands_of(re.sub(r"\n>\s+", " ", text_of(page))):
        printed = [" ".join(line.split()) for line in run(command).splitlines()]
        expected = [" ".join(line.split()) for line in lines]
        if printed != expected:
            wrong.append(f"{command}\n" + "\n".join(printed[:12]))
    assert not wrong, "\n\n".join(wrong)
