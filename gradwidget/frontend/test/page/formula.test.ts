// @vitest-environment happy-dom
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { PageData } from "../../src/hosts/page";
import { brokenAtEquals } from "../../src/view/maths";
import type { Detail, FormulaPart, GraphPayload, LivePayload, MathNode, TracePayload } from "../../src/wire";
import { DemoHost } from "../demo/host";
import { click, shown as show } from "./shown";

let life: AbortController;
beforeEach(() => {
  life = new AbortController();
});
afterEach(() => life.abort());

const golden = <T>(name: string, what: string): T =>
  JSON.parse(readFileSync(resolve("../../tests/wire", name, `${what}.json`), "utf8"));

/** What the kernel sends, as the Python tests have written it. */
const page = (name: string): PageData => ({
  graph: golden<GraphPayload>(name, "graph"),
  live: golden<LivePayload>(name, "live"),
  details: golden<Record<string, Detail>>(name, "details"),
  trace: golden<TracePayload>(name, "trace"),
  selected: null,
  height: 480,
  direction: "right",
});

const shown = (name: string) => show(new DemoHost(page(name)), life.signal);
type Shown = Awaited<ReturnType<typeof shown>>;

const spoken = ({ find }: Shown, selector: string) =>
  find(`${selector} .gw-maths`).map((one) => one.getAttribute("aria-label"));
const openTrace = async (figure: Shown) => {
  click(figure.find("[data-gw-tab-of=trace]")[0]);
  await vi.waitFor(() => expect(figure.find("[data-gw-trace]")).toHaveLength(1));
};
const row = ({ find }: Shown, key: number) => find(`[data-gw-trace-key="${key}"]`)[0];

it("puts names and numbers into the chain rule of a node", async () => {
  const figure = await shown("abc-after");
  figure.host.change("selected", { selected: "d" });
  await vi.waitFor(() => expect(spoken(figure, "[data-gw-formula]")[0]).toBe("d = a · b = 1.1 · 1.2 = 1.32"));
  expect(spoken(figure, "[data-gw-formula-part]")).toEqual([
    "∂d/∂a = b",
    "dL/da = dL/dd · b = 1.3 · 1.2 = 1.56",
    "∂d/∂b = a",
    "dL/db = dL/dd · a = 1.3 · 1.1 = 1.43",
  ]);
  expect(figure.find("[data-gw-formula] mfrac").length).toBeGreaterThan(3);
  expect(figure.find("[data-gw-formula] mfrac")[0]?.namespaceURI).toBe("http://www.w3.org/1998/Math/MathML");
});

it("tells of a leaf how its gradient comes together", async () => {
  const figure = await shown("abc-after");
  figure.host.change("selected", { selected: "a" });
  await vi.waitFor(() =>
    expect(spoken(figure, "[data-gw-formula-arrival]")).toEqual(["dL/da = dL/dd · b = 1.3 · 1.2 = 1.56"]),
  );
});

it("shows hostile names as text and knows no tags but its own", async () => {
  const data = page("hostile-after");
  const part = Object.values(data.details).flatMap((one) => one.formula?.parts ?? [])[0] as FormulaPart;
  const evil: MathNode = ["script", ["mi", "<img src=x onerror=alert(1)>"]];
  part.chain = { text: "evil", maths: evil };
  for (const detail of Object.values(data.details)) if (detail.formula) detail.formula.parts = [part];
  const figure = await show(new DemoHost(data), life.signal);
  figure.host.change("selected", { selected: 0 });
  await vi.waitFor(() => expect(figure.text("[data-gw-formula]")).toContain("<img src=x onerror=alert(1)>"));
  expect(figure.find("img, [data-gw-formula] script")).toHaveLength(0);
});

it("lights a row of the trace and its node together, and selects both ways", async () => {
  const figure = await shown("abc-after");
  await openTrace(figure);
  expect(figure.find(".gw-trace-row")).toHaveLength(6);
  row(figure, 1)?.dispatchEvent(new Event("pointerenter"));
  await vi.waitFor(() => expect(figure.find(".gw-lit-node").map((n) => n.dataset.gwName)).toEqual(["d"]));
  row(figure, 1)?.dispatchEvent(new Event("pointerleave"));
  await vi.waitFor(() => expect(figure.find(".gw-lit-node")).toHaveLength(0));
  click(row(figure, 1));
  expect(figure.host.selected).toBe("d");
  figure.host.change("selected", { selected: "a" });
  await vi.waitFor(() =>
    expect(figure.find(".gw-chosen").map((one) => one.dataset.gwTraceKey)).toEqual(["3"]),
  );
});

it("fills the adjoints in as the player goes", async () => {
  const figure = await shown("abc-after");
  await openTrace(figure);
  const adjoints = () => spoken(figure, "tbody [data-gw-adjoint]").length;
  expect(adjoints()).toBe(7);
  figure.host.change("step", { step: 0 });
  await vi.waitFor(() => expect(adjoints()).toBe(0));
  figure.host.change("step", { step: 1 });
  await vi.waitFor(() => expect(spoken(figure, ".gw-now [data-gw-adjoint]").length).toBeGreaterThan(0));
  expect(adjoints()).toBe(2);
});

it("copies the trace, or shows it to be copied by hand", async () => {
  const figure = await shown("abc-after");
  await openTrace(figure);
  const write = vi.fn().mockResolvedValue(undefined);
  vi.stubGlobal("navigator", { ...navigator, clipboard: { writeText: write } });
  click(figure.find("[data-gw-copy=LaTeX]")[0]);
  await vi.waitFor(() => expect(write).toHaveBeenCalledWith(expect.stringContaining("\\begin{tabular}")));
  write.mockRejectedValue(new Error("refused"));
  click(figure.find("[data-gw-copy=Markdown]")[0]);
  await vi.waitFor(() =>
    expect((figure.find(".gw-by-hand")[0] as HTMLTextAreaElement).value).toContain("| forward primal |"),
  );
  vi.unstubAllGlobals();
});

it("goes from tab to tab with the arrow keys", async () => {
  const figure = await shown("abc-after");
  const tab = figure.find("[data-gw-tab-of=node]")[0];
  tab?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  await vi.waitFor(() =>
    expect(figure.find("[data-gw-tab-of=trace]")[0]?.getAttribute("aria-selected")).toBe("true"),
  );
});

it("says in words that a trace was not saved", async () => {
  const figure = await show(new DemoHost({ ...page("abc-after"), trace: null }), life.signal);
  click(figure.find("[data-gw-tab-of=trace]")[0]);
  await vi.waitFor(() => expect(figure.text(".gw-trouble")).toContain("was not saved with this page"));
});

it("breaks lines before equals signs, but not in parentheses", () => {
  const a: MathNode = ["mi", "a"];
  const equals: MathNode = ["mo", "="];
  const call: MathNode[] = [["mo", "("], a, equals, a, ["mo", ")"]];
  expect(brokenAtEquals(["mrow", a, equals, ...call, equals, a])).toEqual([
    ["mrow", a, equals, ...call],
    ["mrow", equals, a],
  ]);
  expect(brokenAtEquals(a)).toEqual([a]);
});
