import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { groupKey, type Placed, type PlacedEdge, type PlacedNode } from "../scene";
import type { Measure } from "../scene/text";
import { Boxes } from "./boxes";
import type { Camera } from "./camera_store";
import { FarPicture } from "./far";
import { FrameShapes } from "./frames";
import { attachGestures } from "./gestures";
import type { Look } from "./grad/looks";
import type { Label } from "./labels";
import { RADIUS } from "./measures";
import { edgesOf, firstStop, isButton, type Net, neighbour, type Way } from "./net";
import { boxOf, type Range, rangeOf, sameRange, Tiles } from "./tiles";
import { HandingWires, Labels, Wires } from "./wires";

interface Props {
  placed: Placed;
  net: Net;
  camera: Camera;
  labels: Label[];
  selected: number | null;
  /** Lit from outside, by the trace or the like; and told when the pointer is over a node here. */
  hovered: number | null;
  /** The node at work in the step on view, and the wires along which it hands gradients on. */
  worker: number | null;
  handing: PlacedEdge[];
  /** Nodes of the source line under the pointer. */
  lit: readonly number[];
  title: string;
  /** Boxes with hits of a search, and how many. */
  hits: ReadonlyMap<string, number>;
  measure: Measure;
  look(key: number): Look;
  describe(node: PlacedNode, words: string): string;
  /** A key below zero is a group's, see groupKey. */
  onSelect(key: number | null): void;
  onEscape(): void;
  onHover(key: number | null): void;
  onOpen(group: number): void;
  onClose(group: number): void;
  onPainted(): void;
}

const ARROWS: Record<string, Way> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};
const ZOOM_STEP = 1.25;

