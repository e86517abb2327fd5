/** What a node says, and how much room that takes. */
import type { SceneNode } from "../scene";
import type { GraphPayload, Kind, LivePayload } from "../wire";

export type Measure = (text: string, font: "title" | "code" | "small") => number;

export interface NodeText {
  kind: Kind;
  title: string;
  name: string;
  subtitle: string;
  hint: string;
}

const KIND_WORD: Record<Kind, string> = {
  operation: "",
  leaf: "leaf",
  function: "Function",
  checkpoint: "checkpoint",
  compiled: "compiled",
  hook: "hook",
};

/** Makes the texts of one node after the other. */
export function describeNodes(graph: GraphPayload, live: LivePayload | null): (key: number) => NodeText {
  const names = new Map<number, string[][]>(); // by key, then output
  for (const [key, output, list] of graph.names) {
    const outputs = names.get(key) ?? [];
    names.set(key, outputs);
    outputs[output] = list;
  }
  const forms = new Map(graph.multi.map(([key = -1, ...rest]) => [key, rest]));
  const values = gather(graph.values);
  const pass = live?.passes.at(-1);
  const gradients = gather(pass?.key.map((key, i) => [key, pass.output[i] ?? 0, pass.text[i] ?? ""]) ?? []);

  return (key) => {
    const op = graph.op[key] ?? -1;
    const kind = graph.kinds[op] ?? "operation";
    const label = graph.labels[op] ?? "?";
    const named = (names.get(key) ?? []).filter((list) => list?.length > 0);
    const ours = (forms.get(key) ?? [graph.form[key] ?? -1]).map((form) => graph.forms[form]);
    const first = named.map((list) => list[0]).join(", ");
    const all = named.map((list) => list.join(" = ")).join(", ");
    const aliased = [...all].length <= ALIASES ? all : first;
    const texts = [...new Set(ours.map((form) => form?.text ?? ""))];
    const form = texts.length === 1 ? (texts[0] ?? "") : "";
    const count = ours.length > 1 ? `${ours.length} outputs` : "";
    const devices = [...new Set(ours.map((one) => one?.device ?? ""))];
    return {
      kind,
      title: kind === "leaf" ? aliased || `leaf ${key}` : label,
      name: kind === "leaf" ? "" : aliased,
      subtitle: join([kind === "leaf" && !aliased ? "" : KIND_WORD[kind], count, form], " · "),
      hint: join(
        [
          join([label, named.flat().join(" = ")], " "),
          graph.ops[op] ?? "",
          join([join([...texts], ", "), join(devices, ", ")], " on "),
          prefix("value ", values.get(key)),
          prefix(`gradient of pass ${pass?.number ?? 0}: `, gradients.get(key)),
        ],
        "\n",
      ),
    };
  };
}

function join(parts: string[], separator: string): string {
  return parts.filter((part) => part !== "").join(separator);
}

function prefix(word: string, text: string | undefined): string {
  return text ? word + text : "";
}

/** Texts by key, in the order of the outputs. */
function gather(rows: [number, number, string][]): Map<number, string> {
  const found = new Map<number, string[]>();
  for (const [key, output, text] of rows) {
    const list = found.get(key) ?? [];
    found.set(key, list);
    list[output] = text;
  }
  return new Map(
    [...found].map(([key, list]) => [
      key,
      join(
        list.map((text) => text ?? ""),
        ", ",
      ),
    ]),
  );
}

/** Vectors of up to this many elements have their numbers written on the wire, as scalars have. */
const FEW = 4;
/** What a scalar's and a vector's numbers take at least, and at most. */
const ROOM = { scalar: 56, vector: 84, most: 170 };
/** A character, and what stands around the text of a gradient, which is mostly as long as the value is. */
const NUMBERS = { character: 7.6, around: 24 };

/** How long the straight start of a node's wires is, so that its numbers stand beside it. */
export function roomsOf(graph: GraphPayload): (key: number) => number {
  const longest = new Map<number, number>();
  for (const [key, , text] of graph.values) longest.set(key, Math.max(longest.get(key) ?? 0, text.length));
  return (key) => {
    // Judged by the first output: where there are several they are mostly alike.
    const shape = graph.forms[graph.form[key] ?? -1]?.shape;
    if (!shape || shape.length > 1 || (shape[0] ?? 1) > FEW) return 0;
    const least = shape.length === 0 ? ROOM.scalar : ROOM.vector;
    const needed = Math.ceil((longest.get(key) ?? 0) * NUMBERS.character) + NUMBERS.around;
    return Math.min(ROOM.most, Math.max(least, needed));
  };
}

/** Up to this many characters, a box shows all names of its tensor: that `b` is `a` is worth seeing. */
const ALIASES = 12;

const LEFT = 16; // with the bar of the kind's colour
const RIGHT = 12;
const SPACE = 8; // between title and name
const WIDTH = { least: 80, most: 220 };
const HEIGHT = { one: 28, two: 48, most: 240 };
/** Room for a port, without and with numbers beside it. */
const PORT = { plain: 12, numbers: 44 };

type Size = Pick<SceneNode, "width" | "height">;

export interface PortCount {
  inputs: number;
  outputs: number;
  numbers: boolean;
}

export function sizeNode(text: NodeText, ports: PortCount, measure: Measure): Size {
  const first = measure(text.title, "title") + (text.name ? SPACE + measure(text.name, "code") : 0);
  const needed = LEFT + Math.max(first, measure(text.subtitle, "small")) + RIGHT;
  const lines = text.subtitle ? HEIGHT.two : HEIGHT.one;
  const spread = PORT.plain * (Math.max(ports.inputs, ports.outputs) + 1);
  const labelled = ports.numbers && ports.outputs > 1 ? PORT.numbers * ports.outputs + PORT.plain : 0;
  return {
    width: Math.ceil(Math.min(WIDTH.most, Math.max(WIDTH.least, needed))),
    height: Math.max(lines, Math.min(HEIGHT.most, Math.max(spread, labelled))),
  };
}

/** For marks that say one thing only: a cut input, what was left out. */
export function sizeMark(title: string, font: "code" | "small", measure: Measure): Size {
  const width = title ? 2 * RIGHT + measure(title, font) : HEIGHT.one;
  return { width: Math.ceil(Math.min(WIDTH.most, width)), height: HEIGHT.one };
}

/** "152k", "1.2M": three digits are enough beside a picture. */
export function compact(count: number): string {
  for (const [size, unit] of [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const) {
    if (count < size) continue;
    const share = count / size;
    return (
      `${share >= 100 ? Math.round(share) : share >= 10 ? share.toFixed(1) : share.toFixed(2)}`.replace(
        /\.0+$/,
        "",
      ) + unit
    );
  }
  return String(count);
}

/** Room for "× 12" and for the sign that it opens. */
const TIMES = { around: 14, sign: 22 };

export const timesText = (times: number): string => `× ${times}`;

export function sizeGroup(
  text: Pick<NodeText, "title" | "name" | "subtitle">,
  times: number,
  measure: Measure,
): Size {
  const first = measure(text.title, "title") + (text.name ? SPACE + measure(text.name, "code") : 0);
  const badge = times > 0 ? TIMES.around + measure(timesText(times), "title") : 0;
  const needed = LEFT + Math.max(first + badge, measure(text.subtitle, "small")) + RIGHT + TIMES.sign;
  return { width: Math.ceil(Math.min(320, Math.max(120, needed))), height: 56 };
}

export function sizeFrame(title: string, name: string, measure: Measure): number {
  const text = measure(title, "title") + (name ? SPACE + measure(name, "code") : 0);
  return Math.ceil(Math.min(420, text + 60));
}
