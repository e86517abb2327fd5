import { at, lists, type Net } from "./net";

/**
 * Phase 1. Autograd's graphs have no cycles; a damaged payload may. True for each wire that closes one:
 * the later phases leave it aside, and it is drawn in a lane outside.
 */
export function findLoops(net: Net): boolean[] {
  const loops = net.wires.map(() => false);
  const leaving = lists(net.boxes);
  net.wires.forEach((wire, index) => {
    at(leaving, wire.from).push(index);
  });
  const state = new Uint8Array(net.boxes); // 0 new, 1 on the stack, 2 done
  const next = new Int32Array(net.boxes);
  for (let root = 0; root < net.boxes; root++) {
    if (state[root] !== 0) continue;
    const stack = [root];
    state[root] = 1;
    while (stack.length > 0) {
      const vertex = at(stack, stack.length - 1);
      const wire = at(leaving, vertex)[at(next, vertex)];
      if (wire === undefined) {
        state[vertex] = 2;
        stack.pop();
        continue;
      }
      next[vertex] = at(next, vertex) + 1;
      const to = at(net.wires, wire).to;
      if (state[to] === 1) loops[wire] = true;
      else if (state[to] === 0) {
        state[to] = 1;
        stack.push(to);
      }
    }
  }
  return loops;
}
