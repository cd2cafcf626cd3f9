"""The golden runs: bundled scenarios, plug-ins, runs of the studies, scenarios of the swarm.

A run may be shorter than its source: `GoldenRun.at_most` says how long it lasts, and the constants
below say why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import lasthop
from lasthop import _core
from lasthop._bundled import bundled
from lasthop.harness.definition import Axis, Group, ParameterSet, Point, Study, Variation, load_study

HERE = Path(__file__).resolve().parent

#: Simulated time of a bundled scenario that writes down everything [s]: packets and steps are many
#: rows.
EVERYTHING_S = 3.0

#: Simulated time of a run for one plug-in [s]: slow start, a loss, its recovery, and some rounds
#: after it.
PLUG_IN_S = 8.0

#: Simulated time of a study's runs [s]: past slow start and the first losses.
STUDY_S = {
    "d2d-tcp": 15.0,
    "lte-handover": 8.0,  # a UE of the sweep crosses the first border of two cells at 5 s
    "lte-vs-11ac": 4.0,  # flows start at 1 s
    "radio-aware-tcp": 8.0,  # flows start at 1, 2, 3 and 5 s
    "umts-vegas": 60.0,
}

#: Groups in which what they are about comes later [s].
GROUP_S = {("lte-handover", "load"): 32.0}  # further flows start at 30 s

#: Simulated time of a scenario of the swarm [s]: most changes and flows begin within it.
SWARM_S = 10.0


@dataclass(frozen=True)
class GoldenRun:
    """A scenario with overrides, cut at a fixed time."""

    #: Says where it comes from; no blanks.
    name: str
    file: Path
    overrides: tuple[str, ...] = ()
    #: Longest simulated time [s]; None: as long as the scenario says.
    at_most: float | None = None

    def scenario(self) -> _core.Scenario:
        """Reads the scenario."""
        scenario = _core.Scenario.load(self.file, set=self.overrides)
        if self.at_most is None or scenario.duration_s <= self.at_most:
            return scenario
        return scenario.with_set([f'scenario.duration="{self.at_most:g} s"'])


def golden_runs() -> list[GoldenRun]:
    """Every golden run, in a fixed order."""
    return list(chain(of_scenarios(), of_plug_ins(), of_trials(), of_studies(), of_swarm()))


def of_scenarios() -> Iterator[GoldenRun]:
    """Every bundled scenario in its full length, and its beginning with all tables."""
    for name, file in bundled().items():
        yield GoldenRun(f"scenario/{name}", file)
        yield GoldenRun(f"scenario/{name}/everything", file, EVERYTHING, EVERYTHING_S)
        if name in EXPLAINED:
            yield GoldenRun(f"scenario/{name}/explain", file, ("output.explain=true",), EVERYTHING_S)
        if name == "lte-um-am":
            yield GoldenRun(f"scenario/{name}/rlc_pdus", file, ("output.rlc_pdus=true",), EVERYTHING_S)


def of_plug_ins() -> Iterator[GoldenRun]:
    """One short run for each plug-in of a list that is fixed here: a new one needs no row."""
    files = bundled()
    fields = {
        "cc": ("dumbbell", "flow.download.tcp.cc={}", CONTROLS),
        "linux-6-cc": ("dumbbell", 'flow.download.tcp={{ profile = "linux-6", cc = "{}" }}', CONTROLS),
        "profile": ("dumbbell", "flow.download.tcp.profile={}", PROFILES),
        "queue": ("dumbbell", 'link.bottleneck.queue="{}"', QUEUES),
        "app": ("dumbbell", "flow.download.app={}", APPS),
        "datagrams": ("dumbbell", 'flow.download.app={{ kind = "{}" }}', DATAGRAM_APPS),
        "rate-control": ("dumbbell", 'flow.download.app={{ kind = "media", control = "{}" }}', RATE_CONTROLS),
        "scheduler": ("lte-schedulers", "cell.enb.downlink.scheduler={}", SCHEDULERS),
        "uplink-scheduler": ("lte-upload", "cell.enb.uplink.scheduler={}", SCHEDULERS),
        "cell-profile": ("lte-two-way", "cell.enb.profile={}", CELL_PROFILES),
    }
    for kind, (base, override, names) in fields.items():
        for name in names:
            more = {
                "datagrams": ("flow.download.transport=udp",),
                "linux-6-cc": ("output.cc=interval",),
                # A line of 1 Mbit/s, below the highest rate of the encoder.
                "rate-control": ("flow.download.transport=udp", "output.cc=interval", "link.bottleneck.rate=1 Mbit/s"),
            }.get(kind, ())
            yield GoldenRun(f"plug-in/{kind}/{name}", files[base], (*more, override.format(name)), PLUG_IN_S)


def of_trials() -> Iterator[GoldenRun]:
    """What trials of congestion controls do to their network: each in a run of its own."""
    sender = 'flow.download.tcp={ profile = "linux-6", cc = "bbr3" }'
    for name, overrides in {
        "trigger": ('when=[{ var = "bbr.state", becomes = "Drain", set = { "link.bottleneck.rate" = "5 Mbit/s" } }]',),
        "fault": ('fault.z={ link = "bottleneck.forward", action = "hold", hold = "30 ms", every = 20 }',),
        "rounds": (
            'fault.z={ link = "bottleneck.forward", action = "drop", flow = "download", rounds = 9, every = 3 }',
        ),
        "batch": ('link.bottleneck.batch="20 ms"',),
        "rate": ('flow.download.app={ kind = "bulk", rate = "3 Mbit/s" }', 'flow.download.notsent_lowat="4 kB"'),
        "windows": ('output.windows="500 ms"',),
    }.items():
        yield GoldenRun(f"trial/{name}", bundled()["dumbbell"], (sender, *overrides), PLUG_IN_S)


def of_studies() -> Iterator[GoldenRun]:
    """Of every group of the bundled studies enough points, and every variation.

    Points: as many as show each option of each axis once.
    """
    for folder in sorted((Path(lasthop.__file__).parent / "studies").iterdir()):
        if (folder / "study.toml").is_file():
            study = load_study(folder)
            yield from chain(_of_groups(study), _of_variations(study))


def of_swarm() -> Iterator[GoldenRun]:
    """The scenarios in `swarm/`, as the swarm once drew them.

    What it draws for a seed may change, these files stay.
    """
    for file in sorted((HERE / "swarm").glob("*.toml"), key=lambda p: int(p.stem)):
        yield GoldenRun(f"swarm/{file.stem}", file, (), SWARM_S)


def _of_groups(study: Study) -> Iterator[GoldenRun]:
    # Runs in a real kernel repeat too, but not where none was built.
    for group in (g for g in study.groups if not g.kernel):
        sets = [s for s in study.parameter_sets if group.under(s)]
        # Point n has option n of each axis, and the parameter sets take turns.
        for n in range(max(len(sets), *(len(axis.options) for axis in group.axes), 1)):
            point, overrides = _point(group, n)
            parameter_set = sets[n % len(sets)]
            name = f"{parameter_set.name}/{group.name}{_named(point)}"
            yield _of_study(study, group, name, (*parameter_set.overrides(), *overrides))


def _of_variations(study: Study) -> Iterator[GoldenRun]:
    """Readings, switches and ablations, each once.

    At the first point where it changes something.
    """
    groups_of = {c.id: c.groups for c in study.claims}
    readings = [r for r in study.readings if not r.kernel]
    groups = [tuple(g for c in r.claims or groups_of for g in groups_of[c]) for r in readings]
    of_claims = [(v, c.groups) for c in study.claims for v in (c.switch, *c.ablations) if v is not None]
    known: set[tuple[str, ...]] = {()}
    for variation, among in (*zip(readings, groups, strict=True), *of_claims):
        found = _where(study, variation, among)
        if found is None or found[-1] in known:
            continue
        parameter_set, group, point, overrides, more = found
        known.add(more)
        name = f"{parameter_set.name}/{variation.role}:{variation.name}/{group.name}{_named(point)}"
        yield _of_study(study, group, name, (*parameter_set.overrides(), *overrides, *more))


def _where(
    study: Study, variation: Variation, among: Iterable[str]
) -> tuple[ParameterSet, Group, Point, list[str], tuple[str, ...]] | None:
    for parameter_set in study.parameter_sets:
        for group in (study.group(name) for name in among if variation.under(parameter_set)):
            for point, overrides in group.points() if group.under(parameter_set) else ():
                if more := variation.overrides_at(point):
                    return parameter_set, group, point, overrides, more
    return None


def _of_study(study: Study, group: Group, name: str, overrides: tuple[str, ...]) -> GoldenRun:
    seconds = GROUP_S.get((study.name, group.name), STUDY_S[study.name])
    return GoldenRun(_word(f"study/{study.name}/{name}"), study.scenario, (*overrides, "scenario.seed=1"), seconds)


def _point(group: Group, n: int) -> tuple[Point, list[str]]:
    def label(axis: Axis) -> object:
        return list(axis.options)[n % len(axis.options)]

    wanted = {axis.name: label(axis) for axis in group.axes}
    return next((point, overrides) for point, overrides in group.points() if point == wanted)


def _named(point: Point) -> str:
    return "".join(f"/{axis}={label}" for axis, label in point.items())


def _word(text: str) -> str:
    return re.sub(r"\s+", "-", text)


#: Where the tables of `output.explain` are kept: they grow with the run.
EXPLAINED = ("dumbbell", "umts-download", "wifi-download")

EVERYTHING = ("output.tcp=ack", "output.packets=true", "output.steps=true", "output.positions=true")

# fmt: off
CONTROLS = (
    "reno", "vegas", "bbr", "bbr3", "abc", "bic", "cdg", "cubic", "dctcp", "guided", "highspeed", "htcp", "hybla",
    "illinois", "ledbat", "lp", "nv", "none", "prague", "radio-aware", "scalable", "veno", "westwood",
    "westwood-plus", "yeah",
)
PROFILES = ("rfc", "ns2", "linux-6", "linux-2.6.26", "ns3-3.28", "ns3-3.44", "inet")
QUEUES = ("droptail", "headdrop", "infinite", "red", "step", "codel", "fq-codel", "pie", "dualpi2", "policer")
APPS = ("bulk", "file", "request-response", "on-off", "cbr", "web-page", "ftp", "dash")
RATE_CONTROLS = ("none", "nada", "gcc", "scream")
DATAGRAM_APPS = ("cbr", "on-off", "voip", "game")
SCHEDULERS = (
    "round-robin", "proportional-fair", "tdmt", "fdmt", "td-bet", "fd-bet", "tta", "priority-set", "qos-aware",
)
CELL_PROFILES = ("lasthop", "ns3-3.28", "ns3-3.44", "simulte")
# fmt: on
