"""What to change: for causes that are known pitfalls, with the key.

Also the result of trying the change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lasthop._errors import mistake
from lasthop._format import duration, size
from lasthop._registry import default_queue, limited_queues
from lasthop.explain._model import WORDS, Budget, Cause, Part
from lasthop.explain._route import Route
from lasthop.explain._settings import flow_table, table_at, tcp_setting, texts_at
from lasthop.explain._tables import columns_of, happenings, scenario_of, without_capture

if TYPE_CHECKING:
    from lasthop._results import Results

#: Causes below this share get no advice.
WORTH = 0.1
#: Losses of data above this share of the flow's packets are worth advice.
LOSSES = 0.002
MTU = 1500
#: Limits of a sender that has nothing to send.
IDLE = ("application", "handshake", "nothing")
#: A buffer is not to be smaller: the first flight of a connection, ten segments (RFC 6928 section
#: 2) with headers.
INITIAL_WINDOW = 10 * MTU
#: Below so many octets a buffer is not deep: fast retransmission needs three segments behind a lost
#: one.
FEW = 4 * MTU


@dataclass(frozen=True)
class Advice:
    """One change that may help."""

    #: The reason and the change in words.
    text: str
    #: Texts `KEY=VALUE` as for `--set`; empty: no key can change the cause.
    changes: list[str]


@dataclass(frozen=True)
class Tried:
    """The effect of a change: numbers of the flow without and with it."""

    advice: Advice
    #: Column of the table `flows`, its value without the change and with it; None where the run
    #: does not have it.
    numbers: list[tuple[str, float | None, float | None]]


@dataclass(frozen=True)
class _Case:
    """The inputs of the rules."""

    budget: Budget
    results: Results
    row: dict[str, Any]
    scenario: dict[str, Any]

    @property
    def _flow(self) -> str:
        """The table of the flow."""
        return flow_table(self.scenario, str(self.row["flow"]))

    @property
    def tcp(self) -> str:
        """The key of the flow's TCP."""
        return f"flow.{self._flow}.tcp"

    def tcp_is(self, key: str, value: object) -> bool:
        """The flow's TCP has this value of a key, written in the scenario or by its profile."""
        wanted = str(value).lower() if isinstance(value, bool) else str(value)
        return tcp_setting(self.scenario, str(self.row["flow"]), key) == wanted

    def in_time(self, table: Any) -> list[dict[str, Any]]:
        """Rows of samples of the budget's time: those that end in it, and the first after it."""
        start, end = self.budget.start_ns / 1e9, self.budget.end_ns / 1e9
        rows: list[dict[str, Any]] = table.to_pylist()
        after = min((r["time_s"] for r in rows if r["time_s"] >= end), default=end)
        return [r for r in rows if start < r["time_s"] <= after]

    def table(self, kind: str, place: str) -> str | None:
        """The name of the table `[KIND.NAME]` that a place belongs to."""
        names = table_at(self.scenario, kind)
        parts = place.removesuffix(".forward").removesuffix(".reverse").split("/")
        near = [n for n in names for p in parts if p == n or p.startswith(f"{n}-")]
        return max(near, key=len, default=None)

    @property
    def is_direct(self) -> bool:
        """The flow goes over sidelinks, whose grants are others."""
        to = table_at(self.scenario, "flow", self._flow).get("to")
        sidelinks = table_at(self.scenario, "sidelink")
        pairs = [texts_at(table_at(sidelinks, name), "between") for name in sidelinks]
        return str(to) in table_at(self.scenario, "multicast") or any(
            {self.row["src"], self.row["dst"]} == set(between) for between in pairs
        )

    @property
    def rtt_s(self) -> float | None:
        """The smallest round trip, or twice the smallest delay."""
        if self.row.get("rtt_min_s"):
            return float(self.row["rtt_min_s"])
        return 2 * float(self.row["delay_min_s"]) if self.row.get("delay_min_s") else None

    @property
    def rate_bps(self) -> float | None:
        """The rate that the flow has had.

        Over the time in which its sender had something to send, where that is known.

        An application that pauses, or has ended, has had a higher rate than the mean over the run.
        """
        octets, first, last = (self.row.get(name) for name in ("rx_bytes", "first_tx_s", "last_rx_s"))
        if not octets or first is None or last is None or last <= first:
            rate = self.row.get("throughput_bps")
            return None if rate is None else float(rate)
        seconds, budget = float(last) - float(first), self.budget
        if budget.packets is None and budget.start_ns <= 1e9 * first and 1e9 * last <= budget.end_ns:
            idle = sum(part.ns for part in budget.parts if part.cause.name in IDLE)
            seconds = (budget.whole_ns - idle) / 1e9 or seconds
        return 8 * float(octets) / seconds

    @property
    def bdp(self) -> float | None:
        """Octets that the path holds at the rate that the flow has had."""
        rate = self.rate_bps
        return rate / 8 * self.rtt_s if rate and self.rtt_s else None


