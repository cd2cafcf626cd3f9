"""A study: the files of its folder, read and checked.

The files are `study.toml`, `claims.toml`, `scenario.toml` and `study.py`.

The TOML files define as data everything that a run of the study does. `study.py` has only what data
cannot express: how a run is reduced to numbers, how a claim is judged, how a figure is drawn.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lasthop.harness.errors import StudyError
from lasthop.harness.guard import blamed, guarded

if TYPE_CHECKING:
    from types import ModuleType

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Kind = Literal["N", "O", "S", "M"]
KINDS: Mapping[str, str] = {"N": "numeric", "O": "order", "S": "shape", "M": "mechanism"}

#: One set of calibrated values for all claims of a study, and not more of them than this.
MAX_CALIBRATED = 5

#: The folders of the studies that come with the package.
BUNDLED = Path(__file__).resolve().parent.parent / "studies"

Point = Mapping[str, Any]


@dataclass(frozen=True)
class Value:
    """One value of a parameter set, and where it comes from.

    `keys` maps scenario keys to values in the scenario's notation; most values have one key. `tag`
    is the provenance: P (stated in the paper), D (derived by arithmetic from P), C (default of the
    tool that the authors used), S (a standard), R (our recommendation), X (fitted with a scratch
    model).
    """

    name: str
    keys: Mapping[str, Any]
    tag: str
    source: str
    calibrated: bool = False
    integer: bool = False
    #: Factors of the sensitivity runs in place of 1 +- step: for values of which the model has only
    #: some.
    factors: tuple[float, ...] = ()
    #: The value of the set that its own one extends, if it takes the place of one.
    instead_of: Value | None = None

    @property
    def scalable(self) -> bool:
        """Whether any of its keys has a quantity; a name cannot be moved by 20 %."""
        return any(not isinstance(v, str) or _QUANTITY.match(v) for v in self.keys.values())

    @property
    def is_choice(self) -> bool:
        """Whether the value is a switch, on or off.

        A switch cannot be changed by 20 %; its other position is a reading.
        """
        return all(isinstance(v, bool) for v in self.keys.values())

    def overrides(self, factor: float = 1.0) -> list[str]:
        """`key=value` for each key, numbers multiplied by `factor`.

        Words beside a number stay as they are.
        """
        return [f"{key}={toml_value(v)}" for key, v in self._scaled(factor).items()]

    def text(self, factor: float = 1.0) -> str:
        """The values as a reader sees them: `delay 28 ms, iub delay 1 ms`.

        It is `28 ms` alone where the name says enough.

        The name of a value is the last part of its key, or as many of the last parts as distinguish
        it from others. Values that several keys of one name have in common are written once.
        """
        said = {key: _said(value) for key, value in self._scaled(factor).items()}
        if len(set(said.values())) == 1 and len({key.rpartition(".")[2] for key in said}) == 1:
            (key, value), *_ = said.items()
            return value if re.search("[A-Za-z%]", value) else f"{_named_by(key, 1)} {value}"
        found: dict[str, str] = {}
        for key, value in said.items():
            parts = 1
            while any(_named_by(k, parts) == _named_by(key, parts) and v != value for k, v in said.items() if k != key):
                parts += 1
            found[_named_by(key, parts)] = value
        return ", ".join(f"{name} {value}" for name, value in found.items())

    def _scaled(self, factor: float) -> dict[str, Any]:
        words = [k for k, v in self.keys.items() if isinstance(v, str) and not _QUANTITY.match(v)]
        if len(words) == len(self.keys):
            words = []  # nothing to scale: `scaled` says so
        return {k: v if k in words else scaled(v, factor, self.integer) for k, v in self.keys.items()}


def _named_by(key: str, parts: int) -> str:
    """The last parts of a key as words."""
    return " ".join(key.split(".")[-parts:]).replace("_", " ")


def _said(value: Any) -> str:
    """A value of a scenario as a reader gets it: on and off, lists and tables in parentheses."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return f"({', '.join(f'{_named_by(key, 1)} {_said(v)}' for key, v in value.items())})"
    if isinstance(value, list):
        return f"({', '.join(map(_said, value))})"
    return str(value)


