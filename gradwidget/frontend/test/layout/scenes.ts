/** Scenes to lay out: small ones by hand, large and random ones by rule. */
import type { Role, Scene, SceneEdge, SceneNode } from "../../src/scene";

/** Writes a scene as "id: input input ..."; leaves are lower case, a node that nobody reads gets an output. */
export class Sketch {
  private readonly nodes: SceneNode[] = [];
  private readonly edges: SceneEdge[] = [];
  private readonly read = new Set<string>();

  add(id: string, inputs: string[] = [], role: Role = "node", size = { width: 100, height: 48 }): string {
    this.nodes.push({
      id,
      role,
      key: this.nodes.length,
      kind: role === "node" && inputs.length === 0 ? "leaf" : "operation",
      title: id,
      name: "",
      subtitle: "",
      hint: "",
      ...size,
      inputs: inputs.length,
      outputs: 1,
      room: 56,
    });
    inputs.forEach((from, input) => {
      this.read.add(from);
      this.edges.push({ id: `${id}.${input}`, from, output: 0, to: id, input });
    });
    return id;
  }

  scene(): Scene {
    for (const { id } of [...this.nodes])
      if (!this.read.has(id)) this.add(`out:${id}`, [id], "output", { width: 56, height: 32 });
    return { nodes: this.nodes, edges: this.edges, left_out: 0 };
  }
}

/** Mulberry32: the same numbers everywhere. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export function randomScene(seed: number, count: number): Scene {
  const random = randomNumbers(seed);
  const sketch = new Sketch();
  for (let i = 0; i < count; i++) {
    const inputs: string[] = [];
    // mostly near ones, sometimes a far one, sometimes the same twice
    const many = i === 0 || random() < 0.3 ? 0 : 1 + Math.floor(random() * random() * 5);
    for (let k = 0; k < many; k++) {
      const back = random() < 0.2 ? random() * i : random() * Math.min(i, 6);
      inputs.push(`${i - 1 - Math.floor(back)}`);
    }
    const size = { width: 92 + Math.floor(random() * 128), height: random() < 0.3 ? 28 : 48 };
    sketch.add(`${i}`, inputs, "node", size);
  }
  return sketch.scene();
}

/** x -> (Linear -> ReLU -> Add x) again and again, each Linear with a weight and a bias. */
export function residualScene(blocks: number): Scene {
  const sketch = new Sketch();
  let x = sketch.add("Input", [sketch.add("x")]);
  for (let i = 0; i < blocks; i++) {
    const transposed = sketch.add(`T${i}`, [sketch.add(`weight${i}`)]);
    const linear = sketch.add(`Linear${i}`, [sketch.add(`bias${i}`), x, transposed]);
    x = sketch.add(`Add${i}`, [x, sketch.add(`ReLU${i}`, [linear])]);
  }
  return sketch.scene();
}

/** An unrolled recurrence with two carried states; all hidden states meet again at the end if `stacked`. */
export function recurrentScene(steps: number, stacked: boolean): Scene {
  const sketch = new Sketch();
  let h = sketch.add("h");
  let c = sketch.add("c");
  const hidden: string[] = [];
  for (let i = 0; i < steps; i++) {
    const sum = sketch.add(`Add${i}`, [sketch.add(`w${i}`), sketch.add(`Mm${i}`, [h, sketch.add(`u${i}`)])]);
    const [f, j, o, g] = ["f", "i", "o", "g"].map((gate) => sketch.add(`${gate}${i}`, [sum])) as [
      string,
      string,
      string,
      string,
    ];
    c = sketch.add(`c${i}`, [sketch.add(`fc${i}`, [f, c]), sketch.add(`ig${i}`, [j, g])]);
    h = sketch.add(`h${i}`, [o, sketch.add(`tanh${i}`, [c])]);
    hidden.push(h);
  }
  if (stacked) sketch.add("Stack", hidden);
  return sketch.scene();
}

export function chainScene(length: number): Scene {
  const sketch = new Sketch();
  let x = sketch.add("x");
  for (let i = 0; i < length; i++) x = sketch.add(`Sin${i}`, [x]);
  return sketch.scene();
}