Rule = Callable[[_Case, Part], "Advice | None"]


def advice_for(budget: Budget, results: Results, row: dict[str, Any]) -> list[Advice]:
    """Advice on the causes that matter, the largest first; none where the scenario is not known."""
    scenario = scenario_of(results)
    if not scenario:
        return []
    case = _Case(budget, results, row, scenario)
    found = _of_losses(case)
    for part in budget.parts:
        if budget.share(part) < WORTH:
            break
        if budget.uncertain and part.cause.place:
            continue
        advice = _for_part(case, part)
        # Two causes may have one remedy, or contrary ones: then the larger one counts.
        if advice is not None and not any(_is_like(advice, other) for other in found):
            found.append(advice)
    return found


def _for_part(case: _Case, part: Part) -> Advice | None:
    """Advice on a part: on what it may be first that has advice."""
    for name in part.cause.names:
        rule = RULES.get(name)
        advice = rule(case, part) if rule is not None else None
        if advice is not None and len(part.cause.names) > 1:
            return replace(advice, text=f"If it is {WORDS[name]}: {advice.text[0].lower()}{advice.text[1:]}")
        if advice is not None:
            return advice
    return None


def _is_like(a: Advice, b: Advice) -> bool:
    """They say the same, or change the same key."""
    keys = [{change.split("=")[0] for change in one.changes} for one in (a, b)]
    return a.text == b.text or bool(keys[0] & keys[1])


def depth_of(budget: Budget, results: Results, row: dict[str, Any]) -> Callable[[Part], str]:
    """For a part of a TCP flow, the largest amount of data that waited at its place.

    It is given only if it is more than the path can hold.
    """
    case = _Case(budget, results, row, scenario_of(results))

    def depth(part: Part) -> str:
        if part.cause.name not in ("queue", "rlc-queue") or case.row["transport"] != "tcp":
            return ""
        most, bdp = _largest_backlog(case, part.cause.place, part.cause.way), _bdp_at(case, part)
        return f"{size(most)} at most, {most / bdp:.1f} BDP at this rate" if bdp and most > bdp else ""

    return depth


def try_advice(results: Results, flow: str, advice: list[Advice]) -> list[Tried]:
    """Runs the scenario of `results` again with each change.

    Raises:
        LasthopError: the results have no scenario, or the scenario needs code or files that do not
            exist here.
    """
    from lasthop._scenario import Scenario

    text = results.manifest.get("scenario")
    if not isinstance(text, str) or not text:
        raise mistake(
            "the manifest of the run has no scenario: nothing can be run again with a change",
            "leave out `--try`; try a change with `lasthop run SCENARIO --set KEY=VALUE`",
        )
    if results.manifest.get("own_policies"):
        raise mistake(
            "the run used congestion controls or schedulers of your own, which its folder does not hold",
            "try the change with `lasthop run` and your code",
        )
    scenario = Scenario.parse(without_capture(text), f"{results.manifest.get('name')} (manifest)")
    before = _numbers(results, flow)
    tried = []
    for one in advice:
        if one.changes:
            # Its tables would take longer than the run.
            after = _numbers(scenario.with_([*one.changes, "output.explain=false"]).run(), flow)
            tried.append(Tried(one, [(name, value, after.get(name)) for name, value in before.items()]))
    return tried


def _numbers(results: Results, flow: str) -> dict[str, float | None]:
    rows = [row for row in results.table("flows").to_pylist() if row["flow"] == flow]
    wanted = ("goodput_bps", "delay_mean_s", "delay_p95_s", "rtt_mean_s", "lost_dropped", "timeouts", "completion_s")
    return {name: rows[0].get(name) for name in wanted} if rows else {}


