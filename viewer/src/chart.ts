/** Charts over time that are linked by a window of time. */

import uPlot from "uplot";
import { colour, dash, token } from "./colours";
import { el, svg } from "./dom";
import { plain, quantity, seconds } from "./format";
import { upperBound, type Series } from "./pyramid";
import type { TimeWindow } from "./window";

export interface Line {
  label: string;
  series: Series;
  /** Which colour and dash pattern. */
  number: number;
  /** Holds its value until the next sample, instead of going straight to it. */
  step?: boolean;
}

/** A moment that all charts mark, such as a handover. */
export interface Mark {
  time: number;
  /** The end of an outage; absent: a moment. */
  until?: number;
  /** Whose event it is (`ue/car`), and which, as in the table `events`. */
  source: string;
  event: string;
  kind: "handover" | "outage" | "timeout" | "other";
  /** The number of its run's colour where several runs are shown; absent: the colour of its kind. */
  number?: number;
}

const HEIGHT = 170;

/** Milliseconds after which charts out of sight are drawn. */
const LATER = 150;

/** Pixels across a printed page: A4, upright, within the margins of the style sheet. */
const PAPER = 700;

/** Pixels of the value axis: the same for all charts, so that equal times are one above the other. */
const AXIS = 64;

/** What a linked chart draws. */
interface Content {
  unit: string;
  /** The points of the window, which is so many pixels wide. */
  data(pixels: number): uPlot.AlignedData;
  /** Both ends of the value axis. */
  range(): [number, number];
  series(): uPlot.Series[];
  /** Draws over the grid, below the marks. */
  paint?(u: uPlot): void;
  /** Where the dot of a line is for a moment: time and value; null: it has none. Absent: there are no dots. */
  dot?(line: number, at: number): [number, number] | null;
  /** The cursor has moved; null: it has left. */
  read(at: number | null): void;
  /** Colours are others. */
  recolour(): void;
}

interface Linked {
  /** Draws again after what is shown has changed. */
  draw(): void;
  destroy(): void;
}

