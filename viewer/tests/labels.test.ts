import { describe, expect, it } from "vitest";
import { nameOf, placed, type Box } from "../src/labels";

const BOUNDS: Box = { left: 0, top: 0, right: 200, bottom: 100 };

describe("names beside points", () => {
  it("are below their point where nothing is in the way", () => {
    expect(placed([{ x: 100, y: 50, name: "enb" }], 10, 5, BOUNDS, [])).toEqual([{ x: 100, y: 63, anchor: "middle" }]);
  });

  it("do not lie over each other: the second one of a place is above it", () => {
    const found = placed([{ x: 100, y: 50, name: "enb" }, { x: 100, y: 50, name: "home" }], 10, 5, BOUNDS, []);
    expect(found.map((label) => label?.y)).toEqual([63, 42.5]);
  });

  it("stay within the picture", () => {
    // 8 letters take 48: to the left or right they would be cut in the middle of a border.
    expect(placed([{ x: 198, y: 50, name: "listener" }], 10, 5, BOUNDS, [])[0]?.anchor).toBe("end");
    expect(placed([{ x: 2, y: 50, name: "listener" }], 10, 5, BOUNDS, [])[0]?.anchor).toBe("start");
  });

  it("are left out where there is no room", () => {
    const crowd = Array.from({ length: 6 }, (_, i) => ({ x: 100, y: 50, name: `ue-${i}` }));
    expect(placed(crowd, 10, 5, BOUNDS, []).filter((label) => label === null)).toHaveLength(4);
  });

  it("keep off what is there already", () => {
    expect(placed([{ x: 100, y: 50, name: "a" }], 10, 5, BOUNDS, [{ left: 0, right: 200, top: 55, bottom: 100 }])[0]?.y).toBe(42.5);
  });
});

describe("one name for a place", () => {
  it("is the site's where its sectors stand there", () => {
    expect(nameOf(["macro-1-1", "macro-1-2", "macro-1-3"])).toBe("macro-1");
  });

  it("is all names where they have nothing to do with each other", () => {
    expect(nameOf(["enb", "home"])).toBe("enb, home");
    expect(nameOf(["phone-am", "phone-um"])).toBe("phone-am, phone-um");
    expect(nameOf(["a", "b", "c", "d"])).toBe("a, b and 2 more");
    expect(nameOf(["1", "2"])).toBe("1, 2");
  });
});
