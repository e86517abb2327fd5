import { describe, expect, it } from "vitest";
import { layout } from "../../src/layout";
import type { Direction, Placed, Point, Scene } from "../../src/scene";
import { buildFolded } from "../../src/scene/folded";
import { GroupTree } from "../../src/scene/tree";
import { pointsOn } from "../../src/view/curve";
import type { GraphPayload } from "../../src/wire";
import { randomGrouped } from "../scene/grouped";
import { randomNumbers } from "./scenes";

const measure = (text: string) => 7 * text.length;

function scene(graph: GraphPayload, collapsed: string[], focus: Set<number> | null = null): Scene {
  return buildFolded(graph, {
    tree: new GroupTree(graph),
    collapsed: new Set(collapsed),
    focus,
    frames: true,
    measure,
  });
}

interface Rect extends Point {
  width: number;
  height: number;
}

const meets = (a: Rect, b: Rect): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
const holds = (a: Rect, b: Rect): boolean =>
  a.x <= b.x && a.y <= b.y && a.x + a.width >= b.x + b.width && a.y + a.height >= b.y + b.height;
const inside = ({ x, y, width, height }: Rect, p: Point, margin: number): boolean =>
  p.x > x + margin && p.x < x + width - margin && p.y > y + margin && p.y < y + height - margin;

/** Everything that holds for every picture of nested groups. */
function problems(placed: Placed): string[] {
  const found: string[] = [];
  const frames = placed.frames ?? [];
  const around = (frame: number): number[] =>
    frame < 0 ? [] : [frame, ...around(frames[frame]?.parent ?? -1)];
  placed.nodes.forEach((a, i) => {
    for (const b of placed.nodes.slice(0, i)) if (meets(a, b)) found.push(`${a.id} is over ${b.id}`);
    frames.forEach((frame, f) => {
      if (around(a.frame ?? -1).includes(f)) {
        if (!holds(frame, a)) found.push(`${a.id} is not in ${frame.id}`);
      } else if (meets(frame, a)) found.push(`${a.id} is over the frame ${frame.id}`);
    });
  });
  frames.forEach((a, i) => {
    frames.slice(0, i).forEach((b, j) => {
      if (around(i).includes(j) ? !holds(b, a) : meets(a, b)) found.push(`frames ${a.id}, ${b.id}`);
    });
  });
  const homes = new Map(placed.nodes.map((node) => [node.id, around(node.frame ?? -1)]));
  for (const edge of placed.edges) {
    const line = pointsOn(edge.points, placed.direction);
    const mine = new Set([...(homes.get(edge.from) ?? []), ...(homes.get(edge.to) ?? [])]);
    for (const node of placed.nodes)
      if (line.some((point) => inside(node, point, 1))) found.push(`${edge.id} runs over ${node.id}`);
    frames.forEach((frame, f) => {
      if (!mine.has(f) && line.some((point) => inside(frame, point, 1)))
        found.push(`${edge.id} runs through the frame ${frame.id}`);
    });
    const [first, last] = [edge.points[0], edge.points.at(-1)];
    const [from, to] = [edge.from, edge.to].map((id) => placed.nodes.find((node) => node.id === id));
    const near = (p: Point | undefined, r: Rect | undefined) =>
      p && r && p.x >= r.x - 1 && p.x <= r.x + r.width + 1 && p.y >= r.y - 1 && p.y <= r.y + r.height + 1;
    if (!near(first, from) || !near(last, to)) found.push(`${edge.id} hangs in the air`);
  }
  return found;
}

describe("nested groups", () => {
  for (const direction of ["right", "down"] as Direction[])
    for (const seed of [1, 2, 3, 4, 5, 6, 7, 8])
      it(`keep boxes, wires and frames apart (${direction}, ${seed})`, () => {
        const graph = randomGrouped(seed, 60 + 10 * seed);
        const random = randomNumbers(seed + 100);
        for (const share of [0, 0.2, 0.6]) {
          const collapsed = graph.groups.id.filter(() => random() < share);
          const placed = layout(scene(graph, collapsed), { direction });
          if (share === 0) expect(placed.frames?.length).toBeGreaterThan(4);
          expect(problems(placed)).toEqual([]);
          for (const row of [400, 900]) {
            const broken = layout({ ...scene(graph, collapsed), row }, { direction });
            expect(problems(broken)).toEqual([]);
          }
        }
      });

  it("are the same each time, whatever was laid out before", () => {
    const graph = randomGrouped(11, 90);
    const some = graph.groups.id.filter((_, i) => i % 3 === 0);
    const first = layout(scene(graph, some), { direction: "right" });
    layout(scene(graph, []), { direction: "right" });
    expect(layout(scene(graph, some), { direction: "right" })).toEqual(first);
  });

  it("folded to their outermost, they need no frame", () => {
    const graph = randomGrouped(3, 80);
    const outermost = graph.groups.id.filter((_, i) => graph.groups.parent[i] === -1);
    const folded = scene(graph, outermost);
    expect(folded.frames).toEqual([]);
    expect(folded.nodes.filter(({ role }) => role === "group")).toHaveLength(outermost.length);
  });
});
