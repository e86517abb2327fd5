// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PageHost } from "../../src/hosts/page";
import { DemoHost } from "../demo/host";
import { page } from "../samples";
import { click, shown as show } from "./shown";

let life: AbortController;
beforeEach(() => {
  life = new AbortController();
});
afterEach(() => life.abort());

const shown = (options: object = {}) => show(new DemoHost(page("extremes", options)), life.signal);

describe("the header", () => {
  it("says that the kernel is gone, and offers nothing that needs one", async () => {
    const { host, find, text, panel } = await show(
      new DemoHost(page("abc", { passes: 0, selected: "d" })),
      life.signal,
    );
    expect(text(".gw-status")).toBe("watching");
    expect(find("[data-gw-probe]")).toHaveLength(1);
    host.silence = "kernel gone: last known state";
    host.change("kernel", {});
    await vi.waitFor(() => expect(text(".gw-status")).toBe("kernel gone: last known state"));
    expect(find("[data-gw-probe]")).toHaveLength(0);
    host.select(null);
    await vi.waitFor(() => expect(panel()).toMatch(/no backward pass was seen/));
    expect(panel()).not.toMatch(/once you call/);
  });

  it("of a saved page claims no kernel", async () => {
    const { text } = await show(new PageHost(page("abc")), life.signal);
    expect(text(".gw-status")).toBe("saved page: no kernel");
  });

  it("tells what the scissors mean, where there are some", async () => {
    expect((await shown()).text(".gw-legend")).toMatch(/value.*gradient.*no gradient/);
    const plain = await show(new DemoHost(page("abc")), life.signal);
    expect(plain.text(".gw-legend")).not.toMatch(/no gradient/);
  });
});

it("takes the height that Python sets last, and the one dragged until then", async () => {
  const { host, find, root } = await shown();
  const height = () => root.style.getPropertyValue("--gw-height");
  expect(height()).toBe("480px");
  const edge = find('[aria-label="Height of the figure"]')[0];
  edge?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
  await vi.waitFor(() => expect(height()).toBe("504px"));
  host.change("height", { height: 300 });
  await vi.waitFor(() => expect(height()).toBe("300px"));
});

describe("names", () => {
  it("that turn the text around are shown as escapes", async () => {
    const { find, host, panel } = await shown();
    const [leaf] = find('[data-gw-name="turned\\\\u202eeman"]');
    expect(leaf?.textContent).toMatch(/turned\\u202eeman/);
    click(leaf);
    await vi.waitFor(() => expect(panel()).toMatch(/turned\\u202eeman/));
    expect(host.selected).toBe(Number(leaf?.dataset.gwKey));
  });

  it("that lack are made up for with numbers", async () => {
    const { find, panel, host } = await shown({ selected: "y" });
    const key = Number(find("[data-gw-link]")[0]?.dataset.gwLink);
    expect(find("[data-gw-link]")[0]?.textContent).toBe(`Mul, node ${key}`);
    host.select(key);
    await vi.waitFor(() => expect(panel()).toMatch(new RegExp(`^Mul, node ${key}`)));
    const boxes = find('.gw-kind-leaf[role="button"]').map((box) => box.textContent ?? "");
    expect(boxes.some((text) => /leaf \d+4 f32$/.test(text))).toBe(true);
  });
});

describe("statistics", () => {
  const told = async (name: string) => {
    const figure = await shown({ selected: "y" });
    await vi.waitFor(() => expect(figure.find(`[data-gw-saved="${name}"]`)).toHaveLength(1));
    const row = figure.find(`[data-gw-saved="${name}"]`)[0];
    return { text: row?.textContent ?? "", pictures: row?.querySelectorAll("figure").length };
  };

  it("of equal elements are one number", async () => {
    expect(await told("self")).toMatchObject({ text: expect.stringMatching(/all equal 1$/), pictures: 0 });
  });

  it("of no finite element are none", async () => {
    const { text } = await told("none_finite");
    expect(text).toMatch(/no finite element.*nan 250 of 256.*inf 6 of 256/);
    expect(text).not.toMatch(/mean|min/);
  });

  it("of the finite elements say so, once", async () => {
    const { text } = await told("some_odd");
    expect(text.match(/finite elements/g)).toHaveLength(1);
  });

  it("are not spoken of where there are none", async () => {
    expect((await told("z")).text).not.toMatch(/statistics/);
  });
});

describe("captures", () => {
  it("come newest first, five of them, the others on request", async () => {
    const { find } = await shown({ selected: 0 });
    const rows = () => find("[data-gw-capture]").map((row) => row.dataset.gwCapture);
    await vi.waitFor(() => expect(rows()).toEqual(["50", "49", "48", "47", "46"]));
    expect(find("[data-gw-captures-more]")[0]?.textContent).toBe("45 more");
    click(find("[data-gw-captures-more]")[0]);
    await vi.waitFor(() => expect(rows()).toHaveLength(50));
    expect(find("[data-gw-captures-more]")).toHaveLength(0);
  });

  it("lead to their pass", async () => {
    const { find } = await shown({ selected: 0 });
    const pass = () => find("[data-gw-pass]")[0]?.dataset.gwPass;
    expect(pass()).toBe("49");
    await vi.waitFor(() => expect(find("[data-gw-pass-link]").length).toBeGreaterThan(0));
    click(find('[data-gw-pass-link="48"]')[0]);
    await vi.waitFor(() => expect(pass()).toBe("48"));
  });
});
