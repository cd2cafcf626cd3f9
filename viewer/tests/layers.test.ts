import { tableFromArrays, tableFromIPC, tableToIPC } from "@uwdata/flechette";
import { describe, expect, it } from "vitest";
import { merged } from "../src/chart";
import { Rows, timelineOf } from "../src/data";
import { layersOf } from "../src/layers";

function stages(rows: [number, string, string, number, number][]): Rows {
  const table = tableFromArrays({
    packet: rows.map((r) => r[0]),
    stage: rows.map((r) => r[1]),
    where: rows.map((r) => r[2]),
    start_ns: rows.map((r) => r[3] * 1e9),
    end_ns: rows.map((r) => r[4] * 1e9),
  });
  return new Rows(tableFromIPC(tableToIPC(table, {})!));
}

describe("layers", () => {
  it("stand in the order of the way, data before what returns", () => {
    const rows = stages([
      [1, "rlc-queue", "phone", 2, 3],
      [1, "queue", "link", 0, 1],
      [1, "propagation", "link", 1, 2],
      [2, "rlc-queue", "phone", 3, 4],
      [2, "propagation", "link back", 4, 5],
      [3, "queue", "link", 0.5, 1],
      [3, "rlc-queue", "phone", 2, 4],
    ]);
    const senders = new Map([
      [1, "server"],
      [2, "phone"],
      [3, "server"],
    ]);
    const found = layersOf(rows, senders);
    expect(found.lanes).toEqual(["queue, link", "propagation, link", "rlc-queue, phone (from server)", "rlc-queue, phone (from phone)", "propagation, link back"]);
    expect(found.stays.get(1)).toEqual([
      { lane: 0, start: 0, end: 1 },
      { lane: 1, start: 1, end: 2 },
      { lane: 2, start: 2, end: 3 },
    ]);
    expect(found.stays.get(3)!.map((s) => s.lane)).toEqual([0, 2]);
    expect(found.stays.get(2)!.map((s) => s.lane)).toEqual([3, 4]);
  });

  it("are none of an empty table", () => {
    expect(layersOf(stages([]), new Map()).lanes).toEqual([]);
  });
});

describe("lines of several series", () => {
  it("share their times, also one that comes twice", () => {
    expect(
      merged([
        [
          [1, 2, 2, 4],
          [10, 20, 21, 40],
        ],
        [
          [2, 3],
          [5, null],
        ],
      ]),
    ).toEqual([
      [1, 2, 2, 3, 4],
      [10, 20, 21, null, 40],
      [null, 5, null, null, null],
    ]);
    expect(merged([[[], []], [[], []]])).toEqual([[], [], []]);
  });
});

describe("finer bands of a file", () => {
  it("are shares and wholes in 65535ths, over the time of the coarse ones", () => {
    const coarse = { edges_s: [1, 3], whole_s: [1], shares: [[0.5], [0.5]] };
    const values = [0, 65535, 65535, 0, 32767, 65535];
    const bytes = new Uint8Array(2 * values.length);
    const view = new DataView(bytes.buffer);
    values.forEach((v, i) => view.setUint16(2 * i, v, true));
    const found = timelineOf(bytes, coarse);
    expect(found.edges_s).toEqual([1, 2, 3]);
    expect(found.shares).toEqual([
      [0, 1],
      [1, 0],
    ]);
    expect(found.whole_s[0]).toBeCloseTo(0.5, 4);
    expect(found.whole_s[1]).toBe(1);
  });
});
