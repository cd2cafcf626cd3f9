/** A campaign: small multiples over its axes, with a cursor through all of them. */

import { swatch } from "./chart";
import { colour } from "./colours";
import { el, section, svg } from "./dom";
import { plain, prefixed, quantity } from "./format";

export interface Axis {
  name: string;
  unit: string;
  /** As the campaign wrote them, in its order. */
  labels: string[];
  /** The labels as numbers of the unit; null: they are words. */
  numbers: number[] | null;
}

export interface Metric {
  name: string;
  unit: string;
  /** Where drawn intervals end: 0 where no run has less; null: nowhere. */
  least: number | null;
}

export type Value = [mean: number, low: number | null, high: number | null, runs: number] | null;

export interface Campaign {
  name: string;
  description: string;
  level: number;
  axes: Axis[];
  metrics: Metric[];
  /** Index of the label on each axis, and of each metric the mean, both ends of its interval, and the runs; null: none. */
  points: { at: number[]; values: Value[] }[];
  failures: number;
}

/** Panels of a page; of more, an axis is to be fixed. */
const MOST_PANELS = 48;
const WIDTH = 300;
const HEIGHT = 196;
const LEFT = 44;
const BOTTOM = 42;
/** Units of a character of the labels, at most. */
const CHARACTER = 7;

/** How the axes of a campaign are shown: one along x, one by colour, the others by panel. */
export interface Layout {
  x: number;
  colour: number | null;
  panels: number[];
}

export function layout(axes: Axis[], x: number, by: number | null): Layout {
  return { x, colour: by === x ? null : by, panels: axes.map((_, i) => i).filter((i) => i !== x && i !== (by === x ? null : by)) };
}

/** The charts of a campaign; null: no point has a value. */
export function campaign(c: Campaign): HTMLElement | null {
  if (c.axes.length === 0 || !c.points.some((p) => p.values.some((v) => v !== null))) return null;
  const longest = longestNumbers(c.axes);
  const others = c.axes.map((_, i) => i).filter((i) => i !== longest);
  const words = others.find((i) => c.axes[i]!.numbers === null) ?? others[0] ?? null;
  const options = (chosen: number | null): HTMLOptionElement[] => c.axes.map((a, i) => el("option", { value: i, selected: i === chosen }, a.name));
  const metric = el("select", {}, ...c.metrics.map((m, i) => el("option", { value: i }, m.unit ? `${m.name} [${m.unit}]` : m.name)));
  const x = el("select", {}, ...options(longest));
  const by = el("select", {}, el("option", { value: "" }, "none"), ...options(words));
  const grid = el("div", { class: "multiples", tabindex: "0", role: "group", "aria-label": "Charts; left and right arrow move the cursor" });
  const legend = el("p", { class: "legend" });
  const reading = el("output", { "aria-live": "polite" });
  let cursor: number | null = null;
  let panels: { move(): void }[] = [];

  const draw = (): void => {
    const shown = layout(c.axes, Number(x.value), by.value === "" ? null : Number(by.value));
    const m = Number(metric.value);
    const combinations = product(shown.panels.map((i) => c.axes[i]!.labels.length));
    const low = leastOf(c, m);
    const values = c.points.flatMap((p) => {
      const v = p.values[m];
      return v === null || v === undefined ? [] : [v[0], Math.max(v[1] ?? v[0], low), v[2] ?? v[0]];
    });
    const ticks = round(values.reduce((a, b) => Math.min(a, b), 0), values.reduce((a, b) => Math.max(a, b), 0));
    const series = shown.colour === null ? [null] : c.axes[shown.colour]!.labels.map((_, i) => i);
    legend.replaceChildren(
      ...(shown.colour === null
        ? []
        : c.axes[shown.colour]!.labels.map((label, i) => el("span", { class: "key" }, swatch(colour(i), []), label))),
    );
    const at = new Map(c.points.map((p) => [p.at.join(), p.values[m] ?? null]));
    const made = combinations.slice(0, MOST_PANELS).map((combination) => panel(c, shown, combination, series, m, at, ticks, () => cursor));
    panels = made;
    grid.replaceChildren(...made.map((p) => p.node));
    if (combinations.length > MOST_PANELS) {
      grid.append(el("p", { class: "mute" }, `${combinations.length - MOST_PANELS} more charts are not drawn: choose the longest axes for x and colour.`));
    }
    move(null);
  };

  const move = (to: number | null): void => {
    cursor = to;
    panels.forEach((p) => p.move());
    const axis = c.axes[Number(x.value)]!;
    reading.textContent = to === null ? "" : `${axis.name} ${axis.labels[to] ?? ""}`;
  };
  grid.addEventListener("pointermove", (event) => {
    const box = (event.target as Element).closest("svg")?.getBoundingClientRect();
    if (box === undefined) return;
    const axis = c.axes[Number(x.value)]!;
    const part = (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - 8);
    const places = placesOf(axis);
    move(places.reduce((best, place, i) => (Math.abs(place - part) < Math.abs(places[best]! - part) ? i : best), 0));
  });
  grid.addEventListener("pointerleave", () => move(null));
  grid.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    const last = c.axes[Number(x.value)]!.labels.length - 1;
    move(cursor === null ? 0 : Math.min(Math.max(cursor + (event.key === "ArrowRight" ? 1 : -1), 0), last));
  });
  for (const choice of [metric, x, by]) choice.addEventListener("change", draw);
  document.addEventListener("theme", draw);
  draw();
  const failed = c.failures > 0 ? el("p", { class: "error" }, `${c.failures.toLocaleString("en")} runs failed; \`lasthop results\` lists them.`) : null;
  return section(
    "Campaign",
    "campaign",
    c.description ? el("p", {}, c.description) : null,
    failed,
    el("p", { class: "mute" }, `Dots are means over runs, bars their ${plain(c.level * 100)} % intervals. All charts have the same scale.`),
    el("p", { class: "choices" }, el("label", {}, "Metric ", metric), el("label", {}, "x ", x), el("label", {}, "Colour ", by), reading),
    legend,
    grid,
  );
}

