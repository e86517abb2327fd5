// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PageHost } from "../../src/hosts/page";
import type { GraphPayload, LivePayload, Pass } from "../../src/wire";
import { grouped } from "../scene/grouped";
import { payload } from "../scene/payload";
import { click, shown as show } from "./shown";

let life: AbortController;
beforeEach(() => {
  life = new AbortController();
  // room for all of the picture
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(500_000);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(2000);
});
afterEach(() => {
  life.abort();
  vi.restoreAllMocks();
});

/** A row of additions, 0 to count - 1, in three groups of about the same size; those at the ends are flat. */
function row(count: number): GraphPayload {
  const nodes = Array.from({ length: count }, (_, key) => ({
    op: "AddBackward0",
    inputs: key < count - 1 ? [key + 1] : [null],
    names: key === 5 ? ["five"] : [],
  }));
  const third = Math.floor(count / 3);
  return grouped(payload(nodes, [[0, 0, "loss"]]), [
    { id: "a", from: 0, to: third },
    { id: "b", from: third, to: 2 * third },
    { id: "c", from: 2 * third, to: count },
    { id: "c.0", from: count - 12, to: count - 2 },
  ]);
}

const shown = (graph: GraphPayload, collapsed: string[], live: LivePayload | null = null) =>
  show(
    new PageHost({ graph, live, details: {}, selected: null, collapsed, height: 480, direction: "right" }),
    life.signal,
  );

const press = (element: Element | undefined, key: string) =>
  element?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const group = (index: number) => `[data-gw-group="${index}"]`;

describe("groups", () => {
  it("unfold and fold by key, by button and from outside", async () => {
    const { host, find } = await shown(row(90), ["a", "b", "c"]);
    expect(find("[data-gw-id]").map(({ dataset }) => dataset.gwId)).toEqual(["g:2", "g:1", "g:0", "out:0"]);
    press(find(group(2))[0], "Enter");
    expect(host.collapsed).toEqual(["a", "b", "c.0"]);
    await vi.waitFor(() => expect(find('[data-gw-key="0"]')).toHaveLength(1));
    expect(find("[data-gw-fold]")).toHaveLength(1);
    press(find('[data-gw-key="0"]')[0], "Backspace");
    expect(host.collapsed).toEqual(["a", "b", "c"]);
    host.change("collapsed", { collapsed: ["a"] });
    await vi.waitFor(() => expect(find("[data-gw-fold]").length).toBeGreaterThan(1));
    click(find('[data-gw-fold="1"]')[0]);
    expect(host.collapsed).toEqual(["a", "b"]);
  });

  it("tell about themselves in the panel", async () => {
    const { find, panel, text } = await shown(row(90), ["a", "b", "c"]);
    click(find(group(1))[0]);
    await vi.waitFor(() => expect(panel()).toContain("nodes30"));
    expect(text("[data-gw-panel-group]")).toContain("Layer");
    expect(panel()).toContain("parameters300");
    click(find("[data-gw-toggle]")[0]);
    await vi.waitFor(() => expect(find("[data-gw-fold]")).toHaveLength(1));
  });

  it("show where the selected node is", async () => {
    const { host, find } = await shown(row(90), ["a", "b", "c"]);
    host.select(5);
    await vi.waitFor(() =>
      expect(find("[data-gw-holds]").map(({ dataset }) => dataset.gwGroup)).toEqual(["2"]),
    );
  });

  it("are coloured and lit by what is in them", async () => {
    const order = Array.from({ length: 90 }, (_, key) => key);
    const pass: Pass = {
      number: 1,
      label: "backward",
      kind: "backward",
      inside: 0,
      state: "complete",
      note: "",
      order,
      key: order,
      output: order.map(() => 0),
      text: order.map(() => ""),
      norm: order.map((key) => 10 ** -(key / 10)),
      handed_step: [],
      handed_input: [],
      handed_text: [],
      handed_norm: [],
      bad: null,
      hooked_key: [],
      hooked_change: [],
    };
    const probe = { possible: false, note: "" };
    const live: LivePayload = {
      v: 1,
      watching: true,
      status: "",
      freed: false,
      passes: [pass],
      probe,
      dropped: 0,
      cells: [],
    };
    const { host, find } = await shown(row(90), ["a", "b", "c"], live);
    host.stepTo(35); // key 34 is in the middle group
    await vi.waitFor(() =>
      expect(find("[data-gw-at-work]").map(({ dataset }) => dataset.gwGroup)).toEqual(["1"]),
    );
    host.stepTo(null);
    click(find("button").find(({ textContent }) => textContent === "|grad|"));
    await vi.waitFor(() => expect(find("[data-gw-heat]")).toHaveLength(3));
    const heat = find("[data-gw-heat]").map(({ dataset }) => Number(dataset.gwHeat));
    expect(heat).toEqual([...heat].sort((a, b) => b - a));
    expect(new Set(heat).size).toBe(3);
  });

  it("are not unfolded beyond what can be drawn; everything else is folded instead", async () => {
    vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(1200);
    const { host, find, text } = await shown(row(6000), ["b", "c"]);
    press(find(group(1))[0], "Enter");
    await vi.waitFor(() => expect(text("[data-gw-refusal]")).toContain("b is not unfolded: 4,001 boxes"));
    expect(host.collapsed).toEqual(["b", "c"]);
    click(find("[data-gw-refusal] .gw-button")[0]);
    await vi.waitFor(() => expect(host.collapsed).toEqual(["a", "c"]));
    await vi.waitFor(() => expect(text("[data-gw-crumbs]")).toContain("b"));
  }, 30_000);
});

