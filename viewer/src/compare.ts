/** Two or more runs: how they differ in what was run, and in what came of it, in tables. */

import type { Index, Run } from "./data";
import { el, scrolled, section } from "./dom";
import { plain, quantity } from "./format";

interface Quantity {
  column: string;
  title: string;
  unit: string;
}

const FLOWS: Quantity[] = [
  { column: "goodput_bps", title: "Goodput", unit: "bit/s" },
  { column: "rtt_mean_s", title: "Mean RTT", unit: "s" },
  { column: "delay_mean_s", title: "Mean delay", unit: "s" },
  { column: "delay_p95_s", title: "Delay p95", unit: "s" },
  { column: "lost_dropped", title: "Data dropped", unit: "" },
  { column: "retransmits", title: "Sent again", unit: "" },
  { column: "timeouts", title: "Timeouts", unit: "" },
];
const QUALITY: Quantity[] = [
  { column: "mos", title: "MOS", unit: "" },
  { column: "unusable", title: "Lost or late", unit: "share" },
  { column: "longest_gap_s", title: "Longest gap", unit: "s" },
];
const APPLICATIONS: Quantity[] = [
  { column: "completed", title: "Completed", unit: "" },
  { column: "time_mean_s", title: "Mean time", unit: "s" },
  { column: "startup_s", title: "Start-up", unit: "s" },
  { column: "bitrate_mean_bps", title: "Bitrate", unit: "bit/s" },
  { column: "stalls", title: "Stalls", unit: "" },
];

/** A line of the comparison, with a value of each run; NaN: the run has none. */
interface Line {
  of: string;
  title: string;
  unit: string;
  values: number[];
}

/** Lines of one kind that are shown at once; further ones are folded. */
const MOST = 40;

export async function comparison(runs: Run[], differences: Index["differences"]): Promise<HTMLElement | null> {
  if (runs.length < 2) return null;
  const parts = await Promise.all([
    byName(runs, "flows", FLOWS),
    byName(runs, "quality", QUALITY),
    byName(runs, "applications", APPLICATIONS),
  ]);
  const lines = [...parts.flat(), ...means(runs), ...drops(runs)];
  const heads = runs.map((r) => el("th", { scope: "col", class: "num" }, r.info.label));
  const head = (...names: string[]): HTMLElement => el("thead", {}, el("tr", {}, ...names.map((n) => el("th", { scope: "col" }, n)), ...heads.map((h) => h.cloneNode(true))));
  const body = lines.map((line) => el("tr", {}, el("th", { scope: "row" }, line.of), el("td", {}, line.title), ...line.values.map((v, k) => cell(v, k, line))));
  return section(
    "Comparison",
    "comparison",
    ...remarks(runs, differences).map((text) => el("p", {}, text)),
    scrolled("Differences in what was run", el("caption", {}, "What was run"), head("Key"), el("tbody", {}, ...settings(runs, differences, await controls(runs)))),
    el("p", { class: "mute" }, "Small numbers: difference to the first run."),
    scrolled("Comparison of runs", el("caption", {}, "Results"), head("Of", "Quantity"), el("tbody", {}, ...body.slice(0, MOST))),
    body.length > MOST ? el("details", {}, el("summary", {}, `${body.length - MOST} more lines`), scrolled("Further lines of the comparison", head("Of", "Quantity"), el("tbody", {}, ...body.slice(MOST)))) : null,
  );
}

/** What makes runs hard to compare. */
function remarks(runs: Run[], differences: Index["differences"]): string[] {
  const found: string[] = [];
  if ((differences?.scenarios ?? 1) > 1) {
    found.push("These are runs of different scenarios, so their numbers are hardly comparable. Of the keys that differ, only those that all of them have are listed.");
  }
  const spans = new Set(runs.map((run) => run.info.duration_s));
  if (spans.size > 1) found.push("The runs have different durations: counts and means are of different intervals of time.");
  return found;
}

/** Rows of the keys that differ; name, seed and duration of each run first, whether they differ or not. */
function settings(runs: Run[], differences: Index["differences"], controls: { flow: string; values: string[] }[]): HTMLElement[] {
  const row = (key: string | HTMLElement, values: string[]): HTMLElement => el("tr", {}, el("th", { scope: "row" }, key), ...values.map((v) => el("td", { class: "num" }, v || "not set")));
  const known = ["scenario.seed", "scenario.duration"];
  const keys = (differences?.keys ?? []).filter((d) => !known.includes(d.key));
  const more = differences?.more ?? 0;
  return [
    row("scenario", runs.map((run) => run.info.name)),
    row("seed", runs.map((run) => String(run.info.seed ?? ""))),
    row("duration", runs.map((run) => `${plain(run.info.duration_s)} s`)),
    ...controls.map((c) => row(`control of ${c.flow}`, c.values)),
    ...keys.map((d) => row(el("code", {}, d.key), d.values)),
    ...(more > 0 ? [el("tr", {}, el("th", { scope: "row" }, `${more} more keys differ`))] : []),
  ];
}

