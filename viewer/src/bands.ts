/** What each moment of a flow went into: shares of causes, stacked, among the linked charts. */

import type uPlot from "uplot";
import { mark, name, namedOf, paletteOf, patch, recolour } from "./causes";
import { linked, type Mark } from "./chart";
import { colour, token } from "./colours";
import type { Explained, Run, Timeline } from "./data";
import { el } from "./dom";
import { plain, quantity } from "./format";
import type { TimeWindow } from "./window";

type Banded = Explained & { timeline: NonNullable<Explained["timeline"]> };

/** The least width and height in pixels of a piece of a band with the mark of its cause. */
const ROOM = 16;
/** Percent below which a piece of a band has no line about it. */
const SLIVER = 3;
/** The least width in pixels of what is drawn as one interval. */
const STEP = 4;
/** From this width of an interval on, shorter ones are asked for. */
const WIDE = 2 * STEP;
/** Milliseconds without a movement after which they are. */
const SETTLED = 200;

/** So many bands are those that take most of what is seen; the others of them are those that fill most of a moment. */
const LARGEST = 5;

/** Intervals as they are drawn: shares of the parts in percent; null: nothing is divided there. */
export interface Stack {
  edges: number[];
  shares: (number[] | null)[];
}

/** The chart of a run's flows, one at a time; null: no explanation has a timeline. */
export function bands(run: Run, explained: Explained[], time: TimeWindow, marks: Mark[], label: string | null): HTMLElement | null {
  const flows = explained.filter((flow): flow is Banded => flow.timeline !== null);
  if (flows.length === 0) return null;
  let shown = flows[0]!;
  /** The parts that have bands, from below, and their colours. */
  let parts = namedOf(shown);
  let palette = paletteOf(shown);
  /** Shorter intervals of a part of the time of the flow that is shown. */
  let fine: Timeline | null = null;
  let asked = "";
  let settling: ReturnType<typeof setTimeout> | undefined;
  let stack = joined(shown.timeline, 1);

  /** The shortest intervals that there are of what is seen. */
  const timeline = (): Timeline => {
    const { from, to } = time.range;
    if (fine === null) return shown.timeline;
    const whole = shown.timeline.edges_s;
    const [low, high] = [Math.max(from, whole[0]!), Math.min(to, whole[whole.length - 1]!)];
    return fine.edges_s[0]! <= low + 1e-9 && fine.edges_s[fine.edges_s.length - 1]! >= high - 1e-9 ? fine : shown.timeline;
  };

  /** When nothing has moved for a while: gives bands to the causes of the visible interval, and requests intervals that are short enough for it. */
  const settle = (isCoarse: boolean): void => {
    clearTimeout(settling);
    settling = setTimeout(() => {
      choose();
      if (isCoarse) refine();
    }, SETTLED);
  };

  const choose = (): void => {
    const { from, to } = time.range;
    const { edges_s: edges } = shown.timeline;
    const isWhole = from <= edges[0]! && to >= edges[edges.length - 1]!;
    const found = isWhole ? namedOf(shown) : chosen(stack, from, to, shown.named);
    // Where nothing is divided the bands stay what they are.
    if (found.length === 0 || found.join() === parts.join()) return;
    parts = found;
    palette = paletteOf(shown, parts);
    describe();
    plot.draw();
  };

  /** Requests shorter intervals, for a little more than the visible interval. */
  const refine = (): void => {
    // What has come for the whole of the time is all that there is.
    if (!shown.exact || (fine !== null && same(fine, shown.timeline))) return;
    const { from, to } = time.range;
    const found = shown;
    const key = `${found.flow} ${from} ${to}`;
    if (key === asked) return;
    asked = key;
    run.finer(found, Math.max(from - (to - from) / 2, 0), to + (to - from) / 2).then(
      (made) => {
        if (made === null || found !== shown) return;
        fine = made;
        plot.draw();
      },
      // What is drawn is right, only coarser.
      () => {},
    );
  };
  const box = el("div", { class: "chart" });
  const legend = el("ul", { class: "chart-legend", "aria-label": "Causes, from below" });
  const steps = el("span", {});
  const title = el("span", {});
  let readings: HTMLElement[] = [];

  const describe = (): void => {
    const what = shown.of === "time" ? "What the time went into" : "What the delays of arriving packets went into";
    title.replaceChildren(el("strong", {}, what), " [%]", steps, shown.exact ? "" : ", estimated");
    const isAll = parts.length >= shown.parts.length;
    readings = Array.from({ length: parts.length + (isAll ? 0 : 1) }, () => el("span", { class: "reading" }));
    const items = readings.map((reading, k) => {
      const part = parts[k] === undefined ? null : shown.parts[parts[k]]!;
      return el("li", { class: "key" }, patch(part === null ? null : palette[k]!), part === null ? "all others" : name(part), " ", reading);
    });
    legend.replaceChildren(...items);
    read(time.cursor);
  };

  /** Writes the shares of the interval at the cursor beside their causes; null: no cursor. */
  const read = (at: number | null): void => {
    const found = at === null ? undefined : stack.shares[intervalOf(stack.edges, at)];
    const values = found && banded(found, parts);
    readings.forEach((node, k) => (node.textContent = at === null ? "" : values ? `${plain(values[k]!, 3)} %` : "–"));
  };

  const plot = linked(box, time, marks, {
    unit: "%",
    range: () => [0, 100],
    data(pixels) {
      const { from, to } = time.range;
      const line = timeline();
      const wide = (line.edges_s[1]! - line.edges_s[0]!) * (pixels / (to - from));
      settle(wide > WIDE);
      // Powers of two: intervals stay what they are while the window moves.
      stack = joined(line, 2 ** Math.max(Math.ceil(Math.log2(STEP / wide)), 0));
      steps.textContent = ` in steps of ${quantity(stack.edges[1]! - stack.edges[0]!, "s")}`;
      read(time.cursor);
      return [
        [from, to],
        [null, null],
      ];
    },
    series: () => [{ points: { show: false } }],
    paint: (u) => paint(u, parts, palette, stack),
    read,
    recolour: () => recolour(legend),
  });
  describe();
  const choice =
    flows.length > 1
      ? el(
          "select",
          {
            "aria-label": `Flow of the causes${label === null ? "" : ` in ${label}`}`,
            onchange: (event) => {
              shown = flows[(event.target as HTMLSelectElement).selectedIndex]!;
              parts = namedOf(shown);
              palette = paletteOf(shown);
              fine = null;
              describe();
              plot.draw();
            },
          },
          ...flows.map(({ flow }) => el("option", {}, flow)),
        )
      : null;
  const whose = [label, choice === null ? flows[0]!.flow : null].filter((t) => t !== null).join(": ");
  return el("figure", { class: "panel bands" }, el("figcaption", {}, title, ` · ${whose}${choice !== null && whose ? ": " : ""}`, choice), box, legend);
}

