/** Which colour each cause of a flow's budget has, wherever on the page it is drawn. */

import { colour, colours } from "./colours";
import type { Explained } from "./data";
import { el } from "./dom";

/**
 * Numbers by cause, in the order in which causes became known: the largest ones first. A number is of one cause only; a colour
 * is of every eighth number. A cause whose colour another cause of a flow has gets a further number there.
 */
const known = new Map<string, number[]>();
const used = new Set<number>();

/** A new number for a cause, with a colour that is not among those. */
function number(key: string, taken: Set<number>): number {
  let n = 0;
  while (used.has(n) || taken.has(n % colours())) n++;
  used.add(n);
  known.set(key, [...(known.get(key) ?? []), n]);
  return n;
}

/** The causes of a flow; the second place of the same cause is another cause. */
function keysOf(flow: Explained): string[] {
  const seen = new Map<string, number>();
  return flow.parts.map((part) => {
    const n = seen.get(part.cause) ?? 0;
    seen.set(part.cause, n + 1);
    return `${part.cause} ${n}`;
  });
}

/** Gives the causes of these flows their colours: of all runs that are shown together before one of them is drawn. */
export function introduce(flows: Explained[]): void {
  const weights = new Map<string, number>();
  for (const flow of flows) keysOf(flow).slice(0, flow.named).forEach((key, i) => weights.set(key, (weights.get(key) ?? 0) + flow.parts[i]!.share));
  for (const [key] of [...weights].sort((a, b) => b[1] - a[1])) if (!known.has(key)) number(key, new Set());
}

/** The parts of a flow that are named for the whole of its time. */
export function namedOf(flow: Explained): number[] {
  return flow.parts.slice(0, flow.named).map((_, k) => k);
}

/**
 * The numbers of the causes of these parts of a flow, which are also those of their colours.
 *
 * No two of these causes have one colour. A cause keeps its colour between flows and between choices of parts where that is free.
 */
export function paletteOf(flow: Explained, parts = namedOf(flow)): number[] {
  introduce([flow]);
  const taken = new Set<number>();
  const keys = keysOf(flow);
  return parts.map((part) => {
    const key = keys[part]!;
    const found = known.get(key)?.find((n) => !taken.has(n % colours())) ?? number(key, taken);
    taken.add(found % colours());
    return found;
  });
}

/** What a colour is called in a drawing, for those who do not distinguish colours. */
export function mark(number: number): string {
  return String(number + 1);
}

/** A patch of a colour with its mark; null: what all other causes have. */
export function patch(number: number | null): HTMLElement {
  return number === null
    ? el("b", { class: "patch rest", "aria-hidden": "true" })
    : el("b", { class: "patch", style: `--c:${colour(number)}`, "aria-hidden": "true", "data-colour": number }, mark(number));
}

/** Gives patches within a node the colours of the theme. */
export function recolour(node: ParentNode): void {
  node.querySelectorAll<HTMLElement>("[data-colour]").forEach((p) => p.style.setProperty("--c", colour(Number(p.dataset["colour"]))));
}

/** A cause with its place, in words. */
export function name(part: { cause: string; place: string }): string {
  return part.place ? `${part.cause} (${part.place})` : part.cause;
}
