import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Topic } from "../../src/host";
import { ModelHost } from "../../src/hosts/model";
import { TIMEOUT_MS } from "../../src/hosts/rpc";
import type { Detail } from "../../src/wire";
import { page } from "../samples";
import { FakeModel, packed } from "./fake_model";

const data = page("abc");
const detail = data.details["1"] as Detail;

function open(state: Record<string, unknown> = {}, manager?: unknown) {
  const life = new AbortController();
  const model = new FakeModel({
    _graph: packed(data.graph),
    _live: packed(data.live),
    selected: null,
    ...state,
  });
  model.widget_manager = manager;
  const host = new ModelHost(model, life.signal);
  const topics: Topic[] = [];
  host.subscribe(life.signal, (topic) => topics.push(topic));
  return { life, model, host, topics };
}

describe("traits", () => {
  it("are read once and again when they change", async () => {
    const { model, host, topics } = open();
    await vi.waitFor(() => expect(host.live?.passes).toHaveLength(1));
    expect(host.graph?.title).toBe("e = Mul");
    model.set("_live", packed({ ...data.live, passes: [] }));
    await vi.waitFor(() => expect(host.live?.passes).toHaveLength(0));
    expect(topics).toContain("live");
  });

  it("that can't be read become a sentence", async () => {
    const { host } = open({ _graph: packed({ ...data.graph, v: 7 }) });
    await vi.waitFor(() => expect(host.problem).toMatch(/can't be read.*version 7.*Restart the kernel/));
  });

  it("are written only when they differ", () => {
    const { model, host } = open({ selected: "d" });
    host.select("d");
    expect(model.saved).toBe(0);
    host.select("a");
    expect([model.get("selected"), model.saved]).toEqual(["a", 1]);
  });
});

describe("the step", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is read as a number of steps, or as none", () => {
    for (const [value, step] of [
      [2, 2],
      [2.7, 2],
      [-1, null],
      ["2", null],
      [undefined, null],
    ])
      expect(open({ step: value }).host.step).toBe(step);
  });

  it("shows at once, and is written at most ten times a second, the last one for sure", () => {
    const { model, host, topics } = open({ step: null });
    for (let step = 0; step <= 50; step += 1) {
      host.stepTo(step);
      expect(host.step).toBe(step);
      vi.advanceTimersByTime(10);
    }
    expect(model.saved).toBeLessThanOrEqual(6);
    vi.advanceTimersByTime(200);
    expect([model.get("step"), host.step]).toEqual([50, 50]);
    expect(topics.filter((topic) => topic === "step").length).toBeGreaterThanOrEqual(51);
  });

  it("gives way to Python's word", () => {
    const { model, host } = open({ step: null });
    host.stepTo(1);
    host.stepTo(2);
    model.set("step", 4);
    vi.advanceTimersByTime(500);
    expect([model.get("step"), host.step]).toEqual([4, 4]);
  });

  it("is not written when it is the same, nor after the end", () => {
    const { life, model, host } = open({ step: 3 });
    host.stepTo(3);
    expect(model.saved).toBe(0);
    host.stepTo(4);
    host.stepTo(5);
    life.abort();
    vi.advanceTimersByTime(500);
    expect(model.get("step")).toBe(4);
  });
});

it("an older kernel's payloads are filled in as empty", async () => {
  const { second: _second, ...graph } = data.graph;
  const pass = { number: 1, label: "backward from e", state: "complete", note: "", order: [0] };
  const rows = { key: [0], output: [0], text: ["1"], norm: [1] };
  const live = { v: 1, watching: true, status: "", freed: false, passes: [{ ...pass, ...rows }], dropped: 0 };
  const { hooks: _hooks, history: _history, function: _function, hook_steps: _steps, ...old } = detail;
  const { host } = open({ _graph: packed(graph), _live: packed(live), _details: packed({ 1: old }) });
  await vi.waitFor(() => expect(host.cached(1)).toMatchObject({ hooks: [], history: [], function: null }));
  expect(host.graph?.second).toEqual([]);
  expect(host.live?.probe.possible).toBe(false);
  expect(host.live?.passes[0]).toMatchObject({ kind: "backward", inside: 0, handed_step: [], bad: null });
});

