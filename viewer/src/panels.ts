/** Which charts a run has: from its tables to lines. */

import type { Mark } from "./chart";
import type { Rows, Run } from "./data";
import { Series } from "./pyramid";

export interface PanelLine {
  label: string;
  series: Series;
  step?: boolean;
}

export interface Panel {
  id: string;
  title: string;
  unit: string;
  /** What its lines are of, such as flows: the same line has the same colour in all charts of a family. */
  family: string;
  lines: PanelLine[];
}

interface Recipe {
  id: string;
  title: string;
  unit: string;
  table: string;
  columns: string[];
  /** The column of times; absent: `time_s`. */
  time?: string;
  /** The columns whose values distinguish lines. */
  keys: string[];
  /**
   * What gives the value of a row, or NaN; `previous` is the row before of the same line, -1 for the first. `interval` is what a
   * row is about in seconds: a station or UE without traffic has no row, so the time since the row before may be longer.
   */
  value(rows: Rows, interval: number): (row: number, previous: number) => number;
  step?: boolean;
  /** Leaves out lines without a value other than zero. */
  sparse?: boolean;
}

type Value = Recipe["value"];

/** `unacked` alone grows without end behind one hole that is not filled, while the window bounds this. */
const outstanding: Value = (rows) => {
  const [unacked, sacked] = [rows.numbers("unacked"), rows.numbers("sacked")];
  return (row) => unacked[row]! - sacked[row]!;
};

const scaled =
  (column: string, factor = 1): Value =>
  (rows) => {
    const values = rows.numbers(column);
    return (row) => values[row]! * factor;
  };

/** A column over another one where that is positive. */
const ratio =
  (part: string, whole: string, factor = 1): Value =>
  (rows) => {
    const [a, b] = [rows.numbers(part), rows.numbers(whole)];
    return (row) => (b[row]! > 0 ? (a[row]! / b[row]!) * factor : NaN);
  };

const roundTrip: Value = (rows) => {
  const values = rows.numbers("rtt_us");
  return (row) => (values[row]! > 0 ? values[row]! / 1e3 : NaN);
};

const retransmitted: Value = (rows) => {
  const [again, first] = [rows.numbers("retransmissions"), rows.numbers("blocks")];
  return (row) => {
    const all = first[row]! + again[row]!;
    return all > 0 ? (again[row]! / all) * 100 : NaN;
  };
};

/** Of counters that run from the start: the share of the interval. */
const lostSince: Value = (rows) => {
  const [lost, sent] = [rows.numbers("blocks_lost"), rows.numbers("blocks_sent")];
  const since = (counter: Float64Array, row: number, previous: number): number => counter[row]! - (previous < 0 ? 0 : counter[previous]!);
  return (row, previous) => {
    const all = since(sent, row, previous);
    return all > 0 ? (since(lost, row, previous) / all) * 100 : NaN;
  };
};

const airtime: Value = (rows, interval) => {
  const values = rows.numbers("airtime_s");
  return (row) => (values[row]! / interval) * 100;
};

/** IP octets delivered in an interval of the table `windows`, as a rate. */
const delivered: Value = (rows) => {
  const [start, end, octets] = ["start_s", "end_s", "delivered_bytes"].map((c) => rows.numbers(c)) as [Float64Array, Float64Array, Float64Array];
  return (row) => (octets[row]! * 8e-6) / (end[row]! - start[row]!);
};

const RADIO = ["ue", "direction"];
const WIFI = ["station", "direction"];
const BEARER = ["bearer", "direction"];

