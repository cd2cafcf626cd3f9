"""The study's tables: averages, whether variants differ, claims that count.

Also contradictions and matching parameters.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lasthop.harness import Data, Evidence, NoRunsError, TableView
from lasthop.harness.stats import plain
from lasthop.studies.lte_vs_11ac import matching
from lasthop.studies.lte_vs_11ac.evaluate import conjunction, counted, outcome
from lasthop.studies.lte_vs_11ac.model import FOUR, LOSSES, METRICS, SIZES, TECHNOLOGIES, TODAY, VARIANTS
from lasthop.studies.lte_vs_11ac.spread import spread
from lasthop.studies.lte_vs_11ac.statement import parse
from lasthop.studies.lte_vs_11ac.words import statement_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lasthop.harness import ClaimResult, Finding
    from lasthop.harness.stats import Estimate

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def tables(evidence: Evidence) -> Iterable[TableView]:
    """Every table that this form of the study has runs for."""
    for s in sorted(evidence.parameter_sets, key=lambda s: s != evidence.main_set):
        data = evidence.of(s)
        yield differ(data)
        yield scores(evidence.claims.get(s, ()), data)
        yield averages(data)
    data = evidence.of(evidence.main_set)
    yield contradictions(data, evidence.study.folder / "contradictions.toml")
    yield causes(data)
    with contextlib.suppress(NoRunsError):
        yield from match(data)


def differ(data: Data) -> TableView:
    """Whether the variants differ at the paper's load: the evidence for saying that they do not."""
    rows = []
    present = [cc for cc in VARIANTS if cc in data.labels("variants", "cc")]
    for network in data.labels("variants", "network"):
        for size in SIZES.values():
            for key in FOUR:
                metric = METRICS[key]
                at = {"network": network, "size": size}
                values = {cc: data.estimate("variants", metric.value, cc=cc, **at) for cc in present}
                s = spread(values, metric.equal_percent)
                rows.append(
                    (
                        matching.network_name(network),
                        size,
                        metric.name,
                        plain(s.percent, 2),
                        f"{s.apart} of {s.pairs}",
                        f"{VARIANTS[s.lowest][0] if s.percent else 'each'} {values[s.lowest].text(unit=metric.unit)}",
                        f"{VARIANTS[s.highest][0] if s.percent else 'each'} {values[s.highest].text(unit=metric.unit)}",
                    )
                )
    headers = ("network", "size [B]", "metric", "spread [%]", "pairs apart", "lowest", "highest")
    note = (
        "Spread: largest minus smallest mean of the variants over their mean. Pairs apart: those whose paired 95 % "
        "interval does not hold zero and that differ by more than counts as equal (5 % for throughput, 15 % else)."
    )
    name = data.parameter_set.name
    return TableView(f"spread-{name}", f"Do the variants differ? ({name})", headers, tuple(rows), note)


def scores(results: Iterable[ClaimResult], data: Data) -> TableView:
    """The claims that no other statement of the paper contradicts: the only ones that count."""
    rows = []
    for r in results:
        try:
            finding = counted(r.claim, data)
        except NoRunsError as missing:
            rows.append((r.claim.id, "", "not-testable", str(missing)))
            continue
        if finding is not None:
            part = "all" if r.claim.settings["counts"] is True else statement_in_words(str(r.claim.settings["counts"]))
            rows.append((r.claim.id, part, finding.verdict, _held(finding)))
    agreeing = sum(row[2] == "agrees" for row in rows)
    differing = sum(row[2] == "differs" for row in rows)
    undecided = sum(row[2] == "undecided" for row in rows)
    waiting = len(rows) - agreeing - differing - undecided
    note = (
        f"{agreeing} agree, {differing} differ, {undecided} are undecided, {waiting} wait for 802.11ac. No score is a "
        "target: where the variants are alike the table above says so. The numbers are on the claims' cards."
    )
    name = data.parameter_set.name
    headers = ("claim", "part that counts", "verdict", "comparisons that hold")
    return TableView(f"counting-{name}", f"Claims that count ({name})", headers, tuple(rows), note)


