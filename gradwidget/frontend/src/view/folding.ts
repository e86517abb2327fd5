/** Folding and unfolding: what is shared with Python, what the page refuses, and how the camera keeps its place. */
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Host } from "../host";
import type { Placed } from "../scene";
import type { GroupTree } from "../scene/tree";
import type { Box } from "./camera";
import type { Camera } from "./camera_store";
import { MAX_NODES } from "./measures";
import { grouped } from "./numbers";

export interface Refusal {
  text: string;
  group: number;
}

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

export function useFolding(host: Host, tree: GroupTree, anchor: (group: number) => void): Foldings {
  const list = host.collapsed;
  const name = list.join("\n");
  const collapsed = useMemo<ReadonlySet<string>>(() => new Set(list), [name]);
  const [refusal, refuse] = useState<Refusal | null>(null);
  const put = (next: string[], group: number): boolean => {
    const boxes = tree.boxes(new Set(next));
    if (boxes > MAX_NODES) {
      const what = host.graph?.groups.title[group] ?? "";
      const text = `${what} is not unfolded: ${grouped(boxes)} boxes would be drawn, and the page can draw ${grouped(MAX_NODES)}.`;
      refuse({ text, group });
      return false;
    }
    refuse(null);
    anchor(group);
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
      return next.join("\n") === name || put(next, tree.chain(tree.of(key))[0] ?? -1);
    },
    alone: (group) => {
      const outermost = tree.outermost();
      const next = tree.chain(group).reduce((ids, one) => tree.opened(ids, one), outermost);
      put(next, group);
    },
    dismiss: () => refuse(null),
  };
}

/** What was folded or unfolded stays where it was on the screen; the rest moves around it. */
export function useAnchor(camera: Camera, placed: Placed | null): (group: number) => void {
  const held = useRef<{ group: number; at: Box } | null>(null);
  const before = useRef(placed);
  useLayoutEffect(() => {
    if (placed === before.current) return;
    before.current = placed;
    const hold = held.current;
    held.current = null;
    const now = hold && placed && boxOf(placed, hold.group);
    if (hold && now) camera.keep(hold.at, now);
  }, [camera, placed]);
  return useCallback(
    (group: number) => {
      const at = before.current && boxOf(before.current, group);
      held.current = at ? { group, at } : null;
      if (at) camera.touch();
    },
    [camera],
  );
}

function boxOf(placed: Placed, group: number): Box | null {
  const id = `g:${group}`;
  return (
    placed.frames?.find((frame) => frame.id === id) ?? placed.nodes.find((node) => node.id === id) ?? null
  );
}
