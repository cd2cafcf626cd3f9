"""What the guide of campaigns quotes is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from lasthop import Campaign, LasthopError
from lasthop.cli import main

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "campaigns.md").read_text(encoding="utf-8")
(FILE, *_) = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LASTHOP_STORE", raising=False)
    Path("campaign.toml").write_text(FILE)


def test_the_mistake_that_the_guide_quotes_is_shown_as_it_says() -> None:
    (quoted,) = re.findall(r"```text\n(error:.*?)\n```", GUIDE, re.DOTALL)
    Path("campaign.toml").write_text(FILE.replace('"reno", "cubic", "bbr"', '"renno", "cubic", "bbr"'))
    with pytest.raises(LasthopError) as raised:
        Campaign.load("campaign.toml")
    assert str(raised.value).rstrip() == quoted


def test_each_override_of_the_guide_fits_its_file() -> None:
    overrides = re.findall(r"`--set ([^`]+)`", GUIDE)
    assert len(overrides) >= 3
    for quoted in overrides:
        text = quoted.strip("'\"")
        assert Campaign.load("campaign.toml", [text]).name == "buffers", text


def test_the_small_campaign_from_the_shell_is_the_one_that_the_guide_describes() -> None:
    (command,) = re.findall(r"```sh\nlasthop (sweep --base.*?)```", GUIDE, re.DOTALL)
    import shlex

    words = shlex.split(command.replace("\\\n", " "))
    done = CliRunner().invoke(main, [*words, "--set", "scenario.duration=1 s", "--seeds", "1"])
    assert done.exit_code == 0, done.output

    assert done.stdout.splitlines()[0].split()[:3] == ["cc", "buffer", "(kB)"]
    assert "6 points, 6 runs" in done.stdout


def test_the_campaign_in_python_runs() -> None:
    (script,) = [block for block in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL) if "campaign.run" in block]
    shorter = script.replace("seeds=5", 'seeds=1,\n    set={"scenario.duration": "1 s"}')
    exec(compile(shorter.replace(".to_pandas()", ""), "guide", "exec"), {})
    assert len(list(Path("results").glob("buffers-python/results.parquet"))) == 1
