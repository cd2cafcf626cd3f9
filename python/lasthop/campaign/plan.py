"""What a campaign varies: axes, points and seeds.

Each point has the same seeds (common random numbers). Two runs with the same seed at different
points differ only in what the axes change, as far as the simulation draws its random numbers by
purpose and not from one stream (docs, Randomness).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from lasthop._core import LasthopError
from lasthop._values import to_toml
from lasthop.campaign._faults import Faults, Key, nearest
from lasthop.campaign._filters import FilterError, Known, Test, compile_filter
from lasthop.campaign._quantity import Quantity, label, number_text, quantity
from lasthop.campaign.jobs import Label, Point
from lasthop.campaign.sequential import Rule

#: The largest seed of a scenario: 64 bits.
LARGEST_SEED = 2**64 - 1
#: Seeds of each point where the campaign does not say.
DEFAULT_SEEDS = 5
#: An axis with more values is refused: such a table cannot be read.
MOST_VALUES = 100_000

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
#: Names that the results or conditions use themselves.
_TAKEN = ("seed", "point", "reason", "metric", "and", "or", "not", "in", "true", "false")
_FORMS = ("values", "range", "zip", "options")

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Axis:
    """One axis of a campaign.

    Attributes:
        name: its name, a column of the results.
        keys: the scenario keys that it changes.
        labels: the names of its values in the results, in order: all texts, all numbers or all
            booleans.
        unit: the unit of the labels if the values are quantities, such as "kB".
        settings: for each label the overrides `key=value`.
    """

    name: str
    keys: tuple[str, ...]
    labels: tuple[Label, ...]
    unit: str | None
    settings: tuple[tuple[str, ...], ...] = field(repr=False)
    #: For each label and override the place in the campaign file.
    places: tuple[tuple[Key, ...], ...] = field(repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Seeds:
    """The seeds of each point: the listed seeds, then those after the largest of them."""

    listed: tuple[int, ...]

    def at(self, index: int) -> int:
        """The seed of replication `index`, from 0 on."""
        if index < len(self.listed):
            return self.listed[index]
        return max(self.listed) + 1 + index - len(self.listed)


def read_axes(tables: Mapping[str, Table], faults: Faults) -> tuple[Axis, ...]:
    """The axes of a campaign file; mistakes in them are added to `faults`."""
    found: list[Axis] = []
    lower: dict[str, str] = {}
    for name, table in tables.items():
        check_name(name, ("axis", name), "an axis", lower, faults)
        axis = _Reader(name, table, faults).axis()
        if axis is not None:
            found.append(axis)
    _check_overlap(found, faults)
    return tuple(found)


def check_name(name: str, key: Key, what: str, others: dict[str, str], faults: Faults) -> None:
    """Checks whether `name` can be a column of the results.

    `others` has the columns so far, in small letters.
    """
    if not _NAME.match(name):
        faults.add(
            key,
            f"'{name}' is no name of {what}",
            "a letter or '_', then letters, digits and '_', as it becomes a column of the results",
            at_key=True,
        )
    elif name.lower() in _TAKEN:
        faults.add(key, f"{what} cannot be called '{name}'", "the results or conditions use this name", at_key=True)
    elif (other := others.get(name.lower())) is not None:
        alike = f"'{name}' and '{other}'" if other != name else f"two things called '{name}'"
        faults.add(key, f"{alike} would be one column of the results", "rename one", at_key=True)
    others.setdefault(name.lower(), name)


class _Reader:
    """Reads one `[axis.NAME]`."""

    def __init__(self, name: str, table: Table, faults: Faults) -> None:
        self.name = name
        self.table = table
        self.faults = faults
        self.at: Key = ("axis", name)

    def fault(self, key: Sequence[str], message: str, help: str | None = None, *, at_key: bool = False) -> None:
        self.faults.add((*self.at, *key), message, help, at_key=at_key)

    def axis(self) -> Axis | None:
        forms = [form for form in _FORMS if form in self.table]
        if len(forms) != 1:
            found = " and ".join(f"'{f}'" for f in forms) if forms else "none of them"
            self.fault((), f"an axis has one of values, range, zip and options, not {found}", _EXAMPLE, at_key=True)
            return None
        form = forms[0]
        before = len(self.faults)
        made = {"values": self.values, "range": self.range, "zip": self.zip, "options": self.options}[form]()
        if len(self.faults) > before or made is None:
            return None
        axis = self.labelled(made, form)
        return axis if len(self.faults) == before else None

    def keys(self, form: str) -> list[str]:
        """The scenario keys of `values` and `range`."""
        keys = list(self.table.get("key", ()))
        if not keys:
            self.fault(
                (), f"'{form}' needs the scenario's key", f'such as key = "flow.ftp.tcp.cc" beside {form}', at_key=True
            )
        self.check_keys(keys, [("key", str(i)) for i in range(len(keys))])
        return keys

    def no_key(self, form: str) -> None:
        if self.table.get("key"):
            self.fault(("key",), f"'{form}' names its keys itself", "remove key", at_key=True)

    def check_keys(self, keys: Sequence[str], places: Sequence[Sequence[str]]) -> None:
        for i, (key, place) in enumerate(zip(keys, places, strict=True)):
            for what, remedy in key_mistakes(key):
                self.fault(place, what, remedy)
            if key in keys[:i]:
                self.fault(place, f"the key '{key}' is there twice", "remove one")

    def values(self) -> Axis | None:
        values = self.table["values"]
        keys = self.keys("values")
        if not values:
            self.fault(("values",), "the axis has no values", "write at least one, or remove the axis")
        if not keys or not values:
            return None
        labels, unit = self.labels_of(values, "values")
        settings = tuple(tuple(override(key, v) for key in keys) for v in values)
        places = tuple(tuple((*self.at, "values", str(i)) for _ in keys) for i in range(len(values)))
        return Axis(self.name, tuple(keys), labels, unit, settings, places)

    def range(self) -> Axis | None:
        keys = self.keys("range")
        numbers = self.numbers(self.table["range"])
        if not keys or numbers is None:
            return None
        found, unit = numbers
        values = [number_text(n) for n in found]
        texts = [to_toml(f"{v} {unit}") if unit else v for v in values]
        settings = tuple(tuple(f"{key}={t}" for key in keys) for t in texts)
        place = (*self.at, "range")
        labels = tuple(label(n) for n in found)
        return Axis(self.name, tuple(keys), labels, unit or None, settings, ((place,) * len(keys),) * len(found))

    def numbers(self, table: Table) -> tuple[list[Fraction], str] | None:
        """The values of a range, and their unit."""
        first, last = (self.bound(table, word) for word in ("from", "to"))
        if first is None or last is None:
            return None
        end = last.within(first.unit)
        if end is None:
            self.fault(("range", "to"), _not_in("to", last, first), "write both in units of one kind")
            return None
        ways = [w for w in ("step", "count", "factor") if w in table]
        if len(ways) != 1:
            listed = " and ".join(f"'{w}'" for w in ways) if ways else "none of them"
            self.fault(("range",), f"a range has one of step, count and factor, not {listed}", _RANGE_EXAMPLE)
            return None
        start = first.number
        made = {"step": self.by_step, "count": self.by_count, "factor": self.by_factor}[ways[0]](
            table, first, start, end
        )
        return None if made is None else (made, first.unit)

    def bound(self, table: Table, word: str) -> Quantity | None:
        found = quantity(table[word])
        if found is None:
            self.fault(("range", word), f"'{word}' is neither a number nor a quantity", 'such as 10, 0.5 or "10 ms"')
        return found

    def by_step(self, table: Table, first: Quantity, start: Fraction, end: Fraction) -> list[Fraction] | None:
        step = self.bound(table, "step")
        if step is None:
            return None
        size = step.within(first.unit)
        if size is None:
            self.fault(("range", "step"), _not_in("step", step, first), "write it in a unit of the same kind")
            return None
        if size == 0 or (end - start) / size < 0:
            self.fault(("range", "step"), "with this step 'to' is never reached", "steps lead from 'from' to 'to'")
            return None
        count = math.floor((end - start) / size) + 1
        return [start + size * i for i in range(count)] if self.few(count) else None

    def by_count(self, table: Table, _first: Quantity, start: Fraction, end: Fraction) -> list[Fraction] | None:
        count = int(table["count"])
        if count < 2:
            self.fault(("range", "count"), f"a range has at least 2 values, not {count}", "one value: values = [...]")
            return None
        if start == end:
            self.fault(("range", "to"), "'from' and 'to' are equal", "write another 'to'")
            return None
        return [start + (end - start) * i / (count - 1) for i in range(count)] if self.few(count) else None

    def by_factor(self, table: Table, _first: Quantity, start: Fraction, end: Fraction) -> list[Fraction] | None:
        factor = Fraction(repr(float(table["factor"])))
        if factor <= 1:
            self.fault(("range", "factor"), f"the factor {table['factor']} is not above 1", "such as factor = 2")
            return None
        if start <= 0 or end < start:
            self.fault(("range",), "a factor leads from a number above 0 to a larger one", "exchange 'from' and 'to'")
            return None
        ratio = math.log(end / start) / math.log(factor)
        if not self.few(math.floor(ratio) + 1):
            return None
        found = [start]
        # A factor such as 1.2589 (a tenth of a decade) meets 'to' only nearly.
        while (value := found[-1] * factor) <= end * (1 + Fraction(1, 10**6)):
            if value > end:
                value = end
            found.append(_short(value))
        return found

    def few(self, count: int) -> bool:
        if count > MOST_VALUES:
            self.fault(("range",), f"the range has {count:,} values", f"at most {MOST_VALUES:,}: take larger steps")
        return count <= MOST_VALUES

    def zip(self) -> Axis | None:
        self.no_key("zip")
        lists: Mapping[str, Sequence[Any]] = self.table["zip"]
        if not lists:
            self.fault(("zip",), "the axis has no keys", 'such as zip = { "a.b" = [1, 2], "c.d" = [3, 4] }')
            return None
        keys = list(lists)
        self.check_keys(keys, [("zip", key) for key in keys])
        count = len(lists[keys[0]])
        for key, values in lists.items():
            if len(values) != count or not values:
                lengths = f"{len(values)} values, and '{keys[0]}' has {count}" if values else "no values"
                self.fault(("zip", key), f"'{key}' has {lengths}", "all lists of a zip are equally long")
                return None
        rows = list(zip(*lists.values(), strict=True))
        labels: tuple[Label, ...]
        if "labels" in self.table:
            labels, unit = tuple(range(count)), None  # replaced below
        else:
            labels, unit = self.labels_of(lists[keys[0]], "zip")
        settings = tuple(tuple(override(k, v) for k, v in zip(keys, row, strict=True)) for row in rows)
        places = tuple(tuple((*self.at, "zip", key, str(i)) for key in keys) for i in range(count))
        return Axis(self.name, tuple(keys), labels, unit, settings, places)

    def options(self) -> Axis | None:
        self.no_key("options")
        options: Mapping[str, Table] = self.table["options"]
        if not options:
            self.fault(("options",), "the axis has no options", 'such as options = { near = { "a.b" = 1 } }')
            return None
        keys: dict[str, None] = {}
        for name, table in options.items():
            self.check_keys(list(table), [("options", name, key) for key in table])
            keys.update(dict.fromkeys(table))
        settings = tuple(tuple(override(k, v) for k, v in t.items()) for t in options.values())
        places = tuple(tuple((*self.at, "options", name, k) for k in t) for name, t in options.items())
        return Axis(self.name, tuple(keys), tuple(options), None, settings, places)

    def labels_of(self, values: Sequence[Any], form: str) -> tuple[tuple[Label, ...], str | None]:
        """The labels that values have by themselves.

        Quantities of one kind as numbers, others as they are.
        """
        if "labels" in self.table:
            return tuple(range(len(values))), None  # replaced in `labelled`
        for i, value in enumerate(values):
            if isinstance(value, (list, Mapping)):
                place = ("values", str(i)) if form == "values" else ("zip",)
                self.fault(place, "a list or a table needs a label", "add labels = [...], or use options")
                return (), None
        found = [quantity(v) for v in values]
        numbers = [q for q in found if q is not None]
        if len(numbers) == len(values):
            unit = numbers[0].unit
            inside = [q.within(unit) for q in numbers]
            if all(n is not None for n in inside):
                return tuple(label(n) for n in inside if n is not None), unit or None
        return _of_one_kind(values), None

    def labelled(self, axis: Axis, form: str) -> Axis:
        """The axis with the labels that it is given; all its labels differ."""
        if "labels" in self.table:
            given: Sequence[Any] = self.table["labels"]
            if form == "options":
                self.fault(("labels",), "options have their names for labels", "remove labels", at_key=True)
            elif len(given) != len(axis):
                self.fault(("labels",), f"there are {len(given)} labels for {len(axis)} values", "write one for each")
            for i, value in enumerate(given):
                if isinstance(value, (list, Mapping)):
                    self.fault(("labels", str(i)), "a label is a text, a number or a boolean", 'such as "near"')
                    return axis
            axis = replace(axis, labels=_of_one_kind(given), unit=None)
        seen: set[Label] = set()
        for i, value in enumerate(axis.labels):
            if value == "":
                self.fault(self.place_of(i, form), "a label is empty", "name it")
            if value in seen:
                what = f"the label {value!r} is there twice"
                self.fault(self.place_of(i, form), what, "remove one, or add labels = [...]")
            seen.add(value)
        return axis

    def place_of(self, index: int, form: str) -> tuple[str, ...]:
        if "labels" in self.table and form != "options":
            return ("labels", str(index))
        if form == "values":
            return ("values", str(index))
        return ("zip", next(iter(self.table["zip"])), str(index)) if form == "zip" else (form,)


def key_mistakes(key: str) -> Iterator[tuple[str, str]]:
    """The mistake in a scenario key of a campaign: message and remedy."""
    if "." not in key:
        yield (
            f"'{key}' is no key of a scenario that can be set",
            'write the whole key in quotes: "flow.ftp.tcp.cc" = "cubic"',
        )
    elif key.replace(" ", "") == "scenario.seed":
        yield "the seed is not varied like other keys", "campaign.seeds says which seeds each point has"
    elif "=" in key:
        yield f"the key '{key}' has a '='", "write the key alone"


def override(key: str, value: Any) -> str:
    """`key=value` as `--set` takes it."""
    return f"{key}={to_toml(value)}"


def _of_one_kind(values: Sequence[Any]) -> tuple[Label, ...]:
    """The values as they are, or all as texts where they are of different kinds."""
    kinds = {"bool" if isinstance(v, bool) else "text" if isinstance(v, str) else "number" for v in values}
    if len(kinds) <= 1:
        return tuple(values)
    return tuple(str(v).lower() if isinstance(v, bool) else str(v) for v in values)


def _not_in(word: str, found: Quantity, first: Quantity) -> str:
    unit = f"in {found.unit}" if found.unit else "a number without a unit"
    wanted = f"in {first.unit}" if first.unit else "a number without a unit"
    return f"'{word}' is {unit}, and 'from' is {wanted}"


def _short(value: Fraction) -> Fraction:
    """The value with at most 12 digits: 100 * 1.26^3 is 200.0376."""
    return Fraction(f"{float(value):.12g}")


def _check_overlap(axes: Sequence[Axis], faults: Faults) -> None:
    """Two axes that set one key: the later one would hide the earlier."""
    for i, axis in enumerate(axes):
        for earlier in axes[:i]:
            hidden = next((k for k in earlier.keys if any(hides(mine, k) for mine in axis.keys)), None)
            if hidden is not None:
                faults.add(
                    ("axis", axis.name),
                    f"the axes '{earlier.name}' and '{axis.name}' both set '{hidden}'",
                    "use one axis with zip or options",
                    at_key=True,
                )


def hides(later: str, earlier: str) -> bool:
    """Whether a value for the key `later` replaces one that was set for `earlier`."""
    return earlier == later or earlier.startswith(f"{later}.")


def grid_size(axes: Sequence[Axis]) -> int:
    """Number of points of the axes, before conditions leave some out."""
    return math.prod(len(axis) for axis in axes)


def read_points(axes: Sequence[Axis], conditions: Sequence[str], faults: Faults) -> tuple[Point, ...]:
    """All combinations of the axes that meet the conditions of `campaign.where`.

    The last axis varies fastest.
    """
    known = {axis.name: Known(axis.labels, axis.unit) for axis in axes}
    tests: list[Test] = []
    for i, text in enumerate(conditions):
        place = ("campaign", "where", str(i))
        try:
            if not axes:
                raise FilterError("a condition needs an axis", "add an axis, or remove where", (0, max(len(text), 1)))
            tests.append(compile_filter(text, known))
        except FilterError as error:
            faults.add(place, error.what, error.help, within=error.span)
    if len(faults):
        return ()
    points = _points(axes, lambda labels: all(test(labels) for test in tests))
    if not points:
        faults.add(
            ("campaign", "where"),
            f"the conditions leave none of the {grid_size(axes):,} points",
            "a point stays where all conditions hold",
        )
    return points


def _points(axes: Sequence[Axis], wanted: Callable[[Mapping[str, Label]], bool]) -> tuple[Point, ...]:
    found: list[Point] = []
    for choice in itertools.product(*(range(len(axis)) for axis in axes)):
        labels = tuple((axis.name, axis.labels[i]) for axis, i in zip(axes, choice, strict=True))
        if wanted(dict(labels)):
            overrides = tuple(o for axis, i in zip(axes, choice, strict=True) for o in axis.settings[i])
            found.append(Point(len(found), labels, overrides))
    return tuple(found)


def read_until(text: str | None, metrics: Sequence[str], faults: Faults) -> Rule | None:
    """The stopping rule; its metric must be one of the campaign's."""
    place = ("campaign", "until")
    if text is None:
        return None
    try:
        rule = Rule.parse(text)
    except LasthopError as error:
        _place_rule(text, error, faults)
        return None
    if rule.metric not in metrics:
        at = text.index(rule.metric)
        faults.add(
            place,
            f"the rule names the metric '{rule.metric}', which the campaign does not have",
            nearest(rule.metric, metrics, f"metrics are: {', '.join(metrics)}" if metrics else "add a [metric]"),
            within=(at, at + len(rule.metric)),
        )
    return rule