const RECIPES: Recipe[] = [
  { id: "delivered", title: "Packets delivered in each window", unit: "Mbit/s", table: "windows", time: "start_s", columns: ["end_s", "delivered_bytes"], keys: ["flow"], value: delivered, step: true },
  { id: "delay", title: "One-way delay that 95 % of the packets do not exceed", unit: "ms", table: "windows", time: "start_s", columns: ["delay_p95_s"], keys: ["flow"], value: scaled("delay_p95_s", 1e3), step: true },
  { id: "wait", title: "Time in queues that 95 % of the packets do not exceed", unit: "ms", table: "windows", time: "start_s", columns: ["wait_p95_s"], keys: ["flow"], value: scaled("wait_p95_s", 1e3), step: true },
  { id: "media-target", title: "Target rate of the media rate control", unit: "Mbit/s", table: "media", columns: ["target_bps"], keys: ["flow"], value: scaled("target_bps", 1e-6), step: true },
  { id: "media-received", title: "Media as received", unit: "Mbit/s", table: "media", columns: ["received_bps"], keys: ["flow"], value: scaled("received_bps", 1e-6) },
  { id: "media-frames", title: "Mean delay of media frames, from encoding to the last packet", unit: "ms", table: "media", columns: ["frame_delay_mean_s"], keys: ["flow"], value: scaled("frame_delay_mean_s", 1e3) },
  { id: "cwnd", title: "Congestion window", unit: "segments", table: "tcp", columns: ["snd_cwnd"], keys: ["flow"], value: scaled("snd_cwnd"), step: true },
  { id: "rtt", title: "Smoothed round-trip time", unit: "ms", table: "tcp", columns: ["rtt_us"], keys: ["flow"], value: roundTrip, step: true },
  { id: "flight", title: "Segments not ACKed nor SACKed", unit: "segments", table: "tcp", columns: ["unacked", "sacked"], keys: ["flow"], value: outstanding, step: true },
  { id: "queue", title: "Queues of links", unit: "kB", table: "queues", columns: ["bytes"], keys: ["queue"], value: scaled("bytes", 1e-3), sparse: true },
  { id: "rlc", title: "RLC buffers", unit: "kB", table: "rlc", columns: ["queue_bytes"], keys: BEARER, value: scaled("queue_bytes", 1e-3), sparse: true },
  { id: "sinr", title: "SINR of transmissions", unit: "dB", table: "radio", columns: ["sinr_db"], keys: RADIO, value: scaled("sinr_db") },
  { id: "cqi", title: "CQI of the reports used", unit: "", table: "radio", columns: ["cqi"], keys: RADIO, value: scaled("cqi") },
  { id: "mcs", title: "Modulation and coding scheme", unit: "", table: "radio", columns: ["mcs"], keys: RADIO, value: scaled("mcs") },
  { id: "blocks", title: "Resource blocks of a TTI with a transmission", unit: "", table: "radio", columns: ["resource_blocks", "ttis"], keys: RADIO, value: ratio("resource_blocks", "ttis") },
  { id: "harq", title: "HARQ retransmissions", unit: "%", table: "radio", columns: ["retransmissions", "blocks"], keys: RADIO, value: retransmitted },
  { id: "dch", title: "Transport blocks lost", unit: "%", table: "mac", columns: ["blocks_sent", "blocks_lost"], keys: BEARER, value: lostSince },
  { id: "airtime", title: "Wi-Fi airtime", unit: "%", table: "wifi", columns: ["airtime_s"], keys: WIFI, value: airtime },
  { id: "wifi-rate", title: "Wi-Fi PHY rate", unit: "Mbit/s", table: "wifi", columns: ["rate_bps"], keys: WIFI, value: scaled("rate_bps", 1e-6) },
  { id: "wifi-failed", title: "Wi-Fi MPDUs not acknowledged", unit: "%", table: "wifi", columns: ["failed", "mpdus"], keys: WIFI, value: ratio("failed", "mpdus", 100) },
  { id: "wifi-queue", title: "Wi-Fi queues", unit: "kB", table: "wifi", columns: ["queue_bytes"], keys: WIFI, value: scaled("queue_bytes", 1e-3), sparse: true },
  { id: "hint", title: "Rate as capacity hints report it", unit: "Mbit/s", table: "hints", columns: ["rate_bps"], keys: ["hint", "flow"], value: scaled("rate_bps", 1e-6) },
  { id: "rsrp", title: "RSRP as measured", unit: "dBm", table: "measurements", columns: ["rsrp_dbm"], keys: ["ue", "cell"], value: scaled("rsrp_dbm") },
];

