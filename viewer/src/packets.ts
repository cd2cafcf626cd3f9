/** The way of packets over time, between nodes or through the layers: click a packet and see its life. */

import { markTimes, turnable, type Mark } from "./chart";
import { colour, token } from "./colours";
import type { Rows, Run } from "./data";
import { el, failure, section } from "./dom";
import { plain, seconds } from "./format";
import { layersOf, type Layers, type Stay } from "./layers";
import { life as lifeOf, type Way } from "./life";
import { lowerBound } from "./pyramid";
import type { TimeWindow } from "./window";

/** Packets that are drawn at once; of more, every so many. */
const MOST = 2000;

/** Stages that are read although the drawing is out of sight, and after how many milliseconds. */
const FEW = 2e5;
const LATER = 1000;
/** Of more flows one is drawn at first: all of them together have hundreds of lanes. */
const MANY = 4;

/** Pixels below the lanes for the axis of time. */
const AXIS = 22;

export async function packets(run: Run, time: TimeWindow, marking: Promise<Mark[]>): Promise<HTMLElement | null> {
  if (run.table("packets") === undefined && !run.info.left_out.includes("packets") && run.info.damaged.length === 0) {
    return section("Packets", "packets", el("p", { class: "mute" }, "The run has not recorded its packets. With ", el("code", {}, "--set output.packets=true"), " each can be followed here, with ", el("code", {}, "--set output.explain=true"), " through all layers."));
  }
  if (!run.has("packets")) return null;
  const rows = await run.rows("packets");
  const marks = await marking;
  const ways = waysOf(rows);
  const starts = Float64Array.from(ways, (w) => w.from.time);
  const nodes = [...new Set(ways.flatMap(nodesOf))];
  const flows = [...new Set(ways.map((w) => w.flow))];
  const longest = ways.reduce((m, w) => Math.max(m, w.to === null ? 0 : w.to.time - w.from.time), 0);

  // With the table of stages a packet is drawn through the layers; without it, from node to node.
  const hasLayers = run.has("stages");
  let isLayered = hasLayers;
  let layers: Layers | null = null;
  let isAsked = false;
  /** Reads the stages when the drawing comes into sight: they may be many. */
  const read = (): void => {
    if (isAsked) return;
    isAsked = true;
    run.rows("stages", ["packet", "stage", "where", "start_ns", "end_ns"]).then(
      (rows) => {
        layers = layersOf(rows, new Map(ways.map((w) => [w.packet, w.from.node])));
        reserve();
        draw();
      },
      () => {
        isLayered = false;
        draw();
      },
    );
  };

  const canvas = el("canvas", { class: "ways", tabindex: "0", role: "img", "aria-label": "Packets over time; arrow keys choose a packet" });
  const cursor = el("i", { class: "ways-cursor", hidden: true });
  const selection = el("i", { class: "ways-selection", hidden: true });
  const box = el("div", { class: "ways-box" }, canvas, selection, cursor);
  const note = el("p", { class: "mute", role: "status" });
  const life = el("div", { class: "life", "aria-live": "polite" });
  const first = flows.length > MANY ? run.info.explain.flows.find((f) => flows.includes(f)) ?? flows[0]! : "";
  const flow = el("select", { "aria-label": "Flow" }, el("option", { value: "" }, "all flows"), ...flows.map((f) => el("option", { value: f, selected: f === first }, f)));
  const excerpt = run.info.excerpt ?? [];
  let chosen: Way | null = null;
  let drawn: { way: Way; lines: Line[] }[] = [];
  let isSeen = false;
  let isStale = true;
  let isPrinting = false;
  /** Pixels from where on times are drawn, and how many of them. */
  let frame = { left: 0, width: 1 };
  const placeOf = (t: number): number => frame.left + ((t - time.range.from) / (time.range.to - time.range.from)) * frame.width;
  const timeAt = (x: number): number => time.range.from + ((Math.min(Math.max(x, frame.left), frame.left + frame.width) - frame.left) / frame.width) * (time.range.to - time.range.from);

  /** Draws when it is in sight, or comes there. */
  const draw = (): void => {
    isStale = true;
    if (isSeen) paint();
  };

  /** The packets of the window. */
  const seen = (): Way[] => {
    const { from, to } = time.range;
    const found: Way[] = [];
    // An interval is half open; that of the whole run has what is sent at its last moment, too.
    const end = to >= time.whole.to ? ways.length : lowerBound(starts, to);
    for (let i = lowerBound(starts, from - longest); i < end; i++) {
      const way = ways[i]!;
      if (flow.value !== "" && way.flow !== flow.value) continue;
      if ((way.to?.time ?? way.from.time) >= from) found.push(way);
    }
    return found;
  };

  /** The lanes that packets of the chosen flow are in, whatever part of the time is seen. */
  const usedLanes = (isThrough: boolean): number[] => {
    const of = (way: Way): number[] => (isThrough ? (layers!.stays.get(way.packet) ?? []).map((s) => s.lane) : nodesOf(way).map((node) => nodes.indexOf(node)));
    const own = flow.value === "" ? ways : ways.filter((way) => way.flow === flow.value);
    const found = new Set<number>();
    for (const way of own) for (const lane of of(way)) found.add(lane);
    return [...found].sort((a, b) => a - b);
  };

  const point = (): void => {
    const at = time.cursor === null ? -1 : placeOf(time.cursor);
    cursor.hidden = at < frame.left || at > frame.left + frame.width;
    cursor.style.left = `${at}px`;
  };

  const heightOfLanes = (isThrough: boolean, count: number): number => (isThrough ? count * 22 + 40 : Math.max(count * 56, 120));

  /** Writes the note above the chart; returns n if one packet in n is drawn. */
  const writeNote = (all: Way[]): number => {
    const { from, to } = time.range;
    // Of more packets than can be distinguished only one in so many is drawn.
    const every = Math.ceil(all.length / MOST);
    const what = `${all.length.toLocaleString("en")} packets ${excerpt.length > 0 ? "of this file " : ""}between ${seconds(from)} and ${seconds(to)}`;
    const how = every > 1 ? " Zoom in to see each (drag, turn the wheel, or +)." : " Click one, or use the arrow keys.";
    note.replaceChildren(`${what}${every > 1 ? `, one in ${every} is drawn` : ""}.`, el("span", { class: "how" }, how));
    return every;
  };

  /** Gives the drawing its place before it comes into sight: nothing moves there then. */
  const reserve = (): void => {
    if (isLayered && layers === null) return;
    canvas.style.height = `${heightOfLanes(isLayered, usedLanes(isLayered).length) + AXIS}px`;
  };

  const paint = (): void => {
    // What is printed before the stages are there is drawn from node to node.
    const isThrough = isLayered && (layers !== null || !isPrinting);
    if (isThrough && layers === null) {
      read();
      return;
    }
    isStale = isThrough !== isLayered;
    const width = canvas.clientWidth;
    const used = usedLanes(isThrough);
    const lanes = used.map((lane) => (isThrough ? layers!.lanes : nodes)[lane]!);
    const bottom = heightOfLanes(isThrough, lanes.length);
    const height = bottom + AXIS;
    const scale = devicePixelRatio;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = `${height}px`;
    const ctx = canvas.getContext("2d")!;
    ctx.scale(scale, scale);
    ctx.font = "12px system-ui, sans-serif";
    const { from, to } = time.range;
    // Names have their place on the left; on a small screen they are above their lanes.
    const isNarrow = width < 600;
    const longestName = Math.max(...lanes.map((l) => ctx.measureText(l).width), 0) + 12;
    const gutter = isThrough && isNarrow ? 4 : Math.min(Math.max(longestName, 40), isNarrow ? 110 : 260);
    frame = { left: gutter, width: Math.max(width - gutter - 8, 1) };
    point();
    const x = placeOf;
    const row = new Map(used.map((lane, k) => [lane, k]));
    const heightOf = (k: number): number => 24 + (k * (bottom - 48)) / Math.max(lanes.length - 1, 1);
    const ofLane = (lane: number): number => heightOf(row.get(lane) ?? 0);
    const y = (node: string): number => ofLane(nodes.indexOf(node));
    ctx.strokeStyle = token("--line");
    ctx.fillStyle = token("--mute");
    for (const [k, name] of lanes.entries()) {
      ctx.beginPath();
      ctx.moveTo(gutter, heightOf(k));
      ctx.lineTo(width, heightOf(k));
      ctx.stroke();
      if (!isThrough || !isNarrow) ctx.fillText(fitted(ctx, name, gutter - 8), 2, heightOf(k) + 4);
    }
    axis(ctx, from, to, frame, bottom);
    const all = seen();
    const every = writeNote(all);
    const wanted = every > 1 ? all.filter((way, i) => i % every === 0 || way === chosen) : all;
    drawn = [];
    ctx.save();
    ctx.beginPath();
    ctx.rect(gutter, 0, width - gutter, bottom);
    ctx.clip();
    ctx.fillStyle = token("--band");
    for (const s of excerpt) ctx.fillRect(x(s.from_s), 0, Math.max(x(s.to_s) - x(s.from_s), 1), bottom);
    markTimes(ctx, marks, { left: gutter, top: 0, width: frame.width, height: bottom }, x, 1, false);
    // The chosen one over all others.
    const last = wanted.filter((way) => way === chosen);
    for (const way of last.length > 0 ? [...wanted.filter((way) => way !== chosen), ...last] : wanted) {
      const lost = way.to?.dropped === true;
      ctx.strokeStyle = ctx.fillStyle = lost ? token("--bad") : colour(flows.indexOf(way.flow));
      ctx.lineWidth = way === chosen ? 3 : 1;
      const lines = isThrough ? through(layers!.stays.get(way.packet) ?? [], x, ofLane) : between(way, x, y);
      ctx.beginPath();
      for (const l of lines) {
        ctx.moveTo(l.x1, l.y1);
        ctx.lineTo(l.x2, l.y2);
      }
      ctx.stroke();
      const end = lines[lines.length - 1];
      if (lost && end !== undefined) ctx.fillText("×", end.x2 - 3, end.y2 + 4);
      drawn.push({ way, lines });
    }
    ctx.restore();
    if (!isThrough || !isNarrow) return;
    // Over the packets, on a seam of paper.
    ctx.fillStyle = token("--ink");
    ctx.strokeStyle = token("--paper");
    ctx.lineWidth = 3;
    for (const [k, name] of lanes.entries()) {
      ctx.strokeText(name, 4, heightOf(k) - 4);
      ctx.fillText(name, 4, heightOf(k) - 4);
    }
  };

  const choose = (way: Way | null): void => {
    chosen = way;
    draw();
    if (way === null) life.replaceChildren();
    else {
      const show = (node: HTMLElement): void => {
        // Another packet may have been chosen while tables were read.
        if (chosen === way) life.replaceChildren(node);
      };
      lifeOf(run, rows, way).then(show, (error: unknown) => show(failure(error)));
    }
  };
  // A drag with the mouse shows a part, as in the charts; a finger moves the page.
  let dragged: { from: number; to: number } | null = null;
  canvas.addEventListener("mousedown", (event) => {
    if (event.button !== 0) return;
    dragged = { from: event.offsetX, to: event.offsetX };
    const move = (moved: MouseEvent): void => {
      if (dragged === null) return;
      dragged.to = moved.clientX - canvas.getBoundingClientRect().left;
      const [left, right] = [Math.min(dragged.from, dragged.to), Math.max(dragged.from, dragged.to)].map((p) => placeOf(timeAt(p))) as [number, number];
      selection.hidden = !isDrag(dragged);
      Object.assign(selection.style, { left: `${left}px`, width: `${right - left}px` });
    };
    const end = (): void => {
      removeEventListener("mousemove", move);
      selection.hidden = true;
      if (dragged !== null && isDrag(dragged)) time.show(timeAt(Math.min(dragged.from, dragged.to)), timeAt(Math.max(dragged.from, dragged.to)));
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", end, { once: true });
  });
  canvas.addEventListener("mousemove", (event) => time.point(timeAt(event.offsetX)));
  canvas.addEventListener("mouseleave", () => time.point(null));
  turnable(canvas, time, timeAt);
  time.addEventListener("cursor", point);
  canvas.addEventListener("click", (event) => {
    if (dragged !== null && isDrag(dragged)) return;
    let best: { way: Way; d: number } | null = null;
    for (const d of drawn) {
      const distance = Math.min(...d.lines.map((l) => toSegment(event.offsetX, event.offsetY, l)), Infinity);
      if (distance < 8 && (best === null || distance < best.d)) best = { way: d.way, d: distance };
    }
    choose(best?.way ?? null);
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    event.preventDefault();
    event.stopPropagation();
    const all = seen();
    const at = chosen === null ? -1 : all.indexOf(chosen);
    const next = event.key === "ArrowRight" ? at + 1 : at < 0 ? all.length - 1 : at - 1;
    const found = all[Math.min(Math.max(next, 0), all.length - 1)];
    if (found !== undefined) choose(found);
  });
  flow.addEventListener("change", draw);
  time.addEventListener("range", draw);
  document.addEventListener("theme", draw);
  new ResizeObserver(draw).observe(canvas);
  const sight = new IntersectionObserver((entries) => {
    isSeen = entries[entries.length - 1]!.isIntersecting;
    if (isSeen && isStale) paint();
  });
  sight.observe(canvas);
  addEventListener("beforeprint", () => {
    isPrinting = true;
    if (isStale && canvas.clientWidth > 0) paint();
    isPrinting = false;
  });
  // Small tables are read in time for a print of what was never in sight.
  if (hasLayers && run.table("stages")!.rows <= FEW) setTimeout(() => isLayered && read(), LATER);
  writeNote(seen());
  reserve();
  const over = el(
    "select",
    {
      onchange: (event) => {
        isLayered = (event.target as HTMLSelectElement).value === "layers";
        draw();
      },
    },
    el("option", { value: "layers" }, "through the layers"),
    el("option", { value: "nodes" }, "between nodes"),
  );
  const choices = el(
    "p",
    { class: "choices" },
    flows.length > 1 ? el("label", {}, "Flow ", flow) : null,
    hasLayers ? el("label", { class: "how" }, "Drawn ", over) : null,
  );
  const hint = !hasLayers ? el("p", { class: "mute" }, "Drawn from node to node. With ", el("code", {}, "--set output.explain=true"), " the run records in which layer each packet was, and they are drawn through the layers.") : null;
  return section("Packets", "packets", excerptOf(run, time), choices.childElementCount > 0 ? choices : null, note, box, hint, life);
}

/** Whether the mouse was moved between pressing and releasing it. */
function isDrag(way: { from: number; to: number }): boolean {
  return Math.abs(way.to - way.from) > 3;
}

/** Times below the lanes, each with a line through them. */
function axis(ctx: CanvasRenderingContext2D, from: number, to: number, { left, width }: { left: number; width: number }, bottom: number): void {
  const [first, step] = ticksOf(from, to, Math.max(Math.floor(width / 110), 1));
  ctx.save();
  ctx.textAlign = "center";
  for (let k = 0; first + k * step <= to; k++) {
    const t = first + k * step;
    const x = left + ((t - from) / (to - from)) * width;
    ctx.beginPath();
    ctx.moveTo(x, 0);
    ctx.lineTo(x, bottom + 4);
    ctx.stroke();
    const text = seconds(t);
    const half = ctx.measureText(text).width / 2;
    ctx.fillText(text, Math.min(Math.max(x, half), left + width + 8 - half), bottom + 17);
  }
  ctx.restore();
}

/** The first tick and the distance between ticks of an axis with at most so many: 1, 2 or 5 times a power of ten. */
export function ticksOf(from: number, to: number, most: number): [number, number] {
  const power = 10 ** Math.floor(Math.log10((to - from) / most));
  const step = ([1, 2, 5, 10].find((n) => (to - from) / (n * power) <= most) ?? 10) * power;
  return [Math.ceil(from / step - 1e-9) * step, step];
}

/** The nodes between which a packet is drawn: what is lost ends below its sender. */
function nodesOf(way: Way): string[] {
  return [way.from.node, way.to?.dropped === false ? way.to.node : way.from.node];
}

/** A straight piece of a packet's drawing. */
interface Line {
  x1: number;
  y1: number;
  x2: number;
  y2: number;
}

/** From the node that sends to the one that receives; what is lost ends below its node. */
function between(way: Way, x: (t: number) => number, y: (node: string) => number): Line[] {
  const [x1, y1] = [x(way.from.time), y(way.from.node)];
  if (way.to === null) return [{ x1, y1, x2: x1, y2: y1 }];
  return [{ x1, y1, x2: x(way.to.time), y2: way.to.dropped ? y1 + 12 : y(way.to.node) }];
}

/** Along each lane while the packet was there, and from its end to the beginning of the next one. */
function through(stays: Stay[], x: (t: number) => number, y: (lane: number) => number): Line[] {
  const lines: Line[] = [];
  let before: Line | undefined;
  for (const stay of stays) {
    const line = { x1: x(stay.start), y1: y(stay.lane), x2: x(stay.end), y2: y(stay.lane) };
    if (before !== undefined) lines.push({ x1: before.x2, y1: before.y2, x2: line.x1, y2: line.y1 });
    lines.push(line);
    before = line;
  }
  return lines;
}

/** A text that is no wider than that. */
function fitted(ctx: CanvasRenderingContext2D, text: string, width: number): string {
  if (ctx.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && ctx.measureText(`${text.slice(0, end)}…`).width > width) end--;
  return `${text.slice(0, end)}…`;
}

/** Which packets a file has that lacks some of them, with a button for each stretch; null: it has all. */
function excerptOf(run: Run, time: TimeWindow): HTMLElement | null {
  const stretches = run.info.excerpt ?? [];
  const info = run.table("packets");
  if (stretches.length === 0 || info === undefined) return null;
  const share = Math.round(((info.kept ?? info.rows) / info.rows) * 1000) / 10;
  return el(
    "div",
    { class: "excerpt" },
    el("p", {}, `This file has the packets that were sent in ${stretches.length === 1 ? "one stretch" : `${stretches.length} stretches`} of the run, ${share} % of all rows. With the folder of the run `, el("code", {}, "lasthop view"), " shows all of them."),
    el("p", { class: "bar" }, ...stretches.map((s) => el("button", { type: "button", onclick: () => time.show(s.from_s, s.to_s) }, `${s.what}: ${plain(Math.max(s.from_s, 0) < 1e-3 ? 0 : s.from_s)} s to ${plain(s.to_s)} s`))),
  );
}

/** From sending to delivery or drop, in the order of sending. */
export function waysOf(rows: Rows): Way[] {
  const time = rows.numbers("time_s");
  const number = rows.numbers("packet");
  const events = rows.texts("event");
  const nodes = rows.texts("node");
  const flows = rows.texts("flow");
  const known = new Map<number, Way>();
  for (let i = 0; i < rows.length; i++) {
    const packet = number[i]!;
    const event = events.at(i);
    if (event === "sent") {
      if (!known.has(packet)) known.set(packet, { packet, flow: flows.at(i), from: { time: time[i]!, node: nodes.at(i) }, to: null, row: i });
    } else if (event === "received" || event === "dropped") {
      const way = known.get(packet);
      // A fragment or a forwarded copy may be dropped of a packet that arrives.
      if (way !== undefined && (way.to === null || way.to.dropped)) {
        way.to = { time: time[i]!, node: nodes.at(i), dropped: event === "dropped" };
      }
    }
  }
  return [...known.values()].sort((a, b) => a.from.time - b.from.time);
}

function toSegment(px: number, py: number, s: { x1: number; y1: number; x2: number; y2: number }): number {
  const dx = s.x2 - s.x1;
  const dy = s.y2 - s.y1;
  const length = dx * dx + dy * dy;
  const t = length === 0 ? 0 : Math.min(Math.max(((px - s.x1) * dx + (py - s.y1) * dy) / length, 0), 1);
  return Math.hypot(px - s.x1 - t * dx, py - s.y1 - t * dy);
}