def _place_rule(text: str, error: LasthopError, faults: Faults) -> None:
    """A mistake of the rule's own, at its column."""
    message, remedy = error.diagnostics[0]["message"], error.diagnostics[0]["help"]
    found = re.search(r", column (\d+): ", message)
    at = int(found[1]) - 1 if found else 0
    what = message[found.end() :] if found else message
    faults.add(("campaign", "until"), what, remedy, within=(at, max(at + 1, len(text)) if at == 0 else at + 1))


def read_seeds(given: Any, rule: Rule | None, explicit_min: bool, faults: Faults) -> tuple[Seeds, Rule | None]:
    """The seeds of each point, and the rule with its `min` as the seeds determine it."""
    place = ("campaign", "seeds")
    count, first, listed = _seeds(given, rule, place, faults)
    if rule is not None and given is not None:
        if explicit_min and count != rule.min:
            faults.add(place, f"{count} seeds, and the rule's min is {rule.min}", "leave one of the two out")
        elif not explicit_min:
            try:
                rule = replace(rule, min=count, max=max(count, rule.max))
            except LasthopError as error:
                faults.add(place, error.diagnostics[0]["message"], error.diagnostics[0]["help"])
    last = (max(listed) if listed else first + count - 1) + (rule.max - count if rule is not None else 0)
    if last > LARGEST_SEED:
        faults.add(place, f"the last seed would be {last}", f"seeds are at most {LARGEST_SEED} (64 bits)")
    if len(faults):
        return Seeds((1,)), rule
    return Seeds(tuple(listed) if listed else tuple(range(first, first + count))), rule