@dataclass(frozen=True)
class ParameterSet:
    """A named list of values: `paper`, `calibrated`."""

    name: str
    about: str
    values: tuple[Value, ...]

    def overrides(self) -> list[str]:
        """All values as scenario overrides."""
        return [o for v in self.values for o in v.overrides()]

    @property
    def calibrated(self) -> tuple[Value, ...]:
        """The values that count as calibrated."""
        return tuple(v for v in self.values if v.calibrated)


@dataclass(frozen=True)
class Axis:
    """One axis of a grid: option labels, each with its scenario overrides."""

    name: str
    options: Mapping[Any, tuple[str, ...]]


@dataclass(frozen=True)
class Group:
    """A grid of runs that serve one purpose and are reduced in one way."""

    name: str
    purpose: str
    reduce: str
    seeds: int
    overrides: tuple[str, ...] = ()
    axes: tuple[Axis, ...] = ()
    #: The parameter sets that these runs are made under; None: every one.
    sets: tuple[str, ...] | None = None
    #: Why one replication of each point is enough to judge by. Without a reason, claims on single
    #: runs are undecided.
    one_run: str = ""
    #: Nodes whose TCP is that of a real kernel; without one the runs are not made.
    kernel: tuple[str, ...] = ()

    def under(self, parameter_set: ParameterSet) -> bool:
        """Whether the runs are made with that parameter set."""
        return self.sets is None or parameter_set.name in self.sets

    def points(self) -> list[tuple[dict[str, Any], list[str]]]:
        """Every point of the grid with its overrides, first axis slowest."""
        out = []
        for choice in itertools.product(*(axis.options.items() for axis in self.axes)):
            point = {axis.name: label for axis, (label, _) in zip(self.axes, choice, strict=True)}
            out.append((point, [*self.overrides, *(o for _, more in choice for o in more)]))
        return out


@dataclass(frozen=True)
class Variation:
    """Another way to run the same grids.

    It is a reading of the source, a mechanism switched off, an ablation, or a value changed by +-20
    %.

    `overrides` apply to the points that match `where` (axis -> labels), and the overrides of each
    row of `also` to the points that match its own `where`. Other points are as in the base, so that
    nothing is run twice.
    """

    name: str
    role: Literal["base", "reading", "switch", "ablation", "sensitivity"] = "base"
    overrides: tuple[str, ...] = ()
    where: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    claims: tuple[str, ...] | None = None
    about: str = ""
    #: The parameter sets that it is run under; None: every one.
    sets: tuple[str, ...] | None = None
    #: What evaluators find in the claim's settings beside its own: another way to count the same
    #: runs.
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: Further overrides for points of their own.
    also: tuple[tuple[Mapping[str, tuple[Any, ...]], tuple[str, ...]], ...] = ()
    #: Nodes whose TCP is that of a real kernel; without one the runs are not made.
    kernel: tuple[str, ...] = ()

    def applies(self, point: Point) -> bool:
        """Whether the overrides hold at this point of a grid."""
        return _matches(point, self.where)

    def overrides_at(self, point: Point) -> tuple[str, ...]:
        """What is changed at this point of a grid."""
        rows = ((self.where, self.overrides), *self.also)
        return tuple(o for where, overrides in rows if _matches(point, where) for o in overrides)

    def under(self, parameter_set: ParameterSet) -> bool:
        """Whether it is run with that parameter set."""
        return self.sets is None or parameter_set.name in self.sets


def _matches(point: Point, where: Mapping[str, tuple[Any, ...]]) -> bool:
    return all(point.get(axis) in labels for axis, labels in where.items() if axis in point)


BASE = Variation("base")


