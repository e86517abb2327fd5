import { at, type Net } from "./net";
import type { Spine } from "./spine";

export interface Ports {
  from: number[]; // per wire, across, measured from the middle of its producer
  to: number[]; // the same at its consumer
}

/** Furthest that two neighbouring ports stand apart. Outputs may have numbers beside them. */
const STEP = { inputs: 14, outputs: 44 };
/** Kept free at the corners of a box. */
const CORNER = 8;

/**
 * Phase 4. Ports in the order of their numbers, evenly spread over the side of the box; where one of them
 * carries the main path it gets the middle, so that the path runs straight through.
 */
export function placePorts(net: Net, spine: Spine): Ports {
  const { wires } = net;
  const from = side(
    net,
    (w) => at(wires, w).from,
    (w) => at(wires, w).output,
    mainOutputs(net, spine),
    STEP.outputs,
  );
  const to = side(
    net,
    (w) => at(wires, w).to,
    (w) => at(wires, w).input,
    mainInputs(net, spine),
    STEP.inputs,
  );
  net.fixed?.forEach((ports, box) => {
    wires.forEach((wire, index) => {
      if (wire.from === box) from[index] = ports.from[wire.output] ?? 0;
      if (wire.to === box) to[index] = ports.to[wire.input] ?? 0;
    });
  });
  return { from, to };
}

/** Where the main path comes in through several wires (x * x) none of them is the straight one. */
function mainInputs({ wires }: Net, spine: Spine): number[] {
  const main = [...spine.main];
  wires.forEach(({ from, to }, index) => {
    const wire = at(spine.main, to);
    if (wire >= 0 && wire !== index && at(wires, wire).from === from) main[to] = -1;
  });
  return main;
}

function mainOutputs(net: Net, spine: Spine): number[] {
  const main = new Array<number>(net.boxes).fill(-1);
  for (const wire of spine.main)
    if (wire >= 0 && (spine.wires.has(wire) || main[at(net.wires, wire).from] === -1))
      main[at(net.wires, wire).from] = wire;
  return main;
}

function side(
  net: Net,
  boxOf: (wire: number) => number,
  portOf: (wire: number) => number,
  main: number[],
  most: number,
): number[] {
  const used = Array.from({ length: net.boxes }, () => new Set<number>());
  net.wires.forEach((_, wire) => {
    at(used, boxOf(wire)).add(portOf(wire));
  });
  const offsets = used.map((set, box) => {
    const ports = [...set].sort((a, b) => a - b);
    const breadth = at(net.breadth, box);
    const centre = at(main, box) < 0 ? -1 : ports.indexOf(portOf(at(main, box)));
    const reach = Math.max(centre, ports.length - 1 - centre);
    const straight = centre >= 0 && reach <= 3;
    const middle = straight ? centre : (ports.length - 1) / 2;
    const step = straight
      ? Math.min(most, (breadth / 2 - CORNER) / Math.max(1, reach))
      : breadth / (ports.length + 1);
    return new Map(ports.map((port, index) => [port, (index - middle) * step]));
  });
  return net.wires.map((_, wire) => at(offsets, boxOf(wire)).get(portOf(wire)) ?? 0);
}
