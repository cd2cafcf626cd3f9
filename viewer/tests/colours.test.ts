import { differenceCiede2000, filterDeficiencyDeuter, filterDeficiencyProt, filterDeficiencyTrit, parse, wcagContrast, type Color } from "culori";
import { expect, test } from "vitest";
import { colours, DARK, dash, dashes, LIGHT, numberOf } from "../src/colours";

test("a line of a family has its colour in each chart", () => {
  const names = ["car downlink", "car uplink"];
  expect(numberOf(names, "car uplink", 0, 1)).toBe(1);
  expect(numberOf(names, "car downlink", 0, 1)).toBe(0);
});

test("of several runs each has a colour, and its lines differ in their dashes", () => {
  const names = ["downlink", "uplink"];
  const colour = (n: number | null): number => n! % colours();
  const dash = (n: number | null): number => Math.floor(n! / colours());
  for (const run of [0, 1, 2]) {
    for (const [i, name] of names.entries()) {
      const found = numberOf(names, name, run, 3);
      expect([colour(found), dash(found)]).toEqual([run, i]);
    }
  }
});

test("more lines than dashes have numbers of their own, and too many have none", () => {
  const many = Array.from({ length: dashes() + 1 }, (_, i) => `flow ${i}`);
  const all = [0, 1].flatMap((run) => many.map((name) => numberOf(many, name, run, 2)));
  expect(new Set(all).size).toBe(all.length);
  const flows = Array.from({ length: colours() * dashes() + 1 }, (_, i) => `flow ${i}`);
  expect(numberOf(flows, "flow 3", 0, 1)).toBeNull();
});

test("of several UEs gives each a colour, and dashes to its uplink", () => {
  const names = ["far downlink", "far uplink", "near downlink", "near uplink"];
  expect(names.map((name) => numberOf(names, name, 0, 1))).toEqual([0, colours(), 1, colours() + 1]);
  expect(dash(colours()).length).toBeGreaterThan(0);
  const side = [...names, "far sidelink"];
  expect(numberOf(side, "far sidelink", 0, 1)).toBe(2 * colours());
  const one = names.slice(0, 2);
  expect(one.map((name) => numberOf(one, name, 0, 1))).toEqual([0, 1]);
  const many = Array.from({ length: colours() + 1 }, (_, i) => [`u${i} downlink`, `u${i} uplink`]).flat();
  expect(new Set(many.map((name) => numberOf(many, name, 0, 1))).size).toBe(many.length);
});

const VISIONS = { all: (c: Color) => c, "no long cones": filterDeficiencyProt(1), "no middle cones": filterDeficiencyDeuter(1), "no short cones": filterDeficiencyTrit(1) };

test.each([
  ["light", LIGHT, "#ffffff"],
  ["dark", DARK, "#14181d"],
] as const)("people with any colour vision distinguish the colours of the %s theme", (_, set, paper) => {
  const distance = differenceCiede2000();
  for (const [vision, seen] of Object.entries(VISIONS)) {
    const as = set.map((hex) => seen(parse(hex)!));
    for (let i = 0; i < set.length; i++) {
      for (let k = 0; k < i; k++) expect(distance(as[i]!, as[k]!), `${set[k]} and ${set[i]}, ${vision}`).toBeGreaterThan(10.9);
    }
  }
  // Numbers on them have the colour of the paper (WCAG 2.2, 1.4.3).
  for (const hex of set) expect(wcagContrast(hex, paper), hex).toBeGreaterThan(4.5);
});