/** The charts of a run, in the order in which they are read. A table is read once, with the columns that they need. */
export async function panelsOf(run: Run): Promise<Panel[]> {
  const usable = RECIPES.filter((recipe) => columnsOf(run, recipe) !== null);
  const columns = new Map<string, Set<string>>();
  for (const recipe of usable) {
    const known = columns.get(recipe.table) ?? new Set<string>();
    for (const column of columnsOf(run, recipe)!) known.add(column);
    columns.set(recipe.table, known);
  }
  const arrived = run.table("tcp")?.columns.some((c) => c.name === "bytes_arrived") ?? false;
  if (arrived) columns.get("tcp")?.add("bytes_arrived");
  // The page names a table that cannot be read; the charts of the others are worth showing.
  const read = (table: string): Promise<Rows | null> => run.rows(table, [...(columns.get(table) ?? [])]).catch(() => null);
  const made = await Promise.all([
    arrived && columns.has("tcp") ? read("tcp").then((rows) => rows && throughput(run, rows)) : null,
    ...usable.map(async (recipe) => {
      const rows = await read(recipe.table);
      return rows && { id: recipe.id, title: recipe.title, unit: recipe.unit, family: recipe.keys.join(), lines: linesOf(rows, recipe, run.info.interval_s) };
    }),
  ]);
  return made.filter((panel): panel is Panel => panel !== null && panel.lines.length > 0);
}

/** Flows that no chart shows: without TCP only the tables of windows and of media have what was delivered of them. */
export async function uncharted(run: Run): Promise<string[]> {
  const known = run.table("flows")?.columns.some((c) => c.name === "transport") ?? false;
  if (!known || run.table("windows") !== undefined || run.info.left_out.includes("windows")) return [];
  const rows = await run.rows("flows", ["flow", "transport"]);
  const transports = rows.texts("transport");
  const flows = rows.texts("flow");
  const media = run.has("media") ? new Set((await run.rows("media", ["flow"])).texts("flow").names) : new Set<string>();
  return Array.from({ length: rows.length }, (_, i) => i).filter((i) => transports.at(i) !== "tcp" && !media.has(flows.at(i))).map((i) => flows.at(i));
}

/** The columns that a chart needs; null: the run does not have them. */
function columnsOf(run: Run, recipe: Recipe): string[] | null {
  const info = run.table(recipe.table);
  if (info === undefined || info.rows === 0) return null;
  const known = new Set(info.columns.map((c) => c.name));
  const needed = [recipe.time ?? "time_s", ...recipe.keys, ...recipe.columns];
  return needed.every((c) => known.has(c)) ? needed : null;
}

const groups = new WeakMap<Rows, Map<string, Map<string, Int32Array>>>();

/** The rows of each line, in their order. */
export function grouped(rows: Rows, keys: string[]): Map<string, Int32Array> {
  const known = groups.get(rows) ?? new Map<string, Map<string, Int32Array>>();
  groups.set(rows, known);
  const id = JSON.stringify(keys);
  const made = known.get(id) ?? group(rows, keys);
  known.set(id, made);
  return made;
}

function group(rows: Rows, keys: string[]): Map<string, Int32Array> {
  const texts = keys.map((key) => rows.texts(key));
  // A number for each combination of codes; in the order in which they are met.
  const codes = new Map<number, number>();
  const names: string[] = [];
  const of = new Int32Array(rows.length);
  const counts: number[] = [];
  let lastKey = -1;
  let lastCode = -1;
  for (let i = 0; i < rows.length; i++) {
    let key = 0;
    for (let t = 0; t < texts.length; t++) key = key * texts[t]!.names.length + texts[t]!.codes[i]!;
    let code: number | undefined = key === lastKey ? lastCode : codes.get(key);
    if (code === undefined) {
      code = names.length;
      codes.set(key, code);
      names.push(texts.map((t) => t.at(i)).filter((t) => t !== "").join(" "));
      counts.push(0);
    }
    lastKey = key;
    lastCode = code;
    of[i] = code;
    counts[code]!++;
  }
  const found = names.map((_, code) => new Int32Array(counts[code]!));
  const next = new Int32Array(names.length);
  for (let i = 0; i < rows.length; i++) {
    const code = of[i]!;
    found[code]![next[code]!++] = i;
  }
  return new Map(names.map((name, code) => [name, found[code]!]));
}

const times = new WeakMap<Int32Array, Float64Array>();

/** The times of a line's rows, the same array for each chart of it. */
function timesOf(rows: Rows, members: Int32Array, column: string): Float64Array {
  const found = times.get(members) ?? picked(rows.numbers(column), members);
  times.set(members, found);
  return found;
}

