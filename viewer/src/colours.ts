/**
 * Colours that people with any colour vision distinguish, dark enough or light enough for each theme.
 *
 * The first two are of Okabe and Ito, the others were searched: of all pairs the least distance (CIEDE2000) is 11 or more, also
 * as people without one kind of cones see them, with a contrast of 4.5 to the paper. The test of this file measures both.
 */

export const LIGHT = ["#0072b2", "#b04a00", "#677c47", "#9d6078", "#053103", "#291392", "#574c41", "#5d042f"];
export const DARK = ["#56b4e9", "#ff9d5c", "#8a9500", "#c4628d", "#56fdbd", "#7073f8", "#e2e5f9", "#e6ee13"];
/** Dash patterns distinguish more series than there are colours. */
const DASHES: number[][] = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

export function isDark(): boolean {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
}

export function colour(i: number): string {
  const set = isDark() ? DARK : LIGHT;
  return set[i % set.length]!;
}

/** How many colours there are. */
export function colours(): number {
  return LIGHT.length;
}

export function dash(i: number): number[] {
  return DASHES[Math.floor(i / LIGHT.length) % DASHES.length]!;
}

/** How many dash patterns there are. */
export function dashes(): number {
  return DASHES.length;
}

/** The directions of a UE, bearer or station, with which the names of its lines end. */
const DIRECTIONS = [" downlink", " uplink", " sidelink"];

/**
 * The number (colour and dash) of a line: the same in all charts of a family. Of several runs each has a colour, and its
 * lines differ in their dashes, if there are enough of both. Of several UEs each has a colour, and dashes for the uplink and the sidelink.
 *
 * @param names the names of the family's lines in all runs
 * @returns null: there are more lines than can be distinguished
 */
export function numberOf(names: string[], name: string, run: number, runs: number): number | null {
  const index = names.indexOf(name);
  const direction = (n: string): number => DIRECTIONS.findIndex((d) => n.endsWith(d));
  if (runs === 1 && names.every((n) => direction(n) >= 0)) {
    const base = (n: string): string => n.slice(0, -DIRECTIONS[direction(n)]!.length);
    const bases = [...new Set(names.map(base))];
    if (bases.length > 1 && bases.length <= colours()) return bases.indexOf(base(name)) + direction(name) * colours();
  }
  if (runs > 1 && runs <= colours() && names.length <= dashes()) return run + index * colours();
  return names.length * runs <= colours() * dashes() ? run * names.length + index : null;
}

const tokens = new Map<string, string>();

/** A colour of the style sheet. Reading it makes the browser work out all styles, so it is kept until the theme changes. */
export function token(name: string): string {
  let found = tokens.get(name);
  if (found === undefined) {
    if (tokens.size === 0) document.addEventListener("theme", () => tokens.clear(), { once: true, capture: true });
    // As the colour of an element: the property has a value for each theme.
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = `var(${name})`;
    found = getComputedStyle(probe).color;
    probe.remove();
    tokens.set(name, found);
  }
  return found;
}
