import type { PageData } from "../../src/hosts/page";
import { mount } from "../../src/mount";
import { DemoHost } from "./host";

export function open(element: HTMLElement, data: PageData): DemoHost {
  const host = new DemoHost(data);
  mount(element, host, new AbortController().signal);
  return host;
}
