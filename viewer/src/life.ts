/** The life of one packet: from the application's write to delivery and acknowledgement, with what each layer did. */

import type { Rows, Run } from "./data";
import { el } from "./dom";
import { plain, seconds } from "./format";

/** A packet on its way, as the table `packets` has it. */
export interface Way {
  packet: number;
  flow: string;
  from: { time: number; node: string };
  to: { time: number; node: string; dropped: boolean } | null;
  /** Its row of sending. */
  row: number;
}

/** Something that happened to a packet: at a moment, or for a time. */
export interface Happening {
  time: number;
  until?: number;
  text: string;
  /** Order of what begins at the same moment. */
  rank: number;
}

/** The tables with rows of a packet; null: the run (or this file) does not have one. */
export interface PacketTables {
  packets: Rows;
  stages: Rows | null;
  steps: Rows | null;
  drops: Rows | null;
  limits: Rows | null;
  tcp: Rows | null;
}

export async function life(run: Run, packets: Rows, way: Way): Promise<HTMLElement> {
  const read = (name: string, columns: string[] | null = null): Promise<Rows> | null => {
    const known = new Set(run.table(name)?.columns.map((c) => c.name));
    return run.has(name) && (columns ?? []).every((c) => known.has(c)) ? run.rows(name, columns) : null;
  };
  const [stages, steps, drops, limits, tcp] = await Promise.all([
    read("stages"),
    read("steps"),
    read("drops"),
    read("limits"),
    read("tcp", ["time_s", "flow", "snd_nxt", "notsent_bytes"]),
  ]);
  const known = seen(run, way);
  const lines = happenings({ packets, stages, steps, drops, limits, tcp }, way, known);
  const [first, end] = octets(packets, way.row);
  const isOrderLost = end > first && way.to?.dropped === false && !known.fromStart;
  return drawn(lines, way, titleOf(packets, way), stages !== null, isOrderLost);
}

/** Within which time the rows of `packets` are complete, so that the first of something is the first of it. */
export interface Seen {
  until: number;
  /** They are from the start on, too. */
  fromStart: boolean;
}

function seen(run: Run, way: Way): Seen {
  const excerpt = run.info.excerpt ?? [];
  const at = excerpt.findIndex((s) => way.from.time >= s.from_s && way.from.time < s.to_s);
  if (excerpt.length === 0) return { until: Infinity, fromStart: true };
  return { until: excerpt[at]?.to_s ?? -Infinity, fromStart: at === 0 && excerpt[0]!.what.startsWith("start") };
}

function titleOf(rows: Rows, way: Way): string {
  const [first, end] = octets(rows, way.row);
  const size = rows.numbers("size")[way.row]!;
  const again = rows.text("retransmission", way.row) === "1";
  return `Packet ${way.packet} of ${way.flow}: ${plain(size)} B${end > first ? `, octets ${plain(first, 12)} to ${plain(end, 12)} of the stream` : ""}${again ? ", sent again" : ""}`;
}

/** Sequence numbers of a row of `packets`: of the first octet, and of the one after the last. */
function octets(rows: Rows, row: number): [number, number] {
  const seq = rows.numbers("seq")[row]!;
  const len = rows.numbers("len")[row]!;
  return Number.isNaN(seq) || Number.isNaN(len) ? [NaN, NaN] : [seq, seq + len];
}

/** All that the tables have of a packet, in the order of time. */
export function happenings(tables: PacketTables, way: Way, seen: Seen = { until: Infinity, fromStart: true }): Happening[] {
  const { packets } = tables;
  const lines: Happening[] = [];
  const time = packets.numbers("time_s");
  const number = packets.numbers("packet");
  for (let i = 0; i < packets.length; i++) {
    if (number[i] !== way.packet) continue;
    const event = packets.text("event", i);
    lines.push({ time: time[i]!, text: `${event} at ${packets.text("node", i)}`, rank: event === "sent" ? 1 : 9 });
  }
  const [first, end] = octets(packets, way.row);
  if (end > first) lines.push(...ofStream(tables, way, first, end, seen));
  lines.push(...ofLayers(tables, way.packet));
  return lines.sort((a, b) => a.time - b.time || a.rank - b.rank);
}

