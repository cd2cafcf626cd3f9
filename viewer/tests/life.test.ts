import { tableFromArrays } from "@uwdata/flechette";
import { describe, expect, it } from "vitest";
import { intervalOf, joined } from "../src/bands";
import { introduce, paletteOf } from "../src/causes";
import { colours } from "../src/colours";
import { Rows, type Explained } from "../src/data";
import { happenings, type PacketTables, type Way } from "../src/life";

function rows(columns: Record<string, unknown[]>): Rows {
  return new Rows(tableFromArrays(columns as never));
}

/** Three segments of 100 octets of which the second is lost and sent again as packet 4. */
const packets = rows({
  time_s: [1, 1.1, 1.2, 1.5, 1.7, 1.71, 1.75, 2, 2.5, 2.52, 3],
  packet: [0, 1, 2, 0, 2, 3, 3, 4, 4, 5, 5],
  flow: Array(11).fill("f"),
  node: ["a", "a", "a", "b", "b", "b", "a", "a", "b", "b", "a"],
  event: ["sent", "sent", "sent", "received", "received", "sent", "received", "sent", "received", "sent", "received"],
  size: [140, 140, 140, 140, 140, 40, 40, 140, 140, 40, 40],
  seq: [1, 101, 201, 1, 201, NaN, NaN, 101, 101, NaN, NaN],
  ack: [NaN, NaN, NaN, NaN, NaN, 101, 101, NaN, NaN, 301, 301],
  len: [100, 100, 100, 100, 100, 0, 0, 100, 100, 0, 0],
  retransmission: ["", "", "", "", "", "", "", "1", "", "", ""],
});
const nothing: Omit<PacketTables, "packets"> = { stages: null, steps: null, drops: null, limits: null, tcp: null };
const way = (packet: number, row: number, sent: number, arrived: number): Way => ({ packet, flow: "f", from: { time: sent, node: "a" }, to: { time: arrived, node: "b", dropped: false }, row });

describe("happenings", () => {
  it("ends with the moment at which the octets are in order, and the ACK", () => {
    const lines = happenings({ packets, ...nothing }, way(2, 2, 1.2, 1.7));
    expect(lines.map((h) => [h.time, h.text])).toEqual([
      [1.2, "sent at a"],
      [1.7, "received at b"],
      [2.5, "in order at b: the application can read it"],
      [3, "acknowledged to a by packet 5"],
    ]);
  });

  it("has the packet whose octets were sent before", () => {
    expect(happenings({ packets, ...nothing }, way(4, 7, 2, 2.5)).map((h) => h.text)).toContain("its octets were sent before, as packet 1");
  });

  it("has no line beyond what an excerpt has", () => {
    const texts = happenings({ packets, ...nothing }, way(2, 2, 1.2, 1.7), { until: 2.6, fromStart: false }).map((h) => h.text);
    expect(texts).toEqual(["sent at a", "received at b"]);
  });

  it("has the samples between which octets were written, and what the sender waited for", () => {
    const tcp = rows({ time_s: [0.5, 0.8, 1.5], flow: ["f", "f", "f"], snd_nxt: [1, 1, 301], notsent_bytes: [100, 300, 0] });
    const limits = rows({ flow: ["f", "f"], start_ns: [2e8, 1.2e9], cause: ["congestion-window", "pacing"] });
    const lines = happenings({ packets, ...nothing, tcp, limits }, way(2, 2, 1.2, 1.7));
    expect(lines[0]).toMatchObject({ time: 0.8, text: "written by the application between 0.5 s and 0.8 s, by samples" });
    expect(lines[1]).toMatchObject({ time: 1.2, text: "until then the sender was limited by congestion-window, since 0.2 s" });
    expect(lines[2]).toMatchObject({ time: 1.2, text: "sent at a" });
  });

  it("has stages with their lengths, and steps between them", () => {
    const stages = rows({ packet: [2, 2, 1], part: [0, 0, 0], stage: ["queue", "airtime", "queue"], where: ["l", "s", "l"], start_ns: [1.2e9, 1.4e9, 0], end_ns: [1.4e9, 1.7e9, 1] });
    const steps = rows({ packet: [2, 2], time_s: [1.45, 1.454], link: ["uplink", "uplink"], step: ["data", "ack"], node: ["a", "b"], to: ["b", "a"], blocks: [3, 3], bytes: [NaN, NaN], mcs: [7, 7] });
    const lines = happenings({ packets, ...nothing, stages, steps }, way(2, 2, 1.2, 1.7));
    expect(lines.slice(0, 5).map((h) => [h.time, h.until, h.text])).toEqual([
      [1.2, undefined, "sent at a"],
      [1.2, 1.4, "queue (l)"],
      [1.4, 1.7, "airtime (s)"],
      [1.45, undefined, "uplink data: a to b, 3 resource blocks, MCS 7"],
      [1.454, undefined, "uplink ack: b to a"],
    ]);
  });
});

const flow = (causes: string[], shares = causes.map(() => 1 / causes.length)): Explained => ({
  flow: "f",
  exact: true,
  of: "time",
  named: 7,
  sentences: [],
  parts: causes.map((cause, i) => ({ cause, place: `p${i}`, share: shares[i]!, s: 1 })),
  timeline: null,
  advice: [],
});

describe("paletteOf", () => {
  it("keeps the colour of a cause between flows, and distinguishes the causes of a flow", () => {
    const one = flow(["queue", "pacing", "queue"], [0.6, 0.3, 0.1]);
    const two = flow(["pacing", "queue"], [0.9, 0.1]);
    introduce([one, two]);
    const [q, p, q2] = paletteOf(one);
    expect(paletteOf(two)).toEqual([p, q]);
    expect(new Set([q, p, q2]).size).toBe(3);
  });

  it("never gives two causes of a flow one colour", () => {
    for (let i = 0; i < 6; i++) {
      const numbers = paletteOf(flow(Array.from({ length: 7 }, (_, k) => `cause ${i * 3 + k}`)));
      expect(new Set(numbers.map((n) => n % colours())).size).toBe(7);
    }
  });

  it("never gives two causes one number", () => {
    const causes = new Map<number, string>();
    for (let i = 0; i < 6; i++) {
      const names = Array.from({ length: 7 }, (_, k) => `other ${i * 5 + k}`);
      paletteOf(flow(names)).forEach((n, k) => {
        expect(causes.get(n) ?? names[k]).toBe(names[k]);
        causes.set(n, names[k]!);
      });
    }
  });
});

describe("joined", () => {
  const timeline = { edges_s: [0, 1, 2, 3], whole_s: [1, 3, 0], shares: [[1, 0, 0], [0, 1, 0]] };
  it("weighs intervals by what they divide", () => {
    expect(joined(timeline, 2)).toEqual({ edges: [0, 2, 3], shares: [[25, 75], null] });
  });

  it("finds the interval of a moment", () => {
    expect([-1, 0, 0.5, 1, 3, 4].map((t) => intervalOf([0, 1, 2, 3], t))).toEqual([-1, 0, 0, 1, 2, -1]);
  });
});
