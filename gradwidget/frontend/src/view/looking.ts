/** How the camera follows what happens in a figure. */
import { useCallback, useLayoutEffect, useRef } from "preact/hooks";
import { groupKey, type Placed, type PlacedNode } from "../scene";
import type { GroupTree } from "../scene/tree";
import { outputBox, pictureBox } from "./bounds";
import { type Box, type Sight, seen } from "./camera";
import type { Camera } from "./camera_store";
import type { Focus } from "./focus";
import type { Anchor } from "./folding";
import { isButton, type Net } from "./net";
import { seatOf } from "./seat";

export function useFrame(frame: { current: HTMLDivElement | null }, camera: Camera): void {
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    const measure = () => camera.resize({ width: element.clientWidth, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [camera, frame]);
}

interface Show {
  camera: Camera;
  placed: Placed | null;
  frame: { current: HTMLDivElement | null };
  selected: number | null;
  net: Net | null;
  tree: GroupTree;
  focus: Focus | null;
  /** Where the view stood when the focus of now was left for another. */
  memory: { current: Sight | null };
}

/**
 * A turned graph is looked at anew, a part of it as well. In any other change, one box stays where it is on the
 * screen: the group that was folded or unfolded here, else the box nearest to the middle of what is in view. Whatever
 * happens to the view, the selected box stays in it.
 *
 * Gives what is to be told before a group is folded or unfolded here.
 */
export function useShow({ camera, placed, frame, selected, net, tree, focus, memory }: Show): Anchor {
  const before = useRef<{ placed: Placed; focus: Focus | null } | null>(null);
  const held = useRef<{ group: number; key: number | null; at: Box } | null>(null);
  useLayoutEffect(() => {
    camera.subject = (selected !== null && net?.byKey.get(selected)) || null;
  }, [camera, selected, net]);
  useLayoutEffect(() => {
    if (!placed || !net || !frame.current) return;
    const [old, hold, back] = [before.current, held.current, memory.current];
    before.current = { placed, focus };
    held.current = null;
    memory.current = null;
    const known = old?.placed.direction === placed.direction;
    const turned = !known || old.focus !== focus;
    const from = camera.aim;
    camera.show(
      pictureBox(placed),
      outputBox(placed),
      placed.direction === "down",
      !turned,
      placed.nodes.filter(isButton),
    );
    if (!known) return;
    const now = hold && boxOf(placed, hold.group);
    if (hold && now && !turned) {
      const box = hold.key === null ? undefined : net.byKey.get(hold.key);
      camera.keep({ was: hold.at, now }, box);
      return;
    }
    const sight = seen(from, camera.view);
    const chosen = selected === null ? undefined : old.placed.nodes.find(({ key }) => key === selected);
    const seat = seatOf(old.placed, sight, chosen, placesOf(placed, net, tree));
    const same = back && back.width === placed.width && back.height === placed.height;
    camera.arrive(from, seat, turned && same ? back.eye : null);
  }, [camera, placed, frame]);
  return useCallback(
    (group: number, key: number | null) => {
      const at = before.current && boxOf(before.current.placed, group);
      held.current = at ? { group, key, at } : null;
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

/** Where a box of the picture before is in this one: itself, the frame of what it held, or what holds it now. */
function placesOf(placed: Placed, net: Net, tree: GroupTree): (node: PlacedNode) => Box | null {
  const frames = new Map((placed.frames ?? []).map((frame) => [frame.id, frame]));
  return ({ id, role, key }) => {
    const group = role === "group" ? groupKey(key) : -1;
    const inside = role === "group" ? tree.members(group)[0] : key;
    const holder = inside === undefined ? undefined : net.byKey.get(inside);
    return net.byId.get(id) ?? frames.get(id) ?? holder ?? null;
  };
}

/** A new selection is brought into view once; after that the user may look elsewhere. */
export function useReveal(camera: Camera, selected: number | null, net: Net | null): void {
  const revealed = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (selected === revealed.current || !net) return;
    const node = selected === null ? undefined : net.byKey.get(selected);
    // A box that is still to come is revealed once it is there.
    if (node || selected === null) revealed.current = selected;
    if (node) camera.reveal(node);
  }, [selected, net, camera]);
}

/** Enough to see where the wires of a box lead. */
const PADDING = 60;

const padded = ({ x, y, width, height }: Box): Box => ({
  x: x - PADDING,
  y: y - PADDING / 2,
  width: width + 2 * PADDING,
  height: height + PADDING,
});

/** The node at work is brought into view at whatever zoom the user has chosen. */
export function useFollow(camera: Camera, worker: number | null, net: Net | null): void {
  useLayoutEffect(() => {
    const node = worker === null ? undefined : net?.byKey.get(worker);
    if (node) camera.follow(padded(node));
  }, [worker, net, camera]);
}
