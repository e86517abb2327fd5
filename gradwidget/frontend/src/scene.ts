/** What is drawn, first without and then with a place. Pure data: no DOM, no Preact, no host. */
import type { Kind } from "./wire";

/** "copy": a shared leaf drawn again beside one of its consumers; "cut": an input without gradient;
 *  "more": what was left out behind this point; "output": the open end of an output's wire. */
export type Role = "node" | "copy" | "cut" | "more" | "output";

export interface SceneNode {
  id: string; // unique: "12", "12@40.1" (copy for input 1 of 40), "cut:5.1", "more:17", "out:0"
  role: Role;
  key: number; // wire key; for cut, more, output: of the node it hangs on
  kind: Kind;
  title: string; // "Mul"; a leaf's name
  name: string; // "d", "" none; shown in the code font after the title
  subtitle: string; // "scalar f32"
  hint: string; // hover text, also what a screen reader gets
  width: number;
  height: number;
  inputs: number; // ports on the inward side
  outputs: number; // ports on the outward side
  room: number; // how long the numbers are that stand beside its outward ports; 0: none do
}

/** Drawn in the direction of the forward pass: from producer to consumer. */
export interface SceneEdge {
  id: string;
  from: string;
  output: number; // port of `from`
  to: string;
  input: number; // port of `to`
}

export interface Scene {
  nodes: SceneNode[];
  edges: SceneEdge[];
  left_out: number; // nodes of the graph that are not drawn
}

export type Direction = "right" | "down";

export interface Point {
  x: number;
  y: number;
}

export interface PlacedNode extends SceneNode, Point {} // x, y: top left corner

export interface PlacedEdge extends SceneEdge {
  /** Way points from port to port, to be drawn as a smooth curve; first and last are the ports. */
  points: Point[];
}

export interface Placed {
  nodes: PlacedNode[];
  edges: PlacedEdge[];
  width: number;
  height: number;
  direction: Direction;
}
