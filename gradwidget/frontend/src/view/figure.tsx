import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Host } from "../host";
import { Placer } from "../place/placer";
import { groupKey, type PlacedNode } from "../scene";
import { GroupTree } from "../scene/tree";
import type { GraphPayload } from "../wire";
import { BadBanner } from "./bad_banner";
import type { Sight } from "./camera";
import { Camera } from "./camera_store";
import { Canvas } from "./canvas";
import { CellStrip } from "./cells/strip";
import { cellTexts, useCells } from "./cells/use_cells";
import { CodeIndex } from "./code/code_index";
import { CodePane } from "./code/pane";
import { type Focus, type Kin, Kinship, sidesOf } from "./focus";
import { Breadcrumbs, FocusActions } from "./focus_bar";
import { type Anchor, useFolding } from "./folding";
import { GroupLooks } from "./grad/group_look";
import { type Colour, type Look, lookOf } from "./grad/looks";
import { scaleOf } from "./grad/scale";
import { ScaleLegend } from "./grad/scale_legend";
import { GraphIndex } from "./graph_index";
import { Header } from "./header";
import { Hints } from "./hints";
import { CloseIcon } from "./icons";
import { gradientTexts, placeLabels, portOf, type Texts, valueTexts } from "./labels";
import { useFollow, useFrame, useReveal, useShow } from "./looking";
import { Minimap } from "./minimap";
import { isButton, netOf } from "./net";
import { Notes, notesOf } from "./notes";
import { GroupPanel } from "./panel/group";
import { Panel } from "./panel/panel";
import { PassChooser, type PassLinks, wantedFor } from "./passes";
import { ProbeButton, ProbeStrip, useProbe } from "./probe";
import { maskedDetail, maskedPass, maskedTrace } from "./quiz/masked";
import { QuizCard, QuizStrip, QuizSwitch } from "./quiz/quiz";
import { useQuiz } from "./quiz/use_quiz";
import { References } from "./references/references";
import { useReferences } from "./references/use_references";
import { handedEdges } from "./replay/handed_edges";
import { Player } from "./replay/player";
import { useReplay, useStepKeys } from "./replay/use_replay";
import { BottomEdge, PanelEdge } from "./resize";
import { fileName, SaveMenu } from "./save/save_menu";
import { svgFile } from "./save/svg_file";
import { SearchBox } from "./search_box";
import { type SideTab, SideTabs } from "./side_tabs";
import { keyOf, passOf, selectedOf, useDetail, useLayout, useScene } from "./state";
import type { Tab } from "./tabs";
import { makeMeasure } from "./text";
import { TraceTable } from "./trace/trace";
import { useTrace } from "./trace/use_trace";
import { hitsOf, useSearch } from "./use_search";

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
/** As in the style sheet. */
const LARGER = 1.4;
const NO_TEXTS: Texts = new Map();
const NO_KEYS: readonly number[] = [];

