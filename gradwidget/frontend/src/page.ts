/** The standalone page: the same view over data that came with the page. */
import { type PageData, PageHost } from "./hosts/page";
import { mount } from "./mount";

export function open(element: HTMLElement, data: PageData): PageHost {
  const host = new PageHost(data);
  mount(element, host, new AbortController().signal);
  return host;
}
