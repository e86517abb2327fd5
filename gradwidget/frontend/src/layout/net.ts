/**
 * What the phases work on: one connected part of the scene, freed of text and of the direction.
 * `along` runs with the flow (x when the picture runs to the right), `across` is the other axis.
 */
export interface Net {
  /** Sizes of vertex v. Boxes come first; phase "chains" appends bends, which have none. */
  length: number[]; // along
  breadth: number[]; // across
  /** How long a wire runs straight beside its producer, for the numbers on it. Of boxes only. */
  lead: number[];
  /** How many of the vertices are boxes. */
  boxes: number;
  /** Feeds a box but is no station of a path: leaves, copies, cuts, what was left out. */
  minor: boolean[];
  /** The open end of an output's wire: sits right behind its producer. */
  end: boolean[];
  wires: Wire[];
  /** Boxes whose ports are given, across from the middle: frames, by the ports of what is in them. */
  fixed?: Map<number, { from: number[]; to: number[] }>;
  /** Points on the border of a container, where wires come in and go out. */
  entries?: Set<number>;
  exits?: Set<number>;
}

/** An edge of the scene, between boxes. */
export interface Wire {
  from: number;
  to: number;
  output: number; // port of `from`
  input: number; // port of `to`
}

/** A piece of a wire (or of several that share a trunk) between two neighbouring layers. */
export interface Link {
  from: number;
  to: number;
  fromPort: number; // across, measured from the middle of `from`
  toPort: number;
  wire: number; // index of the first wire that runs through it
}

export interface Layered {
  layer: number[]; // of each vertex
  layers: number[][]; // vertices of each layer, in order across
  links: Link[];
  ahead: number[][]; // links that leave a vertex, by port
  behind: number[][]; // links that arrive at a vertex, by port
  /** The vertices from port to port, or null for a wire that runs in a lane outside. */
  paths: (number[] | null)[];
}

export function lists(count: number): number[][] {
  return Array.from({ length: count }, () => []);
}

/** Element i of an array that is known to have one: keeps index checks out of the inner loops. */
export function at<T>(array: ArrayLike<T>, index: number): T {
  return array[index] as T;
}
