/** The map: cells, access points and terminals at the moment of the cursor or the slider, with who serves whom. */

import { colour } from "./colours";
import type { Run } from "./data";
import { el, section, svg } from "./dom";
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

export async function map(run: Run, time: TimeWindow): Promise<HTMLElement | null> {
  const places = run.info.places;
  const tracks = run.has("positions") ? await read(run) : [];
  const hidden = tracks.length === 0 ? run.info.moving : [];
  // Without the table the places of moving nodes are not known.
  const how =
    hidden.length === 0 || run.info.left_out.includes("positions")
      ? null
      : el("p", { class: "mute" }, `${named(hidden)}: not drawn, since the run has not recorded its UEs' positions. With `, el("code", {}, "--set output.positions=true"), " it does.");
  if (tracks.length === 0 && places.length < 2) {
    // A run without radio has no map to speak of.
    if (places.length + hidden.length === 0) return null;
    const why = places.length === 0 ? "Nothing is drawn: nothing that stands still has a place." : `Nothing is drawn: ${places[0]!.name} alone has a place, and a map wants two.`;
    return section("Map", "map", el("p", { class: "mute" }, why), how);
  }

  const xs = [...places.map((p) => p.x), ...tracks.flatMap((t) => [Math.min(...t.x), Math.max(...t.x)])];
  const ys = [...places.map((p) => p.y), ...tracks.flatMap((t) => [Math.min(...t.y), Math.max(...t.y)])];
  const left = Math.min(...xs);
  const bottom = Math.min(...ys);
  const span = Math.max(Math.max(...xs) - left, Math.max(...ys) - bottom, 1);
  const margin = span * 0.1;
  const width = Math.max(...xs) - left + 2 * margin;
  const height = Math.max(Math.max(...ys) - bottom + 2 * margin, width / 4);
  const unit = width / 100;
  // On a small screen the picture is small, and its letters are to be read there, too.
  const letter = innerWidth < 700 ? 2 * unit : unit;
  const toX = (x: number): number => x - left + margin;
  const toY = (y: number): number => height - (y - bottom + (height - (Math.max(...ys) - bottom)) / 2);

  const cells = [...new Set([...places.filter((p) => p.kind === "cell").map((p) => p.name), ...tracks.flatMap((t) => t.cell)])].filter((c) => c !== "");
  const of = (cell: string): string => colour(Math.max(cells.indexOf(cell), 0));
  const links = svg("g", {});
  const moving = svg("g", {});
  const still = svg(
    "g",
    {},
    ...places.map((p) =>
      svg(
        "g",
        { transform: `translate(${toX(p.x)} ${toY(p.y)})` },
        p.kind === "cell" || p.kind === "ap"
          ? svg("path", { d: `M0 ${-1.8 * unit}L${1.5 * unit} ${unit}L${-1.5 * unit} ${unit}Z`, fill: of(p.name) })
          : svg("rect", { x: -unit, y: -unit, width: 2 * unit, height: 2 * unit, class: "map-node" }),
        svg("text", { y: unit + 2.2 * letter, "font-size": 2.2 * letter, "text-anchor": "middle" }, p.name),
      ),
    ),
  );
  const trails = svg("g", { class: "map-trails" }, ...tracks.filter((t) => t.x.length < 5000).map((t) => svg("polyline", { points: Array.from(t.x, (x, i) => `${toX(x)},${toY(t.y[i]!)}`).join(" "), "stroke-width": unit / 6 })));
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "map", role: "img", "aria-label": "Map of the run" }, trails, links, still, moving, scaleBar(width, height, unit, letter));
  const label = el("output", {});
  const slider = el("input", { type: "range", min: time.whole.from, max: time.whole.to, step: (time.whole.to - time.whole.from) / 1000, value: time.whole.from, "aria-label": "Time" });
  slider.addEventListener("input", () => time.point(Number(slider.value)));

  const draw = (): void => {
    const at = time.cursor ?? Number(slider.value);
    if (document.activeElement !== slider) slider.value = String(at);
    label.textContent = seconds(at);
    links.replaceChildren();
    moving.replaceChildren();
    for (const track of tracks) {
      const i = Math.max(upperBound(track.time, at) - 1, 0);
      const x = toX(track.x[i]!);
      const y = toY(track.y[i]!);
      const cell = track.cell[i]!;
      const home = places.find((p) => p.name === cell);
      if (home !== undefined) links.append(svg("line", { x1: x, y1: y, x2: toX(home.x), y2: toY(home.y), stroke: of(cell), "stroke-width": unit / 4 }));
      moving.append(svg("circle", { cx: x, cy: y, r: unit, fill: of(cell) }, svg("title", {}, `${track.name}${cell ? `, served by ${cell}` : ""}`)));
      if (tracks.length <= 30) moving.append(svg("text", { x, y: y - 1.6 * unit, "font-size": 2 * letter, "text-anchor": "middle" }, track.name));
    }
  };
  time.addEventListener("cursor", draw);
  document.addEventListener("theme", draw);
  draw();
  return section("Map", "map", how, tracks.length > 0 ? el("p", {}, el("label", {}, "Time ", slider), " ", label) : null, picture);
}

function scaleBar(width: number, height: number, unit: number, letter: number): SVGGElement {
  const wanted = width / 5;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const metres = ([5, 2, 1].find((f) => f * power <= wanted) ?? 1) * power;
  return svg(
    "g",
    // In the middle where letters are large: names of places are on both sides.
    { transform: `translate(${letter > unit ? (width - metres) / 2 : 2 * unit} ${height - 2 * unit})`, class: "map-scale" },
    svg("line", { x1: 0, x2: metres, "stroke-width": unit / 3 }),
    svg("text", { x: metres / 2, y: -unit, "font-size": 2 * letter, "text-anchor": "middle" }, metres >= 1000 ? `${metres / 1000} km` : `${metres} m`),
  );
}

/** Names of members; of many, the first ones. */
function named(names: string[]): string {
  return names.length <= 4 ? names.join(", ") : `${names.slice(0, 3).join(", ")} and ${names.length - 3} more`;
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
