// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
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
type Shown = Awaited<ReturnType<typeof shown>>;

const gradients = ({ find }: Shown) => find("[data-gw-gradient]").length;
const line = ({ text }: Shown) => text("[data-gw-step-line]");
const atWork = ({ find }: Shown) => find("[data-gw-at-work]").map((node) => node.dataset.gwName);
const player = ({ find }: Shown) => {
  const { gwStep, gwSteps, gwEnded } = find("[data-gw-player]")[0]?.dataset ?? {};
  return [gwStep, gwSteps, gwEnded];
};
const press = ({ root }: Shown, key: string) =>
  root.querySelector(".gw-surface")?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const button = ({ find }: Shown, name: string) =>
  find("button").find((one) => one.getAttribute("aria-label")?.startsWith(name));

it("is there once there is a pass, at its end, with nobody at work", async () => {
  const figure = await shown("abc", { passes: 0 });
  expect(figure.find("[data-gw-player]")).toHaveLength(0);
  figure.host.change("live", { live: page("abc").live });
  await vi.waitFor(() => expect(player(figure)).toEqual(["5", "5", "1"]));
  expect([gradients(figure), atWork(figure)]).toEqual([5, []]);
  expect(figure.find(".gw-ticks i")).toHaveLength(6);
});

it("shows at step k what had arrived by then, as Python says", async () => {
  const figure = await shown("abc");
  figure.host.change("step", { step: 2 });
  await vi.waitFor(() => expect(player(figure)).toEqual(["2", "5", "0"]));
  expect(gradients(figure)).toBe(2);
  expect(atWork(figure)).toEqual(["d"]);
  expect(line(figure)).toContain("step 2 of 5Mul d receives 1.3, hands 1.56 to a and 1.43 to b");
  expect(figure.find("[data-gw-handing]").map((wire) => wire.dataset.gwHanding)).toEqual(["3/1", "4/1"]);
  expect(figure.text("[aria-live]")).toMatch(/step 2 of 5: Mul d receives 1\.3/);
  figure.host.change("step", { step: 99 });
  await vi.waitFor(() => expect(player(figure)).toEqual(["5", "5", "0"]));
  figure.host.change("step", { step: 0 });
  await vi.waitFor(() => expect(gradients(figure)).toBe(0));
});

it("steps with the brackets and the buttons, and stays within the pass", async () => {
  const figure = await shown("abc");
  press(figure, "[");
  await vi.waitFor(() => expect(player(figure)).toEqual(["4", "5", "0"]));
  expect(figure.host.step).toBe(4);
  press(figure, "]");
  await vi.waitFor(() => expect(player(figure)).toEqual(["5", "5", "0"]));
  press(figure, "]");
  expect(figure.host.step).toBe(5);
  click(button(figure, "To the end"));
  await vi.waitFor(() => expect(player(figure)).toEqual(["5", "5", "1"]));
  expect(figure.host.step).toBeNull();
  click(button(figure, "To the start"));
  await vi.waitFor(() => expect(player(figure)).toEqual(["0", "5", "0"]));
  click(button(figure, "Step back"));
  expect(figure.host.step).toBe(0);
});

it("does not move a box or a label", async () => {
  const figure = await shown("abc");
  const places = () =>
    figure.find("[data-gw-key], [data-gw-value]").map((one) => one.getAttribute("transform"));
  const before = places();
  figure.host.change("step", { step: 1 });
  await vi.waitFor(() => expect(gradients(figure)).toBe(1));
  expect(places()).toEqual(before);
});

it("selects a node that the line mentions, and playing keeps the selection", async () => {
  const figure = await shown("abc");
  figure.host.change("step", { step: 2 });
  await vi.waitFor(() => expect(figure.find("[data-gw-mention]")).toHaveLength(3));
  click(figure.find('[data-gw-mention="3"]')[0]);
  expect(figure.host.selected).toBe("a");
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  click(button(figure, "Play"));
  await vi.waitFor(() => expect(button(figure, "Pause")).toBeTruthy());
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1)); // set after the drawing
  await vi.advanceTimersByTimeAsync(2000);
  expect(figure.host.step).toBe(4);
  await vi.advanceTimersByTimeAsync(5000);
  expect([figure.host.step, figure.host.selected]).toEqual([5, "a"]);
  await vi.waitFor(() => expect(button(figure, "Play")).toBeTruthy());
  vi.useRealTimers();
});

describe("passes", () => {
  it("say what they are, and choosing one comes to rest", async () => {
    const figure = await shown("story");
    const options = figure.find("option").map((option) => option.textContent);
    expect(options).toContain("pass 1: backward from loss");
    expect(options).toContain("✗ pass 2: backward from loss, failed");
    expect(options).toContain("↳ pass 3: backward from loss, inside pass 2");
    figure.host.change("step", { step: 1 });
    const select = figure.find('[aria-label="Backward pass"]')[0] as HTMLSelectElement;
    select.value = "2";
    select.dispatchEvent(new Event("change", { bubbles: true }));
    await vi.waitFor(() => expect(line(figure)).toMatch(/^failed after 5 steps/));
    expect(figure.host.step).toBeNull();
  });

  it("show who did not run, and what was returned at the end only", async () => {
    const figure = await shown("story");
    const idle = figure.find("[data-gw-idle]").map((node) => node.dataset.gwName);
    expect(idle.sort()).toEqual(["", "w", "y"]);
    expect(figure.find("[data-gw-idle]")[0]?.getAttribute("aria-label")).toMatch(/did not run in this pass/);
    const x = figure.find('[data-gw-name="x"]')[0]?.dataset.gwKey;
    const returned = () => figure.find(`[data-gw-gradient="${x}"]`).length;
    expect(returned()).toBe(1);
    figure.host.change("step", { step: 4 });
    await vi.waitFor(() => expect(returned()).toBe(0));
  });
});

it("stands with a payload that knows nothing of steps", async () => {
  const data = page("abc");
  const [pass] = data.live?.passes ?? [];
  const rows = { key: [0], output: [0], text: ["1"], norm: [null] };
  const old = { number: 1, label: "backward from e", state: "complete", note: "", order: [0, 1], ...rows };
  const live = { v: 1, watching: true, status: "", freed: true, dropped: 0, passes: [old] } as never;
  expect(pass).toBeTruthy();
  const figure = await show(new DemoHost({ ...data, live }), life.signal);
  figure.host.change("step", { step: 2 });
  await vi.waitFor(() => expect(line(figure)).toMatch(/step 2 of 2Mul d runs/));
});
