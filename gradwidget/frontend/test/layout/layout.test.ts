import { describe, expect, it } from "vitest";
import { type LayoutOptions, layout } from "../../src/layout";
import type { Direction, Placed, PlacedNode, Point, Scene } from "../../src/scene";
import { chainScene, randomScene, recurrentScene, residualScene, Sketch } from "./scenes";

const RIGHT: LayoutOptions = { direction: "right" };
const ALL: [Direction, number][] = (["right", "down"] as Direction[]).flatMap((direction) =>
  [0, 56, 84].map((room): [Direction, number] => [direction, room]),
);

const withRoom = (scene: Scene, room: number): Scene => ({
  ...scene,
  nodes: scene.nodes.map((node, i) => ({ ...node, room: i % 3 === 0 ? 0 : room })),
});

interface Rect extends Point {
  width: number;
  height: number;
}

function overlap(a: Rect, b: Rect, margin = 0): boolean {
  return (
    a.x < b.x + b.width + margin &&
    b.x < a.x + a.width + margin &&
    a.y < b.y + b.height + margin &&
    b.y < a.y + a.height + margin
  );
}

function find(placed: Placed, id: string): PlacedNode {
  const node = placed.nodes.find((one) => one.id === id);
  if (!node) throw new Error(`no node ${id}`);
  return node;
}

function middle(placed: Placed, id: string): number {
  const { y, height } = find(placed, id);
  return y + height / 2;
}

/** The picture as if it ran to the right. */
function upright(placed: Placed): Placed {
  if (placed.direction === "right") return placed;
  const flip = <T extends Point>(point: T): T => ({ ...point, x: point.y, y: point.x });
  return {
    ...placed,
    nodes: placed.nodes.map((node) => ({ ...flip(node), width: node.height, height: node.width })),
    edges: placed.edges.map((edge) => ({ ...edge, points: edge.points.map(flip) })),
    width: placed.height,
    height: placed.width,
  };
}

/** Everything that holds for every picture of a graph without cycles. */
function expectReadable(scene: Scene, options: LayoutOptions): void {
  const placed = upright(layout(scene, options));
  expect(placed.nodes.map((node) => node.id)).toEqual(scene.nodes.map((node) => node.id));
  expect(placed.edges.map((edge) => edge.id)).toEqual(scene.edges.map((edge) => edge.id));
  const problems: string[] = [];
  placed.nodes.forEach((a, i) => {
    if (!inside(a, placed)) problems.push(`${a.id} is outside the picture`);
    for (const b of placed.nodes.slice(0, i))
      if (overlap(a, b, 20)) problems.push(`${a.id} is too near ${b.id}`);
  });
  const byId = new Map(placed.nodes.map((node) => [node.id, node]));
  for (const edge of placed.edges) {
    const from = byId.get(edge.from) as PlacedNode;
    const to = byId.get(edge.to) as PlacedNode;
    const [first, last] = [edge.points[0] as Point, edge.points.at(-1) as Point];
    if (from.x + from.width > to.x) problems.push(`${edge.id} runs backwards`);
    if (first.x !== from.x + from.width || first.y < from.y || first.y > from.y + from.height)
      problems.push(`${edge.id} doesn't start at its producer`);
    if (last.x !== to.x || last.y < to.y || last.y > to.y + to.height)
      problems.push(`${edge.id} doesn't end at its consumer`);
    edge.points.slice(1).forEach((b, i) => {
      const a = edge.points[i] as Point;
      if (b.x <= a.x) problems.push(`${edge.id} turns back`);
      // a smooth curve between two way points stays in the rectangle that they span
      const span = { x: a.x, y: Math.min(a.y, b.y), width: b.x - a.x, height: Math.abs(b.y - a.y) };
      for (const node of placed.nodes)
        if (overlap(span, node)) problems.push(`${edge.id} runs over ${node.id}`);
    });
  }
  expect(problems).toEqual([]);
}

function inside(node: PlacedNode, placed: Placed): boolean {
  return (
    node.x >= 0 && node.y >= 0 && node.x + node.width <= placed.width && node.y + node.height <= placed.height
  );
}

describe("every layout", () => {
  for (const [direction, room] of ALL)
    it(`keeps boxes and wires apart (${direction}, ${room} px for numbers)`, () => {
      const readable = (scene: Scene) => expectReadable(withRoom(scene, room), { direction });
      for (let seed = 1; seed <= 25; seed++) readable(randomScene(seed, 5 + seed * 3));
      readable(residualScene(4));
      readable(recurrentScene(8, false));
      readable(recurrentScene(20, true));
    });

  it("is the same each time", () => {
    const scene = randomScene(7, 80);
    expect(layout(structuredClone(scene), RIGHT)).toEqual(layout(scene, RIGHT));
  });

  it("leaves the scene alone", () => {
    const scene = randomScene(3, 40);
    const before = structuredClone(scene);
    layout(scene, RIGHT);
    expect(scene).toEqual(before);
  });

  it("draws nothing for nothing", () => {
    expect(layout({ nodes: [], edges: [], left_out: 0 }, RIGHT)).toMatchObject({
      nodes: [],
      edges: [],
      width: 0,
      height: 0,
    });
  });
});