# Rules by cause


def _receive_window(case: _Case, _part: Part) -> Advice:
    return Advice(
        "The receiver offers less than the path holds: give it a larger receive buffer, and window scaling, without "
        "which no window is above 65,535 B.",
        [f"{case.tcp}.receive_buffer=4 MB", f"{case.tcp}.window_scaling=true"],
    )


def _send_buffer(case: _Case, _part: Part) -> Advice:
    return Advice(
        "The send buffer holds less than the path: the application cannot write ahead.",
        [f"{case.tcp}.send_buffer=4 MB"],
    )


def _small_segment(case: _Case, _part: Part) -> Advice | None:
    if case.tcp_is("nagle", False):
        return None
    return Advice(
        "Nagle's algorithm holds the last, small segment of each message until all before it is acknowledged: switch "
        "it off (TCP_NODELAY), or write a message at once.",
        [f"{case.tcp}.nagle=false"],
    )


def _delayed_ack(case: _Case, _part: Part) -> Advice | None:
    if case.tcp_is("ack_every", 1):
        return None
    return Advice(
        "The receiver holds back ACKs for segments that the sender waits for: acknowledge every segment, or after a "
        "shorter delay.",
        [f"{case.tcp}.ack_every=1"],
    )


def _queue(case: _Case, part: Part) -> Advice | None:
    if not _is_deep(case, part):
        return None
    key = _queue_key(case, part.cause.place)
    if key is None:
        return None
    return Advice(
        f"The queue of {part.cause.place} holds more than is good{_buffer_in_bdp(case, part)}: an active queue "
        "management keeps the delay low at the same rate.",
        [f'{key}={{ kind = "fq-codel", packets = 1000 }}'],
    )


def _queue_key(case: _Case, place: str) -> str | None:
    """The key of the queue of one direction of a link: the other one stays as it is."""
    link, (_, _, side) = case.table("link", place), place.rpartition(".")
    return f"link.{link}.{side}.queue" if link is not None and side in ("forward", "reverse") else None


def _kind_of_queue(case: _Case, place: str) -> str:
    link = table_at(case.scenario, "link", case.table("link", place))
    side = table_at(link, place.rpartition(".")[2])
    queue = side.get("queue") or link.get("queue") or {}
    return str(queue.get("kind", default_queue()) if isinstance(queue, dict) else queue)


def _buffer_in_bdp(case: _Case, part: Part) -> str:
    """How large the largest backlog at the place was, against what the path holds."""
    most, bdp = _largest_backlog(case, part.cause.place, part.cause.way), _bdp_at(case, part)
    # A source of datagrams sends at its own rate: nothing fills the path.
    if not most or not bdp or case.row["transport"] != "tcp":
        return ""
    return f" ({size(most)} at most, {most / bdp:.1f} times what the path holds at the rate that it has had)"


def _bdp_at(case: _Case, part: Part) -> float | None:
    """Octets that the path of the flow holds at the rate of all flows through a place.

    Of those that pass it in the flow's direction there.
    """
    if case.bdp is None:
        return None
    rate = 0.0
    for row in case.results.table("flows").to_pylist():
        route = Route.of(case.scenario, row)
        mine = route.queues if part.cause.name == "queue" else {place: way for (place, _), way in route.radio.items()}
        if row["flow"] == case.row["flow"]:
            rate += case.rate_bps or 0.0
        elif route.is_known and mine.get(part.cause.place) == part.cause.way:
            rate += row.get("throughput_bps") or 0.0
    return max(case.bdp, rate / 8 * (case.rtt_s or 0.0))


def _largest_backlog(case: _Case, where: str, way: str = "data") -> int:
    """The most octets that were sampled at a place in the time of the budget.

    In the flow's direction there.
    """
    route = Route.of(case.scenario, case.row)
    found = [0]
    for name, place, octets in (("queues", "queue", "bytes"), ("rlc", "bearer", "queue_bytes")):
        if name in case.results.table_names:
            wanted = ("time_s", place, octets, *(["direction"] if name == "rlc" else []))
            rows = case.in_time(columns_of(case.results, name, wanted))
            mine = [r for r in rows if r[place] == where]
            found += [r[octets] for r in mine if route.way_of(name, where, r.get("direction")) in ("", way or "data")]
    return max(found)


