import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Host } from "../host";
import { Placer } from "../place/placer";
import type { PlacedNode } from "../scene";
import type { GraphPayload } from "../wire";
import { BadBanner } from "./bad_banner";
import { Camera } from "./camera_store";
import { Canvas } from "./canvas";
import { type Colour, type Look, lookOf } from "./grad/looks";
import { scaleOf } from "./grad/scale";
import { ScaleLegend } from "./grad/scale_legend";
import { GraphIndex } from "./graph_index";
import { Header } from "./header";
import { Hints } from "./hints";
import { gradientTexts, placeLabels, portOf, type Texts, valueTexts } from "./labels";
import { useFollow, useFrame, useReveal, useShow } from "./looking";
import { netOf } from "./net";
import { Notes, notesOf } from "./notes";
import { Panel } from "./panel/panel";
import { PassChooser, type PassLinks, wantedFor } from "./passes";
import { ProbeButton, ProbeStrip, useProbe } from "./probe";
import { maskedDetail, maskedPass, maskedTrace } from "./quiz/masked";
import { QuizCard, QuizStrip, QuizSwitch } from "./quiz/quiz";
import { useQuiz } from "./quiz/use_quiz";
import { handedEdges } from "./replay/handed_edges";
import { Player } from "./replay/player";
import { useReplay, useStepKeys } from "./replay/use_replay";
import { BottomEdge, PanelEdge } from "./resize";
import { keyOf, passOf, selectedOf, useDetail, useLayout, useScene } from "./state";
import { type Tab, Tabs } from "./tabs";
import { makeMeasure } from "./text";
import { TraceTable } from "./trace/trace";
import { useTrace } from "./trace/use_trace";

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
/** Two columns of statements want some room. */
const TRACE_WIDTH = 520;
const NO_TEXTS: Texts = new Map();

