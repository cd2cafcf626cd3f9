"""`Campaign`: what is run, over which axes and seeds, and what is kept of each run.

A campaign is checked before the first run.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from lasthop import _core
from lasthop._bundled import bundled, campaign_file
from lasthop._core import CampaignFile, LasthopError
from lasthop._errors import mistake
from lasthop._files import is_there
from lasthop._own import CONTROL, SCHEDULER, Kind, definitions, is_rate_control
from lasthop._registry import run_tables
from lasthop._scenario import Scenario
from lasthop._values import Overrides, Value, assignments, plain_text, to_toml
from lasthop.campaign import own
from lasthop.campaign._faults import Faults, Key, nearest
from lasthop.campaign._trial import check_points, common, declared
from lasthop.campaign.bundle import Bundle
from lasthop.campaign.conduct import Estimate, Progress, conduct, dry_run
from lasthop.campaign.executors import Executor
from lasthop.campaign.figures import FigureError, FigureSpec
from lasthop.campaign.jobs import Expression, Job, Measure, Point
from lasthop.campaign.metrics import Metric, MetricError
from lasthop.campaign.plan import (
    Axis,
    check_name,
    grid_size,
    hides,
    key_mistakes,
    override,
    read_axes,
    read_points,
    read_seeds,
    read_until,
)
from lasthop.campaign.results import CampaignResults

if TYPE_CHECKING:
    import pyarrow as pa

    from lasthop._own import Controls, Schedulers
    from lasthop._results import Results
    from lasthop.campaign.sequential import Rule

MetricLike: TypeAlias = "str | Callable[[Results], float | None] | Mapping[str, Any]"
"""An expression, a Python function of a run's results, or a table with the keys of `[metric.NAME]`."""

#: So many points are made before conditions leave some of them out.
_MOST_GRID = 2_000_000
_CAMPAIGN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\Z")


@dataclass(frozen=True)
class Given:
    """Python objects that were given to a campaign, in the place of names in its text."""

    base: Scenario | None = None
    cc: Mapping[str, Any] = field(default_factory=dict)
    schedulers: Mapping[str, Any] = field(default_factory=dict)
    functions: Mapping[str, own.Function] = field(default_factory=dict)
    #: Whether the campaign was described by flags: remedies name these, not keys of a file.
    flags: bool = False