def averages(data: Data) -> TableView:
    """Variant, network, size, and every metric with its interval."""
    rows = []
    for network in data.labels("variants", "network"):
        for size in SIZES.values():
            for cc in data.labels("variants", "cc"):
                at = {"cc": cc, "network": network, "size": size}

                def value(key: str, at: dict[str, Any] = at) -> Estimate:
                    return data.estimate("variants", key, **at)

                rows.append(
                    (
                        VARIANTS[cc][0],
                        matching.network_name(network),
                        size,
                        *(value(METRICS[m].value).text() for m in ("thr", "dly", "jit")),
                        *(value(loss).text() for loss, _ in LOSSES.values()),
                        value("jain").text(4),
                        f"{value('timeouts').mean:.3g}",
                        f"{value('fast_retransmits').mean:.3g}",
                        f"{value('cwnd_mean').mean:.3g}",
                    )
                )
    headers = (
        "variant", "network", "size [B]", "throughput [Mbit/s]", "delay [ms]", "jitter [ms]", "undelivered", "dropped",
        "retransmitted", "Jain", "timeouts", "fast retransmits", "mean cwnd",
    )  # fmt: skip
    losses = "; ".join(f"{name}: {what}" for name, (_, what) in LOSSES.items())
    note = f"Means over the stations with half the 95 % interval. Columns of losses: {losses}."
    name = data.parameter_set.name
    return TableView(f"averages-{name}", f"Averages ({name})", headers, tuple(rows), note)


def contradictions(data: Data, path: Path) -> TableView:
    """Where the paper contradicts itself: both readings, and which of them ours supports."""
    with path.open("rb") as file:
        items = tomllib.load(file)["contradiction"]
    rows = []
    for item in items:
        found = [_verdict(item.get(side, ""), data) for side in ("one_test", "other_test")]
        rows.append((item["number"], item["one"], found[0], item["other"], found[1], item.get("note", "")))
    headers = ("no.", "one reading", "ours on it", "other reading", "ours on it", "remark")
    note = "Claims that rest on one of these are ambiguous. Ours is judged by each of both readings."
    return TableView("contradictions", "Contradictions in the paper", headers, tuple(rows), note)


def _verdict(test: str, data: Data) -> str:
    if not test:
        return "-"
    finding = conjunction([outcome(check, data) for check in parse(test)])
    return f"{finding.verdict}: {_held(finding)}" + (" comparisons hold" if finding.parts else "")


def _held(finding: Finding) -> str:
    """How many of the comparisons hold, or why there are none."""
    if not finding.parts:
        return finding.note or finding.text
    return f"{sum(held is True for held in finding.parts.values())} of {len(finding.parts)}"


def causes(data: Data) -> TableView:
    """What was dropped where, and what the radio did, in the run with seed 1."""
    rows = []
    for network in data.labels("variants", "network"):
        for size in SIZES.values():
            for cc in data.labels("variants", "cc"):
                shown = data.shown("variants", cc=cc, network=network, size=size).values
                drops = ", ".join(f"{name} {count}" for name, count in sorted(shown.get("causes", {}).items()))
                radio = [f"{shown[k]:.1f}" if k in shown else "-" for k in ("mcs", "sinr_db")]
                rows.append((VARIANTS[cc][0], matching.network_name(network), size, drops or "nothing", *radio))
    headers = ("variant", "network", "size [B]", "dropped packets by cause", "mean MCS", "mean SINR [dB]")
    note = "The paper fixes 64QAM 5/6; its tool adapts MCS to the channel, and so does this cell: the MCS is its mean."
    return TableView("causes", "Drops and radio, seed 1", headers, tuple(rows), note)


def match(data: Data) -> Iterable[TableView]:
    """The matching parameters of the load sweep.

    They are those of the paper's variants, with those of today, and for UDP.
    """
    transports = data.labels("load", "transport")
    eleven = [t for t in transports if t in VARIANTS]
    tcp = [t for t in transports if t in VARIANTS or t in TODAY]
    yield _matching(data, eleven, "matching-parameters", "Matching parameters")
    if len(tcp) > len(eleven):
        yield _matching(data, tcp, "matching-parameters-today", "The same with CUBIC, BBR and BBRv3")
    if len(tcp) < len(transports):
        yield _matching(data, [t for t in transports if t not in tcp], "matching-parameters-udp", "The same for UDP")


def _matching(data: Data, transports: list[str], name: str, title: str) -> TableView:
    found = [m for technology in TECHNOLOGIES for m in matching.matches(data, transports, technology)]
    rows = tuple(
        (
            TECHNOLOGIES[m.technology],
            f"{m.rate:g}",
            METRICS[m.metric].name,
            m.best.name,
            m.best.value.text(unit=METRICS[m.metric].unit),
            m.summary(),
        )
        for m in found
    )
    headers = ("network", "source rate [Mbit/s]", "metric", "best", "value", "ties with it")
    note = (
        "The best variant, packet size and RLC mode for each source rate and metric, and what cannot be distinguished "
        f"from it (the paired 95 % interval holds zero, or within 5 % for throughput, 15 % else). All: {name}.json."
    )
    return TableView(name, title, headers, rows, note, document=matching.document(found))
