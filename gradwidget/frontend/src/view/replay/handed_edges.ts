import type { PlacedEdge } from "../../scene";
import type { Net } from "../net";
import { isDashed } from "../wires";
import type { Run } from "./run";

/** The wires along which the k-th step hands gradients on. */
export function handedEdges(run: Run, k: number, net: Net): PlacedEdge[] {
  const worker = run.worker(k);
  if (worker === null) return [];
  const box = net.byKey.get(worker);
  return (net.incoming.get(box?.id ?? String(worker)) ?? []).filter((edge) => {
    const receiver = net.byId.get(edge.from);
    if (!receiver || isDashed(edge)) return false;
    const own = edge.stands ? edge.stands.find(([consumer]) => consumer === worker) : [worker, edge.input];
    if (!own) return false;
    const handed = run.handedOn(k, own[1] ?? 0);
    if (receiver.role === "group") return handed?.text !== "none";
    return handed ? handed.text !== "none" : run.ran(receiver.key);
  });
}