/** A plot in a box whose time axis, cursor and marks are those of all charts. */
export function linked(box: HTMLElement, time: TimeWindow, marks: Mark[], content: Content): Linked {
  let plot: uPlot | null = null;
  let dots: HTMLElement[] = [];
  // What is out of sight is drawn when nothing has moved for a while, or when it comes into sight.
  let visible = false;
  let stale = true;
  let isPrinting = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const width = (): number => (isPrinting ? PAPER : Math.max(box.clientWidth, 200));

  function draw(): void {
    stale = true;
    if (visible) fresh();
    else {
      clearTimeout(timer);
      timer = setTimeout(fresh, LATER);
    }
  }

  function fresh(): void {
    clearTimeout(timer);
    if (!stale || box.clientWidth === 0) return;
    stale = false;
    if (plot === null) make();
    else redraw(plot);
  }

  function redraw(u: uPlot): void {
    const { from, to } = time.range;
    const [min, max] = content.range();
    u.batch(() => {
      u.setData(data(), false);
      u.setScale("x", { min: from, max: to });
      u.setScale("y", { min, max });
    });
  }

  /** Puts each line's dot where the cursor is; beyond the edges of the chart there is none. */
  function place(): void {
    if (plot === null) return;
    const { clientWidth, clientHeight } = plot.over;
    for (const [line, node] of dots.entries()) {
      const found = time.cursor === null ? null : content.dot!(line, time.cursor);
      const [x, y] = found === null ? [-1, -1] : [plot.valToPos(found[0], "x"), plot.valToPos(found[1], "y")];
      node.hidden = !(x >= 0 && x <= clientWidth && y >= 0 && y <= clientHeight);
      node.style.transform = `translate(${x}px, ${y}px)`;
    }
  }

  function data(): uPlot.AlignedData {
    return content.data(Math.max(Math.round(width() - AXIS), 200));
  }

  function make(): void {
    plot?.destroy();
    box.replaceChildren();
    const ink = token("--mute");
    const grid = { stroke: token("--line"), width: 1 };
    const font = "12px system-ui, sans-serif";
    plot = new uPlot(
      {
        width: width(),
        height: HEIGHT,
        legend: { show: false },
        cursor: {
          y: false,
          drag: { x: true, y: false, setScale: false },
          // Its dots are at the nearest sample, and the legend reads the one before the cursor.
          points: { show: false },
        },
        scales: { x: { time: false, auto: false }, y: { auto: false } },
        axes: [
          { stroke: ink, grid, ticks: grid, font, size: 30, space: (_u, _axis, low, high) => 30 + 7 * label(low, high), values: (_u, ticks) => ticks.map((t) => seconds(t)) },
          { stroke: ink, grid, ticks: grid, font, size: AXIS, values: (_u, ticks) => ticks.map((v) => plain(v)) },
        ],
        series: [{}, ...content.series()],
        hooks: {
          drawClear: content.paint === undefined ? [(u) => drawMarks(u, marks, false)] : [],
          draw: content.paint === undefined ? [place] : [(u) => content.paint!(u), (u) => drawMarks(u, marks, true)],
          setSelect: [
            (u) => {
              if (u.select.width > 3) {
                time.show(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
              }
              u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            },
          ],
          setCursor: [
            (u) => {
              const left = u.cursor.left ?? -1;
              if (u.cursor.event !== undefined && u.cursor.event !== null) time.point(left < 0 ? null : u.posToVal(left, "x"));
            },
          ],
        },
      },
      data(),
      box,
    );
    const over = plot.over;
    dots = content.dot === undefined ? [] : content.series().map((line) => el("i", { class: "dot", style: `--c:${String(line.stroke)}`, hidden: true }));
    over.append(...dots);
    turnable(over, time, (x) => plot!.posToVal(x, "x"));
    redraw(plot);
  }

  function cursor(): void {
    const at = time.cursor;
    content.read(at);
    if (plot === null) return;
    const left = at === null ? -10 : plot.valToPos(at, "x");
    if (Math.abs((plot.cursor.left ?? -10) - left) > 0.5) plot.setCursor({ left, top: at === null ? -10 : 0 }, false);
    place();
  }

  const resize = new ResizeObserver(() => {
    if (isPrinting || (plot !== null && Math.abs(plot.width - box.clientWidth) <= 1)) return;
    plot?.setSize({ width: width(), height: HEIGHT });
    draw();
  });
  /** On paper a chart is as wide as the page, whatever the screen was. */
  const print = (starts: boolean): void => {
    if (box.clientWidth === 0) return;
    isPrinting = starts;
    plot?.setSize({ width: width(), height: HEIGHT });
    stale = true;
    fresh();
  };
  const before = (): void => print(true);
  const after = (): void => print(false);
  resize.observe(box);
  const sight = new IntersectionObserver(
    (entries) => {
      visible = entries[entries.length - 1]!.isIntersecting;
      if (visible) fresh();
    },
    { rootMargin: "100px" },
  );
  sight.observe(box);
  const remake = (): void => {
    if (plot === null) return;
    make();
    content.recolour();
  };
  time.addEventListener("range", draw);
  time.addEventListener("cursor", cursor);
  document.addEventListener("theme", remake);
  addEventListener("beforeprint", before);
  addEventListener("afterprint", after);
  return {
    draw,
    destroy() {
      resize.disconnect();
      sight.disconnect();
      clearTimeout(timer);
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
      time.removeEventListener("range", draw);
      time.removeEventListener("cursor", cursor);
      document.removeEventListener("theme", remake);
      plot?.destroy();
    },
  };
}

/** A chart of lines, and what ends it. */
export function timeChart(title: string, unit: string, lines: Line[], time: TimeWindow, marks: Mark[]): { figure: HTMLElement; destroy(): void } {
  const box = el("div", { class: "chart" });
  const legend = el("ul", { class: "chart-legend", "aria-label": "Lines" });
  const shown = lines.map(() => true);

  const readings = lines.map((line, i) => {
    const value = el("span", { class: "reading" });
    const button = el(
      "button",
      {
        type: "button",
        class: "line-toggle",
        "aria-pressed": "true",
        onclick: () => {
          shown[i] = !shown[i];
          button.setAttribute("aria-pressed", String(shown[i]));
          plot.draw();
        },
      },
      swatch(colour(line.number), dash(line.number)),
      line.label,
      " ",
      value,
    );
    legend.append(el("li", {}, button));
    return value;
  });

  function range(): [number, number] {
    const { from, to } = time.range;
    let low = 0;
    let high = -Infinity;
    let negative = Infinity;
    lines.forEach((line, i) => {
      const found = shown[i] ? line.series.range(from, to) : null;
      if (found === null) return;
      negative = Math.min(negative, found[0]);
      high = Math.max(high, found[1]);
    });
    if (high === -Infinity) return [0, 1];
    if (negative < 0) low = negative - (high - negative) * 0.05;
    // Zero belongs on the axis of what cannot be negative; decibels and the like have none.
    else if (unit.startsWith("dB")) low = negative - Math.max((high - negative) * 0.05, 1);
    return [low, high === low ? low + 1 : high + (high - low) * 0.05];
  }

  const plot = linked(box, time, marks, {
    unit,
    range,
    data(buckets) {
      const { from, to } = time.range;
      const parts = lines.map((line, i): uPlot.AlignedData => {
        const points = shown[i] ? line.series.view(from, to, buckets) : { x: [], y: [] };
        return [points.x, points.y.map((v) => (Number.isNaN(v) ? null : v))];
      });
      return parts.length === 1 ? parts[0]! : merged(parts);
    },
    series: () =>
      lines.map((line) => ({
        label: line.label,
        stroke: colour(line.number),
        width: 1.5,
        dash: dash(line.number),
        spanGaps: true,
        points: { show: false },
        ...(line.step ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {}),
      })),
    dot(i, at) {
      const { series, step } = lines[i]!;
      if (!shown[i]) return null;
      // What the legend reads: a stepped line has this value at the cursor, another one at the sample before it.
      const k = upperBound(series.x, at) - 1;
      return k < 0 || Number.isNaN(series.y[k]!) ? null : [step ? at : series.x[k]!, series.y[k]!];
    },
    read(at) {
      lines.forEach((line, i) => {
        readings[i]!.textContent = at === null ? "" : quantity(line.series.at(at), unit) || "–";
      });
    },
    recolour() {
      legend.querySelectorAll<SVGElement>(".swatch").forEach((s, i) => s.style.setProperty("--c", colour(lines[i]!.number)));
    },
  });
  const groups = covered(lines).map((group) => group.map((line) => line.label).join(", "));
  const equal = groups.length > 0 ? [el("p", { class: "mute small" }, `Equal, so that the last one covers the others: ${groups.join("; ")}.`)] : [];
  const figure = el("figure", { class: "panel" }, el("figcaption", {}, el("strong", {}, title), unit ? ` [${unit}]` : ""), box, legend, ...equal);
  return { figure, destroy: () => plot.destroy() };
}

/** Groups of lines that are drawn one over the other: only the last of each can be seen. */
export function covered(lines: Line[]): Line[][] {
  const groups: Line[][] = [];
  for (const line of lines) {
    const group = groups.find(([first]) => first!.series.equals(line.series));
    if (group === undefined) groups.push([line]);
    else group.push(line);
  }
  return groups.filter((group) => group.length > 1);
}

/** Lines with ascending times of their own as lines over all of these times, with gaps. A time may come twice in a line. */
export function merged(parts: uPlot.AlignedData[]): uPlot.AlignedData {
  const xs: number[] = [];
  const ys: (number | null)[][] = parts.map(() => []);
  const at = parts.map(() => 0);
  for (;;) {
    let least = Infinity;
    for (let k = 0; k < parts.length; k++) {
      const x = parts[k]![0][at[k]!];
      if (x !== undefined && x < least) least = x;
    }
    if (least === Infinity) return [xs, ...ys];
    xs.push(least);
    for (let k = 0; k < parts.length; k++) {
      const i = at[k]!;
      if (parts[k]![0][i] === least) {
        ys[k]!.push(parts[k]![1]![i] as number | null);
        at[k] = i + 1;
      } else ys[k]!.push(null);
    }
  }
}

/** Characters of the longest time on an axis between two: of a short stretch the times have many decimals. */
function label(low: number, high: number): number {
  const decimals = Math.min(Math.max(Math.ceil(-Math.log10((high - low) / 10)), 0), 6);
  return Math.floor(Math.log10(Math.max(high, 1))) + 3 + (decimals > 0 ? decimals + 1 : 0);
}

/** The wheel over an element zooms where it is or moves, a double click shows all; `at` has the time of a place. */
export function turnable(element: HTMLElement, time: TimeWindow, at: (x: number) => number): void {
  element.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) time.pan((event.deltaX || event.deltaY) / 1000);
      else time.zoom(Math.exp(event.deltaY / 400), at(event.offsetX));
    },
    { passive: false },
  );
  element.addEventListener("dblclick", () => time.showAll());
}

