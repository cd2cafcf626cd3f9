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
  lines: PanelLine[];
}

interface Recipe {
  id: string;
  title: string;
  unit: string;
  table: string;
  columns: string[];
  /** The columns whose values tell lines apart. */
  keys: string[];
  /**
   * The value of a row, or NaN; `previous` is the row before of the same line, -1 for the first. `interval` is what a row is
   * about in seconds: a station or UE without traffic has no row, so the time since the row before may be longer.
   */
  value(rows: Rows, row: number, previous: number, interval: number): number;
  step?: boolean;
  /** Leaves out lines without a value other than zero. */
  sparse?: boolean;
}

const scaled = (column: string, factor = 1) => (rows: Rows, row: number): number => rows.numbers(column)[row]! * factor;

const share = (part: string, whole: string) => (rows: Rows, row: number): number =>
  rows.numbers(whole)[row]! > 0 ? (rows.numbers(part)[row]! / rows.numbers(whole)[row]!) * 100 : NaN;

const RECIPES: Recipe[] = [
  { id: "cwnd", title: "Congestion window", unit: "segments", table: "tcp", columns: ["snd_cwnd"], keys: ["flow"], value: scaled("snd_cwnd"), step: true },
  { id: "rtt", title: "Smoothed round-trip time", unit: "ms", table: "tcp", columns: ["rtt_us"], keys: ["flow"], value: (r, i) => (r.numbers("rtt_us")[i]! > 0 ? r.numbers("rtt_us")[i]! / 1e3 : NaN), step: true },
  { id: "flight", title: "Segments in flight", unit: "segments", table: "tcp", columns: ["unacked"], keys: ["flow"], value: scaled("unacked"), step: true },
  { id: "queue", title: "Queues of links", unit: "kB", table: "queues", columns: ["bytes"], keys: ["queue"], value: scaled("bytes", 1e-3), sparse: true },
  { id: "rlc", title: "RLC buffers", unit: "kB", table: "rlc", columns: ["queue_bytes"], keys: ["bearer", "direction"], value: scaled("queue_bytes", 1e-3), sparse: true },
  { id: "sinr", title: "SINR of transmissions", unit: "dB", table: "radio", columns: ["sinr_db"], keys: ["ue", "direction"], value: scaled("sinr_db") },
  { id: "cqi", title: "CQI of the reports used", unit: "", table: "radio", columns: ["cqi"], keys: ["ue", "direction"], value: scaled("cqi") },
  { id: "mcs", title: "Modulation and coding scheme", unit: "", table: "radio", columns: ["mcs"], keys: ["ue", "direction"], value: scaled("mcs") },
  { id: "blocks", title: "Resource blocks of a TTI with a transmission", unit: "", table: "radio", columns: ["resource_blocks", "ttis"], keys: ["ue", "direction"], value: (r, i) => r.numbers("ttis")[i]! > 0 ? r.numbers("resource_blocks")[i]! / r.numbers("ttis")[i]! : NaN },
  { id: "harq", title: "HARQ retransmissions", unit: "%", table: "radio", columns: ["retransmissions", "blocks"], keys: ["ue", "direction"], value: (r, i) => { const n = r.numbers("blocks")[i]! + r.numbers("retransmissions")[i]!; return n > 0 ? (r.numbers("retransmissions")[i]! / n) * 100 : NaN; } },
  { id: "dch", title: "Transport blocks lost", unit: "%", table: "mac", columns: ["blocks_sent", "blocks_lost"], keys: ["bearer", "direction"], value: (r, i, p) => { const d = (c: string): number => r.numbers(c)[i]! - (p < 0 ? 0 : r.numbers(c)[p]!); return d("blocks_sent") > 0 ? (d("blocks_lost") / d("blocks_sent")) * 100 : NaN; } },
  { id: "airtime", title: "Wi-Fi airtime", unit: "%", table: "wifi", columns: ["airtime_s"], keys: ["station", "direction"], value: (r, i, _, interval) => (r.numbers("airtime_s")[i]! / interval) * 100 },
  { id: "wifi-rate", title: "Wi-Fi PHY rate", unit: "Mbit/s", table: "wifi", columns: ["rate_bps"], keys: ["station", "direction"], value: scaled("rate_bps", 1e-6) },
  { id: "wifi-failed", title: "Wi-Fi MPDUs not acknowledged", unit: "%", table: "wifi", columns: ["failed", "mpdus"], keys: ["station", "direction"], value: share("failed", "mpdus") },
  { id: "wifi-queue", title: "Wi-Fi queues", unit: "kB", table: "wifi", columns: ["queue_bytes"], keys: ["station", "direction"], value: scaled("queue_bytes", 1e-3), sparse: true },
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
  const read = (table: string): Promise<Rows> => run.rows(table, [...(columns.get(table) ?? [])]);
  const made = await Promise.all([
    arrived && columns.has("tcp") ? read("tcp").then((rows) => throughput(run, rows)) : null,
    ...usable.map(async (recipe) => ({ id: recipe.id, title: recipe.title, unit: recipe.unit, lines: linesOf(await read(recipe.table), recipe, run.info.interval_s) })),
  ]);
  return made.filter((panel): panel is Panel => panel !== null && panel.lines.length > 0);
}

