/** What is drawn, first without and then with a place. Pure data: no DOM, no Preact, no host. */
import type { GroupKind, Kind } from "./wire";

/** "copy": a shared leaf drawn again beside one of its consumers; "cut": an input without gradient;
 *  "more": what was left out behind this point; "output": the open end of an output's wire;
 *  "group": a folded group. */
export type Role = "node" | "copy" | "cut" | "more" | "output" | "group";

export interface SceneNode {
  id: string; // unique: "12", "12@40.1" (copy for input 1 of 40), "cut:5.1", "more:17", "out:0", "g:3"
  role: Role;
  key: number; // wire key; for cut, more, output: of the node it hangs on; of a group see groupKey
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
  frame?: number; // index of the innermost frame around it
  group?: GroupFace; // of role "group"
}

/** What a folded group shows beyond a node's texts. */
export interface GroupFace {
  kind: GroupKind;
  times: number; // 0: no row
}

/** An open group: a frame around what is in it. */
export interface SceneFrame {
  id: string; // "g:3", as its box is called when it is folded
  group: number;
  parent: number; // index of the frame around it, -1 none; parents come first
  title: string;
  name: string;
  hint: string;
  width: number; // at least, for its title
}

/** Groups share the space of keys with nodes, below zero; their own inverse. */
export const groupKey = (group: number): number => -1 - group;

/** Drawn in the direction of the forward pass: from producer to consumer. */
export interface SceneEdge {
  id: string;
  from: string;
  output: number; // port of `from`
  to: string;
  input: number; // port of `to`
  /** Where a group is at an end: the one value that runs along it, if it is one. */
  carries?: { key: number; output: number };
  /** The same: the wires of the graph that it stands for, as consumer and slot; some, where there are many. */
  stands?: [number, number][];
}

export interface Scene {
  nodes: SceneNode[];
  edges: SceneEdge[];
  frames?: SceneFrame[]; // parents first
  left_out: number; // nodes of the graph that are not drawn
  row?: number; // a picture, or a frame, that runs to the right for more than this is broken into rows
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

export interface PlacedFrame extends SceneFrame, Point {
  height: number;
}

export interface Placed {
  nodes: PlacedNode[];
  frames?: PlacedFrame[];
  edges: PlacedEdge[];
  width: number;
  height: number;
  direction: Direction;
}
