import { describe, expect, it } from "vitest";
import { type Move, moved, moveOf, positionOf, tempo } from "../../src/view/replay/position";

const key = (name: string, modifiers: KeyboardEventInit = {}) =>
  ({ key: name, metaKey: false, ctrlKey: false, altKey: false, ...modifiers }) as KeyboardEvent;

it("null is the pass at its end, and a number is clamped to the pass", () => {
  expect(positionOf(null, 5)).toEqual({ at: 5, ended: true });
  expect(positionOf(2, 5)).toEqual({ at: 2, ended: false });
  expect(positionOf(99, 5)).toEqual({ at: 5, ended: false });
  expect(positionOf(-3, 5)).toEqual({ at: 0, ended: false });
});

describe("moves from", () => {
  const all = (step: number | null) =>
    (["start", "back", "forward", "end"] as Move[]).map((move) => moved(positionOf(step, 5), 5, move));

  it.each([
    [0, [0, 0, 1, null]],
    [3, [0, 2, 4, null]],
    [5, [0, 4, 5, null]],
    [null, [0, 4, null, null]],
  ])("step %s", (step, expected) => {
    expect(all(step)).toEqual(expected);
  });
});

it("takes brackets for steps, typed with AltGr too, and leaves shortcuts alone", () => {
  expect(moveOf(key("["))).toBe("back");
  expect(moveOf(key("]"))).toBe("forward");
  expect(moveOf(key("[", { ctrlKey: true, altKey: true }))).toBe("back");
  expect(moveOf(key("[", { metaKey: true }))).toBeNull();
  expect(moveOf(key("]", { ctrlKey: true }))).toBeNull();
  expect(moveOf(key("x"))).toBeNull();
});

it("plays at most ten pictures a second, and a long pass in about half a minute", () => {
  expect(tempo(5, 1)).toEqual({ pause: 900, stride: 1 });
  expect(tempo(5, 4)).toEqual({ pause: 225, stride: 1 });
  for (const speed of [0.5, 1, 2, 4]) {
    const { pause, stride } = tempo(30_000, speed);
    expect(pause).toBeGreaterThanOrEqual(100);
    const whole = (30_000 / stride) * pause;
    expect(whole).toBeGreaterThan(20_000 / speed);
    expect(whole).toBeLessThan(40_000 / speed);
  }
});