export function Figure({ host, graph, signal, root, mark }: Props) {
  const { live, direction } = host;
  const camera = useMemo(() => new Camera(signal, still), [signal]);
  const placer = useMemo(() => new Placer(signal), [signal]);
  const [wantedPass, setWantedPass] = useState<number | null>(null);
  const [tab, setTab] = useState<Tab>("graph");
  const [colour, setColour] = useState<Colour>("kind");
  const [panelWidth, setPanelWidth] = useState(PANEL_WIDTH);
  const [side, setSide] = useState("node");
  const [large, setLarge] = useState(false);
  const [height, setHeight] = useState<number | null>(null);
  // Whoever spoke last: a drag holds until Python sets another height.
  useLayoutEffect(() => setHeight(null), [host.height]);

  const measure = useMemo(() => makeMeasure(root), [root]);
  const tree = useMemo(() => new GroupTree(graph), [graph]);
  const [trail, setTrail] = useState<Focus[]>([]);
  useLayoutEffect(() => setTrail([]), [graph]);
  const focus = trail.at(-1) ?? null;
  const memory = useRef<Sight | null>(null);
  const anchor = useRef<Anchor>(() => {});
  const folding = useFolding(host, tree, (group, key) => anchor.current(group, key));
  const { collapsed } = folding;
  const scene = useScene(graph, tree, collapsed, focus, measure);
  const { placed, error } = useLayout(placer, scene, direction);
  if (error) throw error;
  const selected = keyOf(host.selected, graph);
  const [group, setGroup] = useState<number | null>(null);
  useLayoutEffect(() => {
    if (selected !== null) setGroup(null);
  }, [selected]);
  useLayoutEffect(() => setGroup(null), [graph]);
  const picked = selected ?? (group === null ? null : groupKey(group));
  // What is chosen elsewhere, in the panel or from Python, is looked for in the whole graph.
  useLayoutEffect(() => {
    if (selected !== null && focus && !focus.keys.has(selected)) setTrail([]);
  }, [selected]);
  const answer = useDetail(host, selected);
  const cells = useCells(live);
  const index = useMemo(() => new GraphIndex(graph), [graph]);
  const code = useMemo(() => new CodeIndex(graph.code), [graph]);
  const [hovered, setHovered] = useState<number | null>(null);
  const [line, setLine] = useState<number | null>(null);
  const looks = useMemo(() => new GroupLooks(graph, tree), [graph, tree]);
  const truePass = cells.state ? (cells.pass ?? null) : passOf(live, wantedPass);

  const quiz = useQuiz(host, graph, truePass);
  const pass = useMemo(
    () => truePass && maskedPass(truePass, quiz.hidden, index),
    [truePass, quiz.hidden, index],
  );
  const replay = useReplay(host, pass);
  useStepKeys(root, replay);
  const probe = useProbe(host);
  const named = useReferences(host, tab === "references");
  const run = replay?.run ?? null;
  const position = replay?.position ?? null;
  const scale = useMemo(() => run && scaleOf(run), [run]);
  const painting = run ? colour : "kind";
  const look = useCallback(
    (key: number): Look => {
      const showing = run && position && { run, position, colour: painting, scale };
      return key < 0 ? looks.look(key, showing) : lookOf(key, index, showing);
    },
    [index, looks, run, position, painting, scale],
  );

  const stood = cells.at(pass, host.step === null);
  const values = useMemo(() => cellTexts(valueTexts(graph), stood?.values), [graph, stood]);
  const gradients = useMemo(
    () => cellTexts(gradientTexts(pass), pass && !quiz.on ? stood?.grads : undefined),
    [pass, stood],
  );
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
  const holder = useMemo(() => {
    const holders = tree.holders(collapsed);
    return (key: number) => {
      const box = key < 0 ? -1 : (holders[tree.of(key)] ?? -1);
      return box < 0 ? null : groupKey(box);
    };
  }, [tree, collapsed]);
  const net = useMemo(() => placed && netOf(placed, holder), [placed, holder]);
  const lit = useMemo(
    () => (line === null ? NO_KEYS : code.nodes(line).map((key) => holder(key) ?? key)),
    [code, line, holder],
  );
  const cuts = useMemo(() => scene.nodes.some((node) => node.role === "cut"), [scene]);
  const worker = replay?.worker ?? null;
  const handing = useMemo(
    () => (run && position && !position.ended && net ? handedEdges(run, position.at, net) : []),
    [run, position, net],
  );

  const frame = useRef<HTMLDivElement>(null);
  useFrame(frame, camera);
  anchor.current = useShow({ camera, placed, frame, selected: picked, net, tree, focus, memory });
  useReveal(camera, picked, net);
  useFollow(camera, worker, net);
  useLayoutEffect(() => {
    if (placed) mark("data-gw-boxes", String(placed.nodes.filter(isButton).length));
  }, [placed, mark]);
  useLayoutEffect(() => mark("data-gw-passes", String(live?.passes.length ?? 0)), [live, mark]);
  root.classList.toggle("gw-large", large);
  root.style.setProperty("--gw-height", `${height ?? host.height}px`);
  root.style.setProperty("--gw-panel-width", `${panelWidth}px`);

  const describe = useCallback(
    (node: PlacedNode, words: string) =>
      [describeNode(node, arrived(node.key) ? gradients : NO_TEXTS), words].filter(Boolean).join("\n"),
    [gradients, arrived],
  );
  // The question stands there.
  useLayoutEffect(() => {
    if (quiz.on && selected !== null) setSide("node");
  }, [quiz.on, selected]);
  const traced = useTrace(host, side === "trace");
  const shownTrace = { ...traced, trace: traced.trace && maskedTrace(traced.trace, quiz.hidden) };
  const shownAnswer = {
    ...answer,
    detail: answer.detail && maskedDetail(answer.detail, quiz.hidden, quiz.hinted),
  };
  const select = (key: number | null) => {
    if (quiz.on && key !== null) setSide("node");
    setGroup(key !== null && key < 0 ? groupKey(key) : null);
    host.select(key !== null && key < 0 ? null : selectedOf(key, graph));
  };
  const search = useSearch(graph, tree, (key) => {
    if (focus && !focus.keys.has(key)) setTrail([]);
    if (folding.show(key)) select(key);
  });
  const hits = useMemo(() => hitsOf(search.found, holder), [search.found, holder]);
  const kinship = useMemo(() => lazily(() => new Kinship(graph)), [graph]);
  const [pathFrom, setPathFrom] = useState<number | null>(null);
  const [pathless, setPathless] = useState<{ at: number; text: string } | null>(null);
  const called = (key: number) => (key < 0 ? (graph.groups.title[groupKey(key)] ?? "") : index.called(key));
  const keysOf = (key: number) => (key < 0 ? [...tree.members(groupKey(key))] : [key]);
  const lookAt = (title: string, keys: ReadonlySet<number>) => {
    const from = placed && { eye: camera.aim, width: placed.width, height: placed.height };
    setTrail([...trail, { title, keys, from }]);
  };
  const lookBack = (to: number) => {
    memory.current = trail[to]?.from ?? null;
    setTrail(trail.slice(0, to));
    // The button that was pressed is gone.
    frame.current?.querySelector<SVGSVGElement>(".gw-surface")?.focus({ preventScroll: true });
  };
  const kin = (key: number, which: Kin) => {
    const all = kinship().reach(keysOf(key), which);
    const keys = focus ? new Set([...all].filter((one) => focus.keys.has(one))) : all;
    lookAt(`${which === "ancestors" ? "up to" : "from"} ${called(key)}`, keys);
  };
  const path = (key: number) => {
    if (pathFrom === null || pathFrom === key) {
      setPathFrom(pathFrom === key ? null : key);
      return;
    }
    const [one, other] = [called(pathFrom), called(key)];
    const keys = kinship().between(keysOf(pathFrom), keysOf(key));
    if (keys.size > 0) lookAt(`${one} – ${other}`, keys);
    else setPathless({ at: key, text: `No path: neither of ${one} and ${other} is made from the other.` });
    setPathFrom(null);
  };
  const kinOf = useMemo(
    () => (picked === null ? null : sidesOf(graph, new Set(keysOf(picked)), focus?.keys ?? null)),
    [graph, tree, picked, focus],
  );
  const actions = picked !== null && kinOf && (
    <FocusActions
      from={pathFrom === null || pathFrom === picked ? "" : called(pathFrom)}
      waiting={pathFrom === picked}
      has={kinOf}
      note={pathless?.at === picked ? pathless.text : ""}
      onKin={(which) => kin(picked, which)}
      onPath={() => path(picked)}
    />
  );
  const choosePass = (number: number) => {
    cells.choose(null);
    setWantedPass(wantedFor(number, live));
    host.stepTo(null);
  };
  const links: PassLinks = {
    known: live?.passes.map(({ number }) => number) ?? [],
    current: pass?.number ?? null,
    choose: choosePass,
  };
  const jump = (key: number) => {
    setTab("graph");
    if (!folding.show(key)) return;
    select(key);
    const node = net?.byKey.get(key);
    if (node) camera.reveal(node);
  };
  const nodeSide = () =>
    group !== null && selected === null ? (
      <GroupPanel
        graph={graph}
        tree={tree}
        group={group}
        collapsed={collapsed.has(tree.id(group))}
        looks={looks}
        run={run}
        actions={actions}
        onOpen={folding.open}
        onClose={folding.close}
        onChoose={(one) => select(groupKey(one))}
      />
    ) : (
      <Panel
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
        actions={actions}
        graph={graph}
        index={index}
        answer={shownAnswer}
        onUnpack={host.silence ? null : answer.unpack}
        selected={selected}
        cell={quiz.on ? null : cells.state}
        pass={pass}
        taken={position && !position.ended ? position.at : null}
        latest={truePass === (live?.passes.at(-1) ?? null)}
        watching={!host.silence && !!live?.watching}
        links={links}
        onSelect={jump}
      />
    );
  const traceSide = () => (
    <TraceTable
      traced={shownTrace}
      selected={selected}
      lit={hovered}
      worker={worker}
      ran={arrived}
      onSelect={jump}
      onLight={setHovered}
    />
  );
  const sides: SideTab[] = [
    { id: "node", title: "Node", body: nodeSide },
    { id: "trace", title: "Trace", body: traceSide },
  ];
  const chooseSide = (id: string) => {
    setSide(id);
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
        search={<SearchBox root={root} {...search} />}
        probe={!pass && <ProbeButton control={probe} beside={false} />}
        tab={tab}
        onTab={setTab}
        quiz={<QuizSwitch quiz={quiz} />}
        save={
          placed && (
            <SaveMenu
              name={fileName(graph.title)}
              picture={() => svgFile(root, { placed, labels, measure, look, describe })}
            />
          )
        }
        large={large}
        onLarge={(next) => {
          setLarge(next);
          camera.zoom(next ? LARGER : 1 / LARGER);
        }}
        onColour={setColour}
        onTurn={(next) => host.turn(next)}
      />
      <Notes notes={notesOf(graph, live, pass, scene.left_out, host.problem)} />
      {pass?.bad && <BadBanner bad={pass.bad} onJump={jump} />}
      <ProbeStrip control={probe} />
      <Breadcrumbs trail={trail} onBack={lookBack} />
      {folding.refusal && (
        <p class="gw-refusal" role="alert" data-gw-refusal="">
          <span>{folding.refusal.text}</span>
          <button
            type="button"
            class="gw-button"
            onClick={() => {
              const { group } = folding.refusal ?? { group: -1 };
              if (group < 0) return;
              folding.alone(group);
              lookAt(graph.groups.title[group] ?? "", new Set(tree.members(group)));
            }}
          >
            unfold it alone
          </button>
          <button type="button" class="gw-close" aria-label="Close this note" onClick={folding.dismiss}>
            <CloseIcon />
          </button>
        </p>
      )}
      <QuizStrip quiz={quiz} hasPass={pass !== null} />
      <div class="gw-main">
        <div
          class="gw-graph-tab"
          id="gw-tab-graph"
          role="tabpanel"
          aria-label="Graph"
          inert={tab !== "graph"}
        >
          <div class="gw-left">
            <div class="gw-canvas" ref={frame}>
              {placed && net ? (
                <>
                  <Canvas
                    placed={placed}
                    net={net}
                    camera={camera}
                    labels={labels}
                    selected={picked}
                    hits={hits}
                    worker={worker}
                    handing={handing}
                    lit={lit}
                    hovered={hovered === null ? null : (holder(hovered) ?? hovered)}
                    title={graph.title}
                    measure={measure}
                    look={look}
                    describe={describe}
                    onSelect={select}
                    onEscape={() => {
                      if (picked === null && trail.length > 0) lookBack(trail.length - 1);
                      else select(null);
                    }}
                    onHover={setHovered}
                    onOpen={folding.open}
                    onClose={(one) => {
                      folding.close(one);
                      select(groupKey(one));
                    }}
                    onPainted={painted}
                  />
                  <Hints placed={placed} camera={camera} />
                  <Minimap placed={placed} camera={camera} />
                </>
              ) : (
                <p class="gw-wait">Laying out the graph…</p>
              )}
            </div>
            <CodePane
              code={code}
              files={graph.code.files}
              hovered={hovered}
              selected={selected}
              onLine={setLine}
              onSelect={jump}
            />
          </div>
          <PanelEdge width={panelWidth} onResize={setPanelWidth} />
          <SideTabs tabs={sides} current={side} label="Beside the graph" onChoose={chooseSide} />
        </div>
        {tab === "references" && (
          <div class="gw-references" id="gw-tab-references" role="tabpanel" aria-label="References">
            <References named={named} selected={selected} onJump={jump} onLeave={() => setTab("graph")} />
          </div>
        )}
      </div>
      <CellStrip cells={cells} />
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

function lazily<T>(make: () => T): () => T {
  let made: T | null = null;
  return () => {
    made ??= make();
    return made;
  };
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
  if (node.role === "group") return node.hint;
  const lines = [node.hint || [node.title, node.name, node.subtitle].filter(Boolean).join(" ")];
  for (let output = 0; output < Math.max(1, node.outputs); output += 1) {
    const gradient = gradients.get(portOf(node.key, output));
    if (gradient) lines.push(node.outputs > 1 ? `gradient ${output}: ${gradient}` : `gradient ${gradient}`);
  }
  return lines.join("\n");
}
