// @vitest-environment happy-dom
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { PageData } from "../../src/hosts/page";
import { isRight, numbersIn } from "../../src/view/quiz/grade";
import { DemoHost } from "../demo/host";
import { click, shown as show } from "./shown";

let life: AbortController;
beforeEach(() => {
  life = new AbortController();
});
afterEach(() => life.abort());

const golden = (what: string) =>
  JSON.parse(readFileSync(resolve("../../tests/wire/abc-after", `${what}.json`), "utf8"));

const page = (): PageData => ({
  graph: golden("graph"),
  live: golden("live"),
  details: golden("details"),
  trace: golden("trace"),
  selected: null,
  height: 480,
  direction: "right",
});

const shown = () => show(new DemoHost(page()), life.signal);
type Shown = Awaited<ReturnType<typeof shown>>;

const gradients = ({ find }: Shown) => find("[data-gw-gradient]").map((one) => one.textContent?.trim());
const card = ({ find }: Shown) => find("[data-gw-quiz-card]")[0];
const type = (figure: Shown, text: string) => {
  const input = card(figure)?.querySelector("input") as HTMLInputElement;
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  card(figure)?.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  expect(figure.host.answers[3]?.tries.at(-1)).toBe(text);
};

async function started(): Promise<Shown> {
  const figure = await shown();
  click(figure.find("[data-gw-quiz-switch]")[0]);
  await vi.waitFor(() => expect(figure.find("[data-gw-quiz]")).toHaveLength(1));
  return figure;
}

it("hides all gradients but the output's, wherever they would stand", async () => {
  const figure = await started();
  expect(gradients(figure).filter((text) => text?.includes("?"))).toHaveLength(4);
  for (const key of [1, 2, 3, 4]) {
    figure.host.change("selected", { selected: key });
    await vi.waitFor(() => expect(figure.find(`[data-gw-panel-key="${key}"]`)).toHaveLength(1));
    const title = figure.find(`[data-gw-gradient="${key}"]`)[0]?.outerHTML ?? "";
    expect(title).not.toMatch(/1\.56|1\.43/);
    expect(figure.root.textContent).not.toMatch(/1\.56|1\.43/);
  }
  click(figure.find("[data-gw-tab-of=trace]")[0]);
  await vi.waitFor(() => expect(figure.find("[data-gw-trace]")).toHaveLength(1));
  expect(figure.root.innerHTML).not.toMatch(/1\.56|1\.43/);
  expect(figure.find("[data-gw-copy]")).toHaveLength(0);
});

it("says wrong, gives a hint, says right, and shows what was found", async () => {
  const figure = await started();
  figure.host.change("selected", { selected: "a" });
  await vi.waitFor(() => expect(card(figure)?.dataset.gwQuizState).toBe("open"));
  type(figure, "1.3");
  await vi.waitFor(() => expect(card(figure)?.dataset.gwQuizState).toBe("wrong"));
  click(figure.find("[data-gw-quiz-hint]")[0]);
  await vi.waitFor(() => expect(card(figure)?.querySelector("math")).toBeTruthy());
  expect(card(figure)?.querySelector(".gw-maths")?.getAttribute("aria-label")).toBe("dL/da = dL/dd · b");
  type(figure, "1.56");
  await vi.waitFor(() => expect(card(figure)?.dataset.gwQuizState).toBe("right"));
  expect(figure.find("[data-gw-quiz]")[0]?.dataset.gwScore).toBe("1/4");
  expect(gradients(figure).join()).toContain("1.56");
  expect(figure.host.answers[3]).toEqual({ tries: ["1.3", "1.56"], hinted: true, shown: false, right: true });
});

it("does not count what is no number as a try", async () => {
  const figure = await started();
  figure.host.change("selected", { selected: "a" });
  await vi.waitFor(() => expect(card(figure)?.dataset.gwQuizState).toBe("open"));
  const input = card(figure)?.querySelector("input") as HTMLInputElement;
  input.value = "abc";
  card(figure)?.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  await vi.waitFor(() => expect(card(figure)?.textContent).toContain("abc is not a number."));
  expect(figure.host.answers[3]).toBeUndefined();
  type(figure, "1,56");
  await vi.waitFor(() => expect(card(figure)?.dataset.gwQuizState).toBe("right"));
  expect(card(figure)?.textContent).not.toContain("not a number");
});

