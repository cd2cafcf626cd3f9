/** The map: cells, access points and terminals at the moment of the cursor or the slider, with who serves whom. */

import type { Mark } from "./chart";
import { colour } from "./colours";
import type { Run } from "./data";
import { el, listed, section, svg } from "./dom";
import { nameOf, overlap, placed, type Box, type Label } from "./labels";
import { seconds } from "./format";
import { upperBound } from "./pyramid";
import { grouped } from "./panels";
import type { TimeWindow } from "./window";

interface Track {
  name: string;
  time: Float64Array;
  x: Float64Array;
  y: Float64Array;
  cell: string[];
}

export async function map(run: Run, time: TimeWindow, marking: Promise<Mark[]>): Promise<HTMLElement | null> {
  const marks = (await marking).filter((mark) => mark.kind === "handover" || mark.kind === "outage");
  const tracks = run.has("positions") ? await read(run) : [];
  const recorded = new Set(tracks.map((t) => t.name));
  const places = run.info.places.filter((p) => !recorded.has(p.name));
  const hidden = tracks.length === 0 ? run.info.moving : [];
  // Without the table the places of moving nodes are not known.
  const how =
    hidden.length === 0 || run.info.left_out.includes("positions")
      ? null
      : el("p", { class: "mute" }, `${listed(hidden)}: not drawn, since the run has not recorded its UEs' positions. With `, el("code", {}, "--set output.positions=true"), " it records them.");
  const { unplaced } = run.info;
  const older =
    unplaced.length === 0
      ? null
      : el("p", { class: "mute" }, `Not drawn: ${listed(unplaced)}, since the version of Lasthop that made this run did not record their places. Run the scenario again to see them.`);
  if (tracks.length === 0 && groupedBy(places, spot).length < 2) {
    // A run without radio has no map.
    if (places.length + hidden.length + unplaced.length === 0) return null;
    const names = places.map((p) => p.name);
    const why =
      names.length === 0
        ? "Nothing is drawn: no node that does not move has a position."
        : names.length === 1
          ? `Nothing is drawn: ${names[0]!} alone has a position, and a map needs two.`
          : `Nothing is drawn: ${listed(names)} have the same position, and a map needs two.`;
    return section("Map", "map", el("p", { class: "mute" }, why), how, older);
  }

  const xs = [...places.map((p) => p.x), ...tracks.flatMap((t) => ends(t.x))];
  const ys = [...places.map((p) => p.y), ...tracks.flatMap((t) => ends(t.y))];
  const [left, right] = ends(xs) as [number, number];
  const [bottom, top] = ends(ys) as [number, number];
  const margin = Math.max(right - left, top - bottom, 1) * 0.1;
  const width = right - left + 2 * margin;
  const height = Math.max(top - bottom + 2 * margin, width / 4);
  const toX = (x: number): number => x - left + margin;
  const toY = (y: number): number => height / 2 - (y - (bottom + top) / 2);

  const cells = [...new Set([...places.filter((p) => p.kind === "cell").map((p) => p.name), ...tracks.flatMap((t) => t.cell)])].filter((c) => c !== "");
  const of = (cell: string): string => colour(Math.max(cells.indexOf(cell), 0));
  const homes = new Map(places.map((p) => [p.name, p]));
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "map", role: "img", "aria-label": "Map of the run" });
  const still = places.flatMap((p): [Place, Place][] => {
    const home = p.serves === undefined ? undefined : homes.get(p.serves);
    return home === undefined ? [] : [[p, home]];
  });
  const stretches = tracks.filter((t) => t.x.length < 5000).flatMap(stretchesOf);
  const changes = tracks.flatMap(changesOf);
  const links = svg("g", {});
  const moving = svg("g", {});
  const label = el("output", {});
  const slider = el("input", { type: "range", min: time.whole.from, max: time.whole.to, step: (time.whole.to - time.whole.from) / 1000, value: time.whole.from, "aria-label": "Time" });
  slider.addEventListener("input", () => time.point(Number(slider.value)));
  // A pixel of the screen in metres: letters and signs have one size, whatever the ground measures.
  let pixel = 1;
  let bounds: Box = { left: 0, top: 0, right: width, bottom: height };
  let taken: Box[] = [];

  /** What does not move. */
  const paint = (): void => {
    const room = picture.clientWidth || document.querySelector("main")?.clientWidth || 800;
    pixel = Math.max(width / room, height / MOST_HEIGHT);
    const [sign, letter] = [SIGN * pixel, LETTER * pixel];
    bounds = seenOf(room);
    const sites = groupedBy(places, spot).map((all) => ({ x: toX(all[0]!.x), y: toY(all[0]!.y), name: nameOf(all.map((p) => p.name)), all }));
    const signs = [...sites.map((s) => around(s.x, s.y, sign)), ...tracks.map((t) => around(toX(t.x[0]!), toY(t.y[0]!), sign))];
    const bars = [true, false].map((isLeft) => scaleBar(bounds, pixel, isLeft));
    const bar = bars.find(({ box }) => !signs.some((s) => overlap(s, box))) ?? bars[0]!;
    taken = [bar.box, ...signs.slice(0, sites.length)];
    const labels = placed(sites, letter, sign, bounds, taken);
    const written = changes.length <= MOST_CHANGES ? changes.map((c) => ({ x: toX(c.x), y: toY(c.y), name: c.label })) : [];
    const beside = placed(written, letter, sign, bounds, taken);
    picture.replaceChildren(
      svg("g", { class: "map-trails" }, ...stretches.map((s) => svg("polyline", { points: s.points.map(([x, y]) => `${toX(x)},${toY(y)}`).join(" "), stroke: s.cell === "" ? "var(--mute)" : of(s.cell), "stroke-width": 3 * pixel }))),
      svg("g", { class: "map-trails" }, ...changes.map((c) => svg("circle", { cx: toX(c.x), cy: toY(c.y), r: 4 * pixel, stroke: "var(--ink)", "stroke-width": 1.5 * pixel }, svg("title", {}, `${c.name}: ${c.label}, ${seconds(c.time)}`)))),
      links,
      ...still.map(([a, b]) => svg("line", { x1: toX(a.x), y1: toY(a.y), x2: toX(b.x), y2: toY(b.y), stroke: of(b.name), "stroke-width": 1.5 * pixel })),
      ...sites.map((site) => svg("g", { transform: `translate(${site.x} ${site.y})` }, ...site.all.map((p) => symbol(p, sign, of(p.name))))),
      ...sites.map((site, i) => named(site.name, labels[i]!, letter)),
      ...written.map((c, i) => named(c.name, beside[i]!, letter)),
      moving,
      bar.node,
    );
    draw();
  };

  /** The part of the ground that the picture shows: where it is low, more than it needs on both sides. */
  const seenOf = (room: number): Box => {
    const more = Math.max(room * pixel - width, 0) / 2;
    return { left: -more, top: 0, right: width + more, bottom: height };
  };

  const draw = (): void => {
    const at = time.cursor ?? Number(slider.value);
    if (document.activeElement !== slider) slider.value = String(at);
    label.textContent = seconds(at);
    links.replaceChildren();
    moving.replaceChildren();
    const [sign, letter] = [SIGN * pixel, LETTER * pixel];
    const now = tracks.map((track) => {
      const i = Math.max(upperBound(track.time, at) - 1, 0);
      return { name: track.name, x: toX(track.x[i]!), y: toY(track.y[i]!), cell: track.cell[i]! };
    });
    const labels = placed(now, letter, sign, bounds, [...taken, ...now.map((n) => around(n.x, n.y, sign * 0.6))]);
    for (const [k, { name, x, y, cell }] of now.entries()) {
      const home = homes.get(cell);
      if (home !== undefined) links.append(svg("line", { x1: x, y1: y, x2: toX(home.x), y2: toY(home.y), stroke: of(cell), "stroke-width": 1.5 * pixel }));
      moving.append(svg("circle", { cx: x, cy: y, r: sign * 0.6, fill: of(cell) }, svg("title", {}, `${name}${cell ? `, served by ${cell}` : ""}`)), named(name, labels[k]!, letter));
    }
  };
  time.addEventListener("cursor", draw);
  document.addEventListener("theme", paint);
  let painted = 0;
  new ResizeObserver(() => {
    if (Math.abs(picture.clientWidth - painted) < 20) return;
    painted = picture.clientWidth;
    paint();
  }).observe(picture);
  paint();
  const { from, to } = time.whole;
  const ticks = svg(
    "svg",
    { viewBox: "0 0 1000 9", preserveAspectRatio: "none", role: "img", "aria-label": "Handovers and outages" },
    ...marks.map((mark) => {
      const x = ((mark.time - from) / (to - from)) * 1000;
      return svg("line", { x1: x, x2: x, y1: 0, y2: 9, style: `--c:var(--mark-${mark.kind})` }, svg("title", {}, `${mark.source} ${mark.event}, ${seconds(mark.time)}`));
    }),
  );
  const marked = tracks.length > 0 && (changes.length > 0 || marks.length > 0) ? el("p", { class: "mute small" }, MARKED) : null;
  const wrapped = run.info.wraps ? el("p", { class: "mute" }, "The ground is repeated around its edges: a UE may be served by the copy of a site beyond the opposite edge, and its line then crosses the map.") : null;
  return section("Map", "map", how, older, tracks.length > 0 ? wrapped : null, tracks.length > 0 ? el("p", {}, el("label", {}, "Time ", el("span", { class: "slider" }, slider, ticks)), " ", label) : null, marked, picture);
}