class Campaign:
    """Many runs of one scenario: each combination of some axes, each with the same seeds.

    From a file: `Campaign.load("campaign.toml")`. In Python:

        campaign = lasthop.Campaign(
            base="lte-download",
            axes={"flow.ftp.tcp.cc": ["reno", "cubic", "bbr"]},
            metrics={"goodput": 'flow("ftp").goodput_bps in Mbit/s'},
            seeds=10,
        )

    Everything is checked when the campaign is made: keys, values of each axis, metrics, conditions,
    names. Nothing is run. Campaigns pickle.

    Args:
        base: the scenario that is varied: a `Scenario`, a file, or the name of a bundled scenario.
        axes: what is varied: a scenario key and its values, or a name and a table with the keys of
            `[axis.NAME]`.
        metrics: what is kept of each run by name: an expression (docs, Metrics), a function that
            takes `Results` and returns a number or None, or a table with the keys of
            `[metric.NAME]`.
        name: names the result folder; None: made of the base and the axes.
        description: one sentence.
        set: scenario keys to override in every run, a mapping or texts `key=value`.
        seeds: how many from 1 on, a list, or `{"first": 1, "count": 5}`; None: 5, or the `min` of
            `until`.
        until: the stopping rule, such as "ci95(goodput) < 2 %".
        keep: tables that are kept whole of every run.
        where: conditions on the labels of the axes; only points that meet all of them are run.
        cc: congestion controls or rate controls of your own: classes, or texts "FILE.py:CLASS".
        schedulers: schedulers of your own: classes, or texts "FILE.py:CLASS".
        figures: tables with the keys of `[figure.NAME]` by name.
        limit: a campaign with more runs than this is refused; None: 100,000.
        folder: where files that are named in texts are looked for; None: the current folder.

    Raises:
        LasthopError: something is wrong; the message shows each place with a remedy.
        TypeError: an argument is of a wrong type.
    """

    def __init__(
        self,
        base: str | PathLike[str] | Scenario,
        axes: Mapping[str, Any] | None = None,
        metrics: Mapping[str, MetricLike] | None = None,
        *,
        name: str | None = None,
        description: str = "",
        set: Overrides = (),
        seeds: int | Sequence[int] | Mapping[str, int] | None = None,
        until: str | None = None,
        keep: Sequence[str] = (),
        where: str | Sequence[str] = (),
        cc: Controls | Mapping[str, str] | None = None,
        schedulers: Schedulers | Mapping[str, str] | None = None,
        figures: Mapping[str, Mapping[str, Value]] | None = None,
        limit: int | None = None,
        folder: str | PathLike[str] | None = None,
    ) -> None:
        named = named_axes(axes or {})
        functions = {n: _function(n, m) for n, m in (metrics or {}).items() if callable(m)}
        stem = base.name if isinstance(base, Scenario) else Path(base).stem
        head: dict[str, Any] = {
            "name": name if name is not None else "-".join([stem, *named]),
            "description": description,
            "base": stem if isinstance(base, Scenario) else str(base),
            "seeds": seeds,
            "until": until,
            "keep": list(keep),
            "where": where if isinstance(where, str) else list(where),
            "limit": limit,
        }
        tables: dict[str, Mapping[str, Any]] = {
            "cc": {n: _place_of(c) for n, c in (cc or {}).items()},
            "scheduler": {n: _place_of(s) for n, s in (schedulers or {}).items()},
            "metric": {n: _function_table(functions[n]) if n in functions else m for n, m in (metrics or {}).items()},
            "figure": figures or {},
        }
        given = Given(
            base if isinstance(base, Scenario) else None, _objects(cc or {}), _objects(schedulers or {}), functions
        )
        text = plain_text(campaign_text(head, named, tables), "the campaign")
        beside = Path(folder) if folder is not None else Path()
        with remedies():
            file = CampaignFile.parse(text, "Campaign(...)", beside, assignments(set))
        self._read(file, given, checked=False)

    @classmethod
    def load(cls, path: str | PathLike[str], set: Overrides = (), *, limit: int | None = None) -> Campaign:
        """Reads a campaign file.

        Args:
            path: a TOML file, or the name of a bundled campaign such as "bufferbloat" where there
                is no such file.
            set: keys to override, a mapping or texts `key=value`. A key of the campaign's own
                tables (`campaign.seeds`, `axis.cc.values`) overrides the file's value; any other
                key is a scenario key and is set in each run.
            limit: a campaign with more runs than this is refused; None: the limit of the file, else
                100,000.

        Raises:
            LasthopError: the file has a mistake; the message shows where and what to do.
        """
        sets = [*assignments(set), *([] if limit is None else [f"campaign.limit={limit}"])]
        with remedies():
            file = CampaignFile.load(campaign_file(path), sets)
        return cls.of(file)

    @classmethod
    def parse(
        cls, text: str, name: str = "<string>", folder: str | PathLike[str] | None = None, set: Overrides = ()
    ) -> Campaign:
        """Reads a campaign from TOML text.

        Args:
            text: the campaign.
            name: what messages call the text.
            folder: where relative paths in it start; None: the current folder.
            set: as for `load`.

        Raises:
            LasthopError: the text has a mistake.
        """
        beside = Path(folder) if folder is not None else Path()
        with remedies():
            file = CampaignFile.parse(plain_text(text, name), name, beside, assignments(set))
        return cls.of(file)

    @classmethod
    def of(cls, file: CampaignFile, given: Given | None = None, *, checked: bool = False) -> Campaign:
        """The campaign of a file that is read. `checked`: its points have been tried before."""
        campaign = cls.__new__(cls)
        campaign._read(file, given or Given(), checked=checked)
        return campaign

    def _read(self, file: CampaignFile, given: Given, *, checked: bool) -> None:
        """Reads what the file says. `checked`: its points have been tried before."""
        self._file, self._given = file, given
        self._content: Mapping[str, Any] = file.content()
        faults = Faults(file)
        head = self._content["campaign"]
        self._check_name(faults)
        self._axes = read_axes(self._content.get("axis", {}), faults)
        self._measures = self._read_measures(faults)
        rule = read_until(head.get("until"), [m.name for m in self._measures], faults)
        explicit = re.search(r",\s*min\b", head.get("until") or "") is not None
        self._seeds, self._until = read_seeds(head.get("seeds"), rule, explicit, faults)
        self._check_tables(faults)
        self._sets, set_places = self._read_sets(faults)
        self._points = self._read_points(faults)
        self._figures = self._read_figures(faults)
        self._cc = self._policies("cc", CONTROL, given.cc, faults)
        self._schedulers = self._policies("scheduler", SCHEDULER, given.schedulers, faults)
        faults.end()
        if given.base is not None:
            self._cc = {**given.base.cc, **self._cc}
            self._schedulers = {**given.base.schedulers, **self._schedulers}
        self._codes = self._digests_of_policies(checked)
        base = self._base(faults)
        faults.end()
        assert base is not None  # else there is a fault
        found = common(base.core, self._sets, set_places, faults)
        faults.end()
        assert found is not None  # else there is a fault
        self._common = Scenario(found, self._cc, self._schedulers)
        if not checked:
            check_points(found, self._points, self._axes, self._tables_read(), faults, flags=self._given.flags)
            faults.end()
            self._check_flows(found, faults)
            faults.end()

    # What a campaign is

    @property
    def name(self) -> str:
        """The campaign's name."""
        return str(self._content["campaign"]["name"])

    @property
    def description(self) -> str:
        """One sentence on what the campaign shows; may be empty."""
        return str(self._content["campaign"].get("description", ""))

    @property
    def folder(self) -> Path:
        """The folder from which relative paths in the campaign start."""
        return self._file.folder

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes, in the order of the file."""
        return self._axes

    @property
    def points(self) -> tuple[Point, ...]:
        """The combinations of the axes that are run; the last axis varies fastest."""
        return self._points

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of each point; with `until` those before the first look."""
        return self._seeds.listed

    def seed_at(self, index: int) -> int:
        """The seed of replication `index`, from 0 on, of each point."""
        return self._seeds.at(index)

    @property
    def until(self) -> Rule | None:
        """The rule that says how many seeds a point needs; None: those of `seeds`."""
        return self._until

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What is kept of each run as numbers."""
        return self._measures

    @property
    def keep(self) -> tuple[str, ...]:
        """The tables that are kept whole of each run."""
        return tuple(self._content["campaign"].get("keep", ()))

    @property
    def figures(self) -> tuple[FigureSpec, ...]:
        """The figures that the file describes."""
        return self._figures

    @property
    def base(self) -> Scenario:
        """The base scenario with what the campaign sets in each run."""
        return self._common

    @property
    def held_by_gil(self) -> bool:
        """Whether runs call Python code, so that threads would wait for one another."""
        return bool(self._cc or self._schedulers) or any(m.needs_processes for m in self._measures)

    @property
    def runs(self) -> int:
        """Runs before the first look of `until`, or in all."""
        return len(self._points) * len(self._seeds.listed)

    @property
    def most_runs(self) -> int:
        """Runs at most: `runs`, or with `until` its `max` of each point."""
        return len(self._points) * (self._until.max if self._until else len(self._seeds.listed))

    @property
    def code(self) -> str:
        """Digest of the sources of own policies and of what they import; empty without any."""
        return own.together(self._codes.values())

    def code_of(self, scenario: Scenario) -> str:
        """As `code`, of only those policies that a scenario uses.

        After an edit of other policies the scenario's runs are not repeated.
        """
        return own.together(self._codes[name] for name in scenario.core.own_policies() if name in self._codes)

    @cached_property
    def digest(self) -> str:
        """Digest of all that the results of the campaign depend on, as hex.

        Description and figures are not part of it.
        """
        return self._digest(self.seeds, str(self._until))

    @cached_property
    def subject(self) -> str:
        """As `digest`, but equal for two campaigns that differ only in seeds or rule."""
        return self._digest()

    @cached_property
    def ground(self) -> str:
        """Digest of the base scenario with `[set]`, without the code of own policies, as hex."""
        return hashlib.blake2b(self._common.core.written().encode(), digest_size=16).hexdigest()

    def _digest(self, *more: object) -> str:
        parts = [
            self._common.hash,
            self.code,
            [(p.labels, p.overrides) for p in self._points],
            [(m.name, m.unit, m.identity) for m in self._measures],
            self.keep,
            *more,
        ]
        return hashlib.blake2b(json.dumps(parts, ensure_ascii=True).encode(), digest_size=16).hexdigest()

    def scenario(self, job: Job) -> Scenario:
        """The scenario of a run: base, `[set]`, the point's overrides, the seed, own policies.

        Raises:
            LasthopError: the point gives no valid scenario (only where a campaign has too many
                points to try all of them before).
        """
        core = self._common.core.with_set([*job.point.overrides, f"scenario.seed={job.seed}"])
        return Scenario(core, self._cc, self._schedulers)

    def run(
        self,
        out: str | PathLike[str] | None = None,
        *,
        store: str | PathLike[str] | None = None,
        using: Executor | str | None = None,
        jobs: int = 0,
        threads: int = 1,
        shard: tuple[int, int] | None = None,
        force: bool = False,
        time_limit_s: float | None = None,
        finished_only: bool = False,
        progress: Progress | None = None,
    ) -> CampaignResults:
        """Makes the runs that the store does not have, and returns the results.

        Args:
            out: a folder for the results, figures and report; None: results stay in memory.
            store: where finished runs are kept; None: the folder of the variable LASTHOP_STORE,
                else `results/store`.
            using: how the runs are made: "threads", "processes" or "ray"; None: threads, or
                processes where runs call Python code.
            jobs: runs at a time; 0: one per processor.
            threads: how many threads may share the work of a run, 1 to 256, where the campaign has
                fewer runs than `jobs`. The results are the same. Only LTE cells use them.
            shard: (i, n): only part i of n, 1 to n.
            force: replaces results in `out` even if this campaign would not give them again.
            time_limit_s: time after which a run is given up [s]: a failure with a reason; None:
                never.
            finished_only: no run is made: the results are those of the runs that the store has,
                marked as incomplete where some are missing.
            progress: gets a `lasthop.campaign.conduct.Event` after each run.

        Raises:
            LasthopError: the store cannot be written, or `out` holds something else.
            KeyboardInterrupt: Ctrl-C; what is finished is in the store.
        """
        return conduct(
            self, store, using=using, jobs=jobs, threads=threads, shard=shard, out=out, force=force,
            time_limit_s=time_limit_s, finished_only=finished_only, progress=progress, also=_report,
        )  # fmt: skip

    def dry_run(
        self,
        *,
        store: str | PathLike[str] | None = None,
        using: Executor | str | None = None,
        jobs: int = 0,
    ) -> Estimate:
        """Estimates time and disk from a few runs; writes nothing.

        The arguments are those of `run`.
        """
        return dry_run(self, store, using=using, jobs=jobs)

    def results(self, out: str | PathLike[str] | None = None) -> pa.Table:
        """The results that an earlier run of this campaign has written.

        They have a row for each point and seed, with units.

        Args:
            out: their folder; None: `results/NAME`, where `lasthop sweep` leaves them.

        Raises:
            LasthopError: there are no results, they are those of another campaign, or they are
                incomplete.
        """
        found = CampaignResults.load(Path(out) if out is not None else Path("results") / self.name)
        if found.about["digest"] != self.digest:
            raise mistake(
                f"the results in '{found.folder}' are not those of this campaign as it is now",
                "run it again: runs that did not change are taken from the store",
            )
        if found.incomplete is not None:
            raise mistake(f"'{found.folder}': {found.incomplete}", "run the campaign: it continues from there")
        return found.table()

    def to_toml(self) -> str:
        """The campaign as TOML, with overrides applied and with every default.

        Comments are not kept.
        """
        return self._text(self.base_named, {})

    def bundle(self, folder: Path) -> tuple[str, bool]:
        """As `to_toml`, for a file in `folder` from which the campaign can be run.

        Args:
            folder: the folder that gets copies of the files that the campaign names: base, own
                code, traces and tracks.

        Returns:
            The text, and whether it can be run. It cannot where a class or a function has no file
            of its own.

        Raises:
            LasthopError: a file cannot be copied.
        """
        made = Bundle(self)
        made.write(folder)
        text = self._text(made.base, made.places)
        if made.stays:
            text = f"# To be run with code that has no file to be copied: {', '.join(made.stays)}\n{text}"
        return text, not made.stays

    @property
    def base_named(self) -> str:
        """What the campaign calls its base scenario."""
        return str(self._content["campaign"]["base"])

    @property
    def given_base(self) -> Scenario | None:
        """The base scenario, if it was given as an object; None: it was given as a name."""
        return self._given.base

    def own_code(self) -> dict[tuple[str, str], tuple[Callable[..., Any], own.Place | None]]:
        """Classes and functions of the user, and where each was loaded from.

        They are listed by table of the campaign and by name.
        """
        found: dict[tuple[str, str], tuple[Callable[..., Any], own.Place | None]] = {
            (table, name): (made, self._loaded_from(table, name))
            for table, policies in (("cc", self._cc), ("scheduler", self._schedulers))
            for name, made in policies.items()
        }
        return found | {("metric", m.name): (m.call, m.place) for m in self._measures if isinstance(m, own.Function)}

    def _loaded_from(self, table: str, name: str) -> own.Place | None:
        """Where the campaign has loaded an own control or scheduler from.

        None: it was given the object.
        """
        given = self._given.cc if table == "cc" else self._given.schedulers
        text = self._content.get(table, {}).get(name)
        return None if text is None or name in given else (text, str(self.folder.absolute()))

    def _text(self, base: str, places: Mapping[tuple[str, str], str]) -> str:
        """The campaign as TOML.

        `places`: where own code is, in place of what the campaign names.
        """
        content, head = self._content, self._content["campaign"]
        seeds = self._seeds.listed
        count = {"first": seeds[0], "count": len(seeds)}
        head_keys = {
            "name": self.name,
            "description": self.description,
            "base": base,
            "seeds": count if seeds == tuple(range(seeds[0], seeds[0] + len(seeds))) else list(seeds),
            "until": None if self._until is None else str(self._until),
            "keep": list(self.keep),
            "where": head.get("where", []),
            "limit": head.get("limit", DEFAULT_LIMIT),
        }
        metrics = {
            name: metric
            if isinstance(metric, str)
            else {**metric, "python": places.get(("metric", name), metric["python"])}
            for name, metric in content.get("metric", {}).items()
        }
        tables = {
            "set": content.get("set", {}),
            "cc": {n: places.get(("cc", n), _place_of(made)) for n, made in self._cc.items()},
            "scheduler": {n: places.get(("scheduler", n), _place_of(made)) for n, made in self._schedulers.items()},
            "metric": metrics,
            "figure": content.get("figure", {}),
        }
        if not places:
            tables |= {table: content.get(table, {}) for table in ("cc", "scheduler")}
        return campaign_text(head_keys, content.get("axis", {}), tables, spelled_out=True)

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`: the text is read again.

        Own code from files is loaded again, other code is imported by name.
        """
        text, name, sets = self._file.source()
        return _restored, (text, name, str(self._file.folder.absolute()), sets, self._given)

    def __repr__(self) -> str:
        axes = " x ".join(f"{len(a)} {a.name}" for a in self._axes) or "one point"
        return f"<Campaign {self.name}: {axes}, {len(self._points)} points, {len(self._seeds.listed)} seeds>"

    # How it is read

    def _check_name(self, faults: Faults) -> None:
        name = self._content["campaign"]["name"]
        if not _CAMPAIGN_NAME.match(name):
            faults.add(
                ("campaign", "name"),
                "the name is not one that a folder can have",
                "up to 100 letters, digits, '-', '_' and '.', not beginning with '.' or '-'",
            )

    def _read_measures(self, faults: Faults) -> tuple[Measure, ...]:
        found: list[Measure] = []
        columns = {axis.lower(): axis for axis in self._content.get("axis", {})}
        for name, metric in self._content.get("metric", {}).items():
            check_name(name, ("metric", name), "a metric", columns, faults)
            measure = (
                self._expression(name, metric, faults) if isinstance(metric, str) else self._own(name, metric, faults)
            )
            if measure is not None:
                found.append(measure)
        if not self._content.get("metric") and not self._content["campaign"].get("keep"):
            example = "goodput = 'flow(\"ftp\").goodput_bps in Mbit/s'"
            faults.add(
                ("campaign",),
                "the campaign keeps nothing of its runs",
                "add --metric 'goodput=flow(\"ftp\").goodput_bps in Mbit/s', or --keep flows"
                if self._given.flags
                else f'add a metric, such as [metric] {example}, or keep = ["flows"]',
            )
        return tuple(found)

    def _expression(self, name: str, text: str, faults: Faults) -> Measure | None:
        place = ("metric", name)
        try:
            return Expression(Metric.parse(name, text))
        except MetricError as error:
            # A name that is none is reported as that of a column.
            if error.column:
                faults.add(place, error.what, error.help, within=(error.column - 1, error.column))
            elif not text.strip() or len(faults) == 0:
                faults.add(place, error.what, error.help)
            return None

    def _own(self, name: str, metric: Mapping[str, Any], faults: Faults) -> Measure | None:
        place = ("metric", name)
        self._check_known_tables(metric["tables"], (*place, "tables"), faults)
        if not metric["unit"] or not metric["unit"].isprintable():
            faults.add(
                (*place, "unit"), "the unit is empty", "the unit of the function's values; '1' for plain numbers"
            )
        if name in self._given.functions:
            return self._given.functions[name]
        try:
            call = own.load(self.folder, metric["python"])
        except LasthopError as error:
            _pass_on(error, (*place, "python"), faults)
            return None
        if not callable(call):
            faults.add(
                (*place, "python"), f"'{metric['python']}' is no function", "a function that takes lasthop.Results"
            )
            return None
        where = (metric["python"], str(self.folder.absolute()))
        return own.Function.of(name, metric["unit"], metric["tables"], call, where)

    def _check_tables(self, faults: Faults) -> None:
        keep = self._content["campaign"].get("keep", [])
        self._check_known_tables(keep, ("campaign", "keep"), faults)
        for i, table in enumerate(keep):
            if table in keep[:i]:
                faults.add(("campaign", "keep", str(i)), f"the table '{table}' is there twice", "remove one")

    def _check_known_tables(self, names: Sequence[str], place: Key, faults: Faults) -> None:
        known = tuple(run_tables())
        for i, table in enumerate(names):
            if table not in known:
                remedy = nearest(table, known, "'lasthop describe tables' lists the tables of a run")
                faults.add((*place, str(i)), f"a run has no table '{table}'", remedy)

    def _tables_read(self) -> dict[str, Key]:
        """The tables that runs must record, each with the place that needs it."""
        found: dict[str, Key] = {t: ("campaign", "keep", str(i)) for i, t in enumerate(self.keep)}
        for measure in self._measures:
            for table in sorted(measure.tables):
                found.setdefault(table, ("metric", measure.name))
        return found

    def _check_flows(self, base: _core.Scenario, faults: Faults) -> None:
        """Whether the flows that metrics name are there at some point.

        A metric of no flow never has a value.

        The flows of a table with a count, and those to several UEs, are called as the table with
        more behind it.
        """
        named = [(m.name, m.metric.flows()) for m in self._measures if isinstance(m, Expression)]
        if not any(flows for _, flows in named):
            return
        keys = [o.partition("=")[0] for axis in self._axes for settings in axis.settings for o in settings]
        of_axes = [key.split(".")[1].strip('"') for key in keys if re.match(r"flow\.[^.]", key)]
        known = list(dict.fromkeys([*declared(base, "flow"), *of_axes]))
        for metric, flows in named:
            for flow, span in flows:
                if not any(flow == k or (flow.startswith(k) and not flow[len(k)].isalnum()) for k in known):
                    faults.add(
                        ("metric", metric),
                        f"the scenario has no flow '{flow}'",
                        nearest(flow, known, cutoff=0.3),
                        within=span,
                    )

    def _read_sets(self, faults: Faults) -> tuple[list[str], list[Key]]:
        sets: list[str] = []
        places: list[Key] = []
        for key, value in self._content.get("set", {}).items():
            place = ("set", key)
            for what, remedy in key_mistakes(key):
                faults.add(place, what, remedy, at_key=True)
            for axis in self._axes:
                mine = next((k for k in axis.keys if hides(k, key)), None)
                if mine is not None:
                    faults.add(
                        place,
                        f"'{key}' is set in each run and varied by the axis '{axis.name}'",
                        "remove it here, or the axis",
                        at_key=True,
                    )
            sets.append(override(key, value))
            places.append(place)
        return sets, places

    def _read_points(self, faults: Faults) -> tuple[Point, ...]:
        if len(faults):
            return ()
        head = self._content["campaign"]
        limit = int(head.get("limit", DEFAULT_LIMIT))
        grid = grid_size(self._axes)
        if grid > max(limit, _MOST_GRID):
            self._too_many(faults, grid, limit)
            return ()
        conditions = head.get("where", [])
        points = read_points(self._axes, conditions, faults)
        each = self._until.max if self._until else len(self._seeds.listed)
        if len(points) * each > limit:
            self._too_many(faults, len(points), limit)
        return points

    def _too_many(self, faults: Faults, points: int, limit: int) -> None:
        each = self._until.max if self._until else len(self._seeds.listed)
        runs = points * each
        seeds = f"{each:,} seeds" if self._until is None else f"up to {each:,} seeds"
        sizes = " x ".join(f"{len(a):,} {a.name}" for a in self._axes) or "one point"
        faults.add(
            ("campaign", "limit")
            if self._content["campaign"].get("limit", DEFAULT_LIMIT) != DEFAULT_LIMIT
            else ("campaign",),
            f"the campaign has {runs:,} runs ({points:,} points of {sizes}, {seeds} each), more than {limit:,}",
            f"fewer values or seeds; or allow it: --limit {runs}"
            + ("" if self._given.flags else f", or limit = {runs} in [campaign]"),
        )

    def _read_figures(self, faults: Faults) -> tuple[FigureSpec, ...]:
        sound = len(faults) == 0
        found = [self._figure(name, t, sound, faults) for name, t in self._content.get("figure", {}).items()]
        return tuple(spec for spec in found if spec is not None)

    def _figure(self, name: str, table: Mapping[str, Any], sound: bool, faults: Faults) -> FigureSpec | None:
        try:
            spec = FigureSpec.parse(name, table)
            if sound:
                labels = {axis.name: axis.labels for axis in self._axes}
                spec.check(axes=labels, metrics=[m.name for m in self._measures], keep=self.keep)
        except FigureError as error:
            key = tuple(error.key.split("."))
            faults.add(key, error.what, error.help, at_key=len(key) == 2 or key[-1] not in table)
            return None
        return spec

    def _policies(self, table: str, kind: Kind, given: Mapping[str, Any], faults: Faults) -> dict[str, Any]:
        names = self._content.get(table, {})
        found = {name: self._policy(table, name, text, kind, given.get(name), faults) for name, text in names.items()}
        return {name: made for name, made in found.items() if made is not None}

    def _policy(self, table: str, name: str, text: str, kind: Kind, given: Any, faults: Faults) -> Any:
        """The class that an entry of `[cc]` or `[scheduler]` means.

        None: it is none, which is noted.
        """
        base = f"lasthop.{kind.base.__name__}"
        try:
            made = given if given is not None else own.load(self.folder, text)
            if given is None and not inspect.isclass(made):
                raise TypeError(f"'{text}' is no class")
            [definition] = definitions(kind, {name: made})
            # What the core refuses, such as the name of a built-in control, it refuses here.
            _core.Scenario.parse(_EMPTY, "", None, [], *(([definition], []) if kind is CONTROL else ([], [definition])))
        except LasthopError as error:
            _pass_on(error, (table, name), faults)
            return None
        except TypeError as error:
            faults.add((table, name), str(error), f"a class that derives from {base}")
            return None
        return made

    def _digests_of_policies(self, checked: bool) -> dict[str, str]:
        """Digests of own controls and schedulers by the names that the core has for them."""
        found: dict[str, str] = {}
        for table, policies in (("cc", self._cc), ("scheduler", self._schedulers)):
            for name, made in policies.items():
                prefix = "scheduler." if table == "scheduler" else "rate-control." if is_rate_control(made) else ""
                place = self._loaded_from(table, name)
                if place is None and not checked:
                    own.check_named(f"`{table}.{name}`", made)
                found[prefix + name] = own.digest(prefix + name, made, place)
        return found

    def _base(self, faults: Faults) -> Scenario | None:
        """The base scenario as its file says it, with own policies."""
        if self._given.base is not None:
            base = self._given.base
            if self._cc:
                base = base.with_cc(self._cc)
            return base.with_schedulers(self._schedulers) if self._schedulers else base
        named = str(self._content["campaign"]["base"])
        path, known = self.folder / named, bundled()
        if not named or not is_there(path):
            if named not in known:
                here = sorted(p.name for p in path.parent.glob("*.toml")) if is_there(path.parent) else []
                faults.add(
                    ("campaign", "base"),
                    f"there is no file '{named}' beside the campaign, nor a bundled scenario of this name",
                    nearest(named, [*known, *here], "'lasthop scenarios list' shows the bundled ones"),
                )
                return None
            path = known[named]
        if path.is_dir():
            faults.add(("campaign", "base"), f"'{named}' is a folder", "a scenario is a TOML file")
            return None
        return Scenario.load(path, cc=self._cc, schedulers=self._schedulers)


