/** The way of packets between nodes over time: click a packet and see its life. */

import { colour, token } from "./colours";
import type { Rows, Run } from "./data";
import { el, section } from "./dom";
import { plain, seconds } from "./format";
import { life as lifeOf, type Way } from "./life";
import { lowerBound } from "./pyramid";
import type { TimeWindow } from "./window";

/** Packets that are drawn at once; of more, the window is to be made smaller. */
const MOST = 4000;

export async function packets(run: Run, time: TimeWindow): Promise<HTMLElement | null> {
  if (!run.has("packets")) return null;
  const rows = await run.rows("packets");
  const ways = waysOf(rows);
  const starts = Float64Array.from(ways, (w) => w.from.time);
  const nodes = [...new Set(ways.flatMap((w) => [w.from.node, w.to?.dropped === false ? w.to.node : w.from.node]))];
  const flows = [...new Set(ways.map((w) => w.flow))];
  const longest = ways.reduce((m, w) => Math.max(m, w.to === null ? 0 : w.to.time - w.from.time), 0);

  const canvas = el("canvas", { class: "ways", tabindex: "0", role: "img", "aria-label": "Packets between nodes over time; arrow keys choose a packet" });
  const note = el("p", { class: "mute", role: "status" });
  const life = el("div", { class: "life", "aria-live": "polite" });
  const flow = el("select", { "aria-label": "Flow" }, el("option", { value: "" }, "all flows"), ...flows.map((f) => el("option", { value: f }, f)));
  const excerpt = run.info.excerpt ?? [];
  let chosen: Way | null = null;
  let drawn: { way: Way; x1: number; y1: number; x2: number; y2: number }[] = [];

  const draw = (): void => {
    const width = canvas.clientWidth;
    const height = Math.max(nodes.length * 56, 120);
    const scale = devicePixelRatio;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = `${height}px`;
    const ctx = canvas.getContext("2d")!;
    ctx.scale(scale, scale);
    ctx.font = "12px system-ui, sans-serif";
    const { from, to } = time.range;
    const gutter = 64;
    const x = (t: number): number => gutter + ((t - from) / (to - from)) * (width - gutter - 8);
    const y = (node: string): number => 24 + (nodes.indexOf(node) * (height - 48)) / Math.max(nodes.length - 1, 1);
    ctx.strokeStyle = token("--line");
    ctx.fillStyle = token("--mute");
    for (const node of nodes) {
      ctx.beginPath();
      ctx.moveTo(gutter, y(node));
      ctx.lineTo(width, y(node));
      ctx.stroke();
      ctx.fillText(node.slice(0, 9), 2, y(node) + 4);
    }
    const first = lowerBound(starts, from - longest);
    const end = lowerBound(starts, to);
    const wanted: Way[] = [];
    for (let i = first; i < end && wanted.length <= MOST; i++) {
      const way = ways[i]!;
      if (flow.value !== "" && way.flow !== flow.value) continue;
      if ((way.to?.time ?? way.from.time) < from) continue;
      wanted.push(way);
    }
    note.textContent =
      wanted.length > MOST
        ? `More than ${MOST.toLocaleString("en")} packets between ${seconds(from)} and ${seconds(to)}: zoom in to see each (drag in a chart above, or +).`
        : `${wanted.length.toLocaleString("en")} packets ${excerpt.length > 0 ? "of this file " : ""}between ${seconds(from)} and ${seconds(to)}. Click one, or use the arrow keys.`;
    drawn = [];
    if (wanted.length > MOST) return;
    ctx.save();
    ctx.beginPath();
    ctx.rect(gutter, 0, width - gutter, height);
    ctx.clip();
    ctx.fillStyle = token("--band");
    for (const s of excerpt) ctx.fillRect(x(s.from_s), 0, Math.max(x(s.to_s) - x(s.from_s), 1), height);
    for (const way of wanted) {
      const x1 = x(way.from.time);
      const y1 = y(way.from.node);
      const lost = way.to?.dropped === true;
      const x2 = way.to === null ? x1 : x(way.to.time);
      const y2 = way.to === null ? y1 : lost ? y1 + 12 : y(way.to.node);
      ctx.strokeStyle = ctx.fillStyle = lost ? token("--bad") : colour(flows.indexOf(way.flow));
      ctx.lineWidth = way === chosen ? 3 : 1;
      ctx.beginPath();
      ctx.moveTo(x1, y1);
      ctx.lineTo(x2, y2);
      ctx.stroke();
      if (lost) ctx.fillText("×", x2 - 3, y2 + 4);
      drawn.push({ way, x1, y1, x2, y2 });
    }
    ctx.restore();
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
      lifeOf(run, rows, way).then(show, (error: unknown) => show(el("p", { class: "error", role: "alert" }, error instanceof Error ? error.message : String(error))));
    }
  };
  canvas.addEventListener("click", (event) => {
    let best: { way: Way; d: number } | null = null;
    for (const d of drawn) {
      const distance = toSegment(event.offsetX, event.offsetY, d);
      if (distance < 8 && (best === null || distance < best.d)) best = { way: d.way, d: distance };
    }
    choose(best?.way ?? null);
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    event.preventDefault();
    event.stopPropagation();
    const at = drawn.findIndex((d) => d.way === chosen);
    const next = event.key === "ArrowRight" ? at + 1 : at < 0 ? drawn.length - 1 : at - 1;
    const found = drawn[Math.min(Math.max(next, 0), drawn.length - 1)];
    if (found !== undefined) choose(found.way);
  });
  flow.addEventListener("change", draw);
  time.addEventListener("range", draw);
  document.addEventListener("theme", draw);
  new ResizeObserver(draw).observe(canvas);
  return section("Packets", "packets", excerptOf(run, time), flows.length > 1 ? el("p", {}, el("label", {}, "Flow ", flow)) : null, note, canvas, life);
}

/** Which packets a file has that does not carry all of them, with a button for each stretch; null: it has all. */
function excerptOf(run: Run, time: TimeWindow): HTMLElement | null {
  const stretches = run.info.excerpt ?? [];
  const info = run.table("packets");
  if (stretches.length === 0 || info === undefined) return null;
  const share = Math.round(((info.kept ?? info.rows) / info.rows) * 1000) / 10;
  return el(
    "div",
    { class: "excerpt" },
    el("p", {}, `This file has the packets that were sent in ${stretches.length} stretches of the run, ${share} % of all rows. With the folder of the run `, el("code", {}, "lasthop view"), " shows all of them."),
    el("p", { class: "bar" }, ...stretches.map((s) => el("button", { type: "button", onclick: () => time.show(s.from_s, s.to_s) }, `${s.what}: ${plain(s.from_s)} s to ${plain(s.to_s)} s`))),
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