/** What the signs on tracks and below the slider are. */
const MARKED = "Tracks have the colour of the serving cell. A ring is where a UE was first served by another cell, a tick below the slider when a handover or an outage began.";

/** So many changes of cells are written beside their rings; of more, the rings' titles have them. */
const MOST_CHANGES = 12;

/** The parts of a track with one serving cell; each begins where the last one ends. */
function stretchesOf(track: Track): { cell: string; points: [number, number][] }[] {
  const found: { cell: string; points: [number, number][] }[] = [];
  for (let i = 0; i < track.x.length; i++) {
    const here: [number, number] = [track.x[i]!, track.y[i]!];
    const last = found[found.length - 1];
    last?.points.push(here);
    if (last?.cell !== track.cell[i]) found.push({ cell: track.cell[i]!, points: [here] });
  }
  return found;
}

/** Where a UE came to another cell than that which served it last. */
export function changesOf(track: Track): { name: string; time: number; x: number; y: number; label: string }[] {
  const found = [];
  let last = "";
  for (const [i, cell] of track.cell.entries()) {
    if (cell === "") continue;
    if (last !== "" && cell !== last) found.push({ name: track.name, time: track.time[i]!, x: track.x[i]!, y: track.y[i]!, label: `${last} → ${cell}` });
    last = cell;
  }
  return found;
}

