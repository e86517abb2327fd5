import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { GroupTree } from "../scene/tree";
import type { GraphPayload } from "../wire";
import { SearchIndex } from "./search";

const NONE: number[] = [];

export interface Search {
  query: string;
  found: number[];
  count: number;
  at: number;
  onQuery(query: string): void;
  onJump(by: 1 | -1): void;
}

/** The search of one view. `jump` brings a node into view, whatever has to be unfolded for it. */
export function useSearch(graph: GraphPayload, tree: GroupTree, jump: (key: number) => void): Search {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(-1);
  const index = useMemo(() => {
    let made: SearchIndex | null = null;
    return () => {
      made ??= new SearchIndex(graph, tree);
      return made;
    };
  }, [graph, tree]);
  const found = useMemo(() => (query.trim() ? index().find(query) : NONE), [index, query]);
  // Before the next key is pressed, not some time after it.
  useLayoutEffect(() => setAt(-1), [found]);
  return {
    query,
    found,
    count: found.length,
    at,
    onQuery: setQuery,
    onJump: (by) => {
      if (found.length === 0) return;
      const next = at < 0 ? (by > 0 ? 0 : found.length - 1) : (at + by + found.length) % found.length;
      setAt(next);
      const key = found[next];
      if (key !== undefined) jump(key);
    },
  };
}

/** How many hits each box has: its own, or those in the folded group that it is. */
export function hitsOf(found: number[], holderOf: (key: number) => number | null): Map<string, number> {
  const hits = new Map<string, number>();
  for (const key of found) {
    const holder = holderOf(key);
    const id = holder === null ? `${key}` : `g:${-1 - holder}`;
    hits.set(id, (hits.get(id) ?? 0) + 1);
  }
  return hits;
}
