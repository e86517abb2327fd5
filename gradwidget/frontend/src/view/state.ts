/** What the view reads from the host, as hooks. */
import { useEffect, useMemo, useReducer, useState } from "preact/hooks";
import { asTrouble, type Host, type Selected, type Trouble } from "../host";
import { isTrueName, legibleName } from "../hosts/legible";
import type { Placer } from "../place/placer";
import type { Direction, Placed, Scene } from "../scene";
import { buildScene } from "../scene/build";
import { buildFolded } from "../scene/folded";
import type { Measure } from "../scene/text";
import type { GroupTree } from "../scene/tree";
import type { Detail, GraphPayload, LivePayload, Pass } from "../wire";
import type { Focus } from "./focus";
import { MAX_NODES } from "./measures";

export function useHost(host: Host): void {
  const [, redraw] = useReducer<number, void>((count) => count + 1, 0);
  useEffect(() => {
    const life = new AbortController();
    host.subscribe(life.signal, () => redraw());
    // What came between the first drawing and this subscription.
    redraw();
    return () => life.abort();
  }, [host]);
}

/** Up to this many nodes a graph in which nothing is folded is drawn without frames. */
const FLAT = 60;

/** The passes change texts on the picture, never its boxes. */
export function useScene(
  graph: GraphPayload,
  tree: GroupTree,
  collapsed: ReadonlySet<string>,
  focus: Focus | null,
  measure: Measure,
): Scene {
  return useMemo(() => {
    const flat = tree.size === 0 || (graph.nodes <= FLAT && collapsed.size === 0);
    if (flat && !focus) return buildScene(graph, null, { maxNodes: MAX_NODES, measure });
    return buildFolded(graph, { tree, collapsed, focus: focus?.keys ?? null, frames: !flat, measure });
  }, [graph, tree, collapsed, focus, measure]);
}

export interface Layout {
  placed: Placed | null;
  error: Error | null;
}

export function useLayout(placer: Placer, scene: Scene, direction: Direction): Layout {
  const [layout, setLayout] = useState<Layout>({ placed: null, error: null });
  useEffect(() => {
    let wanted = true;
    const fail = (error: unknown) => {
      if (wanted)
        setLayout({ placed: null, error: error instanceof Error ? error : new Error(String(error)) });
    };
    try {
      const placed = placer.place(scene, direction);
      if (placed instanceof Promise)
        placed.then((late) => wanted && setLayout({ placed: late, error: null }), fail);
      else setLayout({ placed, error: null });
    } catch (error) {
      fail(error);
    }
    return () => {
      wanted = false;
    };
  }, [placer, scene, direction]);
  return layout;
}

/** A name or a number as Python says it, to a node's key. */
export function keyOf(selected: Selected, graph: GraphPayload | null): number | null {
  if (selected === null || !graph) return null;
  if (typeof selected === "number") {
    return Number.isInteger(selected) && selected >= 0 && selected < graph.nodes ? selected : null;
  }
  const shown = legibleName(selected);
  return graph.names.find(([, , names]) => names.includes(shown))?.[0] ?? null;
}

/** How this page tells Python of a node: by its name, if that is unique to it. */
export function selectedOf(key: number | null, graph: GraphPayload): Selected {
  if (key === null) return null;
  const name = graph.names.find(([owner]) => owner === key)?.[2][0];
  return name !== undefined && isTrueName(name) && keyOf(name, graph) === key ? name : key;
}

/** A pass inside another one is a part of that one: the last that stands by itself is followed. */
export function passOf(live: LivePayload | null, wanted: number | null): Pass | null {
  const passes = live?.passes ?? [];
  const asked = passes.find((pass) => pass.number === wanted);
  return asked ?? passes.findLast((pass) => pass.inside === 0) ?? passes.at(-1) ?? null;
}

export interface Answer {
  key: number | null;
  detail: Detail | null;
  trouble: Trouble | null;
  asking: boolean;
  /** Runs the hook that packed this saved variable; rejects with a Trouble. */
  unpack(name: string): Promise<void>;
}

type Known = Omit<Answer, "unpack">;

/** The details of the selected node: what was sent along at once, then the kernel's word. */
export function useDetail(host: Host, key: number | null): Answer {
  const [answer, setAnswer] = useState<Known>({ key: null, detail: null, trouble: null, asking: false });
  useEffect(() => {
    if (key === null) return;
    const life = new AbortController();
    let count = 0;
    const ask = () => {
      count += 1;
      const mine = count;
      const settle = (part: Partial<Known>) => {
        if (life.signal.aborted || mine !== count) return;
        setAnswer((old) => ({
          key,
          detail: old.key === key ? old.detail : null,
          trouble: null,
          asking: false,
          ...part,
        }));
      };
      const cached = host.cached(key);
      settle(cached ? { detail: cached, asking: true } : { asking: true });
      host.details(key).then(
        (detail) => settle({ detail }),
        (error) => settle({ trouble: asTrouble(error) }),
      );
    };
    host.subscribe(life.signal, (topic) => {
      if (topic === "live" || topic === "graph" || topic === "kernel") ask();
      if (topic === "details") setAnswer((old) => ({ ...old, detail: old.detail ?? host.cached(key) }));
    });
    ask();
    return () => life.abort();
  }, [host, key]);
  const unpack = async (name: string) => {
    if (key === null) return;
    const detail = await host.unpack(key, name);
    setAnswer((old) => (old.key === key ? { ...old, detail, trouble: null } : old));
  };
  if (answer.key === key) return { ...answer, unpack };
  const cached = key === null ? null : host.cached(key);
  return { key, detail: cached, trouble: null, asking: true, unpack };
}
