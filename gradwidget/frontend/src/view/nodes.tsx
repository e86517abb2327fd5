import type { JSX } from "preact";
import type { PlacedNode } from "../scene";
import type { Measure } from "../scene/text";
import { barPath } from "./curve";
import { hatchPath } from "./grad/hatch";
import { hatched, type Look } from "./grad/looks";
import { BAR, RADIUS } from "./measures";
import { memo } from "./memo";
import { shortened } from "./text";

interface BoxProps {
  node: PlacedNode;
  selected: boolean;
  /** Under the pointer, here or beside the graph. */
  lit: boolean;
  /** The one box that Tab reaches. */
  active: boolean;
  label: string;
  measure: Measure;
  down: boolean;
  heat: Look["heat"];
  bad: Look["bad"];
  tag: Look["tag"];
  atWork: boolean;
  idle: boolean;
  second: boolean;
}

const INSET = 15;
const END = 9;
const GAP = 7;
const TAG_CHAR = 7;

/** Steps of a pass change few boxes: the others are not drawn anew. */
export const NodeShape = memo(function Shape(props: BoxProps): JSX.Element {
  switch (props.node.role) {
    case "cut":
      return <Cut {...props} />;
    case "more":
      return <More {...props} />;
    case "output":
      return <Output {...props} />;
    default:
      return <NodeBox {...props} />;
  }
});

const place = (node: PlacedNode) => `translate(${node.x} ${node.y})`;

function classesOf({ node, selected, lit, heat, bad, atWork, idle, second }: BoxProps): string {
  const classes = [`gw-node gw-${node.role} gw-kind-${node.kind}`];
  if (selected) classes.push("gw-selected");
  if (lit) classes.push("gw-lit-node");
  if (heat) classes.push(`gw-heat gw-heat-${heat}`);
  if (bad) classes.push(`gw-bad gw-bad-${bad}`);
  if (atWork) classes.push("gw-at-work");
  if (idle) classes.push("gw-idle");
  if (second) classes.push("gw-second");
  return classes.join(" ");
}

function NodeBox(props: BoxProps) {
  const { node, selected, active, label, measure, heat, bad, tag, atWork, idle, second } = props;
  const { width, height } = node;
  const marks = {
    ...(heat && { "data-gw-heat": heat }),
    ...(bad && { "data-gw-bad": bad }),
    ...(atWork && { "data-gw-at-work": "" }),
    ...(idle && { "data-gw-idle": "" }),
  };
  return (
    <g
      class={classesOf(props)}
      transform={place(node)}
      role="button"
      tabindex={active ? 0 : -1}
      aria-label={label.replaceAll("\n", ", ")}
      aria-pressed={selected}
      data-gw-id={node.id}
      data-gw-key={node.key}
      data-gw-name={node.name || (node.kind === "leaf" ? node.title : "")}
      {...marks}
    >
      <title>{label}</title>
      <rect class="gw-halo" x={-6} y={-6} width={width + 12} height={height + 12} rx={RADIUS + 5} />
      {atWork && (
        <rect class="gw-work" x={-4} y={-4} width={width + 8} height={height + 8} rx={RADIUS + 3.5} />
      )}
      <rect class="gw-card" width={width} height={height} rx={RADIUS} />
      {hatched({ bad, heat }) && <path class="gw-hatch" d={hatchPath(width, height)} />}
      <path class="gw-bar" d={barPath(height, BAR)} />
      {second && <rect class="gw-bar gw-second-bar" x={BAR + 2} y={1} width={1.8} height={height - 2} />}
      <Heading node={node} measure={measure} />
      {tag && <Tag text={tag} width={width} />}
    </g>
  );
}

/** On the upper edge, where no text stands. */
function Tag({ text, width }: { text: string; width: number }) {
  const size = TAG_CHAR * text.length + 10;
  return (
    <g class="gw-tag" transform={`translate(${width - size - 8} -9)`}>
      <rect width={size} height={15} rx={7.5} />
      <text x={size / 2} y={11.3} text-anchor="middle">
        {text}
      </text>
    </g>
  );
}

function Heading({ node, measure }: { node: PlacedNode; measure: Measure }) {
  const room = node.width - INSET - END;
  const leaf = node.kind === "leaf";
  const inTitle = (text: string) => measure(text, leaf ? "code" : "title");
  const inCode = (text: string) => measure(text, "code");
  const title = shortened(node.title, room, inTitle);
  const name = title === node.title ? shortened(node.name, room - inTitle(title) - GAP, inCode) : "";
  const middle = node.height / 2;
  return (
    <>
      <text x={INSET} y={node.subtitle ? middle - 4 : middle + 4.5}>
        <tspan class={leaf ? "gw-name gw-strong" : "gw-title"}>{title}</tspan>
        {name && (
          <tspan class="gw-name" dx={GAP}>
            {name}
          </tspan>
        )}
      </text>
      {node.subtitle && (
        <text class="gw-sub" x={INSET} y={middle + 14}>
          {shortened(node.subtitle, room, (text) => measure(text, "small"))}
        </text>
      )}
    </>
  );
}

export const SCISSORS = (
  <>
    <circle cx="2.6" cy="2.8" r="2.2" />
    <circle cx="2.6" cy="11.2" r="2.2" />
    <path d="M4.4 4.2L14 11.4M4.4 9.8L14 2.6" />
  </>
);

function Cut({ node, measure }: BoxProps) {
  const hint = node.hint || "This input needs no gradient.";
  const middle = node.height / 2;
  return (
    <g class="gw-cut" transform={place(node)} data-gw-id={node.id} role="img" aria-label={hint}>
      <title>{hint}</title>
      <rect class="gw-catch" width={node.width} height={node.height} />
      <text class="gw-name gw-constant" x={node.width - 23} y={middle + 4} text-anchor="end">
        {shortened(node.title, node.width - 24, (text) => measure(text, "code"))}
      </text>
      <g class="gw-scissors" transform={`translate(${node.width - 17} ${middle - 7})`}>
        {SCISSORS}
      </g>
    </g>
  );
}

function More({ node, measure }: BoxProps) {
  return (
    <g
      class="gw-more"
      transform={place(node)}
      data-gw-id={node.id}
      role="img"
      aria-label={node.hint || node.title}
    >
      <title>{node.hint || node.title}</title>
      <rect class="gw-card" width={node.width} height={node.height} rx={RADIUS} />
      <text class="gw-sub" x={node.width / 2} y={node.height / 2 + 4} text-anchor="middle">
        {shortened(node.title, node.width - 12, (text) => measure(text, "small"))}
      </text>
    </g>
  );
}

function Output({ node, measure, down }: BoxProps) {
  if (!node.title) return <g data-gw-id={node.id} />;
  return (
    <g
      class="gw-output"
      transform={place(node)}
      data-gw-id={node.id}
      role="img"
      aria-label={node.hint || node.title}
    >
      <title>{node.hint || node.title}</title>
      <text
        class="gw-sub gw-name"
        x={down ? node.width / 2 : 6}
        y={down ? 13 : node.height / 2 + 4}
        text-anchor={down ? "middle" : "start"}
      >
        {shortened(node.title, node.width, (text) => measure(text, "code"))}
      </text>
    </g>
  );
}