function picked(values: Float64Array, members: Int32Array): Float64Array {
  const found = new Float64Array(members.length);
  for (let i = 0; i < members.length; i++) found[i] = values[members[i]!]!;
  return found;
}

function linesOf(rows: Rows, recipe: Recipe, interval: number): PanelLine[] {
  const lines: PanelLine[] = [];
  const value = recipe.value(rows, interval);
  for (const [label, members] of grouped(rows, recipe.keys)) {
    const y = new Float64Array(members.length);
    let any = false;
    for (let i = 0; i < members.length; i++) {
      const found = value(members[i]!, i > 0 ? members[i - 1]! : -1);
      y[i] = found;
      any ||= !Number.isNaN(found) && (recipe.sparse !== true || found !== 0);
    }
    if (any) lines.push({ label, series: new Series(timesOf(rows, members, recipe.time ?? "time_s"), y), ...(recipe.step ? { step: true } : {}) });
  }
  return lines;
}

/** What arrived at each receiver, over the intervals of the samples: payload in order or not, each octet once. */
function throughput(run: Run, rows: Rows): Panel {
  const time = rows.numbers("time_s");
  const octets = rows.numbers("bytes_arrived");
  const lines: PanelLine[] = [];
  // Samples may come with each ACK; a rate needs intervals with several of them.
  const step = Math.max(run.info.duration_s / 400, 0.05);
  for (const [label, members] of grouped(rows, ["flow"])) {
    const x: number[] = [];
    const y: number[] = [];
    let lastTime = time[members[0]!] ?? 0;
    let lastOctets = octets[members[0]!] ?? 0;
    for (const row of members) {
      const span = time[row]! - lastTime;
      if (span < step) continue;
      x.push(time[row]!);
      y.push(((octets[row]! - lastOctets) * 8e-6) / span);
      lastTime = time[row]!;
      lastOctets = octets[row]!;
    }
    if (x.length > 0) lines.push({ label, series: new Series(Float64Array.from(x), Float64Array.from(y)) });
  }
  return { id: "throughput", title: "Throughput as delivered", unit: "Mbit/s", family: "flow", lines };
}

/** Kinds of events that interrupt a link, with the kinds that end each. */
const OUTAGES: Record<string, string[]> = {
  "handover-start": ["handover-complete", "rrc-reestablished", "rrc-connected"],
  "radio-link-failure": ["rrc-reestablished", "rrc-connected"],
  "rrc-reestablishment-rejected": ["rrc-connected"],
  "cell-down": ["cell-up"],
  "rlc-reset-started": ["rlc-reset-done"],
};

/** What else happens once and may change every line. */
const CHANGES = ["mode-switch", "start", "stop", "flow-stop", "flow-pause", "flow-resume"];

/** Handovers, outages, timeouts and changes, which every chart marks. */
export async function marksOf(run: Run): Promise<Mark[]> {
  if (!run.has("events")) return [];
  const rows = await run.rows("events", ["time_s", "source", "kind", "detail"]);
  const time = rows.numbers("time_s");
  const kinds = rows.texts("kind");
  const sources = rows.texts("source");
  const marks: Mark[] = [];
  const open: { source: string; ends: string[]; mark: Mark }[] = [];
  for (let i = 0; i < rows.length; i++) {
    const kind = kinds.at(i);
    const source = sources.at(i);
    for (let k = open.length - 1; k >= 0; k--) {
      const outage = open[k]!;
      if (outage.source === source && outage.ends.includes(kind)) {
        outage.mark.until = time[i]!;
        open.splice(k, 1);
      }
    }
    const what = { source, event: kind };
    const ends = OUTAGES[kind];
    if (ends !== undefined) {
      const mark: Mark = { time: time[i]!, ...what, kind: kind === "handover-start" ? "handover" : "outage" };
      open.push({ source, ends, mark });
      marks.push(mark);
    } else if (kind === "rto") {
      marks.push({ time: time[i]!, ...what, kind: "timeout" });
    } else if (CHANGES.includes(kind) || kind.startsWith("change")) {
      marks.push({ time: time[i]!, ...what, kind: "other" });
    }
  }
  // Marks help while there are few of them.
  return marks.length <= 400 ? marks : marks.filter((m) => m.kind !== "timeout").slice(0, 400);
}
