"""Campaigns with a mistake: each has its place in the file and a remedy, before the first run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lasthop import Campaign, LasthopError
from tests.scenarios import WIRED

GOOD = """\
[campaign]
name = "small"
base = "wired.toml"
seeds = 3
where = ["not (cc == 'reno' and delay > 20)"]
keep = ["flows"]

[set]
"scenario.duration" = "2 s"

[axis.cc]
key = "flow.ftp.tcp.cc"
values = ["reno", "cubic"]

[axis.delay]
key = "link.path.delay"
range = { from = "10 ms", to = "30 ms", step = "10 ms" }

[axis.both]
zip = { "link.path.rate" = ["1 Mbit/s", "2 Mbit/s"], "link.path.loss" = ["1 %", "2 %"] }

[axis.load]
options = { idle = { "output.queues" = false }, busy = { "flow.ftp.tcp.mss" = "1000 B" } }

[cc]
mine = "own.py:Mine"

[scheduler]
ours = "own.py:Ours"

[metric]
goodput = 'flow("ftp").goodput_bps in Mbit/s'
stalls = { python = "own.py:stalls", unit = "s", tables = ["tcp"] }

[figure.delay]
kind = "line"
x = "delay"
lines = "cc"
columns = "both"
where = { load = "idle" }
"""
OWN = """
from lasthop import CongestionControl, Scheduler

class Mine(CongestionControl):
    def on_ack(self, ack):
        self.slow_start(ack)

class Ours(Scheduler):
    def weigh(self, tti, candidates):
        return [1.0 for _ in candidates]

class Neither:
    pass

def stalls(run):
    return 0.0

