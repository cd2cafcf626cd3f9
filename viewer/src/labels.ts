/** Names beside points of a picture, none over another. */

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Named {
  x: number;
  y: number;
  name: string;
}

export interface Label {
  x: number;
  /** The baseline of its letters. */
  y: number;
  anchor: "middle" | "start" | "end";
}

/** Width of a letter over the size of letters, on average; names have few wide ones. */
const WIDTH = 0.6;
/** Of the size of letters: above and below the baseline. */
const ASCENT = 0.8;
const DESCENT = 0.25;

/**
 * A place for each name below, above, right or left of its point, or null where none is free.
 *
 * `letter` is the size of letters and `gap` half the size of a point's sign. Names keep within `bounds` and off `taken`, to which
 * the boxes of the names are added. All in units of the picture, whose y axis points down.
 */
export function placed(points: Named[], letter: number, gap: number, bounds: Box, taken: Box[]): (Label | null)[] {
  return points.map(({ x, y, name }) => {
    const width = name.length * letter * WIDTH;
    const beside = y + letter * (ASCENT - (ASCENT + DESCENT) / 2);
    const wanted: Label[] = [
      { x, y: y + gap + letter * ASCENT, anchor: "middle" },
      { x, y: y - gap - letter * DESCENT, anchor: "middle" },
      { x: x + gap * 1.3, y: beside, anchor: "start" },
      { x: x - gap * 1.3, y: beside, anchor: "end" },
    ];
    for (const label of wanted) {
      const left = label.x - (label.anchor === "middle" ? width / 2 : label.anchor === "end" ? width : 0);
      const box: Box = { left, right: left + width, top: label.y - letter * ASCENT, bottom: label.y + letter * DESCENT };
      if (box.left < bounds.left || box.right > bounds.right || box.top < bounds.top || box.bottom > bounds.bottom) continue;
      if (taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      return label;
    }
    return null;
  });
}

export function overlap(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/** One name for all nodes of a place: what the names of a site's sectors have in common, or the names. */
export function nameOf(names: string[]): string {
  if (names.length === 1) return names[0]!;
  const parts = names.map((name) => name.split("-"));
  const stem = parts[0]!.slice(0, -1).join("-");
  if (stem !== "" && parts.every((p) => p.slice(0, -1).join("-") === stem && /^\d+$/.test(p[p.length - 1]!))) return stem;
  return names.length <= 3 ? names.join(", ") : `${names.slice(0, 2).join(", ")} and ${names.length - 2} more`;
}