it("keeps the chain rule to itself until a hint is asked for", async () => {
  const figure = await started();
  figure.host.change("selected", { selected: "d" });
  await vi.waitFor(() => expect(card(figure)?.dataset.gwQuizState).toBe("open"));
  expect(figure.find('[data-gw-formula-part="3"]')).toHaveLength(0);
  figure.host.change("selected", { selected: "a" });
  await vi.waitFor(() => expect(figure.find("[data-gw-quiz-hint]")).toHaveLength(1));
  expect(figure.panel()).not.toContain("Formula");
  click(figure.find("[data-gw-quiz-hint]")[0]);
  await vi.waitFor(() => expect(figure.host.answers[3]?.hinted).toBe(true));
  figure.host.change("selected", { selected: "d" });
  await vi.waitFor(() => expect(figure.find('[data-gw-formula-part="3"]')).toHaveLength(1));
});

it("asks beside the trace as well", async () => {
  const figure = await started();
  click(figure.find("[data-gw-tab-of=trace]")[0]);
  await vi.waitFor(() => expect(figure.find("[data-gw-trace]")).toHaveLength(1));
  click(figure.find('[data-gw-id="3"]')[0]);
  await vi.waitFor(() => expect(card(figure)?.dataset.gwQuizCard).toBe("3"));
  click(figure.find("[data-gw-tab-of=trace]")[0]);
  await vi.waitFor(() => expect(figure.find("[data-gw-trace]")).toHaveLength(1));
  click(figure.find('[data-gw-id="3"]')[0]);
  await vi.waitFor(() => expect(card(figure)?.dataset.gwQuizCard).toBe("3"));
});

it("shows an answer to whoever gives up, and all of them at the end", async () => {
  const figure = await started();
  figure.host.change("selected", { selected: "b" });
  await vi.waitFor(() => expect(card(figure)?.dataset.gwQuizState).toBe("open"));
  click(figure.find("[data-gw-quiz-show]")[0]);
  await vi.waitFor(() => expect(card(figure)?.dataset.gwQuizState).toBe("shown"));
  expect(figure.find("[data-gw-quiz]")[0]?.dataset.gwScore).toBe("0/4");
  click(figure.find("[data-gw-quiz-end]")[0]);
  await vi.waitFor(() => expect(gradients(figure).some((text) => text?.includes("?"))).toBe(false));
  expect(figure.host.quiz).toBeNull();
});

it("asks for what Python wants asked", async () => {
  const figure = await shown();
  figure.host.change("quiz", { quiz: { keys: [1], tolerance: 0.01 } });
  await vi.waitFor(() => expect(figure.find("[data-gw-quiz]")[0]?.dataset.gwScore).toBe("0/1"));
  expect(gradients(figure).filter((text) => text?.includes("?"))).toHaveLength(1);
});

it("makes the type larger", async () => {
  const figure = await shown();
  click(figure.find("[data-gw-large]")[0]);
  await vi.waitFor(() => expect(figure.root.classList.contains("gw-large")).toBe(true));
});

it.each([
  ["1.56", "1.56", true],
  ["1.565", "1.56", true],
  ["1.6", "1.56", false],
  ["-0.28", "-0.2837", true],
  ["0", "0.004", false],
  ["[1, 2]", "[1, 2]", true],
  ["1", "[1, 2]", false],
  ["0,8467", "0.8467", true],
  ["0,5; 1,25", "[0.5, 1.25]", true],
  ["0,8467", "[0, 1]", false],
  ["e", "1", false],
  ["", "1", false],
])("%s for %s is %s", (given, truth, right) => {
  expect(isRight(given, truth, 0.01)).toBe(right);
});

it("reads numbers in lists", () => {
  expect(numbersIn(" [1, -2.5] ")).toEqual([1, -2.5]);
  expect(numbersIn("x")).toBeNull();
});
