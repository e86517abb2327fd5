import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Placed, PlacedEdge, PlacedNode } from "../scene";
import type { Measure } from "../scene/text";
import { Boxes } from "./boxes";
import type { Camera } from "./camera_store";
import { FarPicture } from "./far";
import { attachGestures } from "./gestures";
import type { Look } from "./grad/looks";
import type { Label } from "./labels";
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
  lit: number | null;
  onLight(key: number | null): void;
  /** The node at work in the step on view, and the wires along which it hands gradients on. */
  worker: number | null;
  handing: PlacedEdge[];
  title: string;
  measure: Measure;
  look(key: number): Look;
  describe(node: PlacedNode, words: string): string;
  onSelect(key: number | null): void;
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
  lit,
  onLight,
  worker,
  handing,
  title,
  measure,
  look,
  describe,
  onSelect,
  onPainted,
}: Props) {
  const surface = useRef<SVGSVGElement>(null);
  const world = useRef<SVGGElement>(null);
  const [range, setRange] = useState<Range>(() => rangeOf(camera.eye, camera.view));
  const [hover, setHover] = useState<string | null>(null);
  const [activeId, setActive] = useState<string | null>(null);
  const tiles = useMemo(() => new Tiles(placed), [placed]);

  useLayoutEffect(() => {
    const look = () => {
      const { x, y, k } = camera.eye;
      world.current?.setAttribute("transform", `translate(${x} ${y}) scale(${k})`);
      setRange((old) => {
        const next = rangeOf(camera.eye, camera.view);
        return sameRange(old, next) ? old : next;
      });
    };
    look();
    return camera.listen(look);
  }, [camera]);

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
        lit={lit}
        active={active}
        look={look}
        describe={describe}
        measure={measure}
        down={placed.direction === "down"}
      />
    );
  }, [tiles, range, selected, lit, active, chosen, worker, net, look, describe, measure, placed]);

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

  const hot = useMemo(() => {
    const touched = placed.nodes.filter(
      (node) => node.id === hover || (node.key === selected && isButton(node)),
    );
    return touched.flatMap((node) => edgesOf(net, node.id)).filter((edge) => !handing.includes(edge));
  }, [hover, selected, placed, net, handing]);

  const nodeOf = (event: MouseEvent): PlacedNode | null => {
    const id = (event.target as Element).closest("[data-gw-id]")?.getAttribute("data-gw-id");
    if (id) return net.byId.get(id) ?? null;
    if (!range.far || !surface.current) return null;
    const rect = surface.current.getBoundingClientRect();
    const { x, y, k } = camera.eye;
    return tiles.nodeAt({ x: (event.clientX - rect.left - x) / k, y: (event.clientY - rect.top - y) / k });
  };

  const light = (node: PlacedNode | null) => {
    setHover(node?.id ?? null);
    onLight(node && isButton(node) ? node.key : null);
  };

  const focus = (id: string) => {
    setActive(id);
    // After the box is in the document: it may have been out of view until now.
    requestAnimationFrame(() => {
      const boxes = surface.current?.querySelectorAll<SVGGElement>('[role="button"]') ?? [];
      for (const box of boxes) if (box.dataset.gwId === id) box.focus({ preventScroll: true });
    });
  };

  const click = (event: MouseEvent) => {
    const node = nodeOf(event);
    if (!node) {
      surface.current?.focus({ preventScroll: true });
      onSelect(null);
    } else if (isButton(node)) {
      onSelect(node.key);
      focus(node.id);
    }
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
    if (way) move(way);
    else if (event.key === "Enter" || event.key === " ") active && onSelect(active.key);
    else if (event.key === "Escape") onSelect(null);
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
      aria-label={`Graph of ${title}. Arrow keys follow the wires, Enter selects.`}
      tabindex={-1}
      onClick={click}
      onKeyDown={press}
      onPointerOver={(event) => light(nodeOf(event))}
      onPointerLeave={() => light(null)}
    >
      <g ref={world}>
        {far}
        <g class="gw-wires">{wires}</g>
        <g class="gw-wires gw-hot">
          <Wires edges={hot} direction={placed.direction} />
        </g>
        <g class={range.far ? "gw-far" : ""}>
          <HandingWires edges={handing} direction={placed.direction} />
        </g>
        <g>{nodes}</g>
        <g>{texts}</g>
      </g>
    </svg>
  );
}