/** Dashes of the line of a mark, in pixels. */
function dashes(kind: Mark["kind"]): number[] {
  return { timeout: [2, 4], outage: [], handover: [6, 3], other: [6, 3] }[kind];
}

/** Pixels across a swatch: those of the longest pattern of dashes, twice. */
const SWATCH = 32;

/** A piece of a line as charts draw it. */
export function swatch(stroke: string, pattern: number[]): SVGElement {
  const line = svg("line", { x1: 0, x2: SWATCH, y1: 3, y2: 3, "stroke-width": 2.5, "stroke-dasharray": pattern.length > 0 ? pattern.join(" ") : null });
  return svg("svg", { class: "swatch", style: `--c:${stroke}`, width: SWATCH, height: 6, viewBox: `0 0 ${SWATCH} 6`, "aria-hidden": "true" }, line);
}

/** A piece of the line of a mark. */
export function swatchOf(kind: Mark["kind"], stroke = `var(--mark-${kind})`): SVGElement {
  return swatch(stroke, dashes(kind));
}

/** Draws marks; over something coloured each line is beside one of paper. */
function drawMarks(u: uPlot, marks: Mark[], isOver: boolean): void {
  markTimes(u.ctx, marks, u.bbox, (t) => u.valToPos(t, "x", true), devicePixelRatio, isOver);
}

/** Draws marks into a box of a canvas; `at` has the place of a time, `pixel` is what a line is wide. */
export function markTimes(
  ctx: CanvasRenderingContext2D,
  marks: Mark[],
  { left, top, width, height }: { left: number; top: number; width: number; height: number },
  at: (time: number) => number,
  pixel: number,
  isOver: boolean,
): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  for (const mark of marks) {
    const x = at(mark.time);
    const end = mark.until === undefined ? x : at(mark.until);
    if (end < left || x > left + width) continue;
    ctx.fillStyle = ctx.strokeStyle = mark.number === undefined ? token(`--mark-${mark.kind}`) : colour(mark.number);
    if (mark.until !== undefined) {
      ctx.globalAlpha = 0.25;
      ctx.fillRect(x, top, Math.max(end - x, 1), height);
      ctx.globalAlpha = 1;
    }
    if (isOver) {
      ctx.fillStyle = token("--paper");
      ctx.fillRect(x - pixel, top, 2 * pixel, height);
    }
    ctx.lineWidth = pixel;
    ctx.setLineDash(dashes(mark.kind));
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + height);
    ctx.stroke();
  }
  ctx.restore();
}
