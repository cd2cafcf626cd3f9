/** What a run was, in a few numbers. */

import type { Rows, Run } from "./data";
import { el, section } from "./dom";
import { plain, quantity } from "./format";

interface Shown {
  column: string;
  title: string;
  unit: string;
}

const FLOWS: Shown[] = [
  { column: "goodput_bps", title: "Goodput", unit: "bit/s" },
  { column: "rtt_mean_s", title: "Mean RTT", unit: "s" },
  { column: "delay_mean_s", title: "Mean delay", unit: "s" },
  { column: "delay_p95_s", title: "Delay p95", unit: "s" },
  { column: "app_bytes", title: "Delivered", unit: "B" },
  { column: "lost_dropped", title: "Data dropped", unit: "" },
  { column: "retransmits", title: "Sent again", unit: "" },
  { column: "timeouts", title: "Timeouts", unit: "" },
];
const QUALITY: Shown[] = [
  { column: "mos", title: "MOS", unit: "" },
  { column: "unusable", title: "Lost or late", unit: "%" },
  { column: "delay_p95_s", title: "Delay p95", unit: "s" },
  { column: "longest_gap_s", title: "Longest gap", unit: "s" },
];
const APPLICATIONS: Shown[] = [
  { column: "completed", title: "Completed", unit: "" },
  { column: "time_mean_s", title: "Mean time", unit: "s" },
  { column: "time_p95_s", title: "Time p95", unit: "s" },
  { column: "startup_s", title: "Start-up", unit: "s" },
  { column: "bitrate_mean_bps", title: "Bitrate", unit: "bit/s" },
  { column: "stalls", title: "Stalls", unit: "" },
];

/** Rows of a large run that a summary shows; all of them are under "Tables". */
const MOST = 40;

export async function overview(run: Run): Promise<HTMLElement> {
  const parts: (HTMLElement | null)[] = await Promise.all([
    summary(run, "flows", "Flows", ["flow", "cc"], FLOWS),
    summary(run, "quality", "Calls and games", ["flow", "app"], QUALITY),
    summary(run, "applications", "Applications", ["flow", "app"], APPLICATIONS),
    drops(run),
  ]);
  return section(
    "Overview",
    "overview",
    run.info.description ? el("p", {}, run.info.description) : null,
    el("p", { class: "mute" }, `${run.info.name}, seed ${run.info.seed}, ${plain(run.info.duration_s)} s${run.info.lateness.length > 0 ? " in real time" : ""}, Lasthop ${run.info.lasthop}`),
    ...parts,
    account(run),
    lateness(run),
    ...run.info.losses.map((text) => el("p", {}, `${text}.`)),
    el("details", {}, el("summary", {}, "The effective scenario"), el("pre", { tabindex: "0" }, run.info.scenario)),
  );
}

const FATES: Record<string, string> = {
  sent: "Sent",
  delivered: "Delivered",
  dropped: "Dropped",
  inside: "Under way at the end",
  made: "Made on the way",
  replaced: "Replaced on the way",
};

/** Where every packet went; what did not happen is left out. */
function account(run: Run): HTMLElement | null {
  const fates = Object.entries(run.info.account).filter(([name, n]) => n.packets > 0 || ["sent", "delivered", "dropped"].includes(name));
  if (fates.length === 0) return null;
  return el(
    "table",
    {},
    el("caption", {}, "Packets of all flows"),
    el("thead", {}, el("tr", {}, ...["", "Packets", "Octets"].map((h, i) => el(i === 0 ? "td" : "th", i === 0 ? {} : { scope: "col", class: "num" }, h)))),
    el("tbody", {}, ...fates.map(([name, n]) => el("tr", {}, el("th", { scope: "row" }, FATES[name] ?? name), el("td", { class: "num" }, n.packets.toLocaleString("en")), el("td", { class: "num" }, quantity(n.bytes, "B"))))),
  );
}

/** How much later than in the simulation things happened, in a run in real time. */
function lateness(run: Run): HTMLElement | null {
  const rows = run.info.lateness;
  if (rows.length === 0) return null;
  return el(
    "table",
    {},
    el("caption", {}, "Lateness in real time"),
    el("thead", {}, el("tr", {}, ...["Late", "Count", "p50", "p99", "Worst"].map((h, i) => el("th", i === 0 ? { scope: "col" } : { scope: "col", class: "num" }, h)))),
    el("tbody", {}, ...rows.map(({ what, numbers }) => el("tr", {}, el("th", { scope: "row" }, what), ...numbers.map((x, i) => el("td", { class: "num" }, i === 0 ? x.toLocaleString("en") : quantity(x, "s")))))),
  );
}

async function summary(run: Run, table: string, title: string, names: string[], shown: Shown[]): Promise<HTMLElement | null> {
  // The page names a table that cannot be read.
  const rows = run.has(table) ? await run.rows(table).catch(() => null) : null;
  if (rows === null) return null;
  const texts = names.filter((name, k) => k === 0 || rows.texts(name).names.some((text) => text !== ""));
  const columns = shown.filter((s) => rows.has(s.column) && rows.numbers(s.column).some((v) => !Number.isNaN(v)));
  const count = Math.min(rows.length, MOST);
  const body = Array.from({ length: count }, (_, i) =>
    el(
      "tr",
      {},
      ...texts.map((name, k) => (k === 0 ? el("th", { scope: "row" }, rows.text(name, i)) : el("td", {}, rows.text(name, i)))),
      ...columns.map((s) => el("td", { class: "num" }, cell(rows, s, i))),
    ),
  );
  return el(
    "div",
    { class: "scroll tall", role: "region", tabindex: "0", "aria-label": title },
    el(
      "table",
      {},
      el("caption", {}, rows.length > count ? `${title}: the first ${count} of ${rows.length}` : title),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ...texts.map((n) => el("th", { scope: "col" }, n === "cc" ? "Control" : n[0]!.toUpperCase() + n.slice(1))),
          ...columns.map((s) => el("th", { scope: "col", class: "num" }, s.title)),
        ),
      ),
      el("tbody", {}, ...body),
    ),
  );
}

function cell(rows: Rows, s: Shown, i: number): string {
  const value = rows.numbers(s.column)[i]!;
  return s.unit === "%" ? `${plain(value * 100, 3)} %` : quantity(value, s.unit);
}

/** Where packets were dropped, why and of which flow. */
function drops(run: Run): HTMLElement | null {
  const found = run.info.drops;
  if (found === null) return null;
  if (found.kinds === 0) return el("p", {}, "No packet was dropped.");
  const heads = ["Where", "Cause", "Flow"].map((h) => el("th", { scope: "col" }, h));
  const numbers = ["Packets", "Octets"].map((h) => el("th", { scope: "col", class: "num" }, h));
  return el(
    "div",
    { class: "scroll tall", role: "region", tabindex: "0", "aria-label": "Drops" },
    el(
      "table",
      {},
      el("caption", {}, found.kinds > found.rows.length ? `Drops of data and ACKs: the ${found.rows.length} most frequent of ${found.kinds} kinds` : "Drops of data and ACKs"),
      el("thead", {}, el("tr", {}, ...heads, ...numbers)),
      el(
        "tbody",
        {},
        ...found.rows.map((d) => el("tr", {}, ...[d.where, d.cause, d.flow].map((text) => el("td", {}, text)), el("td", { class: "num" }, d.packets.toLocaleString("en")), el("td", { class: "num" }, quantity(d.octets, "B")))),
      ),
    ),
  );
}
