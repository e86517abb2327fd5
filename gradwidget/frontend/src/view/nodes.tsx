import type { JSX } from "preact";
import type { PlacedNode } from "../scene";
import { type Measure, timesText } from "../scene/text";
import { barPath } from "./curve";
import { hatchPath } from "./grad/hatch";
import { hatched, type Look } from "./grad/looks";
import { BAR, RADIUS } from "./measures";
import { memo } from "./memo";
import { shortened, shortPath } from "./text";

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
  /** The selected node is inside. */
  holds: boolean;
  hits: number;
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
    case "group":
      return <GroupBox {...props} />;
    default:
      return <NodeBox {...props} />;
  }
});

const place = (node: PlacedNode) => `translate(${node.x} ${node.y})`;

function classesOf({ node, selected, lit, heat, bad, atWork, idle, second, holds, hits }: BoxProps): string {
  const classes = [`gw-node gw-role-${node.role} gw-kind-${node.kind}`];
  if (selected) classes.push("gw-selected");
  if (lit) classes.push("gw-lit-node");
  if (heat) classes.push(`gw-heat gw-heat-${heat}`);
  if (bad) classes.push(`gw-bad gw-bad-${bad}`);
  if (atWork) classes.push("gw-at-work");
  if (idle) classes.push("gw-idle");
  if (second) classes.push("gw-second");
  if (holds) classes.push("gw-holds");
  if (hits > 0) classes.push("gw-hit");
  return classes.join(" ");
}

/** Cards behind the first one: a row of alike members. */
function Behind({ node, down }: { node: PlacedNode; down: boolean }) {
  const { width, height, group } = node;
  if (!group?.times) return null;
  return (
    <>
      {[2, 1].map((n) =>
        down ? (
          <rect
            key={n}
            class="gw-behind"
            x={4 * n}
            y={5 * n}
            width={width}
            height={height - 10 * n}
            rx={RADIUS}
          />
        ) : (
          <rect
            key={n}
            class="gw-behind"
            x={6 * n}
            y={-4 * n}
            width={width - 12 * n}
            height={height}
            rx={RADIUS}
          />
        ),
      )}
    </>
  );
}

const SIGN = 20;

/** A folded group: double click, Enter or the sign at its end unfolds it. */
function GroupBox(props: BoxProps) {
  const { node, selected, active, label, measure, down, heat, bad, tag, atWork, idle, holds, hits } = props;
  const { width, height, group } = node;
  const times = group?.times ? timesText(group.times) : "";
  const badge = times ? measure(times, "title") + 10 : 0;
  const room = width - INSET - SIGN - 6 - (badge && badge + 6);
  const inTitle = (text: string) => measure(text, "title");
  const title = shortened(node.title, room, inTitle);
  const code = (text: string) => measure(text, "code");
  const name = title === node.title ? shortPath(node.name, room - inTitle(title) - GAP, code) : "";
  const middle = height / 2;
  return (
    <g
      class={classesOf(props)}
      transform={place(node)}
      role="button"
      tabindex={active ? 0 : -1}
      aria-label={[label.replaceAll("\n", ", "), "Enter unfolds"].join(", ")}
      aria-pressed={selected}
      aria-expanded={false}
      data-gw-id={node.id}
      data-gw-group={-1 - node.key}
      data-gw-name={node.name || node.title}
      {...(heat && { "data-gw-heat": heat })}
      {...(bad && { "data-gw-bad": bad })}
      {...(atWork && { "data-gw-at-work": "" })}
      {...(idle && { "data-gw-idle": "" })}
      {...(holds && { "data-gw-holds": "" })}
      {...(hits > 0 && { "data-gw-found": hits })}
    >
      <title>{label}</title>
      <rect class="gw-halo" x={-6} y={-6} width={width + 12} height={height + 12} rx={RADIUS + 5} />
      {atWork && (
        <rect class="gw-work" x={-4} y={-4} width={width + 8} height={height + 8} rx={RADIUS + 3.5} />
      )}
      <Behind node={node} down={down} />
      <rect class="gw-card" width={width} height={height} rx={RADIUS} />
      {hatched({ bad, heat }) && <path class="gw-hatch" d={hatchPath(width, height)} />}
      <path class="gw-bar" d={barPath(height, BAR)} />
      <text x={INSET} y={middle - 5}>
        <tspan class="gw-title">{title}</tspan>
        {name && (
          <tspan class="gw-name" dx={title ? GAP : 0}>
            {name}
          </tspan>
        )}
      </text>
      <text class="gw-sub" x={INSET} y={middle + 15}>
        {shortened(node.subtitle, width - INSET - SIGN - 4, (text) => measure(text, "small"))}
      </text>
      {times && (
        <g transform={`translate(${width - SIGN - badge - 4} ${middle - 18})`}>
          <rect class="gw-times" width={badge} height={18} rx={9} />
          <text class="gw-times-text" x={badge / 2} y={13} text-anchor="middle">
            {times}
          </text>
        </g>
      )}
      <g
        class="gw-open-sign"
        data-gw-open={-1 - node.key}
        transform={`translate(${width - SIGN - 2} ${middle - 9})`}
      >
        <rect class="gw-catch" width={SIGN} height={18} />
        <path class="gw-opens" d="M6 9H14M10 5V13" />
      </g>
      {tag && <Tag text={tag} width={width} />}
      {hits > 0 && <Found count={hits} />}
    </g>
  );
}

/** On the lower edge: how many hits are inside. */
function Found({ count }: { count: number }) {
  const text = count === 1 ? "1 hit" : `${count} hits`;
  const size = TAG_CHAR * text.length + 8;
  return (
    <g class="gw-found" transform="translate(10 -9)">
      <rect width={size} height={16} rx={8} />
      <text x={size / 2} y={11.8} text-anchor="middle">
        {text}
      </text>
    </g>
  );
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
    <g class="gw-tag" transform={`translate(${width - size - 8} -12)`}>
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
