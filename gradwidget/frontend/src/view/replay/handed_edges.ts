import type { PlacedEdge } from "../../scene";
import type { Net } from "../net";
import { isDashed } from "../wires";
import type { Run } from "./run";

/** The wires along which the k-th step hands gradients on. */
export function handedEdges(run: Run, k: number, net: Net): PlacedEdge[] {
  const worker = run.worker(k);
  if (worker === null) return [];
  return (net.incoming.get(String(worker)) ?? []).filter((edge) => {
    const receiver = net.byId.get(edge.from);
    if (!receiver || isDashed(edge)) return false;
    const handed = run.handedOn(k, edge.input);
    return handed ? handed.text !== "none" : run.ran(receiver.key);
  });
}