@dataclass(frozen=True)
class Claim:
    """A statement of the source, with how it is tested."""

    id: str
    kind: Kind
    figure: str
    says: str
    paper: Any
    test: str
    evaluator: str
    groups: tuple[str, ...]
    settings: Mapping[str, Any]
    about: str = ""
    switch: Variation | None = None
    ablations: tuple[Variation, ...] = ()
    #: How the report says labels of comparisons, and single words of those that it has no words
    #: for.
    labels: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class EchoRow:
    """A line of the configuration echo.

    It has an item of the source's tables and the scenario keys that represent it.
    """

    table: str
    item: str
    says: str
    keys: tuple[str, ...]
    #: What it means that the effective scenario does not have a key.
    absent: str = "off"


@dataclass(frozen=True)
class SensitivityPlan:
    """How often, and for which groups, claims are judged again.

    This is done at +- `step` of each calibrated value.
    """

    step: float
    seeds: int
    overrides: tuple[str, ...]
    only: Mapping[str, tuple[Any, ...]]
    #: What these runs are, in words and units: `runs of 20 s at the speeds of 36.6 and 45.2 km/h`.
    about: str = ""


@dataclass(frozen=True)
class Study:
    """A study, ready to be run in one form (full or quick)."""

    name: str
    title: str
    source: str
    summary: str
    folder: Path
    quick: bool
    primary: str
    scenario: Path
    parameter_sets: tuple[ParameterSet, ...]
    groups: tuple[Group, ...]
    readings: tuple[Variation, ...]
    claims: tuple[Claim, ...]
    sensitivity: SensitivityPlan | None
    echo: tuple[EchoRow, ...]
    code: ModuleType
    #: Abbreviations and names that the report explains, with what they mean.
    terms: Mapping[str, str] = field(default_factory=dict)

    def group(self, name: str) -> Group:
        """The group of that name."""
        found: Group = _named(self.groups, name, "group")
        return found

    def parameter_set(self, name: str) -> ParameterSet:
        """The parameter set of that name."""
        found: ParameterSet = _named(self.parameter_sets, name, "parameter set")
        return found

    def has_group(self, name: str) -> bool:
        """Whether this form of the study makes these runs."""
        return any(g.name == name for g in self.groups)

    def function(self, name: str) -> Any:
        """A function of `study.py`."""
        found = getattr(self.code, name, None)
        if not callable(found):
            raise StudyError(f"{self.code_file} has no function {name!r}")
        return found if is_bundled(self.folder) else guarded(found, self.folder)

    @property
    def colours(self) -> Mapping[str, str]:
        """Colours (`#rrggbb`) of the figures by the names that series have in labels.

        `COLOURS` of `study.py`.
        """
        found = getattr(self.code, "COLOURS", {})
        if not isinstance(found, Mapping) or not all(_COLOUR.fullmatch(str(c)) for c in found.values()):
            raise StudyError(f"{self.code_file}: COLOURS is no table of names and colours such as '#0072b2'")
        return found

    @property
    def code_file(self) -> Path:
        """Where the study's functions are."""
        return self.folder / "study.py"

    def with_seeds(self, seeds: int) -> Study:
        """The same study with `seeds` replications of every group that has several replications."""
        groups = tuple(replace(g, seeds=seeds if g.seeds > 1 else 1) for g in self.groups)
        return replace(self, groups=groups)


def load_study(folder: Path, quick: bool = False) -> Study:
    """Reads and checks a study folder."""
    try:
        return _load(folder, quick)
    except KeyError as error:
        raise StudyError(f"{folder}: a table of study.toml or claims.toml lacks the key {error}") from error
    except (AttributeError, TypeError) as error:
        raise StudyError(f"{folder}: a value of study.toml or claims.toml has a wrong type ({error})") from error


