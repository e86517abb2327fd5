import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Host } from "../host";
import { Placer } from "../place/placer";
import type { Placed, PlacedNode } from "../scene";
import type { GraphPayload } from "../wire";
import { outputBox, pictureBox } from "./bounds";
import { Camera } from "./camera_store";
import { Canvas } from "./canvas";
import { Header } from "./header";
import { gradientTexts, placeLabels, portOf, type Texts, valueTexts } from "./labels";
import { type Net, netOf } from "./net";
import { Notes, notesOf } from "./notes";
import { Panel } from "./panel/panel";
import { BottomEdge, PanelEdge } from "./resize";
import { keyOf, passOf, selectedOf, useDetail, useLayout, useScene } from "./state";
import { makeMeasure } from "./text";

interface Props {
  host: Host;
  graph: GraphPayload;
  signal: AbortSignal;
  root: HTMLElement;
  /** Sets an attribute where tests and pages look for it: on the root, inside and outside. */
  mark(name: string, value: string): void;
}

const still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
const PANEL_WIDTH = 310;

export function Figure({ host, graph, signal, root, mark }: Props) {
  const { live, direction } = host;
  const camera = useMemo(() => new Camera(signal, still), [signal]);
  const placer = useMemo(() => new Placer(signal), [signal]);
  const [wantedPass, setWantedPass] = useState<number | null>(null);
  const [panelWidth, setPanelWidth] = useState(PANEL_WIDTH);
  const [height, setHeight] = useState<number | null>(null);

  const measure = useMemo(() => makeMeasure(root), [root]);
  const scene = useScene(graph, measure);
  const { placed, error } = useLayout(placer, scene, direction);
  if (error) throw error;
  const selected = keyOf(host.selected, graph);
  const answer = useDetail(host, selected);
  const pass = passOf(live, wantedPass);

  const values = useMemo(() => valueTexts(graph), [graph]);
  const gradients = useMemo(() => gradientTexts(pass), [pass]);
  const labels = useMemo(
    () => (placed ? placeLabels(placed, values, gradients) : []),
    [placed, values, gradients],
  );
  const net = useMemo(() => placed && netOf(placed), [placed]);

  const frame = useRef<HTMLDivElement>(null);
  useFrame(frame, camera);
  useShow(camera, placed, frame);
  useReveal(camera, selected, net);
  useLayoutEffect(() => mark("data-gw-passes", String(live?.passes.length ?? 0)), [live, mark]);
  root.style.setProperty("--gw-height", `${height ?? host.height}px`);
  root.style.setProperty("--gw-panel-width", `${panelWidth}px`);

  const describe = useCallback((node: PlacedNode) => describeNode(node, gradients), [gradients]);
  const select = (key: number | null) => host.select(selectedOf(key, graph));
  const painted = () => {
    // The boxes in view are drawn once the camera knows its size, before this timer fires.
    setTimeout(() => {
      if (signal.aborted) return;
      performance.mark("gw:first-paint");
      mark("data-gw-ready", "1");
    });
  };

  return (
    <>
      <Header
        graph={graph}
        live={live}
        pass={pass}
        labels={labels}
        camera={camera}
        direction={direction}
        onPass={setWantedPass}
        onTurn={(next) => host.turn(next)}
      />
      <Notes notes={notesOf(graph, live, pass, scene.left_out, host.problem)} />
      <div class="gw-main">
        <div class="gw-canvas" ref={frame}>
          {placed && net ? (
            <Canvas
              placed={placed}
              net={net}
              camera={camera}
              labels={labels}
              selected={selected}
              title={graph.title}
              measure={measure}
              describe={describe}
              onSelect={select}
              onPainted={painted}
            />
          ) : (
            <p class="gw-wait">Laying out the graph…</p>
          )}
        </div>
        <PanelEdge width={panelWidth} onResize={setPanelWidth} />
        <Panel
          graph={graph}
          answer={answer}
          selected={selected}
          pass={pass}
          latest={pass === passOf(live, null)}
          onSelect={select}
        />
      </div>
      <BottomEdge height={height ?? host.height} onResize={setHeight} />
    </>
  );
}

/** On hover, and to a screen reader. */
function describeNode(node: PlacedNode, gradients: Texts): string {
  const lines = [node.hint || [node.title, node.name, node.subtitle].filter(Boolean).join(" ")];
  for (let output = 0; output < Math.max(1, node.outputs); output += 1) {
    const gradient = gradients.get(portOf(node.key, output));
    if (gradient) lines.push(node.outputs > 1 ? `gradient ${output}: ${gradient}` : `gradient ${gradient}`);
  }
  return lines.join("\n");
}

function useFrame(frame: { current: HTMLDivElement | null }, camera: Camera): void {
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

/** A refreshed graph keeps the camera where it is, a turned one is looked at anew. */
function useShow(camera: Camera, placed: Placed | null, frame: { current: HTMLDivElement | null }): void {
  const shown = useRef<Placed["direction"] | null>(null);
  useLayoutEffect(() => {
    if (!placed || !frame.current) return;
    const down = placed.direction === "down";
    camera.show(pictureBox(placed), outputBox(placed), down, shown.current === placed.direction);
    shown.current = placed.direction;
  }, [camera, placed, frame]);
}

/** A new selection is brought into view once; after that the user may look elsewhere. */
function useReveal(camera: Camera, selected: number | null, net: Net | null): void {
  const revealed = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (selected === revealed.current || !net) return;
    revealed.current = selected;
    const node = selected === null ? undefined : net.byKey.get(selected);
    if (node) camera.reveal(node);
  }, [selected, net, camera]);
}
