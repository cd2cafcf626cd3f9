/** A series that is drawn at any zoom with a bounded number of points: minima and maxima of ever longer stretches. */

/** Samples of a stretch at the lowest level. */
const LEAF = 16;

/** Values that differ by this share are drawn as one. */
const LEVEL = 1e-3;

export interface Points {
  x: number[];
  y: number[];
}

export class Series {
  readonly #levels: { min: Float64Array; max: Float64Array }[] = [];

  /**
   * @param x times in ascending order
   * @param y values; NaN is missing
   */
  constructor(
    readonly x: Float64Array,
    readonly y: Float64Array,
  ) {
    let n = Math.ceil(y.length / LEAF);
    if (n < 2) return;
    let min = new Float64Array(n);
    let max = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      const [lo, hi] = extremes(y, i * LEAF, Math.min((i + 1) * LEAF, y.length));
      min[i] = lo;
      max[i] = hi;
    }
    this.#levels.push({ min, max });
    while (n > 2) {
      const half = Math.ceil(n / 2);
      const nextMin = new Float64Array(half);
      const nextMax = new Float64Array(half);
      for (let i = 0; i < half; i++) {
        nextMin[i] = lesser(min[2 * i]!, min[2 * i + 1] ?? NaN);
        nextMax[i] = greater(max[2 * i]!, max[2 * i + 1] ?? NaN);
      }
      this.#levels.push({ min: nextMin, max: nextMax });
      min = nextMin;
      max = nextMax;
      n = half;
    }
  }

  get length(): number {
    return this.x.length;
  }

  /** Whether both draw the same line: the same samples, or one value for the same time but for a twentieth of it. */
  equals(other: Series): boolean {
    const [level, second] = [this.constant, other.constant];
    if (level !== null && second !== null && Math.abs(level - second) <= LEVEL * Math.abs(level)) {
      const [from, to, first, last] = [this.x[0]!, this.x[this.length - 1]!, other.x[0]!, other.x[other.length - 1]!];
      const most = 0.05 * Math.max(to - from, last - first);
      return Math.abs(from - first) <= most && Math.abs(to - last) <= most;
    }
    return this.length === other.length && this.x.every((x, i) => x === other.x[i]) && this.y.every((y, i) => Object.is(y, other.y[i]));
  }

  /** The value of all samples that are not missing, as far as is visible; null: there are several or none. */
  get constant(): number | null {
    const [low, high] = this.range(-Infinity, Infinity) ?? [NaN, NaN];
    return high - low <= LEVEL * Math.abs(high) ? high : null;
  }

  /**
   * The points to draw between two times, and the one on either side.
   *
   * Up to `2 * buckets` of them are the samples themselves. Of more, each of `buckets` equal stretches of time gives its
   * smallest and largest value at its middle, so that no peak is lost; of less than a pixel the order cannot be seen.
   */
  view(from: number, to: number, buckets: number): Points {
    const first = Math.max(lowerBound(this.x, from) - 1, 0);
    const end = Math.min(lowerBound(this.x, to) + 1, this.length);
    if (end - first <= 2 * buckets) {
      return { x: Array.from(this.x.subarray(first, end)), y: Array.from(this.y.subarray(first, end)) };
    }
    const points: Points = { x: [], y: [] };
    const width = (to - from) / buckets;
    let start = first;
    for (let b = 0; b < buckets && start < end; b++) {
      const limit = b === buckets - 1 ? end : Math.min(lowerBound(this.x, from + (b + 1) * width), end);
      if (limit <= start) continue;
      if (limit - start === 1) push(points, this.x[start]!, this.y[start]!);
      else {
        const [min, max] = this.#between(start, limit);
        // The same moments for all lines: they are drawn over one axis.
        const middle = from + (b + 0.5) * width;
        // From the end that the line comes from.
        const isFalling = this.y[start]! - min > max - this.y[start]!;
        push(points, middle, isFalling ? max : min);
        push(points, middle, isFalling ? min : max);
      }
      start = limit;
    }
    return points;
  }

  /** Smallest and largest value between two times; null without one. */
  range(from: number, to: number): [number, number] | null {
    const [min, max] = this.#between(Math.max(lowerBound(this.x, from) - 1, 0), Math.min(lowerBound(this.x, to) + 1, this.length));
    return Number.isNaN(min) ? null : [min, max];
  }

  /** The value at a time: that of the last sample that is not after it. NaN before the first one. */
  at(time: number): number {
    const i = upperBound(this.x, time) - 1;
    return i < 0 ? NaN : this.y[i]!;
  }

  #between(start: number, end: number): [number, number] {
    // A comparison with NaN is false, so what is missing changes neither.
    let min = Infinity;
    let max = -Infinity;
    let i = start;
    while (i < end) {
      let low = this.y[i]!;
      let high = low;
      let size = 1;
      if (i % LEAF === 0 && i + LEAF <= end && this.#levels.length > 0) {
        let level = 0;
        size = LEAF;
        while (level + 1 < this.#levels.length && i % (size * 2) === 0 && i + size * 2 <= end) {
          level++;
          size *= 2;
        }
        low = this.#levels[level]!.min[i / size]!;
        high = this.#levels[level]!.max[i / size]!;
      }
      if (low < min) min = low;
      if (high > max) max = high;
      i += size;
    }
    return min > max ? [NaN, NaN] : [min, max];
  }
}

function push(points: Points, x: number, y: number): void {
  points.x.push(x);
  points.y.push(y);
}

function extremes(y: Float64Array, start: number, end: number): [number, number] {
  let min = NaN;
  let max = NaN;
  for (let i = start; i < end; i++) {
    min = lesser(min, y[i]!);
    max = greater(max, y[i]!);
  }
  return [min, max];
}

/** The smaller of two; a number rather than NaN. */
function lesser(a: number, b: number): number {
  return b < a || Number.isNaN(a) ? b : a;
}

function greater(a: number, b: number): number {
  return b > a || Number.isNaN(a) ? b : a;
}

/** The first index whose value is not below `value`. */
export function lowerBound(x: Float64Array, value: number): number {
  let lo = 0;
  let hi = x.length;
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if (x[mid]! < value) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/** The first index whose value is above `value`. */
export function upperBound(x: Float64Array, value: number): number {
  let lo = 0;
  let hi = x.length;
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if (x[mid]! <= value) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}
