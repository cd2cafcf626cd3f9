import { describe, expect, it } from "vitest";
import { layout, longestNumbers, placesOf, product, round, spaced, type Axis } from "../src/campaign";
import { prefixed } from "../src/format";

const axis = (labels: string[], numbers: number[] | null): Axis => ({ name: "a", unit: "", labels, numbers });

describe("an axis", () => {
  it("puts numbers by size, over two decades by their logarithm, and words in order", () => {
    placesOf(axis(["0", "5", "10"], [0, 5, 10])).forEach((p, i) => expect(p).toBeCloseTo([0.04, 0.5, 0.96][i]!));
    const [a, b, c] = placesOf(axis(["1", "10", "100"], [1, 10, 100])) as [number, number, number];
    expect(b - a).toBeCloseTo(c - b);
    const words = placesOf(axis(["x", "y", "z"], null));
    expect(words).toEqual([...words].sort((p, q) => p - q));
    expect(placesOf(axis(["only"], [3]))).toEqual([0.5]);
    expect(placesOf(axis(["same", "same"], [3, 3])).every((p) => p > 0 && p < 1)).toBe(true);
  });
});

describe("panels", () => {
  it("have the longest axis of numbers along x", () => {
    expect(longestNumbers([axis(["a", "b", "c"], null), axis(["1", "2"], [1, 2]), axis(["1"], [1])])).toBe(1);
    expect(longestNumbers([axis(["a"], null)])).toBe(0);
    expect(longestNumbers([])).toBe(0);
  });
  it("have each axis once", () => {
    const axes = [axis([], null), axis([], null), axis([], null)];
    expect(layout(axes, 0, 2)).toEqual({ x: 0, colour: 2, panels: [1] });
    expect(layout(axes, 1, 1)).toEqual({ x: 1, colour: null, panels: [0, 2] });
  });
  it("are all combinations", () => {
    expect(product([])).toEqual([[]]);
    expect(product([2, 1])).toEqual([[0, 0], [1, 0]]);
  });
});

describe("ticks", () => {
  it.each([
    [0, 28.9],
    [0, 1],
    [-3, 5],
    [0, 0],
    [0, 1e-9],
    [0, 7.3e12],
  ])("enclose %s and %s", (low, high) => {
    const ticks = round(low, high);
    expect(ticks[0]).toBeLessThanOrEqual(low);
    expect(ticks.at(-1)).toBeGreaterThanOrEqual(high);
    expect(ticks.length).toBeGreaterThan(2);
    expect(ticks.length).toBeLessThan(8);
  });
});

describe("labels of an axis", () => {
  it("are left out where they would meet", () => {
    const at = [44, 50, 150, 280];
    expect(spaced(["1", "2", "5", "10"], (i) => at[i]!)).toEqual([0, 2, 3]);
    expect(spaced(["b", "a"], (i) => [200, 100][i]!)).toEqual([1, 0]);
  });

  it("have a prefix for rates and sizes only", () => {
    expect(prefixed(1.5e7, "bit/s")).toEqual({ factor: 1e6, unit: "Mbit/s" });
    expect(prefixed(900, "B")).toEqual({ factor: 1, unit: "B" });
    expect(prefixed(5000, "ms")).toEqual({ factor: 1, unit: "ms" });
  });
});