def _load(folder: Path, quick: bool) -> Study:
    spec = _read_toml(folder / "study.toml")
    head = _table(spec, "study", folder)
    sets = _parameter_sets(_table(spec, "parameter_set", folder))
    shared = spec.get("axis", {})
    groups = tuple(
        _group(name, body, quick, shared)
        for name, body in _table(spec, "group", folder).items()
        if not (quick and body.get("quick") is False)
    )
    all_groups = set(_table(spec, "group", folder))
    shared_ablations = {
        name: _variation({"name": name, **body}, "ablation") for name, body in spec.get("ablation", {}).items()
    }
    stated = _read_toml(folder / "claims.toml")
    words = _texts(stated, "words")
    claims = tuple(_claim(body, shared_ablations, words) for body in stated.get("claim", []))
    study = Study(
        name=head["name"],
        title=head["title"],
        source=head["source"],
        summary=head["summary"],
        folder=folder,
        quick=quick,
        primary=head["primary"],
        scenario=folder / head.get("scenario", "scenario.toml"),
        parameter_sets=sets,
        groups=groups,
        readings=tuple(_variation(body, "reading") for body in spec.get("reading", [])),
        claims=claims,
        sensitivity=_sensitivity(spec.get("sensitivity"), quick),
        echo=tuple(_echo(spec.get("echo", []))),
        code=_import(folder / "study.py", head["name"]),
        terms=_texts(stated, "terms"),
    )
    _check(study, all_groups)
    return study


def _check(study: Study, all_groups: set[str]) -> None:
    """The rules that hold for every study."""
    _ = study.colours  # raises for colours that are none
    _named(study.parameter_sets, study.primary, "parameter set")
    for parameter_set in study.parameter_sets:
        count = len(parameter_set.calibrated)
        if count > MAX_CALIBRATED:
            raise StudyError(
                f"{study.name}: parameter set {parameter_set.name!r} has {count} calibrated values; "
                f"at most {MAX_CALIBRATED} are allowed"
            )
    ids = [c.id for c in study.claims]
    doubled = sorted({i for i in ids if ids.count(i) > 1})
    if doubled:
        raise StudyError(f"{study.name}: claim ids used twice: {', '.join(doubled)}")
    for claim in study.claims:
        unknown = [g for g in claim.groups if g not in all_groups]
        if unknown:
            raise StudyError(f"{study.name}: claim {claim.id} needs groups that study.toml does not have: {unknown}")
        if claim.kind == "M" and claim.switch is None:
            raise StudyError(
                f"{study.name}: claim {claim.id} is of kind M and names no switch: a mechanism claim must fail when "
                "the mechanism is off"
            )
        study.function(claim.evaluator)
    for reading in study.readings:
        missing = sorted(set(reading.claims or ()) - set(ids))
        if missing:
            raise StudyError(f"{study.name}: reading {reading.name!r} names unknown claims {missing}")
    for group in study.groups:
        study.function(group.reduce)
        for name in group.sets or ():
            _named(study.parameter_sets, name, "parameter set")


def _parameter_sets(bodies: Mapping[str, Any]) -> tuple[ParameterSet, ...]:
    """The parameter sets in file order.

    A set that `extends` an earlier one replaces values of the same name and adds the others.
    """
    sets: dict[str, ParameterSet] = {}
    for name, body in bodies.items():
        values: dict[str, Value] = {}
        if "extends" in body:
            base: ParameterSet = _named(list(sets.values()), body["extends"], "earlier parameter set")
            values = {v.name: v for v in base.values}
        for v in body.get("value", []):
            keys = v["keys"] if "keys" in v else {v["key"]: v["value"]}
            values[v["name"]] = Value(
                name=v["name"],
                keys=keys,
                tag=v["tag"],
                source=v["source"],
                calibrated=v.get("calibrated", False),
                integer=v.get("integer", False),
                factors=tuple(v.get("factors", ())),
                instead_of=values.get(v["name"]),
            )
        sets[name] = ParameterSet(name, body.get("about", ""), tuple(values.values()))
    return tuple(sets.values())


def _group(name: str, body: Mapping[str, Any], quick: bool, shared: Mapping[str, Any]) -> Group:
    less = body.get("quick") or {} if quick else {}
    axes = []
    for axis_name, axis in body.get("axes", {}).items():
        options = _options(axis, f"group.{name}.axes.{axis_name}", shared)
        keep = less.get("axes", {}).get(axis_name)
        if keep is not None:
            options = {label: options[label] for label in keep}
        axes.append(Axis(axis_name, options))
    return Group(
        name=name,
        purpose=body["purpose"],
        reduce=body["reduce"],
        seeds=less.get("seeds", body.get("seeds", 1)),
        overrides=(*_kernel_at(body), *body.get("set", ()), *less.get("set", ())),
        axes=tuple(axes),
        sets=tuple(body["sets"]) if "sets" in body else None,
        one_run=body.get("one_run", ""),
        kernel=tuple(body.get("kernel", ())),
    )


