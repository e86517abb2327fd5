// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PageHost } from "../../src/hosts/page";
import { mount } from "../../src/mount";
import { page } from "../samples";
import { click, shown as show } from "./shown";

let life: AbortController;
beforeEach(() => {
  life = new AbortController();
});
afterEach(() => life.abort());

const shown = (name: Parameters<typeof page>[0], options: object = {}) =>
  show(new PageHost(page(name, options)), life.signal);

describe("the picture", () => {
  it("draws every node once and says how many passes there were", async () => {
    const { box, find } = await shown("abc");
    expect(
      find("[data-gw-key]")
        .map((node) => node.dataset.gwName)
        .sort(),
    ).toEqual(["a", "b", "c", "d", "e"]);
    expect(find("[data-gw-value]")).toHaveLength(5);
    expect(find("[data-gw-gradient]")).toHaveLength(5);
    expect([box.dataset.gwReady, box.dataset.gwPasses]).toEqual(["1", "1"]);
  });

  it("fills in gradients without drawing the boxes anew", async () => {
    const { host, find, root } = await shown("abc", { passes: 0 });
    const before = find('[data-gw-name="d"]')[0];
    expect(find("[data-gw-gradient]")).toHaveLength(0);
    host.change("live", { live: page("abc").live });
    await vi.waitFor(() => expect(find("[data-gw-gradient]")).toHaveLength(5));
    expect(find('[data-gw-name="d"]')[0]).toBe(before);
    expect(root.dataset.gwPasses).toBe("1");
  });

  it("gives every box the names a screen reader needs, and one of them to Tab", async () => {
    const { find } = await shown("abc");
    const label = find('[data-gw-name="d"]')[0]?.getAttribute("aria-label");
    expect(label).toMatch(/Mul d.*MulBackward0.*value 1\.32.*gradient 1\.3/);
    expect(find('[role="button"][tabindex="0"]')).toHaveLength(1);
  });
});

describe("the panel", () => {
  it("shows the node that was clicked", async () => {
    const { host, find, panel } = await shown("abc");
    click(find('[data-gw-name="d"]')[0]);
    await vi.waitFor(() =>
      expect(panel()).toMatch(/MulBackward0.*value.*1\.32.*gradient.*1\.3.*self.*= a.*1\.1/s),
    );
    expect(host.selected).toBe("d");
    expect(panel()).toMatch(/d is not a leaf/);
  });

  it("says why, what to do, and on what facts; code stands out", async () => {
    const { find, text } = await shown("abc");
    click(find('[data-gw-name="d"]')[0]);
    await vi.waitFor(() => expect(find("[data-gw-why]")).toHaveLength(1));
    expect(find("[data-gw-why]")[0]?.dataset.gwWhy).toBe("not-leaf");
    expect(text(".gw-why-cause")).toBe("d.grad is None in torch: d is not a leaf.");
    expect(text(".gw-why-remedy code")).toBe("d.retain_grad()");
    expect(find(".gw-why-evidence li").map((fact) => fact.textContent)).toEqual([
      "d.grad_fn is <MulBackward0>",
      "d.is_leaf is False",
    ]);
  });

  it("follows a selection made in Python, and the links", async () => {
    const { host, find, panel } = await shown("abc");
    host.select("a");
    await vi.waitFor(() => expect(panel()).toMatch(/Leaf a/));
    click(find("[data-gw-link]")[0]);
    await vi.waitFor(() => expect(panel()).toMatch(/Mul d/));
  });

  it("says what to do when nothing is selected, and when nobody can answer", async () => {
    const { host, panel } = await shown("big300");
    expect(panel()).toMatch(/Click a node/);
    host.select(0);
    await vi.waitFor(() => expect(panel()).toMatch(/were not saved with this page.*Open the notebook/));
  });

  it("takes names for text", async () => {
    const { find, panel, root } = await shown("hostile");
    click(find('[data-gw-key="0"]')[0]);
    await vi.waitFor(() => expect(panel()).toMatch(/<b>&amp;<\/b>/));
    expect(root.querySelectorAll("img, script, b")).toHaveLength(0);
  });
});

it("leaves nothing behind", async () => {
  const { element } = await shown("abc");
  life.abort();
  expect(element.childNodes).toHaveLength(0);
});

it("says so when the picture can't be drawn", async () => {
  const element = document.createElement("div");
  const broken = { ...page("abc").graph, values: null } as never;
  mount(element, new PageHost({ ...page("abc"), graph: broken }), life.signal);
  const text = () => element.firstElementChild?.shadowRoot?.querySelector(".gw-root")?.textContent ?? "";
  await vi.waitFor(() => expect(text()).toMatch(/The figure can't be drawn/));
});
