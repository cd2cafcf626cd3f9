import { expect, test } from "vitest";
import { chosen, joined } from "../src/bands";
import { ordered } from "../src/data";

/** Ten causes; the last one has the fifth second alone, the one before a part of it. */
const shares = Array.from({ length: 10 }, (_, k) =>
  Array.from({ length: 10 }, (_, i) => (i === 5 ? (k === 9 ? 0.9 : k === 8 ? 0.1 : 0) : k < 8 ? (8 - k) / 36 : 0)),
);
const timeline = { edges_s: Array.from({ length: 11 }, (_, i) => i), whole_s: Array(10).fill(1), shares };

// Five have 2, 1.75, 1.5, 1.25 and 1 s. Of the others the last two have peaks of 0.9 and 0.1, the sixth one 3/36.
test("of the whole the largest causes have bands, and those that fill a moment", () => {
  expect(chosen(joined(timeline, 1), 0, 10, 7)).toEqual([0, 1, 2, 3, 4, 8, 9]);
});

test("of a part of the time those of this part have bands", () => {
  expect(chosen(joined(timeline, 1), 5.2, 5.8, 7)).toEqual([8, 9]);
  expect(chosen(joined(timeline, 1), 0, 5, 7)).toEqual([0, 1, 2, 3, 4, 5, 6]);
});

test("where nothing is divided no cause has a band", () => {
  expect(chosen(joined({ ...timeline, whole_s: Array(10).fill(0) }, 1), 0, 10, 7)).toEqual([]);
});

test("intervals that are joined have the shares of their time", () => {
  const stack = joined({ edges_s: [0, 1, 2], whole_s: [3, 1], shares: [[1, 0], [0, 0.5]] }, 2);
  expect(stack.shares).toEqual([[75, 12.5]]);
});

test("rows of a part of the time come in the order of the whole's causes", () => {
  const part = { edges_s: [0, 1], whole_s: [1], shares: [[0.7], [0.3]], parts: [{ cause: "b", place: "x" }, { cause: "a", place: "" }].map((p) => ({ ...p, share: 0, s: 0 })) };
  const wanted = ["a", "c", "b"].map((cause) => ({ cause, place: cause === "b" ? "x" : "", share: 0, s: 0 }));
  expect(ordered(part, wanted)).toEqual([[0.3], [0], [0.7]]);
});