/** Whether both are of the same time. */
function same(a: Timeline, b: Timeline): boolean {
  const ends = (t: Timeline): [number, number] => [t.edges_s[0]!, t.edges_s[t.edges_s.length - 1]!];
  const [[low, high], [from, to]] = [ends(a), ends(b)];
  return Math.abs(low - from) < 1e-6 && Math.abs(high - to) < 1e-6;
}

/** The interval that a moment is in; -1: none. */
export function intervalOf(edges: number[], at: number): number {
  if (at < edges[0]! || at > edges[edges.length - 1]!) return -1;
  let lo = 0;
  let hi = edges.length - 1;
  while (hi - lo > 1) {
    const middle = (lo + hi) >>> 1;
    if (edges[middle]! <= at) lo = middle;
    else hi = middle;
  }
  return lo;
}

/** So many intervals at a time as one, with the shares of what they divide together. */
export function joined(timeline: Timeline, count: number): Stack {
  const { edges_s: edges, whole_s: wholes, shares } = timeline;
  const found: Stack = { edges: [], shares: [] };
  for (let i = 0; i < wholes.length; i += count) {
    const end = Math.min(i + count, wholes.length);
    let whole = 0;
    for (let k = i; k < end; k++) whole += wholes[k]!;
    const sumOf = (row: number[]): number => {
      let sum = 0;
      for (let k = i; k < end; k++) sum += row[k]! * wholes[k]!;
      return sum;
    };
    found.edges.push(edges[i]!);
    found.shares.push(whole > 0 ? shares.map((row) => (sumOf(row) / whole) * 100) : null);
  }
  found.edges.push(edges[edges.length - 1]!);
  return found;
}