/** The columns that a chart needs; null: the run does not have them. */
function columnsOf(run: Run, recipe: Recipe): string[] | null {
  const info = run.table(recipe.table);
  if (info === undefined || info.rows === 0) return null;
  const known = new Set(info.columns.map((c) => c.name));
  const needed = ["time_s", ...recipe.keys, ...recipe.columns];
  return needed.every((c) => known.has(c)) ? needed : null;
}

/** The rows of each line, in their order. */
export function grouped(rows: Rows, keys: string[]): Map<string, Int32Array> {
  const texts = keys.map((key) => rows.texts(key));
  const codes = new Map<string, number>();
  const names: string[] = [];
  const of = new Int32Array(rows.length);
  const counts: number[] = [];
  for (let i = 0; i < rows.length; i++) {
    const key = texts.map((t) => t.codes[i]).join(",");
    let code = codes.get(key);
    if (code === undefined) {
      code = names.length;
      codes.set(key, code);
      names.push(texts.map((t) => t.at(i)).filter((t) => t !== "").join(" "));
      counts.push(0);
    }
    of[i] = code;
    counts[code]!++;
  }
  const found = names.map((_, code) => new Int32Array(counts[code]!));
  const next = names.map(() => 0);
  for (let i = 0; i < rows.length; i++) {
    const code = of[i]!;
    found[code]![next[code]!++] = i;
  }
  return new Map(names.map((name, code) => [name, found[code]!]));
}

function linesOf(rows: Rows, recipe: Recipe, interval: number): PanelLine[] {
  const time = rows.numbers("time_s");
  const lines: PanelLine[] = [];
  for (const [label, members] of grouped(rows, recipe.keys)) {
    const x = new Float64Array(members.length);
    const y = new Float64Array(members.length);
    let any = false;
    members.forEach((row, i) => {
      x[i] = time[row]!;
      y[i] = recipe.value(rows, row, i > 0 ? members[i - 1]! : -1, interval);
      any ||= !Number.isNaN(y[i]!) && (recipe.sparse !== true || y[i] !== 0);
    });
    if (any) lines.push({ label, series: new Series(x, y), ...(recipe.step ? { step: true } : {}) });
  }
  return lines;
}

/** What arrived at each receiver, over the intervals of the samples: payload in order or not, each octet once. */
function throughput(run: Run, rows: Rows): Panel {
  const time = rows.numbers("time_s");
  const octets = rows.numbers("bytes_arrived");
  const lines: PanelLine[] = [];
  // Samples may come with each ACK; a rate wants stretches that hold some.
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
  return { id: "throughput", title: "Throughput as delivered", unit: "Mbit/s", lines };
}

/** Kinds of events that interrupt a link, with the kinds that end each. */
const OUTAGES: Record<string, string[]> = {
  "handover-start": ["handover-complete", "rrc-reestablished", "rrc-connected"],
  "radio-link-failure": ["rrc-reestablished", "rrc-connected"],
  "rrc-reestablishment-rejected": ["rrc-connected"],
  "cell-down": ["cell-up"],
  "rlc-reset-started": ["rlc-reset-done"],
};

/** Handovers, outages and timeouts, which every chart marks. */
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
    const label = `${source}: ${kind}`;
    const ends = OUTAGES[kind];
    if (ends !== undefined) {
      const mark: Mark = { time: time[i]!, label, kind: kind === "handover-start" ? "handover" : "outage" };
      open.push({ source, ends, mark });
      marks.push(mark);
    } else if (kind === "rto") {
      marks.push({ time: time[i]!, label, kind: "timeout" });
    } else if (kind === "mode-switch" || kind.startsWith("change")) {
      marks.push({ time: time[i]!, label, kind: "other" });
    }
  }
  // Marks help while there are few of them.
  return marks.length <= 400 ? marks : marks.filter((m) => m.kind !== "timeout").slice(0, 400);
}
