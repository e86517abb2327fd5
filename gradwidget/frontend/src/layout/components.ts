import type { Scene } from "../scene";

export interface Component {
  nodes: number[]; // indices into the scene, in its order
  edges: number[];
}

/** The connected parts of a scene, in the order of their first nodes. Edges to unknown nodes are left aside. */
export function splitComponents(scene: Scene): Component[] {
  const index = new Map(scene.nodes.map((node, i) => [node.id, i]));
  const leader = scene.nodes.map((_, i) => i);
  const find = (start: number): number => {
    let i = start;
    while (leader[i] !== i) {
      leader[i] = leader[leader[i] as number] as number;
      i = leader[i] as number;
    }
    return i;
  };
  const ends = scene.edges.map((edge) => [index.get(edge.from), index.get(edge.to)] as const);
  for (const [from, to] of ends) {
    if (from === undefined || to === undefined) continue;
    const [a, b] = [find(from), find(to)];
    leader[Math.max(a, b)] = Math.min(a, b);
  }
  const components = new Map<number, Component>();
  scene.nodes.forEach((_, i) => {
    const component = components.get(find(i)) ?? { nodes: [], edges: [] };
    components.set(find(i), component);
    component.nodes.push(i);
  });
  ends.forEach(([from, to], i) => {
    if (from !== undefined && to !== undefined) components.get(find(from))?.edges.push(i);
  });
  return [...components.values()];
}