NUMBER = 3
"""

#: What is written instead of what; the line and the beginning of the text to which the message
#: points; a part of the message, and of the remedy.
BROKEN = [
    ("seeds = 3", "seed = 3", "4:seed", "unknown key `seed`", "did you mean `seeds`"),
    ("[axis.cc]", "[axes.cc]", "11:axes", "unknown key `axes`", "did you mean `axis`"),
    ("values = [", "valeus = [", "13:valeus", "unknown key `valeus`", "did you mean `values`"),
    ("step =", "steps =", "17:steps", "unknown key `steps`", "did you mean `step`"),
    ("unit = ", "units = ", "33:units", "unknown key `units`", "did you mean `unit`"),
    ("name = ", "nmae = ", "2:nmae", "unknown key `nmae`", "did you mean `name`"),
    ('name = "small"', 'name = "a/b"', '2:"a/b"', "not one that a folder can have", "letters, digits"),
    ("[campaign]", "[campaign", "1:", "", ""),
    # base
    ("wired.toml", "wierd.toml", '3:"wierd.toml"', "no file 'wierd.toml'", "did you mean 'wired.toml'"),
    ("wired.toml", "lte-downlod", '3:"lte-downlod"', "no file 'lte-downlod'", "did you mean 'lte-download'"),
    ("wired.toml", "", '3:""', "no file ''", "lasthop scenarios list"),
    ("wired.toml", ".", '3:"."', "is a folder", "TOML file"),
    ("wired.toml", "x" * 5000, '3:"xxxxxxxxxxxxxxxxxxxxxxx', "there is no file", "lasthop scenarios list"),
    # seeds and the rule
    ("seeds = 3", "seeds = 0", "4:0", "at least one seed", "seeds = 5"),
    ("seeds = 3", "seeds = -1", "4:-1", "found the number -1", ""),
    ("seeds = 3", "seeds = []", "4:[]", "no seeds", "seeds = [1, 2, 3]"),
    ("seeds = 3", "seeds = [1, 2, 1]", "4:1", "the seed 1 is there twice", "remove one"),
    ("seeds = 3", "seeds = 9_999_999", "4:9_999_999", "9,999,999 seeds are too many", "1,000,000"),
    (
        "seeds = 3",
        "seeds = { first = 18446744073709551615, count = 2 }",
        "4:{ first = 18446744073709",
        "last seed",
        "64 bits",
    ),
    ("seeds = 3", "seeds = { firts = 1, count = 2 }", "4:firts", "unknown key `firts`", "did you mean `first`"),
    ("seeds = 3", 'until = "ci95(goodputt) < 2 %"', "4:goodputt", "'goodputt'", "did you mean 'goodput'"),
    ("seeds = 3", 'until = "ci80(goodput) < 2 %"', "4:8", "ci80", "ci90, ci95 or ci99"),
    ("seeds = 3", 'until = "until it is nice"', "4:until it is nice", "expected ci90", "ci95(METRIC)"),
    (
        "seeds = 3",
        'seeds = 20\nuntil = "ci95(goodput) < 2 %, min 10"',
        "4:20",
        "20 seeds, and the rule's min is 10",
        "one",
    ),
    ("seeds = 3", 'seeds = 2\nuntil = "ci95(goodput) < 2 %"', "4:2", "min = 2", "standard deviation"),
    # conditions
    ("delay > 20", "dealy > 20", "5:dealy", "no axis 'dealy'", "did you mean 'delay'"),
    ("delay > 20", "delay > 'x'", "5:'x'", "no label like this", "10, 20, 30 [ms]"),
    ("delay > 20", "delay > 20 kB", "5:20 kB", "in ms, not in kB", "10, 20, 30"),
    ("delay > 20", "delay > 20 quux", "5:quux", "'quux' is no unit", "ms, kB"),
    ("delay > 20", "delay == 25", "5:25", "no label 25", "10, 20, 30"),
    ("delay > 20", "cc < 'x'", "5:cc", "'<' does not apply", "=="),
    ("delay > 20", "1 == 1", "5:1", "neither side is an axis", "axes are: cc, delay"),
    ("delay > 20", "__import__('os')", "5:__import__", "no axis '__import__'", "axes are"),
    ("delay > 20", "delay.real > 2", "5:.", "'.' has no meaning here", "conditions are written like"),
    ("delay > 20", "delay >", "5:)", "found ')'", "axes are"),
    ("cc == 'reno'", "cc == 'renno'", "5:'renno'", "no label 'renno'", "did you mean 'reno'"),
    (
        "not (cc == 'reno' and delay > 20)",
        "cc == 'reno' and cc == 'cubic'",
        "5:[\"cc == 'reno' and cc ==",
        "none of the 24 points",
        "stays where",
    ),
    ("not (cc == 'reno' and delay > 20)", "(" * 99, "5:(", "too many parentheses", "several"),
    ("not (cc == 'reno' and delay > 20)", "cc == 'reno' cubic", "5:cubic", "found 'cubic'", "and, or"),
    # tables
    ('keep = ["flows"]', 'keep = ["flws"]', '6:"flws"', "no table 'flws'", "did you mean 'flows'"),
    ('keep = ["flows"]', 'keep = ["flows", "flows"]', '6:"flows"', "there twice", "remove one"),
    (
        'keep = ["flows"]',
        'keep = ["steps"]',
        '6:"steps"',
        "does not record the table 'steps'",
        "lasthop describe tables steps",
    ),
    (
        '"scenario.duration" = "2 s"',
        '"output.tcp" = "off"',
        '33:{ python = "own.py:stall',
        "does not record the table 'tcp'",
        "output.tcp",
    ),
    # set
    (
        '"scenario.duration"',
        '"scenario.duratoin"',
        '9:"scenario.duratoin"',
        "unknown key `duratoin`",
        "did you mean `duration`",
    ),
    ('"2 s"', '"2 fortnights"', '9:"2 fortnights"', "`fortnights` is not a unit", "units"),
    ('"scenario.duration" = "2 s"', 'scenario.duration = "2 s"', "9:scenario", "'scenario' is no key", "in quotes"),
    (
        '"scenario.duration" = "2 s"',
        '"scenario.seed" = 2',
        '9:"scenario.seed"',
        "the seed is not varied",
        "campaign.seeds",
    ),
    (
        '"scenario.duration" = "2 s"',
        '"flow.ftp.tcp.cc" = "bbr"',
        '9:"flow.ftp.tcp.cc"',
        "varied by the axis 'cc'",
        "remove it",
    ),
    ('"scenario.duration" = "2 s"', '"link.path.queue" = { packets = 3 }', "9:{ packets = 3 }", "kind", ""),
    # axes
    ("[axis.cc]", "[axis.seed]", "11:seed", "cannot be called 'seed'", "results"),
    ("[axis.cc]", '[axis."c c"]', '11:"c c"', "'c c' is no name", "a letter or '_'"),
    ("[axis.load]", "[axis.Delay]", "22:Delay", "'Delay' and 'delay'", "rename"),
    ('values = ["reno", "cubic"]', "", "11:cc", "none of them", "values = "),
    ('values = ["reno", "cubic"]', 'values = ["reno"]\noptions = {}', "11:cc", "'values' and 'options'", "such as"),
    ('values = ["reno", "cubic"]', "values = []", "13:[]", "no values", "at least one"),
    ('values = ["reno", "cubic"]', 'values = ["reno", "renno"]', '13:"renno"', "renno", "did you mean `reno`"),
    (
        'values = ["reno", "cubic"]',
        'values = ["reno", "reno"]',
        '13:"reno"',
        "the label 'reno' is there twice",
        "remove one",
    ),
    ('values = ["reno", "cubic"]', "values = [[1], [2]]", "13:[1]", "needs a label", "labels = "),
    ('values = ["reno", "cubic"]', "values = [1, inf]", "13:inf", "finite", ""),
    (
        'values = ["reno", "cubic"]',
        'values = ["reno", "cubic"]\nlabels = ["a"]',
        '14:["a"]',
        "1 labels for 2 values",
        "each",
    ),
    (
        'values = ["reno", "cubic"]',
        'values = ["reno", "cubic"]\nlabels = ["a", "a"]',
        '14:"a"',
        "'a' is there twice",
        "",
    ),
    (
        'values = ["reno", "cubic"]',
        'values = ["reno", "cubic"]\nlabels = ["a", [1]]',
        "14:[1]",
        "a label is a text",
        "",
    ),
    ('key = "flow.ftp.tcp.cc"', "", "11:cc", "needs the scenario's key", "flow.ftp.tcp.cc"),
    ('key = "flow.ftp.tcp.cc"', 'key = "flow.fttp.tcp.cc"', '12:"flow.fttp.tcp.cc"', "flow.fttp", "flow.ftp"),
    ('key = "flow.ftp.tcp.cc"', 'key = "cc"', '12:"cc"', "'cc' is no key", "in quotes"),
    (
        'key = "flow.ftp.tcp.cc"',
        'key = "scenario.seed"',
        '12:"scenario.seed"',
        "the seed is not varied",
        "campaign.seeds",
    ),
    ('key = "flow.ftp.tcp.cc"', 'key = "link.path.delay"', "15:delay", "both set 'link.path.delay'", "zip or options"),
    # ranges
    ('from = "10 ms"', 'from = "ten"', '17:"ten"', "neither a number nor a quantity", "10 ms"),
    ('to = "30 ms"', 'to = "30 kB"', '17:"30 kB"', "'to' is in kB, and 'from' is in ms", "one kind"),
    ('step = "10 ms"', 'step = "10"', '17:"10"', "neither a number", ""),
    ('step = "10 ms"', "step = 10", "17:10", "a number without a unit", ""),
    ('step = "10 ms"', 'step = "-10 ms"', '17:"-10 ms"', "never reached", "from"),
    ('step = "10 ms"', 'step = "0 s"', '17:"0 s"', "never reached", ""),
    ('step = "10 ms"', 'step = "1 ns"', '17:{ from = "10 ms", to = "', "20,000,001 values", "larger steps"),
    ('step = "10 ms"', "count = 1", "17:1", "at least 2 values", ""),
    ('step = "10 ms"', "count = 4000000000", '17:{ from = "10 ms", to = "', "4,000,000,000 values", "at most"),
    ('step = "10 ms"', "factor = 1.0", "17:1.0", "not above 1", "factor = 2"),
    ('step = "10 ms"', "factor = 1.0000000001", '17:{ from = "10 ms", to = "', "values", "at most"),
    ('step = "10 ms"', "factor = 2.0, count = 3", '17:{ from = "10 ms", to = "', "'count' and 'factor'", "step"),
    (
        'from = "10 ms", to = "30 ms", step = "10 ms"',
        'from = "0 s", to = "1 s", factor = 2',
        '17:{ from = "0 s", to = "1 ',
        "above 0",
        "",
    ),
    (
        'from = "10 ms", to = "30 ms", step = "10 ms"',
        'from = "1e99 ms", to = "1 s", step = "1 s"',
        '17:"1e99 ms"',
        "neither",
        "",
    ),
    ('to = "30 ms", step = "10 ms"', 'to = "-10 ms", step = "-10 ms"', '17:{ from = "10 ms", to = "', "-10 ms", ""),
    # zip and options
    ('["1 %", "2 %"]', '["1 %"]', '20:["1 %"]', "1 values, and 'link.path.rate' has 2", "equally long"),
    ('["1 %", "2 %"]', '["1 %", "2 kB"]', '20:"2 kB"', "kB", ""),
    ('"link.path.loss"', '"link.path.losss"', '20:"link.path.losss"', "losss", "loss"),
    (
        'options = { idle = { "output.queues" = false }',
        'options = { idle = { "output.queus" = false }',
        '23:"output.queus"',
        "queus",
        "queues",
    ),
    ('"flow.ftp.tcp.mss" = "1000 B"', '"flow.ftp.tcp.mss" = "1 m"', '23:"1 m"', "mss", ""),
    ("options = {", 'key = "a.b"\noptions = {', "23:key", "names its keys itself", "remove key"),
    # own code
    ('mine = "own.py:Mine"', 'mine = "onw.py:Mine"', '26:"onw.py:Mine"', "no file 'onw.py'", "did you mean 'own.py'"),
    ('mine = "own.py:Mine"', 'mine = "own.py:Mime"', '26:"own.py:Mime"', "no 'Mime'", "did you mean 'Mine'"),
    ('mine = "own.py:Mine"', 'mine = "own.py"', '26:"own.py"', "not of the form FILE.py:NAME", "mine.py:Mine"),
    (
        'mine = "own.py:Mine"',
        'mine = "own.py:Neither"',
        '26:"own.py:Neither"',
        "must derive from lasthop.CongestionControl",
        "",
    ),
    ('mine = "own.py:Mine"', 'mine = "own.py:NUMBER"', '26:"own.py:NUMBER"', "is no class", "derives from"),
    ('mine = "own.py:Mine"', 'mine = "bad.py:Mine"', '26:"bad.py:Mine"', "cannot be loaded: ZeroDivisionError", "mend"),
    ('mine = "own.py:Mine"', 'reno = "own.py:Mine"', '26:"own.py:Mine"', "reno", ""),
    ('ours = "own.py:Ours"', 'ours = "own.py:Mine"', '29:"own.py:Mine"', "must derive from lasthop.Scheduler", ""),
    ("own.py:stalls", "own.py:stals", '33:"own.py:stals"', "no 'stals'", "did you mean 'stalls'"),
    ("own.py:stalls", "own.py:NUMBER", '33:"own.py:NUMBER"', "is no function", "lasthop.Results"),
    ('tables = ["tcp"]', 'tables = ["tpc"]', '33:"tpc"', "no table 'tpc'", "did you mean 'tcp'"),
    ('unit = "s"', 'unit = ""', '33:""', "the unit is empty", ""),
    # metrics
    ("goodput_bps", "goodput_bsp", "32:g", "goodput_bsp", "goodput_bps"),
    ("in Mbit/s", "in Mbit/h/s", "32:/", "", ""),
    ("goodput = ", "cc = ", "32:cc", "two things called 'cc' would be one column", "rename"),
    ("goodput = ", "seed = ", "32:seed", "cannot be called 'seed'", ""),
    ("'flow(\"ftp\").goodput_bps in Mbit/s'", "''", "32:", "", ""),
    ("'flow(\"ftp\").goodput_bps in Mbit/s'", "3", "32:3", "an expression as text", ""),
    (
        'flow("ftp").goodput_bps in Mbit/s',
        "p95(radio().sinr_db)",
        "32:'p95(radio().sinr_db)'",
        "does not record the table 'radio'",
        "tables radio",
    ),
    # figures
    ('kind = "line"', 'kind = "lime"', '36:"lime"', "lime", "line"),
    ('x = "delay"', 'x = "dealy"', '37:"dealy"', "dealy", "delay"),
    ('x = "delay"', 'z = "delay"', '37:"delay"', "no key 'z'", "keys are"),
]


def pointed_at(diagnostic: Any) -> str:
    start, end = diagnostic["span"]
    return Path("c.toml").read_bytes()[start:end].decode()


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wired.toml").write_text(WIRED)
    Path("own.py").write_text(OWN)
    Path("bad.py").write_text("1 / 0\n")


def test_the_campaign_that_is_broken_below_is_right() -> None:
    Path("c.toml").write_text(GOOD)
    campaign = Campaign.load("c.toml")
    assert [len(a) for a in campaign.axes] == [2, 3, 2, 2]
    assert len(campaign.points) == 20  # of 24, those of reno with 30 ms are left out


@pytest.mark.parametrize(("what", "instead", "place", "message", "remedy"), BROKEN)
def test_a_mistake_has_its_place_and_a_remedy(what: str, instead: str, place: str, message: str, remedy: str) -> None:
    assert GOOD.count(what) >= 1
    Path("c.toml").write_text(GOOD.replace(what, instead, 1))
    with pytest.raises(LasthopError) as caught:
        Campaign.load("c.toml")
    found = [d for d in caught.value.diagnostics if message in d["message"] and remedy in (d["help"] or "")]
    assert found, str(caught.value)
    assert found[0]["file"] == "c.toml"
    line, _, underlined = place.partition(":")
    assert (found[0]["line"], pointed_at(found[0])[: len(underlined)]) == (int(line), underlined), str(caught.value)


def test_a_mistake_in_the_base_scenario_is_shown_there() -> None:
    Path("wired.toml").write_text(WIRED.replace("delay =", "dealy ="))
    Path("c.toml").write_text(GOOD)
    with pytest.raises(LasthopError, match=r"--> wired.toml:10:1"):
        Campaign.load("c.toml")
