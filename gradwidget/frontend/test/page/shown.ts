import { vi } from "vitest";
import type { PageHost } from "../../src/hosts/page";
import { mount } from "../../src/mount";

/** For a state that comes late on a loaded machine. */
const SLOW = { timeout: 20_000 };

/** A figure in a document, once it stands, and how to look at it. */
export async function shown<H extends PageHost>(host: H, signal: AbortSignal) {
  const element = document.createElement("div");
  document.body.append(element);
  mount(element, host, signal);
  const box = element.firstElementChild as HTMLElement;
  const root = box.shadowRoot?.querySelector<HTMLElement>(".gw-root");
  if (!root) throw new Error("nothing was mounted");
  await vi.waitFor(() => {
    if (root.dataset.gwReady !== "1") throw new Error("not painted yet");
  }, SLOW);
  const find = (selector: string) => [...root.querySelectorAll<HTMLElement>(selector)];
  const text = (selector: string) => find(selector)[0]?.textContent ?? "";
  const panel = () => text("[data-gw-panel]");
  return { element, host, box, root, find, text, panel };
}

export const click = (element: Element | undefined) =>
  element?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
