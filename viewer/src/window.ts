/** The stretch of time that all linked charts show, and the moment under the cursor. */

export interface Range {
  from: number;
  to: number;
}

/** The least stretch that can be seen: a microsecond. */
const LEAST = 1e-6;

export class TimeWindow extends EventTarget {
  #range: Range;
  #cursor: number | null = null;
  #pending = false;

  constructor(readonly whole: Range) {
    super();
    this.#range = { ...whole };
  }

  get range(): Range {
    return this.#range;
  }

  get cursor(): number | null {
    return this.#cursor;
  }

  get isWhole(): boolean {
    return this.#range.from <= this.whole.from && this.#range.to >= this.whole.to;
  }

  /** Shows another stretch, within the whole. */
  show(from: number, to: number): void {
    const span = Math.min(Math.max(to - from, LEAST), this.whole.to - this.whole.from);
    const start = Math.min(Math.max(from, this.whole.from), this.whole.to - span);
    this.#range = { from: start, to: start + span };
    this.#notify();
  }

  showAll(): void {
    this.show(this.whole.from, this.whole.to);
  }

  /** Zooms by a factor about a moment: below 1 into it. */
  zoom(factor: number, about: number): void {
    const { from, to } = this.#range;
    this.show(about - (about - from) * factor, about + (to - about) * factor);
  }

  /** Moves by a part of what is shown. */
  pan(part: number): void {
    const { from, to } = this.#range;
    this.show(from + (to - from) * part, to + (to - from) * part);
  }

  point(time: number | null): void {
    if (this.#cursor === time) return;
    this.#cursor = time;
    this.dispatchEvent(new Event("cursor"));
  }

  /** One event for all changes within a frame. */
  #notify(): void {
    if (this.#pending) return;
    this.#pending = true;
    requestAnimationFrame(() => {
      this.#pending = false;
      this.dispatchEvent(new Event("range"));
    });
  }
}