describe("the search", () => {
  it("counts, shows hits on groups, and unfolds what it jumps into", async () => {
    const { host, find, text } = await shown(row(90), ["a", "b", "c"]);
    const box = find("[data-gw-search]")[0] as HTMLInputElement;
    box.value = "five";
    box.dispatchEvent(new Event("input", { bubbles: true }));
    await vi.waitFor(() => expect(text("[data-gw-hits]")).toBe("1 hit"));
    expect(find("[data-gw-found]").map(({ dataset }) => [dataset.gwGroup, dataset.gwFound])).toEqual([
      ["2", "1"],
    ]);
    press(box, "Enter");
    expect(host.collapsed).toEqual(["a", "b"]);
    expect(host.selected).toBe("five");
    await vi.waitFor(() => expect(find('[data-gw-key="5"]')).toHaveLength(1));
    expect(text("[data-gw-hits]")).toBe("1 of 1");
  });

  it("is reached by a slash from anywhere in the figure", async () => {
    const { find, root } = await shown(row(90), ["a", "b", "c"]);
    press(find(group(1))[0], "/");
    expect((root.getRootNode() as ShadowRoot).activeElement).toBe(find("[data-gw-search]")[0]);
  });
});

describe("the focus", () => {
  it("draws what a node is made from, and leads back", async () => {
    const { host, find, text } = await shown(row(30), []);
    host.select(20);
    await vi.waitFor(() => expect(find('[data-gw-focus="ancestors"]')).toHaveLength(1));
    click(find('[data-gw-focus="ancestors"]')[0]);
    await vi.waitFor(() => expect(find("[data-gw-key]")).toHaveLength(10));
    expect(text("[data-gw-crumbs]")).toContain("up to Add, node 20");
    click(find("[data-gw-crumbs] button")[0]);
    await vi.waitFor(() => expect(find("[data-gw-key]")).toHaveLength(30));
  });

  it("is offered where there is something to look at, and says where there is no path", async () => {
    const graph = payload(
      [
        { op: "MulBackward0", inputs: [1, 2] },
        { op: "AccumulateGrad", kind: "leaf", inputs: [], names: ["a"] },
        { op: "AccumulateGrad", kind: "leaf", inputs: [], names: ["b"] },
      ],
      [[0, 0, "loss"]],
    );
    const { host, find, text } = await shown(graph, []);
    const offered = () => find("[data-gw-focus]").map(({ dataset }) => dataset.gwFocus);
    host.select(1);
    await vi.waitFor(() => expect(offered()).toEqual(["descendants", "path"]));
    click(find('[data-gw-focus="path"]')[0]);
    await vi.waitFor(() => expect(find('[data-gw-focus="path"][aria-pressed="true"]')).toHaveLength(1));
    host.select(2);
    await vi.waitFor(() => expect(find('[data-gw-focus="path"]')[0]?.textContent).toContain("from a"));
    click(find('[data-gw-focus="path"]')[0]);
    await vi.waitFor(() => expect(text("[data-gw-pathless]")).toContain("No path: neither of a and b"));
    host.select(0);
    await vi.waitFor(() => expect(offered()).toEqual(["ancestors", "path"]));
    expect(find("[data-gw-pathless]")).toHaveLength(0);
  });

  it("is left by Escape, level by level, and for what is chosen outside of it", async () => {
    const { host, find, text, root } = await shown(row(30), []);
    const look = async (key: number, crumbs: number) => {
      host.select(key);
      await vi.waitFor(() => expect(find('[data-gw-focus="ancestors"]')).toHaveLength(1));
      click(find('[data-gw-focus="ancestors"]')[0]);
      await vi.waitFor(() => expect(find("[data-gw-crumbs]")[0]?.dataset.gwCrumbs).toBe(`${crumbs}`));
    };
    await look(10, 1);
    await look(20, 2);
    press(find("[data-gw-crumbs]")[0], "Escape");
    await vi.waitFor(() => expect(find("[data-gw-crumbs]")[0]?.dataset.gwCrumbs).toBe("1"));
    const surface = find(".gw-surface")[0];
    expect((root.getRootNode() as ShadowRoot).activeElement).toBe(surface);
    press(surface, "Escape");
    await vi.waitFor(() => expect(host.selected).toBeNull());
    press(surface, "Escape");
    await vi.waitFor(() => expect(find("[data-gw-crumbs]")).toHaveLength(0));
    await look(20, 1);
    host.select(3);
    await vi.waitFor(() => expect(text("[data-gw-panel-key]")).not.toBe(""));
    await vi.waitFor(() => expect(find('[data-gw-key="3"]').length).toBeGreaterThan(0));
    expect(find("[data-gw-crumbs]")).toHaveLength(0);
  });

  it("draws the path between two nodes", async () => {
    const { host, find } = await shown(row(30), []);
    host.select(20);
    await vi.waitFor(() => expect(find('[data-gw-focus="path"]')).toHaveLength(1));
    click(find('[data-gw-focus="path"]')[0]);
    await vi.waitFor(() => expect(find('[data-gw-focus="path"][aria-pressed="true"]')).toHaveLength(1));
    host.select(15);
    await vi.waitFor(() => expect(find('[data-gw-focus="path"]')[0]?.textContent).toContain("Add, node 20"));
    click(find('[data-gw-focus="path"]')[0]);
    await vi.waitFor(() => expect(find("[data-gw-key]")).toHaveLength(6));
  });
});