/** The axis of numbers with the most labels; without one the first. */
export function longestNumbers(axes: Axis[]): number {
  const lengths = axes.map((axis) => (axis.numbers === null ? -1 : axis.labels.length));
  return Math.max(lengths.indexOf(Math.max(...lengths)), 0);
}

/** The position of each label of an axis, from 0 to 1: numbers by size (their logarithm over two decades or more), words in order. */
export function placesOf(axis: Axis): number[] {
  const n = axis.labels.length;
  const even = axis.labels.map((_, i) => (n === 1 ? 0.5 : (i + 0.25) / (n - 0.5)));
  const numbers = axis.numbers;
  if (numbers === null || n === 1) return even;
  const low = Math.min(...numbers);
  const high = Math.max(...numbers);
  if (low === high || !Number.isFinite(low) || !Number.isFinite(high)) return even;
  const scaled = low > 0 && high / low >= 30 ? numbers.map(Math.log) : numbers;
  const [a, b] = [Math.min(...scaled), Math.max(...scaled)];
  return scaled.map((v) => 0.04 + ((v - a) / (b - a)) * 0.92);
}

function leastOf(c: Campaign, m: number): number {
  return c.metrics[m]?.least ?? -Infinity;
}

function panel(
  c: Campaign,
  shown: Layout,
  combination: number[],
  series: (number | null)[],
  m: number,
  at: Map<string, Value>,
  ticks: number[],
  cursor: () => number | null,
): { node: HTMLElement; move(): void } {
  const axis = c.axes[shown.x]!;
  const places = placesOf(axis);
  const low = ticks[0]!;
  const high = ticks[ticks.length - 1]!;
  const toX = (i: number): number => LEFT + places[i]! * (WIDTH - LEFT - 8);
  const least = leastOf(c, m);
  const toY = (v: number): number => HEIGHT - BOTTOM - ((v - low) / (high - low || 1)) * (HEIGHT - BOTTOM - 10);
  const title = shown.panels.map((a, k) => `${c.axes[a]!.name} ${c.axes[a]!.labels[combination[k]!]}`).join(", ");
  const unit = c.metrics[m]?.unit ?? "";
  const body = svg("g", {});
  const found: { x: number; s: number | null; v: NonNullable<Value> }[] = [];
  for (const s of series) {
    const line: string[] = [];
    axis.labels.forEach((_, i) => {
      const where = c.axes.map((_, a) => (a === shown.x ? i : a === shown.colour ? s : combination[shown.panels.indexOf(a)]));
      const v = at.get(where.join());
      if (v === undefined || v === null) return;
      found.push({ x: i, s, v });
      line.push(`${toX(i)},${toY(v[0])}`);
      if (v[1] !== null && v[2] !== null) body.append(svg("line", { x1: toX(i), x2: toX(i), y1: toY(Math.max(v[1], least)), y2: toY(v[2]), stroke: colour(s ?? 0), "stroke-width": 1.5, opacity: 0.6 }));
      body.append(svg("circle", { cx: toX(i), cy: toY(v[0]), r: 3, fill: colour(s ?? 0) }, svg("title", {}, `${axis.labels[i]}: ${quantity(v[0], unit)} (${v[3]} runs)`)));
    });
    if (axis.numbers !== null && line.length > 1) body.prepend(svg("polyline", { points: line.join(" "), fill: "none", stroke: colour(s ?? 0), "stroke-width": 1.5 }));
  }
  const top = prefixed(Math.max(Math.abs(low), Math.abs(high)), unit);
  const numbers = axis.labels.map((label) => (axis.unit && label.endsWith(` ${axis.unit}`) ? label.slice(0, -axis.unit.length - 1) : label));
  const rule = svg("line", { y1: 4, y2: HEIGHT - BOTTOM, class: "rule" });
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${c.metrics[m]?.name ?? ""} over ${axis.name}${title ? `, ${title}` : ""}` },
    ...ticks.map((t) => svg("g", {}, svg("line", { x1: LEFT, x2: WIDTH, y1: toY(t), y2: toY(t), class: "grid-line" }), svg("text", { x: LEFT - 5, y: toY(t) + 4, "text-anchor": "end" }, plain(t / top.factor, 3)))),
    ...spaced(numbers, toX).map((i) => svg("text", { x: toX(i), y: HEIGHT - BOTTOM + 15, "text-anchor": "middle" }, numbers[i]!)),
    svg("text", { x: (LEFT + WIDTH) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, axis.unit ? `${axis.name} [${axis.unit}]` : axis.name),
    rule,
    body,
  );
  const values = el("figcaption", { class: "values" });
  const move = (): void => {
    const now = cursor();
    rule.style.display = now === null ? "none" : "";
    if (now !== null) {
      rule.setAttribute("x1", String(toX(now)));
      rule.setAttribute("x2", String(toX(now)));
    }
    values.replaceChildren(
      ...found
        .filter((f) => f.x === now)
        .map((f) => el("span", { class: "key" }, f.s === null ? null : swatch(colour(f.s), []), quantity(f.v[0], unit))),
    );
  };
  const what = `${c.metrics[m]?.name ?? ""}${top.unit ? ` [${top.unit}]` : ""}`;
  return { node: el("figure", { class: "multiple" }, el("figcaption", {}, title ? `${title}: ${what}` : what), picture, values), move };
}

/** The labels that have room beside the one before, from left to right. */
export function spaced(labels: string[], toX: (i: number) => number): number[] {
  let end = -Infinity;
  return labels
    .map((_, i) => i)
    .sort((a, b) => toX(a) - toX(b))
    .filter((i) => {
      const half = (labels[i]!.length * CHARACTER) / 2;
      if (toX(i) - half < end) return false;
      end = toX(i) + half + CHARACTER;
      return true;
    });
}

/** Round numbers, evenly apart, that enclose both. */
export function round(low: number, high: number): number[] {
  const span = high - low || 1;
  const power = 10 ** Math.floor(Math.log10(span / 2));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => span / s <= 4) ?? span;
  // What division leaves beyond a round number would add a tick.
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil((low + span) / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** All combinations of indices below these counts. */
export function product(counts: number[]): number[][] {
  return counts.reduce<number[][]>((rows, n) => rows.flatMap((row) => Array.from({ length: n }, (_, i) => [...row, i])), [[]]);
}
