import type { PlacedEdge, PlacedNode } from "../scene";
import { farBoxes, farWires } from "./curve";
import { isButton } from "./net";

interface Props {
  nodes: PlacedNode[];
  edges: PlacedEdge[];
}

/** Seen from afar: one path for all wires, one for all boxes of a kind, no text. */
export function FarPicture({ nodes, edges }: Props) {
  const kinds = new Map<string, PlacedNode[]>();
  for (const node of nodes) {
    const name = isButton(node) ? node.kind : node.role;
    if (name === "output" || name === "cut") continue;
    const list = kinds.get(name);
    if (list) list.push(node);
    else kinds.set(name, [node]);
  }
  return (
    <g class="gw-far">
      <path class="gw-wire" d={farWires(edges)} />
      {[...kinds].map(([kind, list]) => (
        <path key={kind} class={`gw-far-box gw-kind-${kind}`} d={farBoxes(list)} />
      ))}
    </g>
  );
}