def _kernel_at(body: Mapping[str, Any]) -> list[str]:
    """Overrides that give the nodes under `kernel` the TCP of a real kernel."""
    if not body.get("kernel"):
        return []
    from lasthop.linux import at

    return at(body["kernel"])


def _options(axis: Mapping[str, Any], where: str, shared: Mapping[str, Any]) -> dict[Any, tuple[str, ...]]:
    """`options = {label = [overrides]}`, or `values = [...]` with a `set` template.

    And `also` for single values.

    `extends = "name"` begins with the options of the table `[axis.name]`, which several groups may
    share.
    """
    options: dict[Any, tuple[str, ...]] = {}
    if "extends" in axis:
        base = axis["extends"]
        if base not in shared:
            raise StudyError(f"{where} extends {base!r}, and there is no [axis.{base}]")
        options = _options(shared[base], f"axis.{base}", {})
    if "options" in axis:
        return {**options, **{label: tuple(more) for label, more in axis["options"].items()}}
    if "values" not in axis:
        if options:
            return options
        raise StudyError(f"{where} needs `values`, `options` or `extends`")
    also = axis.get("also", {})
    template = axis.get("set", [])
    return {
        **options,
        **{v: (*(t.replace("{value}", str(v)) for t in template), *also.get(str(v), ())) for v in axis["values"]},
    }


def _claim(body: Mapping[str, Any], shared: Mapping[str, Variation], words: Mapping[str, str]) -> Claim:
    """A claim.

    `ablations` names tables `[ablation.NAME]` of study.toml, `[[claim.ablation]]` are its own.

    `words`: those of all claims; the claim's own `words` are added.
    """
    known = {
        "id", "kind", "figure", "says", "paper", "test", "evaluator", "groups", "about", "switch", "ablation",
        "ablations", "labels", "words",
    }  # fmt: skip
    unknown = [name for name in body.get("ablations", ()) if name not in shared]
    if unknown:
        raise StudyError(f"claim {body.get('id')}: there is no [ablation.{unknown[0]}] in study.toml")
    if body.get("kind") not in KINDS:
        raise StudyError(f"claim {body.get('id')}: kind must be one of {', '.join(KINDS)}")
    switch = body.get("switch")
    return Claim(
        id=body["id"],
        kind=body["kind"],
        figure=body.get("figure", ""),
        says=body["says"],
        paper=body.get("paper", body["says"]),
        test=body["test"],
        evaluator=body["evaluator"],
        groups=tuple(body.get("groups", ())),
        settings={k: v for k, v in body.items() if k not in known},
        about=body.get("about", ""),
        switch=_variation(switch, "switch") if switch else None,
        labels=_texts(body, "labels"),
        words={**words, **_texts(body, "words")},
        ablations=(
            *(shared[name] for name in body.get("ablations", ())),
            *(replace(_variation(a, "ablation"), name=f"{body['id']}: {a['name']}") for a in body.get("ablation", [])),
        ),
    )


def _texts(body: Mapping[str, Any], key: str) -> Mapping[str, str]:
    """A table of texts."""
    found = body.get(key, {})
    if not isinstance(found, Mapping) or not all(isinstance(text, str) for text in found.values()):
        raise StudyError(f"{key} of claims.toml has to be a table of texts")
    return found


def _variation(body: Mapping[str, Any], role: Literal["reading", "switch", "ablation"]) -> Variation:
    return Variation(
        name=body["name"],
        role=role,
        overrides=(*_kernel_at(body), *body.get("set", ())),
        where=_where(body),
        also=tuple((_where(row), tuple(row["set"])) for row in body.get("also", ())),
        claims=tuple(body["claims"]) if "claims" in body else None,
        about=body.get("about", ""),
        sets=tuple(body["sets"]) if "sets" in body else None,
        settings=body.get("settings", {}),
        kernel=tuple(body.get("kernel", ())),
    )


