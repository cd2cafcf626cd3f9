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

/**
 * Lanes of the table `stages`, with what a packet passes earlier further above. The packets of each sender have lanes of their
 * own: `senders` has the node that sent each packet, and those of the first sender are above.
 */
export function layersOf(stages: Rows, senders: Map<number, string>): Layers {
  const numbers = stages.numbers("packet");
  const [starts, ends] = [stages.numbers("start_ns"), stages.numbers("end_ns")];
  const [stage, where] = [stages.texts("stage"), stages.texts("where")];
  const groups = [...new Set(senders.values()), ""];
  const known = new Map<number, number>();
  const found: { name: string; group: number; rank: number; n: number }[] = [];
  const stays = new Map<number, Stay[]>();
  for (let i = 0; i < stages.length; i++) {
    const group = groups.indexOf(senders.get(numbers[i]!) ?? "");
    const key = (group * stage.names.length + stage.codes[i]!) * where.names.length + where.codes[i]!;
    let lane = known.get(key);
    if (lane === undefined) {
      lane = found.length;
      known.set(key, lane);
      found.push({ name: `${stage.at(i)}, ${where.at(i)}`, group, rank: 0, n: 0 });
    }
    const stay = { lane, start: starts[i]! / 1e9, end: ends[i]! / 1e9 };
    const own = stays.get(numbers[i]!);
    if (own === undefined) stays.set(numbers[i]!, [stay]);
    else own.push(stay);
  }
  // The mean place of each lane in the ways that it is part of.
  for (const own of stays.values()) {
    own.sort((a, b) => a.start - b.start || a.end - b.end);
    own.forEach((s, k) => {
      found[s.lane]!.rank += own.length > 1 ? k / (own.length - 1) : 0;
      found[s.lane]!.n++;
    });
  }
  const order = found.map((_, lane) => lane).sort((a, b) => found[a]!.group - found[b]!.group || found[a]!.rank / found[a]!.n - found[b]!.rank / found[b]!.n || a - b);
  const place = new Array<number>(found.length);
  order.forEach((lane, k) => (place[lane] = k));
  for (const own of stays.values()) for (const s of own) s.lane = place[s.lane]!;
  const shared = (name: string): boolean => found.filter((l) => l.name === name).length > 1;
  return { lanes: order.map((lane) => (shared(found[lane]!.name) ? `${found[lane]!.name} (from ${groups[found[lane]!.group]!})` : found[lane]!.name)), stays };
}