def _seeds(given: Any, rule: Rule | None, place: Key, faults: Faults) -> tuple[int, int, list[int]]:
    """How many, the first, and the list if there is one."""
    if isinstance(given, list):
        if not given:
            faults.add(place, "there are no seeds", "such as seeds = [1, 2, 3], or seeds = 3")
        seen: set[int] = set()
        for i, seed in enumerate(given):
            if seed in seen:
                faults.add((*place, str(i)), f"the seed {seed} is there twice", "remove one: the runs would be equal")
                break
            seen.add(seed)
        return len(given), 1, list(given)
    if isinstance(given, Mapping):
        count, first = int(given["count"]), int(given["first"])
        place = (*place, "count")
    else:
        count, first = rule.min if rule is not None else DEFAULT_SEEDS, 1
        count = given if given is not None else count
    if count < 1:
        faults.add(place, "a point needs at least one seed", "such as seeds = 5")
    elif count > MOST_SEEDS:
        faults.add(place, f"{count:,} seeds are too many", f"at most {MOST_SEEDS:,}")
        count = 1
    return count, first, []


#: Seeds of a point.
MOST_SEEDS = 1_000_000

_EXAMPLE = 'such as key = "flow.ftp.tcp.cc" with values = ["reno", "cubic"]'
_RANGE_EXAMPLE = 'such as range = { from = "10 ms", to = "100 ms", step = "10 ms" }'
