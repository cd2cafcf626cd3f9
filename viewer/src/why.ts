/** Why each flow was slow: in words, as a bar of causes, as a table, with what to change. */

import { name, paletteOf, patch, recolour } from "./causes";
import { colour } from "./colours";
import type { Explained, Run } from "./data";
import { el, scrolled, section } from "./dom";
import { plain } from "./format";

/** The section of a run's explanations; one that takes long comes into it later. */
export async function why(run: Run): Promise<HTMLElement | null> {
  if (run.info.explain.flows.length === 0) return null;
  if (run.info.explain.quick) {
    const found = await run.explained();
    return found.length === 0 ? null : section("Why", "why", ...all(found, run));
  }
  const place = el("div", { class: "why-later" }, el("p", { class: "mute", role: "status" }, "Working out why the flows were slow…"));
  return section("Why", "why", place);
}

/** Fills the place of an explanation that takes long. */
export async function whyLater(run: Run, node: ParentNode): Promise<void> {
  const place = node.querySelector(".why-later");
  if (place === null) return;
  try {
    const found = await run.explained();
    place.replaceChildren(...(found.length > 0 ? all(found, run) : [el("p", {}, "No flow of this run can be explained.")]));
  } catch (error) {
    place.replaceChildren(el("p", { class: "error", role: "alert" }, error instanceof Error ? error.message : String(error)));
  }
}

/** Flows that are open without a click. */
const OPEN = 2;

function all(found: Explained[], run: Run): HTMLElement[] {
  const others = (run.table("flows")?.rows ?? 0) - run.info.explain.flows.length;
  const more = others > 0 ? [el("p", { class: "mute" }, others === 1 ? "One more flow: " : `${others.toLocaleString("en")} more flows: `, el("code", {}, "lasthop explain RUN --flow NAME"), " explains any.")] : [];
  if (found.length === 1) return [one(found[0]!, found[0]!.sentences), ...more];
  const flows = found.map((flow, i) => el("details", { open: found.length <= OPEN || i === 0 }, el("summary", {}, `${flow.flow}: ${flow.sentences[0] ?? ""}`), one(flow, flow.sentences.slice(1))));
  return [...flows, ...more];
}

/** An explanation with these of its sentences: the summary of several has the first one. */
function one(found: Explained, sentences: string[]): HTMLElement {
  const colours = paletteOf(found);
  const named = found.parts.slice(0, found.named);
  const rest = found.parts.slice(found.named).reduce((sum, p) => sum + p.share, 0);
  const bar = el(
    "div",
    { class: "causes", role: "img", "aria-label": `Causes of the ${found.of} of ${found.flow}: the table below has them` },
    ...named.map((p, i) =>
      el(
        "i",
        { style: `width:${p.share * 100}%;--c:${colour(colours[i]!)}`, "data-colour": colours[i]!, title: `${name(p)}: ${plain(p.share * 100, 3)} %` },
        p.share >= 0.03 ? String(colours[i]! + 1) : null,
      ),
    ),
    rest > 0 ? el("i", { style: `width:${rest * 100}%`, class: "rest", title: `all others: ${plain(rest * 100, 3)} %` }) : null,
  );
  const keys = named.flatMap((p, i) => (p.share < 0.01 ? [] : [el("span", { class: "key" }, patch(colours[i]!), `${name(p)}, ${plain(p.share * 100, 2)} %`)]));
  const columns: [string, string][] = [["Cause", ""], ["Where", ""], ["%", "num"], ["s", "num"]];
  const node = el(
    "div",
    { class: "why" },
    ...sentences.map((s) => el("p", {}, s)),
    bar,
    el("p", { class: "legend" }, ...keys),
    ...found.advice.map((a) => el("p", {}, `${a.text} `, ...a.set.flatMap((s) => [el("code", {}, `--set '${s}'`), " "]))),
    el(
      "details",
      {},
      el("summary", {}, ...(found.exact ? ["All causes"] : ["All causes, estimated: the run has no ", el("code", {}, "output.explain")])),
      scrolled(
        `Causes of ${found.flow}`,
        el("thead", {}, el("tr", {}, ...columns.map(([text, kind]) => el("th", { scope: "col", class: kind || null }, text)))),
        el("tbody", {}, ...found.parts.map((p) => el("tr", {}, el("th", { scope: "row" }, p.cause), el("td", {}, p.place), el("td", { class: "num" }, plain(p.share * 100, 3)), el("td", { class: "num" }, plain(p.s, 6))))),
      ),
    ),
  );
  document.addEventListener("theme", () => recolour(node));
  return node;
}
