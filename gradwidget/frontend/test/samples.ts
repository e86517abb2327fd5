import type { PageData } from "../src/hosts/page";
import { SAMPLES } from "./demo/samples.mjs";

/** What the kernel would send for one of the sample graphs. */
export function page(name: keyof typeof SAMPLES, options: object = {}): PageData {
  return SAMPLES[name](options) as unknown as PageData;
}
