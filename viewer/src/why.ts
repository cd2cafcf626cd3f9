/** Why each flow was slow: in words, as a bar of causes, as a table, with what to change. */

import { name, paletteOf, patch, recolour } from "./causes";
import { colour } from "./colours";
import type { Explained, Run } from "./data";
import { el, failure, scrolled, section } from "./dom";
import { plain } from "./format";

/** The section of a run's explanations; one that takes long comes into it later. */
export async function why(run: Run): Promise<HTMLElement | null> {
  if (run.info.explain.flows.length === 0) return null;
  if (run.info.explain.quick) {
    const found = await run.explained();
    return found.length === 0 ? null : section("Why", "why", ...all(found, run));
  }
  const bar = el("progress", { max: 1, "aria-label": "Progress of the explanation" });
  const text = el("p", { class: "mute" }, WORKING);
  // Each further flow has a line.
  const place = el("div", { class: "why-later", style: `--more:${run.info.explain.flows.length - 1}` }, text, bar);
  return section("Why", "why", place);
}

/** Keeps what came later within the place that was kept for it, until all of it is asked for: nothing below moves. */
function fit(place: HTMLElement): void {
  const kept = parseFloat(getComputedStyle(place).minHeight);
  if (place.scrollHeight <= kept + 1) return;
  place.classList.add("cut");
  const button = el("button", { type: "button", class: "whole" }, "Show all of it");
  const open = (): void => {
    place.classList.remove("cut");
    button.remove();
  };
  button.addEventListener("click", open);
  place.addEventListener("click", (event) => {
    if ((event.target as HTMLElement).closest("summary") !== null) open();
  });
  place.append(button);
}

const WORKING = "Working out why the flows were slow. The rest of the page is below.";
/** Milliseconds between two questions how far an explanation has come. */
const ASKED = 500;

/** Says how far an explanation has come until that is over. */
async function follow(run: Run, place: Element, isOver: () => boolean): Promise<void> {
  const bar = place.querySelector("progress")!;
  const text = place.querySelector("p")!;
  const since = performance.now();
  for (;;) {
    const found = await run.progress();
    if (isOver()) return;
    if (found !== null) {
      bar.value = found.part;
      const flows = run.info.explain.flows;
      const which = flows.length > 1 ? `flow ${flows.indexOf(found.flow) + 1} of ${flows.length}, ` : "";
      text.textContent = `${WORKING} So far: ${which}${Math.round(found.part * 100)} % after ${Math.round((performance.now() - since) / 1e3)} s.`;
    }
    await new Promise((done) => setTimeout(done, ASKED));
  }
}

/** Fills the place of an explanation that takes long. */
export async function whyLater(run: Run, node: ParentNode): Promise<void> {
  const place = node.querySelector<HTMLElement>(".why-later");
  if (place === null) return;
  let isOver = false;
  try {
    void follow(run, place, () => isOver);
    const found = await run.explained();
    isOver = true;
    place.replaceChildren(...(found.length > 0 ? all(found, run) : [el("p", {}, "No flow of this run can be explained.")]));
    fit(place);
  } catch (error) {
    isOver = true;
    place.replaceChildren(failure(error));
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
    found.exact ? null : el("p", { class: "mute" }, "Estimated from samples, from which not all causes can be distinguished. With ", el("code", {}, "--set output.explain=true"), " the run records where each octet was, and the shares are exact."),
    bar,
    el("p", { class: "legend" }, ...keys),
    ...found.advice.map((a) => el("p", {}, `${a.text} `, ...a.set.flatMap((s) => [el("code", {}, `--set '${s}'`), " "]))),
    el(
      "details",
      {},
      el("summary", {}, found.exact ? "All causes" : "All causes, estimated"),
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
