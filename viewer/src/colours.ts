/** Colours that people with any colour vision tell apart (Okabe and Ito), dark enough or light enough for each theme. */

const LIGHT = ["#0072b2", "#b04a00", "#00734f", "#8a4fa0", "#7a5b00", "#1b7f9e", "#555f6b", "#a3195b"];
const DARK = ["#56b4e9", "#ff9d5c", "#4fd3a5", "#d39be0", "#f0d060", "#7fd6ea", "#a9b4bf", "#f58bb8"];
/** Dash patterns tell more series apart than there are colours. */
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
 * @returns null: there are more lines than can be told apart
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
    found = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    tokens.set(name, found);
  }
  return found;
}