/** The controls of flows that several runs have, where they differ: a scenario may leave them to the profile. */
async function controls(runs: Run[]): Promise<{ flow: string; values: string[] }[]> {
  const found = await Promise.all(
    runs.map(async (run) => {
      const rows = run.has("flows") ? await run.rows("flows").catch(() => null) : null;
      const isKnown = rows !== null && rows.has("flow") && rows.has("cc");
      return new Map(Array.from({ length: isKnown ? rows.length : 0 }, (_, i) => [rows!.text("flow", i), rows!.text("cc", i)]));
    }),
  );
  const flows = [...new Set(found.flatMap((own) => [...own.keys()]))];
  const rows = flows.map((flow) => ({ flow, values: found.map((own) => own.get(flow) ?? "–") }));
  return rows.filter(({ values }) => new Set(values.filter((v) => v !== "–")).size > 1);
}

function cell(value: number, run: number, { unit, values }: Line): HTMLElement {
  const base = values[0]!;
  const text = unit === "share" && !Number.isNaN(value) ? `${plain(value * 100, 3)} %` : quantity(value, unit);
  const isKnown = base !== 0 && !Number.isNaN(value / base);
  // An empty one keeps its place, so that the values are below each other.
  return el("td", { class: "num" }, text || "–", run > 0 ? el("small", {}, isKnown ? ` ${signed((value / base - 1) * 100)} %` : "") : null);
}

/** Lines of a table with a row for each name; a line without a value but zero is left out. */
async function byName(runs: Run[], table: string, quantities: Quantity[]): Promise<Line[]> {
  const tables = await Promise.all(runs.map((run) => (run.has(table) ? run.rows(table).catch(() => null) : null)));
  const names = [...new Set(tables.flatMap((rows) => (rows === null ? [] : Array.from({ length: rows.length }, (_, i) => rows.text("flow", i)))))];
  const lines = names.flatMap((of) =>
    quantities.map(({ column, title, unit }): Line => {
      const values = tables.map((rows) => {
        if (rows === null || !rows.has(column)) return NaN;
        for (let i = 0; i < rows.length; i++) if (rows.text("flow", i) === of) return rows.numbers(column)[i]!;
        return NaN;
      });
      return { of, title, unit, values };
    }),
  );
  return lines.filter(hasValues);
}

/** A line for each mean of samples. */
function means(runs: Run[]): Line[] {
  const all = runs.flatMap((run) => run.info.means ?? []);
  const lines = new Map(all.map(({ of, title, unit }) => [`${title}\n${of}`, { of, title, unit }]));
  return [...lines.values()]
    .map((line) => ({ ...line, values: runs.map((run) => run.info.means?.find((m) => m.of === line.of && m.title === line.title)?.value ?? NaN) }))
    .filter(hasValues);
}

/** A line for each place and cause of drops. */
function drops(runs: Run[]): Line[] {
  const isWhole = runs.map(({ info }) => info.drops !== null && info.drops.kinds === info.drops.rows.length);
  const found = runs.map((run, k) => {
    const own = new Map<string, number>();
    // Of more kinds than are listed the sums are not known.
    for (const row of isWhole[k] ? run.info.drops!.rows : []) own.set(`${row.where}\n${row.cause}`, (own.get(`${row.where}\n${row.cause}`) ?? 0) + row.packets);
    return own;
  });
  const keys = [...new Set(found.flatMap((own) => [...own.keys()]))];
  return keys.map((key) => {
    const [of, cause] = key.split("\n") as [string, string];
    // A run of another scenario may have no such place.
    const scenarios = new Set(runs.filter((_, k) => found[k]!.has(key)).map((run) => run.info.name));
    const values = found.map((own, k) => own.get(key) ?? (isWhole[k] && scenarios.has(runs[k]!.info.name) ? 0 : NaN));
    return { of, title: `Dropped: ${cause}`, unit: "", values };
  });
}

/** Whether a line has a value other than zero. */
function hasValues({ values }: Line): boolean {
  return values.some((v) => !Number.isNaN(v) && v !== 0);
}

function signed(x: number): string {
  return x >= 0 ? `+${plain(x, 3)}` : plain(x, 3);
}
