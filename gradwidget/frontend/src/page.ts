/** The standalone page: the same view over data that came with the page. */
import { decode, decodeVersioned } from "./hosts/decode";
import { type PageData, PageHost } from "./hosts/page";
import { mount } from "./mount";
import type { Detail, GraphPayload, LivePayload, ReferencesPayload, TracePayload } from "./wire";

export function open(element: HTMLElement, data: PageData): PageHost {
  const host = new PageHost(data);
  mount(element, host, new AbortController().signal);
  return host;
}

/** What `gradwidget/_html_page.py` has written: gzipped JSON in base64, one element a part. */
function part(name: string): Uint8Array {
  const text = document.getElementById(`gradwidget-${name}`)?.textContent ?? "";
  return Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
}

type State = Omit<PageData, "graph" | "live" | "details" | "references" | "trace">;

async function data(): Promise<PageData> {
  const [graph, live, details, references, trace, state] = await Promise.all([
    decodeVersioned<GraphPayload>(part("graph")),
    decodeVersioned<LivePayload>(part("live")),
    decode<Record<string, Detail>>(part("details")),
    decode<ReferencesPayload>(part("references")),
    decode<TracePayload>(part("trace")),
    decode<State>(part("state")),
  ]);
  if (!graph || !state) throw new Error("A part of this page is missing.");
  return { ...state, graph, live, details: details ?? {}, references, trace };
}

const LEAST = 320;
const BELOW = 10;

/** As high as the window, below its own header and above its player. */
function fill(element: HTMLElement, host: PageHost): void {
  const adjust = () => {
    const rest = element.getBoundingClientRect().bottom + window.scrollY - host.height;
    const height = Math.max(LEAST, Math.floor(window.innerHeight - rest - BELOW));
    if (height !== host.height) host.change("height", { height });
  };
  adjust();
  window.addEventListener("resize", adjust);
}

/** The page is all figure: what is pressed outside of it is meant for it. */
function hand(element: HTMLElement): void {
  const root = element.firstElementChild?.shadowRoot?.querySelector(".gw-root");
  document.addEventListener("keydown", (event) => {
    if (event.target !== document.body) return;
    const same = new KeyboardEvent("keydown", { ...keysOf(event), cancelable: true });
    if (!root?.dispatchEvent(same)) event.preventDefault();
  });
}

const keysOf = ({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent) => ({
  key,
  ctrlKey,
  metaKey,
  altKey,
  shiftKey,
});

/** Called by a page of its own, once. */
export async function openPage(): Promise<void> {
  const element = document.getElementById("gradwidget");
  if (!element) return;
  try {
    fill(element, open(element, await data()));
    hand(element);
  } catch (error) {
    const note = document.createElement("p");
    note.setAttribute("role", "alert");
    note.textContent = `The figure can't be drawn: ${error instanceof Error ? error.message : String(error)}`;
    element.append(note);
  }
}
