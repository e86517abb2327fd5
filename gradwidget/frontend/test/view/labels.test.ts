import { describe, expect, it } from "vitest";
import { layout } from "../../src/layout/index";
import { buildScene } from "../../src/scene/build";
import type { Box } from "../../src/view/camera";
import { labelTexts } from "../../src/view/label_texts";
import { gradientTexts, placeLabels, valueTexts } from "../../src/view/labels";
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

it("cuts between the elements of a vector, never inside a number", () => {
  expect(labelTexts("-1.234e-10")).toEqual(["-1.234e-10"]);
  expect(labelTexts("1.894-2.5j")).toEqual(["1.894-2.5j"]);
  expect(labelTexts("[nan, 0, 1.386]")).toEqual(["[nan, 0, 1.386]", "[nan, 0, …]", "[nan, …]"]);
  expect(labelTexts("[[1, 2], [3, 4]]")).toEqual(["[[1, 2], [3, 4]]"]);
  expect(labelTexts("[5]")).toEqual(["[5]"]);
});

it.each(["abc", "kinds", "nan", "hostile"] as const)(
  "has nothing but whole numbers on the wires of %s",
  (name) => {
    for (const direction of ["right", "down"] as const)
      for (const { text, full } of labelsOf(name, direction).labels)
        expect(labelTexts(full.replace(/, summed.*/, ""))).toContain(text.replace("Σ ", ""));
  },
);

it("shows a longer text where there is room for it", () => {
  const { graph, live } = page("abc");
  const values: typeof graph.values = graph.values.map(([key, output]) => [key, output, "-1.235e+08"]);
  const scene = buildScene({ ...graph, values }, null, { maxNodes: 3000, measure });
  const placed = layout(scene, { direction: "right" });
  const texts = placeLabels(placed, valueTexts({ ...graph, values }), gradientTexts(live?.passes[0] ?? null));
  expect(texts.filter(({ text }) => text === "-1.235e+08")).toHaveLength(5);
});
