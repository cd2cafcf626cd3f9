/** Numbers as people read them. */

const PREFIXES: [number, string][] = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** A number with up to `digits` significant digits and no exponent where it can do without. */
export function plain(x: number, digits = 4): string {
  if (Number.isNaN(x)) return "";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const text = Math.abs(x) >= 1e15 || (x !== 0 && Math.abs(x) < 1e-6) ? x.toExponential(digits - 1) : String(Number(x.toPrecision(digits)));
  return text.replace("-", "−");
}

/** What values up to `most` are divided by on an axis, and the unit with its prefix. */
export function prefixed(most: number, unit: string): { factor: number; unit: string } {
  const found = unit === "bit/s" || unit === "B" ? PREFIXES.find(([factor]) => most >= factor) : undefined;
  return found === undefined ? { factor: 1, unit: unit === "1" ? "" : unit } : { factor: found[0], unit: `${found[1]}${unit}` };
}

/** A number with its unit, and a decimal prefix for rates and sizes. */
export function quantity(x: number, unit: string): string {
  if (Number.isNaN(x)) return "";
  if (unit === "bit/s" || unit === "B") {
    for (const [factor, prefix] of PREFIXES) {
      if (Math.abs(x) >= factor) return `${plain(x / factor)} ${prefix}${unit}`;
    }
  }
  if (unit === "s" && x !== 0 && Math.abs(x) < 1) return Math.abs(x) < 1e-3 ? `${plain(x * 1e6)} µs` : `${plain(x * 1e3)} ms`;
  if (unit === "us") return Math.abs(x) >= 1e6 ? `${plain(x / 1e6)} s` : Math.abs(x) >= 1e3 ? `${plain(x / 1e3)} ms` : `${plain(x)} µs`;
  return unit === "" || unit === "1" ? plain(x) : `${plain(x)} ${unit}`;
}

/** A time of a run in seconds. */
export function seconds(t: number): string {
  return `${Number(t.toFixed(6))} s`.replace("-", "−");
}
