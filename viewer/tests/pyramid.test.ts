import { describe, expect, it } from "vitest";
import { lowerBound, Series, upperBound } from "../src/pyramid";

/** A small generator, so that a failure can be repeated. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

function series(n: number, seed = 1): Series {
  const next = numbers(seed);
  let time = 0;
  const x = Float64Array.from({ length: n }, () => (time += next()));
  const y = Float64Array.from({ length: n }, (_, i) => (i % 97 === 0 ? NaN : next() * 100 - 50));
  return new Series(x, y);
}

describe("Series", () => {
  it("equals one that draws the same line", () => {
    const a = series(100);
    expect(a.equals(new Series(Float64Array.from(a.x), Float64Array.from(a.y)))).toBe(true);
    expect(a.equals(series(100, 2))).toBe(false);
    expect(a.equals(new Series(a.x.subarray(0, 99), a.y.subarray(0, 99)))).toBe(false);
    const level = (y: number, from: number, n: number): Series => new Series(Float64Array.from({ length: n }, (_, i) => from + i), new Float64Array(n).fill(y));
    expect(level(3, 0, 100).equals(level(3, 1, 98))).toBe(true);
    expect(level(3, 0, 100).equals(level(4, 0, 100))).toBe(false);
    expect(level(3, 0, 100).equals(level(3, 50, 50)), "at other times").toBe(false);
    expect(new Series(new Float64Array(0), new Float64Array(0)).constant).toBeNull();
  });

  it("has the smallest and largest value of any stretch", () => {
    for (const n of [1, 15, 16, 17, 33, 1000, 4096]) {
      const s = series(n, n);
      const next = numbers(n + 1);
      const end = s.x[n - 1]!;
      for (let k = 0; k < 50; k++) {
        const [a, b] = [next() * end, next() * end].sort((p, q) => p - q) as [number, number];
        const first = Math.max(lowerBound(s.x, a) - 1, 0);
        const last = Math.min(lowerBound(s.x, b) + 1, n);
        const values = Array.from(s.y.subarray(first, last)).filter((v) => !Number.isNaN(v));
        const expected = values.length === 0 ? null : [Math.min(...values), Math.max(...values)];
        expect(s.range(a, b)).toEqual(expected);
      }
    }
  });

  it("draws few samples as they are", () => {
    const s = series(100);
    const points = s.view(-1, 1e9, 50);
    expect(points.x).toEqual(Array.from(s.x));
  });

  it("loses no peak of many samples and stays bounded", () => {
    const s = series(20000);
    const end = s.x[s.length - 1]!;
    const points = s.view(0, end, 300);
    expect(points.x.length).toBeLessThanOrEqual(4 * 300 + 4);
    const [min, max] = s.range(0, end)!;
    const drawn = points.y.filter((v) => !Number.isNaN(v));
    expect(Math.min(...drawn)).toBe(min);
    expect(Math.max(...drawn)).toBe(max);
    expect([...points.x]).toEqual([...points.x].sort((a, b) => a - b));
  });

  it("holds a value until the next sample", () => {
    const s = new Series(Float64Array.of(1, 2, 2, 3), Float64Array.of(10, 20, 21, 30));
    expect([0.5, 1, 1.9, 2, 2.5, 3, 9].map((t) => s.at(t))).toEqual([NaN, 10, 10, 21, 21, 30, 30]);
  });

  it("bears no samples and missing values", () => {
    const empty = new Series(new Float64Array(), new Float64Array());
    expect(empty.view(0, 1, 10)).toEqual({ x: [], y: [] });
    expect(empty.range(0, 1)).toBeNull();
    const missing = new Series(Float64Array.of(0, 1), Float64Array.of(NaN, NaN));
    expect(missing.range(0, 1)).toBeNull();
  });
});

describe("bounds", () => {
  it("are those of a sorted array", () => {
    const x = Float64Array.of(1, 2, 2, 3);
    expect([0, 1, 2, 2.5, 3, 4].map((v) => lowerBound(x, v))).toEqual([0, 0, 1, 3, 3, 4]);
    expect([0, 1, 2, 2.5, 3, 4].map((v) => upperBound(x, v))).toEqual([0, 1, 3, 3, 4, 4]);
  });
});
