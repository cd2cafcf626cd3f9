import { tableFromArrays } from "@uwdata/flechette";
import { describe, expect, it } from "vitest";
import { Rows, type TableInfo } from "../src/data";
import { plain, quantity } from "../src/format";
import { waysOf } from "../src/packets";
import { grouped } from "../src/panels";
import { ticksOf } from "../src/packets";
import { predicate, problem } from "../src/tables";

function rows(columns: Record<string, unknown[]>): Rows {
  return new Rows(tableFromArrays(columns as never));
}

const column = (name: string, type: "number" | "text") => ({ name, type, unit: "", description: "" });

describe("Rows", () => {
  it("gives NaN and empty texts for a column that is not there", () => {
    const r = rows({ a: [1, 2] });
    expect(Array.from(r.numbers("b"))).toEqual([NaN, NaN]);
    expect(r.texts("c").at(1)).toBe("");
    expect(r.text("a", 1)).toBe("2");
  });
});

describe("grouped", () => {
  it("keeps the rows of each series in order", () => {
    const r = rows({ flow: ["a", "b", "a"], direction: ["x", "x", "x"] });
    expect([...grouped(r, ["flow", "direction"])].map(([name, members]) => [name, Array.from(members)])).toEqual([
      ["a x", [0, 2]],
      ["b x", [1]],
    ]);
  });
});

describe("predicate", () => {
  const r = rows({ flow: ["ftp", "web", "Ftp2"], size: [10, 20, 30], rate: [1, NaN, 3] });
  const info: TableInfo = { name: "t", description: "", rows: 3, columns: [column("flow", "text"), column("size", "number"), column("rate", "number")], series: [] };
  const matching = (text: string): number[] => {
    const accepts = predicate(text, r, info);
    return [0, 1, 2].filter((i) => accepts === null || accepts(i));
  };
  it.each([
    ["", [0, 1, 2]],
    ["flow = ftp", [0]],
    ["flow != ftp", [1, 2]],
    ["size > 10", [1, 2]],
    ["size >= 10 and size < 30", [0, 1]],
    ["ftp", [0, 2]],
    ["nothing", []],
    ["rate =", [1]],
    ["rate != and size > 10", [2]],
  ])("'%s'", (text, expected) => expect([matching(text), problem(text, info)]).toEqual([expected, null]));
  it.each([
    ["size = x", "'x' is not a number."],
    ["size >", "A number is missing after >."],
    ["flow = ftp and other = 3", "The table has no column 'other'."],
    ["flow < ftp", "'flow' has texts: compare with = or !=."],
  ])("'%s' is refused", (text, expected) => expect(problem(text, info)).toBe(expected));
});

describe("ticksOf", () => {
  it.each([
    [0, 10, 5, 0, 2],
    [0, 10, 11, 0, 1],
    [0.03, 0.97, 4, 0.5, 0.5],
    [12.3456, 12.3461, 6, 12.3456, 1e-4],
  ])("from %s to %s at most %s", (from, to, most, first, step) => {
    const found = ticksOf(from, to, most);
    expect(found[0]).toBeCloseTo(first, 9);
    expect(found[1]).toBeCloseTo(step, 9);
    expect((to - from) / found[1]).toBeLessThanOrEqual(most + 1e-9);
  });
});

describe("waysOf", () => {
  it("ends a way at its delivery, also where a copy was dropped", () => {
    const r = rows({
      time_s: [0, 0.1, 0.2, 0.3, 0.4],
      packet: [1, 2, 1, 1, 2],
      event: ["sent", "sent", "dropped", "received", "dropped"],
      node: ["a", "a", "x", "b", "q"],
      flow: ["f", "f", "f", "f", "f"],
    });
    expect(waysOf(r).map((w) => [w.packet, w.to?.node, w.to?.dropped])).toEqual([
      [1, "b", false],
      [2, "q", true],
    ]);
  });
});

describe("numbers", () => {
  it.each([
    [2.5e6, "bit/s", "2.5 Mbit/s"],
    [1500, "B", "1.5 kB"],
    [0.0123, "s", "12.3 ms"],
    [5e-5, "s", "50 µs"],
    [2, "s", "2 s"],
    [12345, "us", "12.35 ms"],
    [NaN, "s", ""],
    [3, "", "3"],
    [-3.5, "dB", "−3.5 dB"],
  ])("%s %s", (x, unit, expected) => expect(quantity(x, unit)).toBe(expected));
  it("writes large and small ones", () => {
    expect(plain(1e16)).toBe("1.000e+16");
    expect(plain(22000)).toBe("22000");
    expect(plain(Infinity)).toBe("∞");
  });
});