describe("the order of arguments", () => {
  const toy = (first: string, second: string) => {
    const sketch = new Sketch();
    for (const leaf of ["a", "b", "c"]) sketch.add(leaf);
    sketch.add("d", [first, second]);
    sketch.add("e", ["d", "c"]);
    return layout(sketch.scene(), RIGHT);
  };

  it("is the order on the page", () => {
    const placed = toy("a", "b");
    expect(middle(placed, "a")).toBeLessThan(middle(placed, "b"));
    expect(middle(placed, "d")).toBeLessThan(middle(placed, "c"));
    const swapped = toy("b", "a");
    expect(middle(swapped, "b")).toBeLessThan(middle(swapped, "a"));
  });

  it("puts equals evenly around their consumer, and the consumer in the row of the result", () => {
    const placed = toy("a", "b");
    expect(middle(placed, "a") + middle(placed, "b")).toBe(2 * middle(placed, "d"));
    expect(middle(placed, "d")).toBe(middle(placed, "e"));
    expect(middle(placed, "e")).toBe(middle(placed, "out:e"));
  });

  it("doesn't bend what is used twice", () => {
    const sketch = new Sketch();
    sketch.add("x");
    sketch.add("square", ["x", "x"]);
    sketch.add("sum", ["square", "x"]);
    const placed = layout(sketch.scene(), RIGHT);
    for (const id of ["square", "sum"]) expect(middle(placed, id)).toBe(middle(placed, "x"));
  });

  it("is the order of the ports", () => {
    const sketch = new Sketch();
    sketch.add("x");
    sketch.add("y");
    sketch.add("z", ["x", "y", "x", "y", "x"]);
    const placed = layout(sketch.scene(), RIGHT);
    const ends = placed.edges
      .filter((edge) => edge.to === "z")
      .map((edge) => (edge.points.at(-1) as Point).y);
    expect(ends).toEqual([...ends].sort((a, b) => a - b));
    expect(new Set(ends).size).toBe(5);
  });
});

describe("the main path", () => {
  it("is one straight row through a residual net, wires included", () => {
    const placed = layout(residualScene(12), RIGHT);
    const row = middle(placed, "Input");
    const stations = placed.nodes.filter((node) => /^(Linear|ReLU|Add|out:)/.test(node.id));
    expect(stations).toHaveLength(12 * 3 + 1);
    for (const { id } of stations) expect([id, middle(placed, id)]).toEqual([id, row]);
    for (const edge of placed.edges.filter(
      ({ from, to }) => /^Linear|^ReLU/.test(from) || /^Linear/.test(to),
    ))
      if (/^(Linear|ReLU|Add)/.test(edge.from)) expect(edge.points).toHaveLength(2);
  });

  it("is one row for a chain of any length", () => {
    const placed = layout(chainScene(3000), RIGHT);
    expect(placed.height).toBe(48);
    expect(new Set(placed.nodes.map((node) => node.y + node.height / 2)).size).toBe(1);
    expect(placed.edges.every((edge) => edge.points.length === 2)).toBe(true);
  });
});

describe("leaves", () => {
  it("stand in the column right before their consumer", () => {
    const placed = layout(residualScene(6), RIGHT);
    for (let i = 1; i < 6; i++) {
      expect(find(placed, `bias${i}`).x).toBe(find(placed, `Add${i - 1}`).x);
      expect(find(placed, `T${i}`).x).toBe(find(placed, `Add${i - 1}`).x);
    }
  });
});

describe("several parts", () => {
  it("are stacked in their order", () => {
    const sketch = new Sketch();
    for (const name of ["p", "q", "r"]) sketch.add(`Exp(${name})`, [sketch.add(name)]);
    const placed = layout(sketch.scene(), RIGHT);
    const tops = ["p", "q", "r"].map((name) => find(placed, name).y);
    expect(tops).toEqual([...tops].sort((a, b) => a - b));
    expectReadable(sketch.scene(), RIGHT);
  });
});

describe("what should not happen", () => {
  it("a cycle is drawn all the same", () => {
    const sketch = new Sketch();
    sketch.add("a", ["c", "a"]);
    sketch.add("b", ["a"]);
    sketch.add("c", ["b"]);
    sketch.add("d", ["c"]);
    const placed = layout(sketch.scene(), RIGHT);
    expect(placed.edges).toHaveLength(6);
    for (const edge of placed.edges)
      for (const point of edge.points)
        expect(Number.isFinite(point.x) && Number.isFinite(point.y)).toBe(true);
    placed.nodes.forEach((a, i) => {
      for (const b of placed.nodes.slice(0, i)) expect(overlap(a, b)).toBe(false);
    });
  });

  it("a wire to an unknown node is left out", () => {
    const sketch = new Sketch();
    sketch.add("a", ["lost"]);
    expect(layout(sketch.scene(), RIGHT).edges.map((edge) => edge.id)).toEqual(["out:a.0"]);
  });
});

describe("large graphs", () => {
  const bends = (placed: Placed) => placed.edges.reduce((sum, edge) => sum + edge.points.length - 2, 0);

  it("3,000 nodes of a recurrent net come out, with few bends", () => {
    const scene = recurrentScene(230, false);
    expect(scene.nodes.length).toBeGreaterThan(2900);
    const placed = layout(scene, RIGHT);
    expect(placed.nodes).toHaveLength(scene.nodes.length);
    expect(bends(placed)).toBeLessThan(4 * scene.edges.length);
  });

  it("wires of a hub share a lane and don't grow with their length", () => {
    const scene = recurrentScene(100, true);
    const placed = layout(scene, RIGHT);
    const stacked = placed.edges.filter((edge) => edge.to === "Stack");
    expect(stacked).toHaveLength(100);
    for (const edge of stacked) expect(edge.points.length).toBeLessThanOrEqual(14);
    const lanes = new Set(
      stacked.slice(0, 90).map((edge) => Math.max(...edge.points.map((point) => point.y))),
    );
    expect(lanes.size).toBe(1);
  });
});