/** What happened to the octets of a TCP packet before, beside and after its way. */
function ofStream(tables: PacketTables, way: Way, first: number, end: number, seen: Seen): Happening[] {
  const { packets } = tables;
  const lines: Happening[] = [];
  const time = packets.numbers("time_s");
  const event = packets.texts("event");
  const node = packets.texts("node");
  const flow = packets.texts("flow");
  const number = packets.numbers("packet");
  const ack = packets.numbers("ack");
  const again = packets.text("retransmission", way.row) === "1";
  const written = tables.tcp === null || again ? null : writtenBetween(tables.tcp, way, end);
  if (written !== null) {
    const [after, by] = written;
    const text = after === null ? `at or before ${seconds(by)}` : `between ${seconds(after)} and ${seconds(by)}, by samples`;
    lines.push({ time: by, text: `written by the application ${text}`, rank: 0 });
  }
  const limit = tables.limits === null ? null : limitAt(tables.limits, way.flow, way.from.time);
  if (limit !== null && !again) lines.push({ time: way.from.time, text: `until then the sender was limited by ${limit.cause}, since ${seconds(limit.since)}`, rank: 0.5 });
  // The receiver has all octets up to `next` in order.
  const stretches: [number, number][] = [];
  let next = NaN;
  let delivered = false;
  let acknowledged = false;
  const receiver = way.to !== null && !way.to.dropped ? way.to.node : null;
  for (let i = 0; i < packets.length; i++) {
    if (flow.at(i) !== way.flow) continue;
    const kind = event.at(i);
    const [a, b] = octets(packets, i);
    if (kind === "sent" && number[i] !== way.packet && node.at(i) === way.from.node && a < end && b > first) {
      lines.push({ time: time[i]!, text: number[i]! > way.packet ? `its octets are sent again, as packet ${number[i]}` : `its octets were sent before, as packet ${number[i]}`, rank: 8 });
    }
    if (kind !== "received" || time[i]! > seen.until) continue;
    if (node.at(i) === receiver && b > a) {
      if (Number.isNaN(next)) next = a;
      if (b > next) stretches.push([a, b]);
      for (let k = 0; k < stretches.length; ) {
        if (stretches[k]![0] <= next) {
          next = Math.max(next, stretches[k]![1]);
          stretches.splice(k, 1);
          k = 0;
        } else k++;
      }
      if (!delivered && seen.fromStart && next >= end && time[i]! >= way.from.time) {
        delivered = true;
        lines.push({ time: time[i]!, text: `in order at ${receiver}: the application can read it`, rank: 10 });
      }
    }
    if (!acknowledged && node.at(i) === way.from.node && ack[i]! >= end && time[i]! >= way.from.time) {
      acknowledged = true;
      lines.push({ time: time[i]!, text: `acknowledged to ${way.from.node} by packet ${number[i]}`, rank: 11 });
    }
  }
  return lines;
}

/** Between which two samples the last octet was written: the send buffer had it at the second; null: no sample has it. */
function writtenBetween(tcp: Rows, way: Way, end: number): [number | null, number] | null {
  const time = tcp.numbers("time_s");
  const flow = tcp.texts("flow");
  const next = tcp.numbers("snd_nxt");
  const unsent = tcp.numbers("notsent_bytes");
  let after: number | null = null;
  for (let i = 0; i < tcp.length; i++) {
    if (flow.at(i) !== way.flow) continue;
    if (time[i]! >= way.from.time || next[i]! + unsent[i]! >= end) return [after, Math.min(time[i]!, way.from.time)];
    after = time[i]!;
  }
  return null;
}

function limitAt(limits: Rows, flow: string, time: number): { since: number; cause: string } | null {
  const start = limits.numbers("start_ns");
  const flows = limits.texts("flow");
  let found: { since: number; cause: string } | null = null;
  for (let i = 0; i < limits.length; i++) {
    // The limit until the moment of sending, which may itself begin a new one.
    if (flows.at(i) === flow && start[i]! / 1e9 < time - 1e-9) found = { since: start[i]! / 1e9, cause: limits.text("cause", i) };
  }
  return found;
}