@contextmanager
def remedies() -> Iterator[None]:
    """Adds a remedy to a mistake in the keys or types of a campaign where it has none.

    The remedy names the place where the key is explained.
    """
    try:
        yield
    except LasthopError as error:
        mistakes = [d for d in error.diagnostics if d["severity"] == "error"]
        if len(mistakes) != 1 or mistakes[0]["help"] is not None:
            raise
        found = mistakes[0]
        if found["key"] is None or "`campaign` is missing" in found["message"]:
            remedy = "a campaign begins with [campaign]; 'lasthop scenarios copy bufferbloat' writes one"
        else:
            key = re.sub(r"^(axis|metric|figure|cc|scheduler)\.[^.]+", r"\1.<name>", found["key"])
            remedy = f"'lasthop describe campaign \"{key}\"' explains the key"
        text = str(error)
        gutter = re.search(r"^( *)-->", text, re.MULTILINE)
        space = " " * (len(gutter[1]) + 1) if gutter is not None and "|" in text else None
        explained = type(error)(
            f"{text}\n  help: {remedy}" if space is None else f"{text}\n{space}|\n{space}= help: {remedy}"
        )
        found["help"] = remedy
        explained.diagnostics = error.diagnostics
        raise explained from None


#: A scenario without content, to which policies can be added.
_EMPTY = '[scenario]\nname = "x"\nduration = "1 s"\n'
#: As in the campaign file's reference.
DEFAULT_LIMIT = 100_000