def _where(body: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {axis: tuple(labels) for axis, labels in body.get("where", {}).items()}


def _sensitivity(body: Mapping[str, Any] | None, quick: bool) -> SensitivityPlan | None:
    if body is None or (quick and body.get("quick") is False):
        return None
    less = body.get("quick") or {} if quick else {}
    return SensitivityPlan(
        step=body.get("step", 0.2),
        seeds=less.get("seeds", body.get("seeds", 1)),
        overrides=(*body.get("set", ()), *less.get("set", ())),
        only={axis: tuple(labels) for axis, labels in {**body.get("only", {}), **less.get("only", {})}.items()},
        about=less.get("about", body.get("about", "")),
    )


def _echo(tables: Iterable[Mapping[str, Any]]) -> Iterable[EchoRow]:
    for table in tables:
        for row in table["rows"]:
            keys = row.get("keys", [row["key"]] if "key" in row else [])
            yield EchoRow(table["title"], row["item"], row["says"], tuple(keys), row.get("absent", "off"))


_WITH_UNIT = re.compile(r"^\s*[+-]?\d+(?:\.\d+)?\s*[^\d\s.].*$")
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
_QUANTITY = re.compile(r"^\s*([+-]?\d+(?:\.\d+)?)\s*(\D.*)?$")


def scaled(value: Any, factor: float, integer: bool = False) -> Any:
    """A value times `factor`; `integer` rounds.

    The value is a number, a text that starts with a number (`"28 ms"`), a list of such values, or a
    table, in which each quantity with a unit is scaled.
    """
    if factor == 1.0:
        return value
    if isinstance(value, (list, tuple)):
        return [scaled(v, factor, integer) for v in value]
    if isinstance(value, Mapping):
        # Of a table its quantities with a unit; bare numbers and words in it stay as they are.
        inside = {k: isinstance(v, (list, Mapping)) or bool(_WITH_UNIT.match(str(v))) for k, v in value.items()}
        return {k: scaled(v, factor, integer) if inside[k] else v for k, v in value.items()}
    if isinstance(value, str):
        match = _QUANTITY.match(value)
        if not match:
            raise StudyError(f"{value!r} is no quantity that could be scaled by {factor}")
        unit = match.group(2) or ""
        return f"{scaled(float(match.group(1)), factor, integer):g} {unit}".strip()
    product = value * factor
    return round(product) if integer or isinstance(value, int) else round(product, 9)


def toml_value(value: Any) -> str:
    """A plain value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, Sequence):
        return "[" + ", ".join(toml_value(v) for v in value) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{k} = {toml_value(v)}" for k, v in value.items()) + " }"
    return str(value)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content: dict[str, Any] = tomllib.load(file)
    except FileNotFoundError:
        raise StudyError(f"{path} is missing") from None
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{path}: {error}") from error
    return content


def _table(spec: Mapping[str, Any], key: str, folder: Path) -> Mapping[str, Any]:
    found = spec.get(key)
    if not isinstance(found, Mapping):
        raise StudyError(f"{folder / 'study.toml'} has no table [{key}]")
    return found


def _import(path: Path, name: str) -> ModuleType:
    """`study.py`: a module of the package when the study comes with it, else a file of its own."""
    if not path.is_file():
        raise StudyError(f"{path} is missing")
    if is_bundled(path.parent):
        return importlib.import_module(f"lasthop.studies.{path.resolve().parent.name}.study")
    module_name = f"lasthop_study_{name.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise StudyError(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise blamed(error, path.parent) from error
    return module


def is_bundled(folder: Path) -> bool:
    """Whether the study comes with the package, so that an error in it is an error of Lasthop."""
    return folder.resolve().parent == BUNDLED


def _named(items: Sequence[Any], name: str, what: str) -> Any:
    for item in items:
        if item.name == name:
            return item
    known = ", ".join(item.name for item in items)
    raise StudyError(f"no {what} {name!r}; there are: {known}")
