// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Trouble } from "../../src/host";
import { PageHost } from "../../src/hosts/page";
import { DemoHost } from "../demo/host";
import { page } from "../samples";
import { click, shown as show } from "./shown";

let life: AbortController;
beforeEach(() => {
  life = new AbortController();
});
afterEach(() => life.abort());

const shown = (name: Parameters<typeof page>[0], options: object = {}) =>
  show(new DemoHost(page(name, options)), life.signal);

describe("the panel tells", () => {
  it("the user's hooks and what they did, in order", async () => {
    const { find, panel, text } = await shown("story", { selected: "h" });
    await vi.waitFor(() =>
      expect(panel()).toMatch(/your hooks.*3 hooks.*watch.*tensor hook.*cell 3, line 2/),
    );
    const rungs = find("[data-gw-hook-step]");
    expect(rungs.map((rung) => rung.dataset.gwHookStep)).toEqual([
      "arrived",
      "after watch",
      "after scale",
      "left",
    ]);
    expect(rungs[2]?.textContent).toMatch(/×100.*200/);
    expect(rungs[1]?.textContent).toMatch(/unchanged/);
    expect(panel()).toMatch(/can't be told apart/);
    expect(text("[data-gw-function]")).toMatch(/Double.*None.*x.*asks for a gradient.*factor.*asks for none/);
  });

  it("at a step, only gradients that have arrived by then", async () => {
    const { host, panel } = await shown("story", { selected: "h" });
    await vi.waitFor(() => expect(panel()).toMatch(/gradient pass \d+(?! ?Not yet)/));
    host.stepTo(0);
    await vi.waitFor(() =>
      expect(panel()).toMatch(/gradient pass \d+ ?Not yet: it arrives at step \d+ of \d+\./),
    );
    host.stepTo(null);
    await vi.waitFor(() => expect(panel()).not.toMatch(/Not yet/));
  });

  it("the history, in words too", async () => {
    const { find } = await shown("story", { selected: "h" });
    await vi.waitFor(() => expect(find("[data-gw-history]")[0]?.dataset.gwHistory).toBe("120"));
    const words = find("[data-gw-history] svg")[0]?.getAttribute("aria-label");
    expect(words).toMatch(/iterations 81 to 200.*last 0\.3192.*NaN or infinite in 1 iteration; none in 5/);
  });

  it("the second order", async () => {
    const { find, panel, host } = await shown("story");
    const [box] = find(".gw-second");
    expect(box?.getAttribute("aria-label")).toMatch(/second order: made by a backward pass/);
    host.select(Number(box?.dataset.gwKey));
    await vi.waitFor(() => expect(panel()).toMatch(/second order: made by a backward pass/));
  });
});

describe("unpacking", () => {
  it("says what it runs, asks, and shows what came", async () => {
    const { find, host, panel } = await shown("story", { selected: "h" });
    await vi.waitFor(() => expect(find("[data-gw-unpack]")).toHaveLength(1));
    expect(panel()).not.toMatch(/This runs/);
    click(find("[data-gw-unpack]")[0]);
    await vi.waitFor(() => expect(panel()).toMatch(/This runs unpack_from_cpu.*Run it\?/));
    expect(host.calls).toEqual([]);
    click(find("[data-gw-yes]")[0]);
    await vi.waitFor(() => expect(panel()).toMatch(/Unpacked on request/));
    expect(host.calls).toEqual([expect.stringMatching(/^unpack \d+ x$/)]);
    expect(find("[data-gw-unpack]")).toHaveLength(0);
  });

  it("can be declined, and says why it failed", async () => {
    const { find, host, panel } = await shown("story", { selected: "h" });
    await vi.waitFor(() => expect(find("[data-gw-unpack]")).toHaveLength(1));
    click(find("[data-gw-unpack]")[0]);
    await vi.waitFor(() => expect(find("[data-gw-no]")).toHaveLength(1));
    click(find("[data-gw-no]")[0]);
    await vi.waitFor(() => expect(find("[data-gw-unpack]")).toHaveLength(1));
    host.refusal = new Trouble(
      "The hook raised OSError: disk is gone.",
      "Keep the file until backward is done.",
    );
    click(find("[data-gw-unpack]")[0]);
    await vi.waitFor(() => expect(find("[data-gw-yes]")).toHaveLength(1));
    click(find("[data-gw-yes]")[0]);
    await vi.waitFor(() => expect(panel()).toMatch(/disk is gone\. Keep the file/));
  });

  it("is not offered where nobody can do it", async () => {
    const { find, panel } = await show(new PageHost(page("story", { selected: "h" })), life.signal);
    await vi.waitFor(() => expect(panel()).toMatch(/This runs unpack_from_cpu/));
    expect(find("[data-gw-unpack]")).toHaveLength(0);
  });
});

describe("probe", () => {
  it("runs at once where nothing else would, and shows that it does", async () => {
    const { find, host } = await shown("abc", { passes: 0 });
    click(find("[data-gw-probe]")[0]);
    await vi.waitFor(() => expect(find("[data-gw-probe]")[0]?.dataset.gwProbe).toBe("running"));
    await vi.waitFor(() => expect(find("[data-gw-probe]")[0]?.dataset.gwProbe).toBe("ready"));
    expect(host.calls).toEqual(["probe"]);
  });

  it("asks first where hooks would run, and fails in words", async () => {
    const { find, host, text } = await shown("abc", {
      passes: 0,
      probe: "2 hooks of yours would run: scale.",
    });
    expect(find("[data-gw-probe]")[0]?.title).toMatch(/\.grad stays as it is.*2 hooks/s);
    click(find("[data-gw-probe]")[0]);
    await vi.waitFor(() =>
      expect(text("[data-gw-probe-ask]")).toMatch(/2 hooks of yours would run: scale\. Run it\?/),
    );
    expect(host.calls).toEqual([]);
    host.refusal = new Trouble("The hook raised ValueError.", "Fix it and run the cell again.");
    click(find("[data-gw-yes]")[0]);
    await vi.waitFor(() => expect(text("[data-gw-probe-trouble]")).toMatch(/raised ValueError\. Fix it/));
  });

  it("is not offered where it is not possible, nor without a kernel", async () => {
    const { find } = await shown("abc");
    expect(find("[data-gw-probe]")).toHaveLength(0);
    const page2 = await show(new PageHost(page("abc", { passes: 0 })), life.signal);
    expect(page2.find("[data-gw-probe]")).toHaveLength(0);
  });
});

describe("numbers that went bad", () => {
  it("are told with a way to them, and marked", async () => {
    const { find, host, text } = await shown("nan");
    expect(text('[data-gw-bad="banner"]')).toMatch(/First NaN: Log handed it on.*jump to it/);
    const [first] = find('[data-gw-key][data-gw-bad="first"]');
    expect(first?.textContent).toMatch(/Log.*NaN/s);
    expect(
      find('[data-gw-key][data-gw-bad="also"]')
        .map((node) => node.dataset.gwName)
        .sort(),
    ).toEqual(["w", "x"]);
    click(find("[data-gw-bad-jump]")[0]);
    expect(host.selected).toBe(Number(first?.dataset.gwKey));
  });
});

it("colours by the size of the gradient, with a legend, and follows the step", async () => {
  const { find, host, text } = await shown("nan");
  expect(find("[data-gw-scale]")).toHaveLength(0);
  click(find('[data-gw-colour="grad"]')[0]);
  await vi.waitFor(() => expect(text("[data-gw-scale]")).toMatch(/10⁰to10¹.*NaN or infinity.*zero.*none/));
  expect(find('[data-gw-colour="grad"]')[0]?.getAttribute("aria-pressed")).toBe("true");
  const heats = () =>
    find('[data-gw-heat]:not([data-gw-heat="none"])')
      .map((node) => node.dataset.gwHeat)
      .sort();
  expect(heats()).toEqual(["0", "1", "1", "bad", "bad", "0", "zero"].sort());
  host.change("step", { step: 1 });
  await vi.waitFor(() => expect(heats()).toEqual(["0"]));
  click(find('[data-gw-colour="kind"]')[0]);
  await vi.waitFor(() => expect(heats()).toEqual([]));
});
