"""A release: one version, workflow files that call what exists, checks that find mistakes."""

from __future__ import annotations

import importlib.metadata
import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from release import check, check_training
from release.third_party import linked_crates

import lasthop

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_version_is_written_in_one_place() -> None:
    """The workspace's version reaches extension, metadata and crates; CITATION.cff has a copy."""
    version = check.version()
    assert (lasthop.__version__, importlib.metadata.version("lasthop")) == (version, version)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" not in project
    assert "version" in project["dynamic"]
    manifests = [tomllib.loads(p.read_text(encoding="utf-8")) for p in (ROOT / "crates").glob("*/Cargo.toml")]
    assert all(manifest["package"]["version"] == {"workspace": True} for manifest in manifests)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == version
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] in ("Unreleased", version)


def third_party(heading: str) -> set[str]:
    text = (ROOT / "THIRD-PARTY.md").read_text(encoding="utf-8").split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return {f"{name} {version}" for name, version in re.findall(r"^\| ([^ |]+) \| (\d[^ |]*)", text, re.MULTILINE)}


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not on the PATH")
def test_third_party_names_what_is_linked() -> None:
    linked = {f"{package['name']} {package['version']}" for package in linked_crates()}
    assert "parquet" in " ".join(linked)
    assert third_party("Rust crates") == linked, "`make third-party` renews the file"


def test_third_party_holds_the_texts_of_what_a_crate_carries_inside() -> None:
    """The C library zstd is in `zstd-sys`: its copyright is not that of the crate's author."""
    text = (ROOT / "THIRD-PARTY.md").read_text(encoding="utf-8")
    assert "Copyright (c) Meta Platforms, Inc. and affiliates" in text


