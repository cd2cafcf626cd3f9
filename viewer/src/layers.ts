/** Where packets were at each moment, as lanes of a drawing: a lane for each stage at each place, in the order of the way. */

import type { Rows } from "./data";

/** A stretch of a packet's way in one lane. */
export interface Stay {
  lane: number;
  start: number;
  end: number;
}

export interface Layers {
  /** Names of the lanes from above: stage and place. */
  lanes: string[];
  /** The stays of each packet, by its number, in the order of time. */
  stays: Map<number, Stay[]>;
}

/** Lanes of the table `stages`; what a packet passes earlier is further above. */
export function layersOf(stages: Rows): Layers {
  const numbers = stages.numbers("packet");
  const [starts, ends] = [stages.numbers("start_ns"), stages.numbers("end_ns")];
  const [stage, where] = [stages.texts("stage"), stages.texts("where")];
  const known = new Map<number, number>();
  const names: string[] = [];
  const stays = new Map<number, Stay[]>();
  for (let i = 0; i < stages.length; i++) {
    const key = stage.codes[i]! * where.names.length + where.codes[i]!;
    let lane = known.get(key);
    if (lane === undefined) {
      lane = names.length;
      known.set(key, lane);
      names.push(`${stage.at(i)}, ${where.at(i)}`);
    }
    const stay = { lane, start: starts[i]! / 1e9, end: ends[i]! / 1e9 };
    const own = stays.get(numbers[i]!);
    if (own === undefined) stays.set(numbers[i]!, [stay]);
    else own.push(stay);
  }
  // The mean place of each lane in the ways that it is part of, with the ways of data before those of what returns.
  const sums = names.map(() => ({ rank: 0, n: 0 }));
  for (const own of stays.values()) {
    own.sort((a, b) => a.start - b.start || a.end - b.end);
    own.forEach((s, k) => {
      sums[s.lane]!.rank += own.length > 1 ? k / (own.length - 1) : 0;
      sums[s.lane]!.n++;
    });
  }
  const group = groupsOf(stays, names.length);
  const order = names
    .map((_, lane) => lane)
    .sort((a, b) => group[a]! - group[b]! || sums[a]!.rank / sums[a]!.n - sums[b]!.rank / sums[b]!.n || a - b);
  const place = new Array<number>(names.length);
  order.forEach((lane, k) => (place[lane] = k));
  for (const own of stays.values()) for (const s of own) s.lane = place[s.lane]!;
  return { lanes: order.map((lane) => names[lane]!), stays };
}

/** Lanes that share a packet are of one group; groups are numbered as they are met: data first, as it is sent first. */
function groupsOf(stays: Map<number, Stay[]>, count: number): number[] {
  const parent = Array.from({ length: count }, (_, i) => i);
  const root = (i: number): number => {
    while (parent[i] !== i) i = parent[i] = parent[parent[i]!]!;
    return i;
  };
  for (const own of stays.values()) for (let k = 1; k < own.length; k++) parent[root(own[k]!.lane)] = root(own[0]!.lane);
  const met = new Map<number, number>();
  return parent.map((_, i) => {
    const r = root(i);
    if (!met.has(r)) met.set(r, met.size);
    return met.get(r)!;
  });
}
