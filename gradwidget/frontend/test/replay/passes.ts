import type { Pass } from "../../src/wire";
import { page } from "../samples";

/** The pass of a sample, with whatever a test needs to be different. */
export function passOf(name: Parameters<typeof page>[0], change: Partial<Pass> = {}): Pass {
  const pass = page(name, { passes: 1 }).live?.passes[0];
  if (!pass) throw new Error("the sample has no pass");
  return { ...pass, ...change };
}
