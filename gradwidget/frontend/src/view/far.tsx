import type { PlacedEdge, PlacedNode } from "../scene";
import { farBoxes, farWires } from "./curve";
import type { Look } from "./grad/looks";
import { isButton } from "./net";

interface Props {
  nodes: PlacedNode[];
  edges: PlacedEdge[];
  look(key: number): Look;
}

/** Seen from afar: one path for all wires, one for all boxes that look alike, no text. */
export function FarPicture({ nodes, edges, look }: Props) {
  const alike = new Map<string, PlacedNode[]>();
  for (const node of nodes) {
    const name = isButton(node) ? classOf(node, look(node.key)) : `gw-kind-${node.role}`;
    if (node.role === "output" || node.role === "cut") continue;
    const list = alike.get(name);
    if (list) list.push(node);
    else alike.set(name, [node]);
  }
  return (
    <g class="gw-far">
      <path class="gw-wire" d={farWires(edges)} />
      {[...alike].map(([name, list]) => (
        <path key={name} class={`gw-far-box ${name}`} d={farBoxes(list)} />
      ))}
    </g>
  );
}

function classOf(node: PlacedNode, { heat, bad, idle }: Look): string {
  if (bad) return `gw-far-bad gw-bad-${bad}`;
  if (heat && !idle) return `gw-heat gw-heat-${heat}`;
  if (idle) return "gw-far-idle";
  return node.role === "group" ? "gw-far-group" : `gw-kind-${node.kind}`;
}