def test_third_party_names_what_is_built_into_the_page() -> None:
    locked = json.loads((ROOT / "viewer" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    wanted = {
        f"{place.rpartition('node_modules/')[2]} {package['version']}"
        for place, package in locked.items()
        if place and not package.get("dev")
    }
    assert third_party("Packages of npm") == wanted, "`make third-party` renews the file"
    bom = json.loads((ROOT / "viewer" / "page.cdx.json").read_text(encoding="utf-8"))
    assert {f"{c['name']} {c['version']}" for c in bom["components"]} == wanted, "`make third-party` renews it"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_targets_that_exist(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    called = set()
    for command in commands:
        for line in re.findall(r"\bmake ([^\n;&|]+)", command):
            bare = re.sub(r'\w+=("[^"]*"|\$\{\{[^}]*\}\}|\S)*', "", line)
            called |= set(bare.split())
    assert called, "a workflow that calls no target tests nothing of this Makefile"
    assert called <= targets
    for script in re.findall(r"(?:^|\s)(\.ci/\S+)", "\n".join(commands)):
        assert (ROOT / script).is_file()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_name_actions_by_commit(path: Path) -> None:
    used = re.findall(r"uses: (.+)", path.read_text(encoding="utf-8"))
    assert used
    assert [line for line in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []


def test_only_publishing_may_ask_for_an_identity() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    with_rights = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    assert with_rights == {"publish": {"id-token": "write"}}
    assert workflow["jobs"]["publish"]["needs"] == "files"


def test_the_description_on_pypi_shows_what_the_readme_shows() -> None:
    """Both have the same scenario, the same output of the run and the same program."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    description = (ROOT / "release" / "pypi.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w+\n.*?^```$", readme, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    assert sum("$ lasthop run " in block for block in blocks) == 1
    assert [block for block in blocks if block not in description] == []


def test_the_metadata_claims_the_platform_that_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    systems = [line for line in project["classifiers"] if line.startswith("Operating System")]
    assert systems == ["Operating System :: POSIX :: Linux"]
    for page in ("README.md", project["readme"]):
        assert "Tested on Linux on x86-64 only." in (ROOT / page).read_text(encoding="utf-8")


def a_wheel(
    folder: Path, *, without: str = "", beside: str = "", version: str = "", description: str = "[a](https://b.c)"
) -> Path:
    """A wheel as it has to be but for what is asked; the files of the package are empty."""
    dist = f"lasthop-{check.version()}.dist-info"
    metadata = (
        f"Metadata-Version: 2.4\nName: lasthop\nVersion: {version or check.version()}\n"
        "License-Expression: Apache-2.0 OR MIT\nRequires-Python: >=3.10\n"
        f"Description-Content-Type: text/markdown; charset=UTF-8; variant=GFM\n\n{description}\n"
    )
    sboms = {"lasthop-py.cyclonedx.json": "Rust crates", "page.cdx.json": "Packages of npm"}
    texts = {f"{dist}/METADATA": metadata}
    for name, heading in sboms.items():
        components = [{"name": package} for package in sorted(check.third_party(heading))]
        texts[f"{dist}/sboms/{name}"] = json.dumps({"bomFormat": "CycloneDX", "components": components})
    path = folder / f"lasthop-{check.version()}-cp310-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name in check.expected_in_wheel(dist, "_core.abi3.so") - {without} | ({beside} if beside else set()):
            wheel.writestr(name, texts.get(name, ""))
    return path


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, []),
        ({"without": "lasthop/py.typed"}, ["lasthop/py.typed is missing"]),
        ({"beside": "lasthop/.env"}, ["lasthop/.env is in it, but is not part of the package"]),
        ({"beside": "tests/__init__.py"}, ["tests/__init__.py is in it, but is not part of the package"]),
        ({"version": "9.9.9"}, ["Version is '9.9.9', not '{version}'"]),
        (
            {"description": "![a picture](docs/a.svg)"},
            ["its description links to docs/a.svg, which a page of PyPI does not have"],
        ),
    ],
    ids=["as-it-has-to-be", "missing", "secret", "tests", "version", "description"],
)
def test_the_check_finds_what_is_wrong_with_a_wheel(tmp_path: Path, change: dict[str, str], found: list[str]) -> None:
    wanted = [line.format(version=check.version()) for line in found]
    assert check.check_wheel(a_wheel(tmp_path, **change)) == wanted


def test_the_check_finds_a_package_that_an_sbom_leaves_out() -> None:
    bom = {"bomFormat": "CycloneDX", "components": [{"name": "libm"}]}
    assert check.wrong_sbom(json.dumps(bom), {"libm", "toml"}) == ["toml is missing"]
    assert check.wrong_sbom("{}", set()) == ["it is not of CycloneDX"]


def test_equal_and_different_hashes_of_platforms(tmp_path: Path) -> None:
    one, same, other = (tmp_path / name for name in ("one", "same", "other"))
    one.write_text("run table 1 00\n")
    same.write_text("run table 1 00\n")
    other.write_text("run table 1 01\n")

    def compare(*files: Path) -> subprocess.CompletedProcess[str]:
        names = " ".join(map(str, files))
        command = ["make", "--silent", "compare-hashes", f"HASHES={names}"]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert compare(one, same).returncode == 0
    done = compare(one, same, other)
    assert done.returncode
    assert f"{other}: differs from {one}" in done.stderr
    assert "+run table 1 01" in done.stdout
    assert compare(one).returncode
    assert compare(one, tmp_path / "none").returncode


PROFILE = """\
Counters:
  _ZN8elsewhere5thing:
    Hash: 0x01
    Block counts: [0, 0]
  lasthop_radio.5919;_ZN14lasthop_engine4simd9with_avx217hc0b0E:
    Hash: 0x02
    Counters: 3
    Block counts: [{}]
  lasthop_cell.358;_ZN14lasthop_engine4simd9with_avx217h71e3E:
    Hash: 0x03
    Counters: 2
    Block counts: [0, 7]
"""


def test_a_profile_in_which_a_kernel_did_not_run_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def judged(text: str) -> str:
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        monkeypatch.setattr(check_training, "has_kernels", lambda: True)
        check_training.main()
        return capsys.readouterr().out

    assert judged(PROFILE.format("12, 0, 3")) == "the training ran all of 2 kernels\n"
    with pytest.raises(SystemExit, match=r"ran none of these kernels.*release/training:\nlasthop_radio"):
        judged(PROFILE.format("0, 0, 0"))
    with pytest.raises(SystemExit, match="no kernel"):
        judged(PROFILE.replace("with_avx2", "renamed"))


def test_the_training_has_every_kind_of_fading_and_takes_little_time() -> None:
    """Each kind at a speed with knots and at one without (8.4 km/h at 2 GHz divides them)."""
    files = sorted((ROOT / "release" / "training").glob("*.toml"))
    scenarios = [lasthop.Scenario.load(file) for file in files]
    assert all(scenario.duration <= 2 for scenario in scenarios)
    texts = [file.read_text(encoding="utf-8") for file in files]
    for kind in ("epa", "eva", "etu", "flat", "jakes"):
        of_kind = [text for text in texts if f'\nfading = "{kind}"\n' in text]
        assert any('"3 km/h"' in text and '"60 km/h"' in text for text in of_kind), kind
    assert any("transmit_antennas = 2" in text for text in texts)
    assert any("[wlan]\nfading" in text for text in texts)


def test_wheels_and_bench_cases_are_trained_with_these_scenarios() -> None:
    for name in ("pyproject.toml", "Makefile"):
        (line,) = re.findall(
            r"^(?:pgo-command|TRAINING) = .*$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE
        )
        assert "scenarios" in line, name
        assert "release/training" in line, name