export function Figure({ host, graph, signal, root, mark }: Props) {
  const { live, direction } = host;
  const camera = useMemo(() => new Camera(signal, still), [signal]);
  const placer = useMemo(() => new Placer(signal), [signal]);
  const [wantedPass, setWantedPass] = useState<number | null>(null);
  const [colour, setColour] = useState<Colour>("kind");
  const [panelWidth, setPanelWidth] = useState(PANEL_WIDTH);
  const [tab, setTab] = useState("node");
  const [large, setLarge] = useState(false);
  const [lit, setLit] = useState<number | null>(null);
  const [height, setHeight] = useState<number | null>(null);
  // Whoever spoke last: a drag holds until Python sets another height.
  useLayoutEffect(() => setHeight(null), [host.height]);

  const measure = useMemo(() => makeMeasure(root), [root]);
  const scene = useScene(graph, measure);
  const { placed, error } = useLayout(placer, scene, direction);
  if (error) throw error;
  const selected = keyOf(host.selected, graph);
  const answer = useDetail(host, selected);
  const index = useMemo(() => new GraphIndex(graph), [graph]);
  const truePass = passOf(live, wantedPass);

  const quiz = useQuiz(host, graph, truePass);
  const pass = useMemo(
    () => truePass && maskedPass(truePass, quiz.hidden, index),
    [truePass, quiz.hidden, index],
  );
  const replay = useReplay(host, pass);
  useStepKeys(root, replay);
  const probe = useProbe(host);
  const run = replay?.run ?? null;
  const position = replay?.position ?? null;
  const scale = useMemo(() => run && scaleOf(run), [run]);
  const painting = run ? colour : "kind";
  const look = useCallback(
    (key: number): Look => lookOf(key, index, run && position && { run, position, colour: painting, scale }),
    [index, run, position, painting, scale],
  );

  const values = useMemo(() => valueTexts(graph), [graph]);
  const gradients = useMemo(() => gradientTexts(pass), [pass]);
  // Placed for the pass as it ended, so that steps move no label.
  const all = useMemo(
    () => (placed ? placeLabels(placed, values, gradients) : []),
    [placed, values, gradients],
  );
  const arrived = useCallback(
    (key: number) => !run || !position || run.arrival(key) <= position.at,
    [run, position],
  );
  const labels = useMemo(
    () => all.filter(({ tone, key }) => tone === "value" || arrived(key)),
    [all, arrived],
  );
  const net = useMemo(() => placed && netOf(placed), [placed]);
  const cuts = useMemo(() => scene.nodes.some((node) => node.role === "cut"), [scene]);
  const worker = replay?.worker ?? null;
  const handing = useMemo(
    () => (run && position && !position.ended && net ? handedEdges(run, position.at, net) : []),
    [run, position, net],
  );

  const frame = useRef<HTMLDivElement>(null);
  useFrame(frame, camera);
  useShow(camera, placed, frame, selected, net);
  useReveal(camera, selected, net);
  useFollow(camera, worker, net);
  useLayoutEffect(() => mark("data-gw-passes", String(live?.passes.length ?? 0)), [live, mark]);
  root.classList.toggle("gw-large", large);
  root.style.setProperty("--gw-height", `${height ?? host.height}px`);
  root.style.setProperty("--gw-panel-width", `${panelWidth}px`);

  const describe = useCallback(
    (node: PlacedNode, words: string) =>
      [describeNode(node, arrived(node.key) ? gradients : NO_TEXTS), words].filter(Boolean).join("\n"),
    [gradients, arrived],
  );
  const traced = useTrace(host, tab === "trace");
  const shownTrace = { ...traced, trace: traced.trace && maskedTrace(traced.trace, quiz.hidden) };
  const shownAnswer = { ...answer, detail: answer.detail && maskedDetail(answer.detail, quiz.hidden) };
  const select = (key: number | null) => host.select(selectedOf(key, graph));
  const choosePass = (number: number) => {
    setWantedPass(wantedFor(number, live));
    host.stepTo(null);
  };
  const links: PassLinks = {
    known: live?.passes.map(({ number }) => number) ?? [],
    current: pass?.number ?? null,
    choose: choosePass,
  };
  const jump = (key: number) => {
    select(key);
    const node = net?.byKey.get(key);
    if (node) camera.reveal(node);
  };
  const tabs: Tab[] = [
    {
      id: "node",
      title: "Node",
      body: () => (
        <Panel
          graph={graph}
          index={index}
          answer={shownAnswer}
          above={
            selected !== null && (
              <QuizCard
                key={selected}
                quiz={quiz}
                node={selected}
                name={nameOf(selected, index)}
                formula={answer.detail?.formula ?? null}
              />
            )
          }
          onUnpack={host.silence ? null : answer.unpack}
          selected={selected}
          pass={pass}
          latest={truePass === (live?.passes.at(-1) ?? null)}
          watching={!host.silence && !!live?.watching}
          links={links}
          onSelect={select}
        />
      ),
    },
    {
      id: "trace",
      title: "Trace",
      body: () => (
        <TraceTable
          traced={shownTrace}
          selected={selected}
          lit={lit}
          worker={worker}
          ran={arrived}
          onSelect={jump}
          onLight={setLit}
        />
      ),
    },
  ];
  const chooseTab = (id: string) => {
    setTab(id);
    if (id === "trace") setPanelWidth((width) => Math.max(width, TRACE_WIDTH));
  };
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
        silence={host.silence}
        labels={all}
        cuts={cuts}
        camera={camera}
        direction={direction}
        colour={painting}
        sized={run !== null}
        probe={!pass && <ProbeButton control={probe} beside={false} />}
        quiz={<QuizSwitch quiz={quiz} />}
        large={large}
        onLarge={setLarge}
        onColour={setColour}
        onTurn={(next) => host.turn(next)}
      />
      <Notes notes={notesOf(graph, live, pass, scene.left_out, host.problem)} />
      {pass?.bad && <BadBanner bad={pass.bad} onJump={jump} />}
      <ProbeStrip control={probe} />
      <QuizStrip quiz={quiz} hasPass={pass !== null} />
      <div class="gw-main">
        <div class="gw-canvas" ref={frame}>
          {placed && net ? (
            <>
              <Canvas
                placed={placed}
                net={net}
                camera={camera}
                labels={labels}
                selected={selected}
                lit={lit}
                onLight={setLit}
                worker={worker}
                handing={handing}
                title={graph.title}
                measure={measure}
                look={look}
                describe={describe}
                onSelect={select}
                onPainted={painted}
              />
              <Hints placed={placed} camera={camera} />
            </>
          ) : (
            <p class="gw-wait">Laying out the graph…</p>
          )}
        </div>
        <PanelEdge width={panelWidth} onResize={setPanelWidth} />
        <Tabs tabs={tabs} current={tab} label="Beside the graph" onChoose={chooseTab} />
      </div>
      {painting === "grad" && <ScaleLegend scale={scale} />}
      {replay && pass && (
        <Player
          replay={replay}
          index={index}
          working={quiz.on ? nothingShown : workingOf(host, pass.number)}
          onSelect={select}
          chooser={<PassChooser live={live} pass={pass} onPass={choosePass} />}
          extra={<ProbeButton control={probe} beside={true} />}
        />
      )}
      <BottomEdge height={height ?? host.height} onResize={setHeight} />
    </>
  );
}

function nameOf(key: number, index: GraphIndex): string {
  const { label, name } = index.naming(key);
  return name || label;
}

const nothingShown = () => "";
const SHORT = 24;

/** From the formulas that were sent along, where they are about this pass. */
const workingOf =
  (host: Host, pass: number) =>
  (key: number, input: number): string => {
    const formula = host.cached(key)?.formula;
    if (formula?.pass !== pass) return "";
    const numbers = formula.parts.find(({ slot }) => slot === input)?.numbers?.text ?? "";
    return numbers.length <= SHORT ? numbers : "";
  };

/** On hover, and to a screen reader. */
function describeNode(node: PlacedNode, gradients: Texts): string {
  const lines = [node.hint || [node.title, node.name, node.subtitle].filter(Boolean).join(" ")];
  for (let output = 0; output < Math.max(1, node.outputs); output += 1) {
    const gradient = gradients.get(portOf(node.key, output));
    if (gradient) lines.push(node.outputs > 1 ? `gradient ${output}: ${gradient}` : `gradient ${gradient}`);
  }
  return lines.join("\n");
}
