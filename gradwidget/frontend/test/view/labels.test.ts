import { describe, expect, it } from "vitest";
import { layout } from "../../src/layout/index";
import { buildScene } from "../../src/scene/build";
import type { Box } from "../../src/view/camera";
import { gradientTexts, labelText, placeLabels, valueTexts } from "../../src/view/labels";
import { page } from "../samples";

const measure = (text: string) => text.length * 8;

function labelsOf(name: Parameters<typeof page>[0], direction: "right" | "down" = "right") {
  const { graph, live } = page(name);
  const placed = layout(buildScene(graph, null, { maxNodes: 3000, measure }), { direction });
  return { placed, labels: placeLabels(placed, valueTexts(graph), gradientTexts(live?.passes[0] ?? null)) };
}

it("shows each value and gradient of the small example once", () => {
  const texts = labelsOf("abc").labels.map(({ tone, text }) => `${tone} ${text}`);
  expect(texts.sort()).toEqual(
    ["1", "1.3", "1.32", "1.43", "1.56"]
      .map((text) => `gradient ${text}`)
      .concat(["1.1", "1.2", "1.3", "1.32", "1.716"].map((text) => `value ${text}`)),
  );
});

describe.each(["right", "down"] as const)("labels of a graph that runs %s", (direction) => {
  it.each(["abc", "kinds", "mlp", "nan", "hostile", "big300"] as const)("overlap nothing in %s", (name) => {
    const { placed, labels } = labelsOf(name, direction);
    const apart = (a: Box, b: Box) =>
      a.x >= b.x + b.width || b.x >= a.x + a.width || a.y >= b.y + b.height || b.y >= a.y + a.height;
    const hits = labels.flatMap((label, i) => {
      const others = [...labels.slice(i + 1).map((other) => other.box), ...placed.nodes];
      return others.filter((other) => !apart(label.box, other)).map(() => label.full);
    });
    expect(hits).toEqual([]);
  });
});

it("rounds a number that is too long, and cuts what is no number", () => {
  expect(labelText("1.3")).toBe("1.3");
  expect(labelText("-1.234567e-10")).toBe("-1.2e-10");
  expect(labelText("0.123456789")).toBe("0.1235");
  expect(labelText("[nan, 0, 1.3863]")).toBe("[nan, 0,…");
});
