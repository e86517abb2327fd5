import { expect, it } from "vitest";
import { layout } from "../../src/layout";
import type { Direction, Scene, SceneNode } from "../../src/scene";

const node = (id: number, frame = -1) =>
  ({
    id: `${id}`,
    role: "node",
    key: id,
    kind: "operation",
    width: 150,
    height: 50,
    room: 0,
    frame,
  }) as SceneNode;

/** A chain in which every fourth value is read once more, four boxes later. */
function chain(count: number, frame = -1): Scene {
  const edge = (from: number, to: number, input: number) => ({
    id: `${to}.${input}`,
    from: `${from}`,
    output: 0,
    to: `${to}`,
    input,
  });
  const nodes = Array.from({ length: count }, (_, i) => node(i, frame));
  const steps = nodes.slice(1).map((_, i) => edge(i, i + 1, 0));
  const skips = nodes.slice(4).flatMap((_, i) => (i % 4 === 0 ? [edge(i, i + 4, 1)] : []));
  return { nodes, edges: [...steps, ...skips], left_out: 0 };
}

const placed = (scene: Scene, direction: Direction = "right") => layout(scene, { direction });

it("breaks what is long into rows, in the order of reading", () => {
  const scene = chain(40);
  const line = placed(scene);
  const page = placed({ ...scene, row: 1300 });
  expect(line.width / line.height).toBeGreaterThan(20);
  expect(page.width / page.height).toBeGreaterThan(1);
  expect(page.width / page.height).toBeLessThan(4);
  const rows = [...new Set(page.nodes.map(({ y }) => y))].sort((a, b) => a - b);
  expect(rows.length).toBeGreaterThan(2);
  const places = page.nodes.map(({ x, y }) => rows.indexOf(y) * 1e5 + x);
  expect(places).toEqual([...places].sort((a, b) => a - b));
  for (const { from, to, points } of page.edges) {
    const [one, other] = [from, to].map((id) => page.nodes.find((n) => n.id === id));
    expect(points[0]?.x).toBe((one?.x ?? 0) + 150);
    expect(points.at(-1)?.x).toBe(other?.x);
  }
});

it("leaves a line what fits, and what runs down", () => {
  const short = chain(7);
  expect(placed({ ...short, row: 1300 })).toEqual(placed(short));
  expect(placed({ ...chain(40), row: 1300 }, "down")).toEqual(placed(chain(40), "down"));
});

it("a frame with rows in it is left where its first row ended, so that frames stand side by side", () => {
  const inside = chain(40, 0);
  const scene: Scene = {
    ...inside,
    nodes: [...inside.nodes, node(100), node(101)],
    edges: [
      ...inside.edges,
      { id: "0.0", from: "100", output: 0, to: "0", input: 0 },
      { id: "101.0", from: "39", output: 0, to: "101", input: 0 },
    ],
    frames: [{ id: "g:0", group: 0, parent: -1, title: "", name: "", hint: "", width: 100 }],
    row: 1300,
  };
  const { nodes, frames } = placed({ ...scene, row: 1300 });
  const [before, after] = ["100", "101"].map((id) => nodes.find((n) => n.id === id));
  const frame = frames?.[0];
  expect((frame?.width ?? 0) / (frame?.height ?? 1)).toBeLessThan(4);
  expect(Math.abs((before?.y ?? 0) - (after?.y ?? 0))).toBeLessThan(60);
});
