/** Two or more runs: how their flows differ, in a table. */

import type { Run } from "./data";
import { el, section } from "./dom";
import { plain, quantity } from "./format";

const QUANTITIES: [string, string, string][] = [
  ["goodput_bps", "Goodput", "bit/s"],
  ["rtt_mean_s", "Mean RTT", "s"],
  ["delay_mean_s", "Mean delay", "s"],
  ["delay_p95_s", "Delay p95", "s"],
  ["lost_dropped", "Data dropped", ""],
  ["retransmits", "Sent again", ""],
  ["timeouts", "Timeouts", ""],
];

/** Each flow that any run has, with the values of each run and the difference to the first one. */
export async function comparison(runs: Run[]): Promise<HTMLElement | null> {
  if (runs.length < 2) return null;
  const tables = await Promise.all(runs.map((run) => (run.has("flows") ? run.rows("flows") : null)));
  const flows = [...new Set(tables.flatMap((rows) => (rows === null ? [] : Array.from({ length: rows.length }, (_, i) => rows.text("flow", i)))))];
  const body = flows.flatMap((flow) =>
    QUANTITIES.flatMap(([column, title, unit]) => {
      const values = tables.map((rows) => {
        if (rows === null || !rows.has(column)) return NaN;
        for (let i = 0; i < rows.length; i++) if (rows.text("flow", i) === flow) return rows.numbers(column)[i]!;
        return NaN;
      });
      if (values.every((v) => Number.isNaN(v) || v === 0)) return [];
      const base = values[0]!;
      return [
        el(
          "tr",
          {},
          el("th", { scope: "row" }, flow),
          el("td", {}, title),
          ...values.map((v, k) =>
            el("td", { class: "num" }, quantity(v, unit) || "–", k > 0 && base !== 0 && !Number.isNaN(v / base) ? el("small", {}, ` ${signed((v / base - 1) * 100)} %`) : null),
          ),
        ),
      ];
    }),
  );
  return section(
    "Comparison",
    "comparison",
    el("p", { class: "mute" }, "Small numbers: difference to the first run."),
    el(
      "div",
      { class: "scroll", role: "region", tabindex: "0", "aria-label": "Comparison of runs" },
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Flow"), el("th", { scope: "col" }, "Quantity"), ...runs.map((r) => el("th", { scope: "col", class: "num" }, r.info.label)))),
        el("tbody", {}, ...body),
      ),
    ),
  );
}

function signed(x: number): string {
  return x >= 0 ? `+${plain(x, 3)}` : plain(x, 3);
}