def _report(folder: Path, results: CampaignResults) -> None:
    """Figures and report; what draws them takes long to import."""
    from lasthop.report.campaign import write

    write(folder, results)


def _restored(text: str, name: str, folder: str, sets: list[str], given: Given) -> Campaign:
    return Campaign.of(CampaignFile.parse(text, name, folder, sets), given, checked=True)


def _pass_on(error: LasthopError, place: Key, faults: Faults) -> None:
    """A mistake that was found without a place, at its place."""
    for found in error.diagnostics:
        faults.add(place, found["message"], found["help"])


def _function(name: str, call: Callable[..., Any]) -> own.Function:
    """A function of Python's as a measure; its unit and tables are attributes, if it has them."""
    if getattr(call, "__name__", "") == "<lambda>":
        raise TypeError(f"the metric '{name}' is a lambda, which cannot reach another process: write it with def")
    own.check_named(f"the metric '{name}'", call)
    unit, tables = getattr(call, "unit", "1"), getattr(call, "tables", ())
    return own.Function.of(name, str(unit), tables, call)


def _function_table(function: own.Function) -> dict[str, Any]:
    text = f"{getattr(function.call, '__module__', '')}:{getattr(function.call, '__qualname__', 'function')}"
    return {"python": text, "unit": function.unit, "tables": sorted(function.tables)}


