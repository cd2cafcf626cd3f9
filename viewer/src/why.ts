/** Why each flow was slow: in words, as a bar of causes, as a table, with what to change. */

import { colour } from "./colours";
import type { Explained, Run } from "./data";
import { el, section } from "./dom";
import { plain } from "./format";

/** Causes with a colour of their own; the others are one part of the bar. */
const NAMED = 7;

export async function why(run: Run): Promise<HTMLElement | null> {
  const found = await run.source.explained(run.info.id);
  if (found.length === 0) return null;
  return section("Why", "why", ...found.map((flow) => one(flow, found.length > 1)));
}

function one(found: Explained, several: boolean): HTMLElement {
  const named = found.parts.slice(0, NAMED);
  const rest = found.parts.slice(NAMED).reduce((sum, p) => sum + p.share, 0);
  const bar = el(
    "div",
    { class: "causes", role: "img", "aria-label": `Causes of the time of ${found.flow}: the table below has them` },
    ...named.map((p, i) => el("i", { style: `width:${p.share * 100}%;background:${colour(i)}`, title: `${p.cause} ${p.place}: ${plain(p.share * 100, 3)} %` })),
    rest > 0 ? el("i", { style: `width:${rest * 100}%`, class: "rest", title: `others: ${plain(rest * 100, 3)} %` }) : null,
  );
  const keys = named.filter((p) => p.share >= 0.01).map((p, i) => el("span", { class: "key" }, el("i", { class: "swatch", style: `--c:${colour(i)}` }), `${p.cause}${p.place ? ` (${p.place})` : ""}`));
  return el(
    "div",
    { class: "why" },
    several ? el("h3", {}, found.flow) : null,
    ...found.sentences.map((s) => el("p", {}, s)),
    bar,
    el("p", { class: "legend" }, ...keys),
    ...found.advice.map((a) => el("p", {}, `${a.text} `, ...a.set.map((s) => el("code", {}, `--set '${s}'`)))),
    el(
      "details",
      {},
      el("summary", {}, `All causes${found.exact ? "" : " (estimated: the run has no `output.explain`)"}`),
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Cause"), el("th", { scope: "col" }, "Where"), el("th", { scope: "col", class: "num" }, "%"), el("th", { scope: "col", class: "num" }, "s"))),
        el("tbody", {}, ...found.parts.map((p) => el("tr", {}, el("th", { scope: "row" }, p.cause), el("td", {}, p.place), el("td", { class: "num" }, plain(p.share * 100, 3)), el("td", { class: "num" }, plain(p.s, 6))))),
      ),
    ),
  );
}
