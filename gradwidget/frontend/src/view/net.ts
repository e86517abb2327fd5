/** Who hangs together with whom in the placed picture, and where the arrow keys lead. */
import type { Placed, PlacedEdge, PlacedNode } from "../scene";

export type Way = "left" | "right" | "up" | "down";

export interface Net {
  byId: Map<string, PlacedNode>;
  /** The box drawn for a key, copies come after it; of a node in a folded group the group's. */
  byKey: { get(key: number): PlacedNode | undefined };
  incoming: Map<string, PlacedEdge[]>;
  outgoing: Map<string, PlacedEdge[]>;
}

export const isButton = (node: PlacedNode): boolean =>
  node.role === "node" || node.role === "copy" || node.role === "group";

/** `holderOf`: the key of the folded group around a node. */
export function netOf(placed: Placed, holderOf: (key: number) => number | null = () => null): Net {
  const byKey = new Map<number, PlacedNode>();
  const get = (key: number) => byKey.get(key) ?? byKey.get(holderOf(key) ?? Number.NaN);
  const net: Net = { byId: new Map(), byKey: { get }, incoming: new Map(), outgoing: new Map() };
  for (const node of placed.nodes) {
    net.byId.set(node.id, node);
    if (node.role === "node" || node.role === "group" || (node.role === "copy" && !byKey.has(node.key)))
      byKey.set(node.key, node);
  }
  for (const edge of placed.edges) {
    append(net.outgoing, edge.from, edge);
    append(net.incoming, edge.to, edge);
  }
  return net;
}

function append(map: Map<string, PlacedEdge[]>, id: string, edge: PlacedEdge): void {
  const list = map.get(id);
  if (list) list.push(edge);
  else map.set(id, [edge]);
}

export const edgesOf = (net: Net, id: string): PlacedEdge[] => [
  ...(net.incoming.get(id) ?? []),
  ...(net.outgoing.get(id) ?? []),
];

const centre = (node: PlacedNode) => ({ x: node.x + node.width / 2, y: node.y + node.height / 2 });

function producers(net: Net, id: string): PlacedNode[] {
  return (net.incoming.get(id) ?? []).flatMap((edge) => net.byId.get(edge.from) ?? []).filter(isButton);
}

function consumers(net: Net, id: string): PlacedNode[] {
  return (net.outgoing.get(id) ?? []).flatMap((edge) => net.byId.get(edge.to) ?? []).filter(isButton);
}

/** Inward to a producer, outward to a consumer; sideways among those that share one. */
export function neighbour(placed: Placed, net: Net, id: string, way: Way): PlacedNode | null {
  const node = net.byId.get(id);
  if (!node) return null;
  const right = placed.direction === "right";
  if (way === (right ? "left" : "up")) return producers(net, id)[0] ?? null;
  if (way === (right ? "right" : "down")) return consumers(net, id)[0] ?? null;
  return sibling(placed, net, node, way === "down" || way === "right" ? 1 : -1);
}

function sibling(placed: Placed, net: Net, node: PlacedNode, sign: 1 | -1): PlacedNode | null {
  const right = placed.direction === "right";
  const related = [
    ...consumers(net, node.id).flatMap((consumer) => producers(net, consumer.id)),
    ...producers(net, node.id).flatMap((producer) => consumers(net, producer.id)),
  ];
  const start = centre(node);
  const across = (other: PlacedNode) =>
    (right ? centre(other).y - start.y : centre(other).x - start.x) * sign;
  const sameLayer = placed.nodes.filter((other) => isButton(other) && overlaps(node, other, right));
  for (const group of [related, sameLayer]) {
    const ahead = group.filter((other) => other.id !== node.id && across(other) > 0);
    const nearest = ahead.sort((a, b) => across(a) - across(b))[0];
    if (nearest) return nearest;
  }
  return null;
}

function overlaps(a: PlacedNode, b: PlacedNode, right: boolean): boolean {
  return right ? a.x < b.x + b.width && b.x < a.x + a.width : a.y < b.y + b.height && b.y < a.y + a.height;
}

/** Tab enters the picture where the reader starts: at the last box, the output. */
export function firstStop(placed: Placed): PlacedNode | undefined {
  const end = placed.edges.find((edge) => edge.to === "out:0")?.from;
  return placed.nodes.find((node) => node.id === end && isButton(node)) ?? placed.nodes.find(isButton);
}