/** The parts with bands in what is seen between two times: those that take most of it, and those that fill most of a moment. */
export function chosen(stack: Stack, from: number, to: number, most: number): number[] {
  const seen = stack.shares.filter((shares, i) => shares !== null && stack.edges[i + 1]! > from && stack.edges[i]! < to) as number[][];
  const parts = (seen[0] ?? []).map((_, k) => ({ k, sum: seen.reduce((a, s) => a + s[k]!, 0), peak: seen.reduce((a, s) => Math.max(a, s[k]!), 0) }));
  const some = parts.filter((p) => p.sum > 0).sort((a, b) => b.sum - a.sum);
  const rest = some.slice(LARGEST).sort((a, b) => b.peak - a.peak);
  return [...some.slice(0, LARGEST), ...rest.slice(0, most - LARGEST)].map((p) => p.k).sort((a, b) => a - b);
}

/** The shares of these parts, and that of all others in hundredths of a percent, to which shares are rounded. */
function banded(shares: number[], parts: number[]): number[] {
  const found = parts.map((k) => shares[k] ?? 0);
  return [...found, Math.max(Math.round((100 - found.reduce((a, b) => a + b, 0)) * 100) / 100, 0)];
}

function paint(u: uPlot, parts: number[], colours: number[], stack: Stack): void {
  const { ctx } = u;
  const { left, top, width, height } = u.bbox;
  const { edges } = stack;
  const tops = stack.shares.map((shares) => {
    let sum = 0;
    return shares === null ? null : banded(shares, parts).map((s) => (sum += s));
  });
  const toX = (t: number): number => u.valToPos(t, "x", true);
  const toY = (v: number): number => u.valToPos(v, "y", true);
  const last = tops.length - 1;
  const first = Math.max(intervalOf(edges, u.scales["x"]!.min!), 0);
  const seen = Array.from({ length: last + 1 - first }, (_, k) => first + k).filter((i) => tops[i] !== null && toX(edges[i]!) <= left + width);
  const ends = (k: number, i: number): [number, number] => [k === 0 ? 0 : tops[i]![k - 1]!, tops[i]![k]!];
  const paper = token("--paper");
  const count = parts.length + 1;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  for (let k = 0; k < count; k++) {
    ctx.fillStyle = k < colours.length ? colour(colours[k]!) : token("--line");
    for (const i of seen) {
      const [lower, upper] = ends(k, i).map(toY) as [number, number];
      const x = toX(edges[i]!);
      // A pixel's overlap to the right: no seam between intervals.
      if (lower > upper) ctx.fillRect(x, upper, toX(edges[i + 1]!) - x + (i === last ? 0 : 1), lower - upper);
    }
  }
  // A line of paper between bands: they differ without their colours. Between slivers a line would hide both.
  ctx.strokeStyle = paper;
  ctx.lineWidth = devicePixelRatio;
  for (let k = 0; k < count - 1; k++) {
    ctx.beginPath();
    let before = -2;
    for (const i of seen) {
      const shares = stack.shares[i]!;
      if (shares[k]! < SLIVER || shares[k + 1]! < SLIVER) continue;
      const y = toY(tops[i]![k]!);
      if (i === before + 1) ctx.lineTo(toX(edges[i]!), y);
      else ctx.moveTo(toX(edges[i]!), y);
      ctx.lineTo(toX(edges[i + 1]!), y);
      before = i;
    }
    ctx.stroke();
  }
  const room = ROOM * devicePixelRatio;
  ctx.fillStyle = paper;
  ctx.font = `bold ${12 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  for (let k = 0; k < colours.length; k++) {
    const place = roomiest(k, room);
    if (place !== null) ctx.fillText(mark(colours[k]!), place.x, place.y);
  }
  ctx.restore();

  /** Where a band is thickest over the width of its mark; null: nowhere thick enough. */
  function roomiest(k: number, least: number): { x: number; y: number } | null {
    let best: { x: number; y: number; thick: number } | null = null;
    for (let x = left + least; x < left + width - least; x += least / 2) {
      let upper = -Infinity;
      let lower = Infinity;
      for (const at of [x - least / 2, x, x + least / 2]) {
        const i = intervalOf(edges, u.posToVal((at - left) / devicePixelRatio, "x"));
        const [a, b] = tops[i] ? ends(k, i).map(toY) as [number, number] : [-Infinity, Infinity];
        upper = Math.max(upper, b);
        lower = Math.min(lower, a);
      }
      const thick = lower - upper;
      if (thick >= least && (best === null || thick > best.thick)) best = { x, y: (lower + upper) / 2, thick };
    }
    return best;
  }
}