def _is_deep(case: _Case, part: Part) -> bool:
    """More waits than the path holds; where the run has no samples of it, for most of the time."""
    most, bdp = _largest_backlog(case, part.cause.place, part.cause.way), _bdp_at(case, part)
    if most and bdp:
        return most > bdp
    return case.budget.share(part) > 0.4


def _rlc_queue(case: _Case, part: Part) -> Advice | None:
    if not _is_deep(case, part):
        return None
    size_text = _buffer_in_bdp(case, part)
    if (name := case.table("bearer", part.cause.place)) is not None:
        if _is_umts(case, name):
            most = _largest_backlog(case, part.cause.place, part.cause.way)
            if not most:
                return Advice(
                    f"The RLC buffer of {part.cause.place} is deep: a smaller `bearer.{name}.rlc.am.buffer_bytes` "
                    "shortens the delay. The run has no samples of it; with `output.radio = true` there is a size "
                    "to try.",
                    [],
                )
            smaller = max(most // 2, INITIAL_WINDOW) // 1000
            if 1000 * smaller >= most:
                return None
            return Advice(
                f"The RLC buffer of {part.cause.place} is deep{size_text}: half of the buffer halves the delay. A much "
                "smaller one lowers the goodput: retransmissions of RLC lengthen some round trips, and the buffer "
                "then runs empty.",
                [f"bearer.{name}.rlc.am.buffer_bytes={smaller} kB"],
            )
        return Advice(
            f"The RLC buffer of {part.cause.place} is deep{size_text}: an active queue management keeps it short.",
            [f'bearer.{name}.rlc.buffer.aqm={{ kind = "codel" }}'],
        )
    if (name := case.table("ue", part.cause.place)) is not None:
        return Advice(
            f"The RLC buffer of {part.cause.place} is deep{size_text}: an active queue management keeps it short.",
            [f'ue.{name}.rlc.buffer.aqm={{ kind = "codel" }}'],
        )
    return None


def _is_umts(case: _Case, bearer: str) -> bool:
    return table_at(case.scenario, "bearer", bearer).get("kind") == "umts"


def _uplinks(case: _Case) -> dict[str, dict[str, Any]]:
    """The tables of the cells' uplinks, by cell."""
    cells = table_at(case.scenario, "cell")
    return {name: table_at(cells, name, "uplink") for name in cells}


def _scheduling_request(case: _Case, _part: Part) -> Advice | None:
    # SimuLTE's requests have no occasions to wait for.
    slow = [
        name
        for name, uplink in _uplinks(case).items()
        if table_at(uplink, "sr").get("period", "10 ms") != "5 ms" and not _is_rac(uplink)
    ]
    if not slow:
        return None
    return Advice(
        "Each burst of the uplink waits for an occasion of a scheduling request and for its answer: give requests more "
        "often.",
        [f"cell.{name}.uplink.sr.period=5 ms" for name in slow],
    )


def _is_rac(uplink: dict[str, Any]) -> bool:
    return table_at(uplink, "request").get("kind") == "rac"


def _grant_wait(case: _Case, _part: Part) -> Advice | None:
    cells = [name for name, uplink in _uplinks(case).items() if uplink.get("proactive_period", "0 s") == "0 s"]
    if not cells or case.is_direct:
        return None
    return Advice(
        "The uplink waits for grants: small proactive grants spare a UE the request.",
        [f"cell.{name}.uplink.proactive_period=8 ms" for name in cells],
    )


def _interruption(case: _Case, part: Part) -> Advice | None:
    trigger = table_at(case.scenario, "handover").get("trigger", {})
    events = happenings(case.results, f"ue/{part.cause.place.split('.')[0]}")
    kinds = [e.kind for e in events if case.budget.start_ns <= e.at_ns <= case.budget.end_ns]
    moves, back = kinds.count("handover-complete"), kinds.count("handover-ping-pong")
    if not moves or not isinstance(trigger, dict):
        return Advice("The radio link was lost for that time: check the coverage (tables `radio`, `positions`).", [])
    if moves == 1:
        return Advice(
            f"A handover of {part.cause.place} interrupted the link: its length is `handover.interruption`, and the "
            "time until the new cell has random access and the forwarded packets.",
            [],
        )
    returns = f", {back} of them back to the cell just left" if back else ""
    return Advice(
        f"{moves} handovers of {part.cause.place} interrupted the link{returns}: a larger hysteresis and time to "
        "trigger hand over less often.",
        ["handover.trigger.hysteresis=4 dB", "handover.trigger.time_to_trigger=480 ms"],
    )


WIFI = ("time_s", "station", "ap", "ppdus", "unanswered", "airtime_s", "bytes")


def _wifi_rows(case: _Case) -> list[dict[str, Any]]:
    if "wifi" not in case.results.table_names:
        return []
    return case.in_time(columns_of(case.results, "wifi", WIFI))


def _wifi_share(case: _Case, _part: Part) -> Advice | None:
    """The channel is busy with another station that is slow."""
    airtime: Counter[tuple[str, str]] = Counter()
    octets: Counter[tuple[str, str]] = Counter()
    for r in _wifi_rows(case):
        airtime[r["station"], r["ap"]] += r["airtime_s"]
        octets[r["station"], r["ap"]] += r["bytes"]
    if not airtime:
        return None
    (station, ap), most = airtime.most_common(1)[0]
    if case.row["dst"] == station or case.row["src"] == station or most < 0.4 * sum(airtime.values()):
        return None
    rate = 8 * octets[station, ap] / most if most else 0.0
    return Advice(
        f"Station {station} uses {100 * most / sum(airtime.values()):.0f} % of the airtime at {rate / 1e6:.2g} Mbit/s: "
        "with airtime fairness a slow station takes its share of time, not of packets.",
        [f'ap.{ap}.buffer={{ kind = "fq-codel", airtime_fairness = true }}'],
    )


def _retry(case: _Case, part: Part) -> Advice | None:
    rows = [r for r in _wifi_rows(case) if r["station"] == part.cause.place]
    silent, sent = sum(r["unanswered"] for r in rows), sum(r["ppdus"] for r in rows)
    if silent < 0.2 * max(sent, 1):
        return _wifi_share(case, part)
    aps = sorted({name for r in rows if (name := case.table("ap", r["ap"])) is not None})
    return Advice(
        f"{silent} of {sent} PPDUs of {part.cause.place} had no answer: most of them collided. If the stations do not "
        "sense each other (a hidden station), RTS and CTS reserve the channel at both ends. Else these cost time.",
        [f"ap.{name}.rts_threshold=500 B" for name in aps],
    )


def _timeout(case: _Case, part: Part) -> Advice | None:
    if part.cause.place == "" or case.scenario.get("flow", {}) == {} or case.tcp_is("recovery", "rack"):
        return None
    return Advice(
        "Losses were found by the retransmission timer alone: RACK and tail loss probes (RFC 8985) find the loss of a "
        "retransmission and of the last segments without it.",
        [f"{case.tcp}.recovery=rack"],
    )


def _application(_case: _Case, _part: Part) -> Advice:
    return Advice(
        "The application writes less than the path could carry, or pauses: no key of the network changes that.", []
    )


def _ack_lost(case: _Case, part: Part) -> Advice:
    if _switched(case, part.cause.place):
        return _mode_switch(case, part.cause.place)
    return Advice(
        f"ACKs are lost at {part.cause.place or 'the way back'}: octets that have arrived count as outstanding until a "
        "later ACK comes. More ACKs would help, fewer losses on the way back more.",
        [] if case.tcp_is("ack_every", 1) else [f"{case.tcp}.ack_every=1"],
    )


def _switched(case: _Case, place: str) -> bool:
    """All that was lost at a place was lost when a sidelink changed its mode."""
    causes = {x.cause for x in case.budget.losses if x.place == place}
    return causes == {"mode-switch"} and case.table("sidelink", place) is not None


def _mode_switch(case: _Case, place: str) -> Advice:
    return Advice(
        f"The switch of {place} between sidelink and infrastructure dropped what RLC held: with a lossless switch PDCP "
        "keeps it and sends it over the new connection.",
        [f"sidelink.{case.table('sidelink', place)}.lossless=true"],
    )


def _serialization(case: _Case, part: Part) -> Advice | None:
    # Beside a larger cause a faster link is no advice: the flow does not use the rate that there
    # is.
    if part is not case.budget.parts[0]:
        return None
    return Advice(
        f"The largest part is the sending of packets at {part.cause.place}: only a faster link shortens it.", []
    )


RULES: dict[str, Rule] = {
    "receive-window": _receive_window,
    "send-buffer": _send_buffer,
    "small-segment": _small_segment,
    "delayed-ack": _delayed_ack,
    "queue": _queue,
    "rlc-queue": _rlc_queue,
    "scheduling-request": _scheduling_request,
    "grant-wait": _grant_wait,
    "interruption": _interruption,
    "wifi-queue": _wifi_share,
    "contention": _wifi_share,
    "retry": _retry,
    "timeout": _timeout,
    "application": _application,
    "ack-lost": _ack_lost,
    "serialization": _serialization,
}


def _of_losses(case: _Case) -> list[Advice]:
    """Losses that one place caused."""
    losses = case.budget.losses
    if len(losses) < LOSSES * max(case.row.get("tx_packets") or 0, 1) or len(losses) < 2:
        return []
    (place, cause), n = Counter((x.place, x.cause) for x in losses).most_common(1)[0]
    key = _queue_key(case, place)
    if cause == "policer":
        return [
            Advice(
                f"A policer at {place} dropped {n} packets: it lets a burst pass and drops what exceeds its rate. A "
                "shaper of the same rate delays instead.",
                [f'{key}={{ kind = "{default_queue()}", packets = 100 }}'] if key else [],
            )
        ]
    if cause == "queue-full" and key is not None and case.bdp:
        want = max(int(case.bdp / MTU) + 1, 10)
        kind = _kind_of_queue(case, place)
        # Of an active queue management it is not the limit that matters.
        if kind in limited_queues() and _largest_backlog(case, place) < case.bdp:
            return [
                Advice(
                    f"The queue of {place} is below what the path holds and dropped {n} packets: a buffer of one BDP "
                    f"({size(case.bdp)}) keeps the link busy.",
                    [f'{key}={{ kind = "{kind}", packets = {want} }}'],
                )
            ]
    if cause == "rlc-buffer-full":
        return _rlc_buffer(case, place, n)
    if cause == "mode-switch" and _switched(case, place):
        return [_mode_switch(case, place)]
    if cause == "radio-loss" and case.row["transport"] == "tcp":
        return _unacknowledged(case, place, n)
    return []


def _unacknowledged(case: _Case, place: str, n: int) -> list[Advice]:
    """TCP over a bearer that repeats nothing: that suits media, but not a transfer."""
    for kind in ("bearer", "ue"):
        name = case.table(kind, place)
        rlc = table_at(case.scenario, kind, name, "rlc")
        if rlc.get("mode") in ("um", "tm"):
            return [
                Advice(
                    f"RLC of {place} has a mode that sends nothing again ({rlc['mode']}), and {n} packets were lost on "
                    "the radio: in acknowledged mode RLC repeats what is lost, and TCP has delay instead of loss.",
                    [f"{kind}.{name}.rlc.mode=am"],
                )
            ]
    return []


def _rlc_buffer(case: _Case, place: str, n: int) -> list[Advice]:
    wait = next((p.ns for p in case.budget.parts if p.cause.name == "rlc-queue"), 0)
    part = Part(Cause("rlc-queue", place, "data"), wait)
    # Where it is deep enough the rule of the RLC queue has better advice.
    if _is_deep(case, part) and not 0 < _largest_backlog(case, place) < FEW:
        return []
    if (name := case.table("bearer", place)) is not None:
        key = (
            f"bearer.{name}.rlc.am.buffer_bytes=64 kB"
            if _is_umts(case, name)
            else f"bearer.{name}.rlc.buffer.bytes=512 kB"
        )
    elif (name := case.table("ue", place)) is not None:
        key = f"ue.{name}.rlc.buffer.bytes=512 kB"
    else:
        return []
    rtt = f" at round trips of {duration(case.rtt_s)}" if case.rtt_s else ""
    return [
        Advice(
            f"The RLC buffer of {place} was full and dropped {n} packets{rtt}: it is below what the path holds.", [key]
        )
    ]