def _place_of(policy: Any) -> str:
    """`FILE.py:CLASS` of a class, for the campaign's text."""
    if isinstance(policy, str):
        return policy
    try:
        file = inspect.getsourcefile(policy)
    except (TypeError, OSError):
        file = None
    return f"{file or '<python>'}:{getattr(policy, '__qualname__', repr(policy))}"


def _objects(policies: Mapping[str, Any]) -> dict[str, Any]:
    return {name: p for name, p in policies.items() if not isinstance(p, str)}


def named_axes(axes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Axes by name: that of a scenario key is its last part, or more parts where two are equal."""
    found: dict[str, dict[str, Any]] = {}
    for key, values in axes.items():
        if isinstance(values, Mapping):
            name = key if "." not in key else _free(key, found)
            found[name] = dict(values) if "." not in key else {"key": key, "range": dict(values)}
        elif isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            raise TypeError(f"the axis '{key}' needs a list of values, not {values!r}")
        else:
            found[_free(key, found)] = {"key": key, "values": list(values)}
    return found


def _free(key: str, taken: Mapping[str, Any]) -> str:
    parts = [re.sub(r"\W", "_", p, flags=re.ASCII) for p in key.replace('"', "").split(".")]
    for count in range(1, len(parts) + 1):
        name = "_".join(parts[-count:])
        if name not in taken and not name[:1].isdigit():
            return name
    return "_".join(parts)


def campaign_text(
    head: Mapping[str, Any],
    axes: Mapping[str, Mapping[str, Any]],
    tables: Mapping[str, Mapping[str, Any]],
    *,
    spelled_out: bool = False,
) -> str:
    """A campaign as TOML text.

    Keys of the head that are None are left out, and empty ones unless `spelled_out` is true.
    """
    keys = {k: v for k, v in head.items() if v is not None and (spelled_out or v not in ("", []))}
    lines = ["[campaign]", *_keys(keys)]
    for name, table in axes.items():
        lines += ["", f"[axis.{_quoted(name)}]", *_keys(table)]
    for name, table in tables.items():
        if table:
            lines += ["", f"[{name}]", *_keys(table)]
    return "\n".join(lines) + "\n"


def _keys(table: Mapping[str, Any]) -> list[str]:
    return [f"{_quoted(key)} = {to_toml(value)}" for key, value in table.items()]


def _quoted(key: str) -> str:
    return to_toml({key: 0})[2:-6]
