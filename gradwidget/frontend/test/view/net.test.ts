import { describe, expect, it } from "vitest";
import { layout } from "../../src/layout/index";
import { buildScene } from "../../src/scene/build";
import { neighbour, netOf, type Way } from "../../src/view/net";
import { page } from "../samples";

const { graph } = page("abc");
const scene = buildScene(graph, null, { maxNodes: 3000, measure: (text) => text.length * 8 });
const nameOf = (id: string | undefined) => graph.names.find(([key]) => String(key) === id)?.[2][0] ?? null;
const idOf = (name: string) => String(graph.names.find(([, , names]) => names[0] === name)?.[0]);

describe.each([
  ["right", { in: "left", out: "right", next: "down" }],
  ["down", { in: "up", out: "down", next: "right" }],
] as const)("arrow keys in a graph that runs %s", (direction, ways) => {
  const placed = layout(scene, { direction });
  const net = netOf(placed);
  const go = (name: string, way: Way) => nameOf(neighbour(placed, net, idOf(name), way)?.id);

  it("follow the wires", () => {
    expect(go("e", ways.in)).toBe("d");
    expect(go("d", ways.in)).toBe("a");
    expect(go("a", ways.out)).toBe("d");
    expect(go("e", ways.out)).toBeNull();
  });

  it("go sideways among siblings", () => {
    expect(go("a", ways.next)).toBe("b");
    expect(go("d", ways.next)).toBe("c");
  });
});
