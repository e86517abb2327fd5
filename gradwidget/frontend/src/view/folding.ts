/** Folding and unfolding: what is shared with Python, what the page refuses, and what the camera is told. */
import { useMemo, useState } from "preact/hooks";
import type { Host } from "../host";
import type { GroupTree } from "../scene/tree";
import { MAX_NODES } from "./measures";
import { grouped } from "./numbers";

export interface Refusal {
  text: string;
  group: number;
}

/** Told which group is about to be folded or unfolded, and the node in it that this is done for. */
export type Anchor = (group: number, key: number | null) => void;

export interface Foldings {
  collapsed: ReadonlySet<string>;
  refusal: Refusal | null;
  open(group: number): void;
  close(group: number): void;
  /** Opens what is around a node; false where that is refused. */
  show(key: number): boolean;
  /** Opens a group and folds everything else. */
  alone(group: number): void;
  dismiss(): void;
}

export function useFolding(host: Host, tree: GroupTree, anchor: Anchor): Foldings {
  const list = host.collapsed;
  const name = list.join("\n");
  const collapsed = useMemo<ReadonlySet<string>>(() => new Set(list), [name]);
  const [refusal, refuse] = useState<Refusal | null>(null);
  const put = (next: string[], group: number, key: number | null = null): boolean => {
    const boxes = tree.boxes(new Set(next));
    if (boxes > MAX_NODES) {
      const what = host.graph?.groups.title[group] ?? "";
      const text = `${what} is not unfolded: ${grouped(boxes)} boxes would be drawn, and the page can draw ${grouped(MAX_NODES)}.`;
      refuse({ text, group });
      return false;
    }
    refuse(null);
    anchor(group, key);
    host.fold(next);
    return true;
  };
  return {
    collapsed,
    refusal,
    open: (group) => {
      if (list.includes(tree.id(group))) put(tree.opened(list, group), group);
    },
    close: (group) => {
      put(tree.closed(list, group), group);
    },
    show: (key) => {
      const next = tree.shown(list, key);
      return next.join("\n") === name || put(next, tree.chain(tree.of(key))[0] ?? -1, key);
    },
    alone: (group) => {
      const outermost = tree.outermost();
      const next = tree.chain(group).reduce((ids, one) => tree.opened(ids, one), outermost);
      put(next, group);
    },
    dismiss: () => refuse(null),
  };
}
