// @vitest-environment happy-dom
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { completeGraph, completeLive } from "../../src/hosts/complete";
import { PageHost } from "../../src/hosts/page";
import { cellTexts, titleOf, viewsOf } from "../../src/view/cells/use_cells";
import { CodeIndex } from "../../src/view/code/code_index";
import type { Detail, GraphPayload, LivePayload } from "../../src/wire";
import { click, shown } from "../page/shown";

const read = (name: string) =>
  JSON.parse(readFileSync(join(process.cwd(), "../../tests/wire/lesson", `${name}.json`), "utf-8"));
const graph: GraphPayload = completeGraph(read("graph"));
const live: LivePayload = completeLive(read("live"));
const details: Record<string, Detail> = read("details");

let life: AbortController;
beforeEach(() => {
  life = new AbortController();
});
afterEach(() => life.abort());

const hostOf = (shownGraph: GraphPayload) =>
  new PageHost({ graph: shownGraph, live, details, selected: null, height: 480, direction: "right" });
const figure = () => shown(hostOf(graph), life.signal);
const point = (element: Element | undefined, type: string) =>
  element?.dispatchEvent(new Event(type, { bubbles: type === "pointerover" }));

it("which line made which nodes", () => {
  const index = new CodeIndex(graph.code);
  const place = index.placeAt(0, 5);
  expect(place).not.toBeNull();
  expect(index.nodes(place ?? -1)).toEqual([0, 1]);
  expect(index.place(2)).toBe(index.placeAt(0, 4));
  expect(index.place(3)).toBeNull();
  expect(index.placeAt(0, 1)).toBeNull();
});

describe("the code pane", () => {
  it("shows code as text, and lights what belongs together both ways", async () => {
    const { find } = await figure();
    const lines = find("[data-gw-place]");
    expect(lines.map((line) => line.dataset.gwLine)).toEqual(["lesson.py:4", "lesson.py:5"]);
    expect(lines[0]?.textContent).toContain("x = a * b  # </script><b>not HTML</b>");
    expect(find(".gw-code b")).toHaveLength(0);
    point(lines[1], "pointerenter");
    await vi.waitFor(() => expect(find(".gw-lights rect")).toHaveLength(2));
    point(find(".gw-code-lines")[0], "pointerleave");
    await vi.waitFor(() => expect(find(".gw-lights rect")).toHaveLength(0));
    point(find('[data-gw-key="2"]')[0], "pointerover");
    await vi.waitFor(() =>
      expect(find("[data-gw-line-lit='1']").map((line) => line.dataset.gwLine)).toEqual(["lesson.py:4"]),
    );
  });

  it("selects on a click, goes through the nodes of a line, and folds away", async () => {
    const { find, panel } = await figure();
    click(find('[data-gw-line="lesson.py:5"]')[0]);
    await vi.waitFor(() => expect(panel()).toMatch(/Add.*lesson\.py:5.*y = torch\.relu\(x\) \+ 1/));
    click(find('[data-gw-line="lesson.py:5"]')[0]);
    await vi.waitFor(() => expect(panel()).toMatch(/^Relu/));
    click(find(".gw-code-toggle")[0]);
    await vi.waitFor(() => expect(find("[data-gw-line]")).toHaveLength(0));
  });

  it("is not there where nothing was recorded", async () => {
    const bare = { ...graph, code: { recorded: false, files: [], places: [], place: [] } };
    const { find } = await shown(hostOf(bare), life.signal);
    expect(find(".gw-code")).toHaveLength(0);
  });
});

describe("the cells", () => {
  it("are told by what they did", () => {
    expect(live.cells.map(titleOf)).toEqual([
      "a cell: built",
      "cell 4: backward",
      "cell 5: step",
      "cell 6: zero_grad",
    ]);
  });

  it("stand as they stood: what did not change is that of the cell before", () => {
    const [built, backward, step, zeroed] = viewsOf(live.cells);
    expect([built, backward, step, zeroed].map((view) => view?.values.get("3.0"))).toEqual([
      "2",
      "2",
      "0.5",
      "0.5",
    ]);
    expect([built, backward, step, zeroed].map((view) => view?.grads.get("3.0"))).toEqual([
      "none",
      "3",
      "3",
      "none",
    ]);
  });

  it("replace the leaves' texts only", () => {
    const now = new Map([
      ["1.0", "6"],
      ["3.0", "2"],
    ]);
    expect(cellTexts(now, new Map([["3.0", "0.5"]]))).toEqual(
      new Map([
        ["1.0", "6"],
        ["3.0", "0.5"],
      ]),
    );
    expect(cellTexts(now, undefined)).toBe(now);
  });

  it("lead back and forth on the page", async () => {
    const { find, host, panel, text } = await figure();
    const cell = (at: number) => find(`[data-gw-cell="${at}"]`)[0];
    const at = () => find("[data-gw-cells]")[0]?.dataset.gwCellAt;
    host.select(3);
    expect(at()).toBe("3");
    // After the last cell: stepped, and zeroed.
    expect(text('[data-gw-value="3"]')).toMatch(/0\.5$/);
    expect(text('[data-gw-gradient="3"]')).toMatch(/none$/);
    host.stepTo(5);
    await vi.waitFor(() => expect(text('[data-gw-gradient="3"]')).toMatch(/3$/));
    host.stepTo(null);
    await vi.waitFor(() => expect(text('[data-gw-gradient="3"]')).toMatch(/none$/));
    click(cell(2));
    await vi.waitFor(() => expect(at()).toBe("2"));
    expect(text('[data-gw-value="3"]')).toMatch(/0\.5$/);
    expect(text('[data-gw-gradient="3"]')).toMatch(/3$/);
    await vi.waitFor(() => expect(panel()).toMatch(/after cell 5: step.*0\.5.*\.grad.*3/));
    click(cell(0));
    await vi.waitFor(() => expect(find("[data-gw-player]")).toHaveLength(0));
    expect(text('[data-gw-value="3"]')).toMatch(/2$/);
    expect(text('[data-gw-gradient="0"]')).toBe("");
    click(cell(3));
    await vi.waitFor(() => expect(find("[data-gw-player]")).toHaveLength(1));
    expect(panel()).not.toMatch(/after cell/);
  });
});