describe("calls", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("are answered by the reply of the same id, whatever else comes by", async () => {
    const { model, host } = open();
    const answer = host.details(1);
    const [call] = model.sent;
    model.emit("msg:custom", { kind: "reply", id: "another view's", result: { key: 9 } });
    model.emit("msg:custom", "noise");
    model.emit("msg:custom", { kind: "reply", id: call?.id, result: detail });
    expect(await answer).toEqual(detail);
    expect(call?.params).toEqual({ key: 1 });
  });

  it("never share an id between two pages", () => {
    const ids = [open(), open()].map(({ model, host }) => {
      host.details(1).catch(() => undefined);
      return model.sent[0]?.id;
    });
    expect(new Set(ids).size).toBe(2);
  });

  it("that fail carry cause and remedy", async () => {
    const { model, host } = open();
    const answer = host.details(1);
    const error = { cause: "The graph is gone.", remedy: "Run the cell again." };
    model.emit("msg:custom", { kind: "reply", id: model.sent[0]?.id, error });
    await expect(answer).rejects.toThrow("The graph is gone. Run the cell again.");
  });

  it("that nobody answers end in words", async () => {
    const { host } = open();
    const answer = expect(host.details(1)).rejects.toThrow(/The kernel is busy or gone/);
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
    await answer;
  });

  it("unpack names the saved variable and gets the new details", async () => {
    const { model, host } = open();
    const answer = host.unpack(1, "self");
    const [call] = model.sent;
    expect(call).toMatchObject({ method: "unpack", params: { key: 1, name: "self" } });
    model.emit("msg:custom", { kind: "reply", id: call?.id, result: detail });
    expect(await answer).toEqual(detail);
  });

  it("probe is answered with nothing, and takes the time it takes", async () => {
    const { model, host } = open();
    const answer = host.probe();
    await vi.advanceTimersByTimeAsync(5 * TIMEOUT_MS);
    expect(model.sent[0]).toMatchObject({ method: "probe", params: {} });
    model.emit("msg:custom", { kind: "reply", id: model.sent[0]?.id, result: null });
    await expect(answer).resolves.toBeUndefined();
  });

  it("end with the widget, and so does every listener", async () => {
    const { life, model, host } = open();
    const answer = expect(host.details(1)).rejects.toThrow(/closed/);
    life.abort();
    await answer;
    expect(model.count()).toBe(0);
  });
});

describe("without a kernel", () => {
  it("the cache answers at once, and a node outside it gets a sentence", async () => {
    const { model, host } = open({ _details: packed({ 1: detail }) });
    await vi.waitFor(() => expect(host.cached(1)).toEqual(detail));
    // How anywidget's proxy lets the model itself be seen.
    model.emit("change:selected", { comm_live: false });
    expect(await host.details(1)).toEqual(detail);
    expect(host.silence).toBe("no kernel: saved state");
    await expect(host.probe()).rejects.toThrow(/No kernel/);
    await expect(host.details(2)).rejects.toThrow(/No kernel is connected.*Run the cell again/);
    expect(model.sent).toHaveLength(0);
  });
});

describe("when the kernel goes", () => {
  const kernel = () => {
    const signal = () => {
      const slots = new Set<(sender: unknown, value: unknown) => void>();
      return {
        slots,
        connect: (slot: (sender: unknown, value: unknown) => void) => slots.add(slot),
        disconnect: (slot: (sender: unknown, value: unknown) => void) => slots.delete(slot),
        emit: (value?: unknown) => [...slots].map((slot) => slot(null, value)),
      };
    };
    return { statusChanged: signal(), disposed: signal() };
  };

  it.each([
    ["it is shut down", (k: ReturnType<typeof kernel>) => k.statusChanged.emit("dead")],
    ["it is restarted", (k: ReturnType<typeof kernel>) => k.statusChanged.emit("restarting")],
    ["another takes its place", (k: ReturnType<typeof kernel>) => k.disposed.emit()],
    ["its line is cut", (_: unknown, model: FakeModel) => model.emit("comm_live_update")],
    ["the widget is closed", (_: unknown, model: FakeModel) => model.emit("comm:close")],
  ])("because %s, it says so, ends what waits, and writes nothing more", async (_, end) => {
    const line = kernel();
    const { model, host, topics } = open({ _details: packed({ 1: detail }) }, { kernel: line });
    await vi.waitFor(() => expect(host.cached(1)).toEqual(detail));
    expect(host.silence).toBe("");
    line.statusChanged.emit("busy");
    expect(host.silence).toBe("");
    const waiting = expect(host.details(2)).rejects.toThrow(/No kernel is connected/);
    end(line, model);
    await waiting;
    expect(host.silence).toBe("kernel gone: last known state");
    expect(topics).toContain("kernel");
    host.select("a");
    expect([model.get("selected"), model.saved]).toEqual(["a", 0]);
    expect(await host.details(1)).toEqual(detail);
    await expect(host.details(2)).rejects.toThrow(/not saved with it/);
  });

  it("nobody listens to it after the widget's end", () => {
    const line = kernel();
    const { life } = open({}, { kernel: line });
    expect(line.statusChanged.slots.size).toBe(1);
    life.abort();
    expect([line.statusChanged.slots.size, line.disposed.slots.size]).toEqual([0, 0]);
  });

  it("a line that is dead from the start is seen in the model's layout", () => {
    expect(open({ layout: { comm_live: false } }).host.silence).toBe("no kernel: saved state");
    expect(open({ layout: { comm_live: true } }).host.silence).toBe("");
  });

  it("a line that can't carry a call ends it in words", async () => {
    const { model, host } = open();
    model.send = () => {
      throw new Error("disposed");
    };
    await expect(host.details(1)).rejects.toThrow(/can't be reached/);
  });
});