export function Canvas({
  placed,
  net,
  camera,
  labels,
  selected,
  hovered,
  worker,
  handing,
  lit,
  title,
  hits,
  measure,
  look,
  describe,
  onSelect,
  onEscape,
  onHover,
  onOpen,
  onClose,
  onPainted,
}: Props) {
  const surface = useRef<SVGSVGElement>(null);
  const world = useRef<SVGGElement>(null);
  const count = placed.nodes.length;
  const [range, setRange] = useState<Range>(() => rangeOf(camera.eye, camera.view, count));
  const [hover, setHover] = useState<string | null>(null);
  const [activeId, setActive] = useState<string | null>(null);
  const tiles = useMemo(() => new Tiles(placed), [placed]);

  useLayoutEffect(() => {
    const look = () => {
      const { x, y, k } = camera.eye;
      world.current?.setAttribute("transform", `translate(${x} ${y}) scale(${k})`);
      setRange((old) => {
        const next = rangeOf(camera.eye, camera.view, count);
        return sameRange(old, next) ? old : next;
      });
    };
    look();
    return camera.listen(look);
  }, [camera, count]);

  useLayoutEffect(() => {
    if (!surface.current) return;
    const life = new AbortController();
    attachGestures(surface.current, camera, life.signal);
    return () => life.abort();
  }, [camera]);

  useLayoutEffect(onPainted, [placed]);

  const chosen = selected === null ? undefined : net.byKey.get(selected);
  const active = (activeId === null ? undefined : net.byId.get(activeId)) ?? chosen ?? firstStop(placed);

  const nodes = useMemo(() => {
    const inView = range.far ? [] : tiles.nodes(boxOf(range));
    const busy = worker === null ? undefined : net.byKey.get(worker);
    const kept = [active, chosen, busy].filter(
      (node): node is PlacedNode => !!node && !inView.includes(node),
    );
    return (
      <Boxes
        nodes={[...inView, ...new Set(kept)]}
        selected={selected}
        lit={hovered}
        active={active}
        holder={chosen?.role === "group" && selected !== null && selected >= 0 ? chosen : null}
        hits={hits}
        look={look}
        describe={describe}
        measure={measure}
        down={placed.direction === "down"}
      />
    );
  }, [tiles, range, selected, hovered, active, chosen, worker, net, hits, look, describe, measure, placed]);

  const wires = useMemo(() => {
    if (range.far) return null;
    return <Wires edges={tiles.edges(boxOf(range))} direction={placed.direction} />;
  }, [tiles, range, placed]);

  const texts = useMemo(() => {
    if (range.far) return null;
    const { x, y, width, height } = boxOf(range);
    const inView = labels.filter(
      ({ box }) => box.x < x + width && box.x + box.width > x && box.y < y + height && box.y + box.height > y,
    );
    return <Labels labels={inView} direction={placed.direction} />;
  }, [labels, range, placed]);

  const far = useMemo(() => {
    if (!range.far) return null;
    const box = boxOf(range);
    return <FarPicture nodes={tiles.nodes(box)} edges={tiles.edges(box)} look={look} />;
  }, [tiles, range, look]);

  const lights = useMemo(() => {
    const keys = new Set(lit);
    return placed.nodes
      .filter((node) => keys.has(node.key) && isButton(node))
      .map(({ id, x, y, width, height }) => (
        <rect key={id} x={x - 5} y={y - 5} width={width + 10} height={height + 10} rx={RADIUS + 4} />
      ));
  }, [placed, lit]);
  const frames = useMemo(
    () => (
      <FrameShapes
        frames={placed.frames ?? []}
        box={boxOf(range)}
        far={range.far}
        chosen={selected !== null && selected < 0 ? groupKey(selected) : null}
        measure={measure}
      />
    ),
    [placed, range, selected, measure],
  );

  const hot = useMemo(() => {
    const touched = placed.nodes.filter(
      (node) => node.id === hover || (node.key === selected && isButton(node)),
    );
    return touched.flatMap((node) => edgesOf(net, node.id)).filter((edge) => !handing.includes(edge));
  }, [hover, selected, placed, net, handing]);

  const nodeOf = (event: MouseEvent | KeyboardEvent): PlacedNode | null => {
    const id = (event.target as Element).closest("[data-gw-id]")?.getAttribute("data-gw-id");
    if (id) return net.byId.get(id) ?? null;
    if (!range.far || !surface.current || !("clientX" in event)) return null;
    const rect = surface.current.getBoundingClientRect();
    const { x, y, k } = camera.eye;
    return tiles.nodeAt({ x: (event.clientX - rect.left - x) / k, y: (event.clientY - rect.top - y) / k });
  };

  const pointAt = (node: PlacedNode | null) => {
    setHover(node?.id ?? null);
    onHover(node && isButton(node) ? node.key : null);
  };

  const focus = (id: string) => {
    setActive(id);
    // After the box is in the document: it may have been out of view until now.
    requestAnimationFrame(() => {
      const boxes = surface.current?.querySelectorAll<SVGGElement>('[role="button"]') ?? [];
      for (const box of boxes) if (box.dataset.gwId === id) box.focus({ preventScroll: true });
    });
  };

  /** The open group around a box. */
  const around = (node: PlacedNode | undefined): number | null =>
    node?.frame !== undefined ? (placed.frames?.[node.frame]?.group ?? null) : null;

  /** The group that was folded or unfolded here: the box that had the focus is gone then. */
  const turned = useRef<number | null>(null);
  const open = (group: number) => {
    turned.current = group;
    onOpen(group);
  };
  const close = (group: number) => {
    turned.current = group;
    onClose(group);
  };
  useLayoutEffect(() => {
    const group = turned.current;
    turned.current = null;
    // A refused unfolding turns nothing, and whoever went on elsewhere stays there.
    if (group === null || !lost(surface.current)) return;
    const inside = (node: PlacedNode) => isButton(node) && around(node) === group;
    const next = placed.nodes.find((node) => node.key === groupKey(group)) ?? placed.nodes.find(inside);
    if (next) focus(next.id);
  }, [placed]);

  /** What a click on a frame, or on the sign of a folded group, asks for. */
  const asked = (event: MouseEvent, name: string): number | null => {
    const value = (event.target as Element).closest(`[${name}]`)?.getAttribute(name);
    return value ? Number(value) : null;
  };

  const click = (event: MouseEvent) => {
    const [fold, unfold, frame] = ["data-gw-fold", "data-gw-open", "data-gw-frame"].map((name) =>
      asked(event, name),
    );
    if (fold != null) return close(fold);
    if (unfold != null) return open(unfold);
    if (frame != null) {
      surface.current?.focus({ preventScroll: true });
      return onSelect(groupKey(frame));
    }
    const node = nodeOf(event);
    if (!node) {
      surface.current?.focus({ preventScroll: true });
      onSelect(null);
    } else if (isButton(node)) {
      onSelect(node.key);
      focus(node.id);
    }
  };

  const double = (event: MouseEvent) => {
    const frame = asked(event, "data-gw-frame");
    if (frame !== null) return close(frame);
    const node = nodeOf(event);
    if (node?.role === "group" && asked(event, "data-gw-open") === null) open(groupKey(node.key));
  };

  const move = (way: Way) => {
    const next = active && neighbour(placed, net, active.id, way);
    if (!next) return;
    focus(next.id);
    camera.reveal(next);
  };

  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const way = ARROWS[event.key];
    const here = nodeOf(event) ?? active;
    const fold = (event.target as Element).getAttribute("data-gw-fold");
    if (way) move(way);
    else if (event.key === "Enter" && fold) close(Number(fold));
    else if (event.key === "Backspace" || (event.key === "Enter" && event.shiftKey)) {
      const group = around(here);
      if (group !== null) close(group);
    } else if (event.key === "Enter" && here?.role === "group") open(groupKey(here.key));
    else if (event.key === "Enter" || event.key === " ") here && onSelect(here.key);
    else if (event.key === "Escape") onEscape();
    else if (event.key === "+" || event.key === "=") camera.zoom(ZOOM_STEP);
    else if (event.key === "-") camera.zoom(1 / ZOOM_STEP);
    else if (event.key === "0") camera.fit();
    else return;
    event.preventDefault();
    // The notebook has keys of its own: Enter, arrows and the like would leave the cell.
    event.stopPropagation();
  };

  return (
    <svg
      ref={surface}
      class="gw-surface"
      role="group"
      aria-label={`Graph of ${title}. Arrow keys follow the wires, Enter selects or unfolds, Backspace folds what is around.`}
      tabindex={-1}
      onClick={click}
      onDblClick={double}
      onKeyDown={press}
      onPointerOver={(event) => pointAt(nodeOf(event))}
      onPointerLeave={() => pointAt(null)}
    >
      <g ref={world}>
        <g>{frames}</g>
        {far}
        <g class="gw-wires">{wires}</g>
        <g class="gw-wires gw-hot">
          <Wires edges={hot} direction={placed.direction} />
        </g>
        <g class={range.far ? "gw-far" : ""}>
          <HandingWires edges={handing} direction={placed.direction} />
        </g>
        <g class="gw-lights">{lights}</g>
        <g>{nodes}</g>
        <g>{texts}</g>
      </g>
    </svg>
  );
}

/** Nothing has the focus, or what has it is in the picture. */
function lost(surface: SVGSVGElement | null): boolean {
  const root = surface?.getRootNode();
  if (!(root instanceof ShadowRoot)) return false;
  const { activeElement } = root;
  if (activeElement) return !!surface?.contains(activeElement);
  return !document.activeElement || document.activeElement === document.body;
}