/** What the layers below did with it: stages without gap, and the steps of LTE, TTI by TTI. */
function ofLayers(tables: PacketTables, packet: number): Happening[] {
  const lines: Happening[] = [];
  const { stages, steps, drops } = tables;
  if (stages !== null) {
    const [numbers, parts, start, end] = ["packet", "part", "start_ns", "end_ns"].map((c) => stages.numbers(c)) as [Float64Array, Float64Array, Float64Array, Float64Array];
    for (let i = 0; i < stages.length; i++) {
      if (numbers[i] !== packet) continue;
      lines.push({ time: start[i]! / 1e9, until: end[i]! / 1e9, text: `${stages.text("stage", i)} (${stages.text("where", i)})${parts[i]! > 0 ? `, part ${parts[i]}` : ""}`, rank: 2 });
    }
  }
  if (steps !== null) {
    const numbers = steps.numbers("packet");
    const fact = (column: string, i: number, before: string, after = ""): string => (steps.has(column) && steps.text(column, i) !== "" ? `, ${before}${steps.text(column, i)}${after}` : "");
    // Feedback has the block that it is about in its row.
    const facts = (i: number): string =>
      ["ack", "nack"].includes(steps.text("step", i)) ? "" : `${fact("blocks", i, "", " resource blocks")}${fact("bytes", i, "", " B")}${fact("mcs", i, "MCS ")}`;
    for (let i = 0; i < steps.length; i++) {
      if (numbers[i] !== packet) continue;
      lines.push({
        time: steps.numbers("time_s")[i]!,
        text: `${steps.text("link", i)} ${steps.text("step", i)}: ${steps.text("node", i)} to ${steps.text("to", i)}${facts(i)}`,
        rank: 3,
      });
    }
  }
  if (drops !== null) {
    const numbers = drops.numbers("packet");
    for (let i = 0; i < drops.length; i++) {
      if (numbers[i] === packet) lines.push({ time: drops.numbers("time_s")[i]!, text: `dropped at ${drops.text("where", i)}: ${drops.text("cause", i)}`, rank: 12 });
    }
  }
  return lines;
}

function drawn(lines: Happening[], way: Way, title: string, hasStages: boolean, isOrderLost: boolean): HTMLElement {
  // What comes before the sending may be long ago: the bars show the way itself.
  const from = way.from.time;
  const to = Math.max(...lines.map((l) => l.until ?? l.time), from + 1e-9);
  const part = (t: number): number => (Math.min(Math.max((t - from) / (to - from), 0), 1) * 100);
  const bar = (l: Happening): HTMLElement | null => {
    if ((l.until ?? l.time) < from || l.time < from) return null;
    const width = part(l.until ?? l.time) - part(l.time);
    return el("i", { class: l.until === undefined ? "moment" : "", style: `left:${part(l.time)}%;width:${width}%` });
  };
  return el(
    "div",
    {},
    el(
      "div",
      { class: "scroll", role: "region", tabindex: "0", "aria-label": "Life of the packet" },
      el(
        "table",
        {},
        el("caption", {}, title),
        el("thead", {}, el("tr", {}, ...[["Time", "num"], ["After sending", "num"], ["For", "num"], ["What", ""]].map(([h, c]) => el("th", { scope: "col", class: c || null }, h!)), el("td", { class: "span", "aria-hidden": "true" }))),
        el(
          "tbody",
          {},
          ...lines.map((l) =>
            el(
              "tr",
              {},
              el("td", { class: "num" }, seconds(l.time)),
              el("td", { class: "num" }, milliseconds(l.time - from)),
              el("td", { class: "num" }, l.until === undefined ? "" : milliseconds(l.until - l.time)),
              el("td", {}, l.text),
              el("td", { class: "span", "aria-hidden": "true" }, bar(l)),
            ),
          ),
        ),
      ),
    ),
    isOrderLost ? el("p", { class: "mute" }, `When ${way.to!.node} has its octets in order is not in this file, which lacks packets before it: `, el("code", {}, "lasthop view"), " of the folder shows it.") : null,
    hasStages ? null : el("p", { class: "mute" }, "With `output.explain = true` the run records where the packet was at each moment."),
  );
}

function milliseconds(t: number): string {
  return `${(t * 1e3).toFixed(3)} ms`.replace("-", "−");
}