/** Pixels: letters, half of a sign, and the height of the largest picture (`.map` in the style sheet). */
const LETTER = 13;
const SIGN = 9;
const MOST_HEIGHT = 512;

type Place = Run["info"]["places"][number];

/** A cell's sector looks where its antenna does; other cells and access points are triangles, the rest squares. */
function symbol(place: Place, sign: number, fill: string): SVGElement {
  const title = svg("title", {}, place.name);
  if (place.azimuth !== undefined) {
    const corner = (degrees: number): string => {
      const angle = ((place.azimuth! + degrees) * Math.PI) / 180;
      return `${1.6 * sign * Math.cos(angle)} ${-1.6 * sign * Math.sin(angle)}`;
    };
    return svg("path", { d: `M0 0L${corner(-25)}L${corner(25)}Z`, fill }, title);
  }
  if (place.kind === "cell" || place.kind === "ap") return svg("path", { d: `M0 ${-sign}L${sign} ${sign * 0.8}L${-sign} ${sign * 0.8}Z`, fill }, title);
  const half = sign * 0.7;
  return svg("rect", { x: -half, y: -half, width: 2 * half, height: 2 * half, class: "map-node" }, title);
}

/** A name at its place; without one, nothing: the sign's title has it. */
function named(text: string, label: Label | null, letter: number): SVGElement {
  return label === null ? svg("g", {}) : svg("text", { x: label.x, y: label.y, "font-size": letter, "stroke-width": letter * 0.25, "text-anchor": label.anchor }, text);
}

function around(x: number, y: number, half: number): Box {
  return { left: x - half, right: x + half, top: y - half, bottom: y + half };
}

/** The least and the largest of numbers, which may be many. */
function ends(values: ArrayLike<number>): number[] {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    low = Math.min(low, values[i]!);
    high = Math.max(high, values[i]!);
  }
  return [low, high];
}

function spot(place: Place): string {
  return `${place.x} ${place.y}`;
}

function groupedBy<T>(all: T[], key: (one: T) => string): T[][] {
  const found = new Map<string, T[]>();
  for (const one of all) {
    const group = found.get(key(one));
    if (group === undefined) found.set(key(one), [one]);
    else group.push(one);
  }
  return [...found.values()];
}

/** A length of round metres in a lower corner. */
function scaleBar(bounds: Box, pixel: number, isLeft: boolean): { node: SVGGElement; box: Box } {
  const wanted = 150 * pixel;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const metres = ([5, 2, 1].find((f) => f * power <= wanted) ?? 1) * power;
  const [x, y] = [isLeft ? bounds.left + 12 * pixel : bounds.right - 12 * pixel - metres, bounds.bottom - 12 * pixel];
  const node = svg(
    "g",
    { transform: `translate(${x} ${y})`, class: "map-scale" },
    svg("line", { x1: 0, x2: metres, "stroke-width": 3 * pixel }),
    svg("text", { x: metres / 2, y: -6 * pixel, "font-size": LETTER * pixel, "stroke-width": LETTER * pixel * 0.25, "text-anchor": "middle" }, metres >= 1000 ? `${metres / 1000} km` : `${metres} m`),
  );
  return { node, box: { left: x - 6 * pixel, right: x + metres + 6 * pixel, top: y - 22 * pixel, bottom: bounds.bottom } };
}

async function read(run: Run): Promise<Track[]> {
  const rows = await run.rows("positions", ["time_s", "ue", "cell", "x_m", "y_m"]);
  const cells = rows.texts("cell");
  return [...grouped(rows, ["ue"])].map(([name, members]) => ({
    name,
    time: pick(rows.numbers("time_s"), members),
    x: pick(rows.numbers("x_m"), members),
    y: pick(rows.numbers("y_m"), members),
    cell: Array.from(members, (row) => cells.at(row)),
  }));
}

function pick(values: Float64Array, members: Int32Array): Float64Array {
  return Float64Array.from(members, (row) => values[row]!);
}
