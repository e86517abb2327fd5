import type { ComponentChildren } from "preact";
import { groupText } from "../../scene/folded";
import type { GroupTree } from "../../scene/tree";
import type { GraphPayload } from "../../wire";
import type { GroupLooks } from "../grad/group_look";
import { grouped, short } from "../numbers";
import type { Run } from "../replay/run";
import { Row, Section } from "./parts";

interface Props {
  graph: GraphPayload;
  tree: GroupTree;
  group: number;
  collapsed: boolean;
  looks: GroupLooks;
  run: Run | null;
  actions: ComponentChildren;
  onOpen(group: number): void;
  onClose(group: number): void;
  onChoose(group: number): void;
}

const SHOWN = 12;

/** What the panel shows of a group. */
export function GroupPanel({
  graph,
  tree,
  group,
  collapsed,
  looks,
  run,
  actions,
  onOpen,
  onClose,
  onChoose,
}: Props) {
  const { title, name } = groupText(graph, tree, group);
  const { groups } = graph;
  const sum = run && looks.norm(group, run);
  const parameters = groups.parameters[group] ?? 0;
  const times = groups.times[group] ?? 0;
  const inside = tree.inside[group] ?? [];
  const parent = tree.parent(group);
  return (
    <aside
      class="gw-panel"
      aria-label="Inspector"
      data-gw-panel=""
      data-gw-panel-group={groups.id[group]}
      data-gw-panel-state="ready"
    >
      <div class="gw-panel-body" key={group}>
        <h3>
          <span class="gw-two-lines" title={groups.id[group]}>
            {title} {name && <code dir="auto">{name}</code>}
          </span>
        </h3>
        <p class="gw-mute gw-subtitle">{KIND[tree.kind(group)]}</p>
        {groups.path[group] && (
          <p class="gw-module">
            <code dir="auto">{groups.path[group]}</code>
          </p>
        )}
        <p class="gw-group-actions">
          <button
            type="button"
            class="gw-button"
            data-gw-toggle=""
            onClick={() => (collapsed ? onOpen(group) : onClose(group))}
          >
            {collapsed ? "unfold" : "fold"}
          </button>
        </p>
        <Section>
          {times > 0 && <Row label="members">{grouped(times)}</Row>}
          <Row label="nodes">{grouped(tree.counts[group] ?? 0)}</Row>
          {parameters > 0 && <Row label="parameters">{grouped(parameters)}</Row>}
          {sum && (
            <Row label={sum.of === "leaves" ? "‖gradient‖ of its leaves" : "‖gradient‖ that arrives"}>
              <span class="gw-num gw-tone-gradient">{sum.norm === null ? "not known" : short(sum.norm)}</span>
            </Row>
          )}
        </Section>
        <Section title="operations">
          {operations(graph, tree.members(group)).map(([label, count]) => (
            <Row key={label} label={label}>
              <span class="gw-num">{grouped(count)}</span>
            </Row>
          ))}
        </Section>
        {(inside.length > 0 || parent >= 0) && (
          <Section>
            {parent >= 0 && (
              <GroupLinks label="in" list={[parent]} graph={graph} tree={tree} onChoose={onChoose} />
            )}
            {inside.length > 0 && (
              <GroupLinks label="holds" list={inside} graph={graph} tree={tree} onChoose={onChoose} />
            )}
          </Section>
        )}
        {actions}
      </div>
    </aside>
  );
}

const KIND = {
  module: "all that one call of a module has made",
  stack: "modules of one kind in a row",
  repeat: "operations that repeat themselves",
  step: "one of the repeated stretches",
  part: "a part of what is too long to be shown at once",
};

function GroupLinks({
  label,
  list,
  graph,
  tree,
  onChoose,
}: Pick<Props, "graph" | "tree" | "onChoose"> & { label: string; list: number[] }) {
  return (
    <div class="gw-links">
      <span class="gw-mute">{label}</span>
      <span class="gw-link-list">
        {list.slice(0, SHOWN).map((one) => {
          const { title, name } = groupText(graph, tree, one);
          return (
            <button
              key={one}
              type="button"
              class="gw-link gw-clip"
              dir="auto"
              title={graph.groups.id[one]}
              onClick={() => onChoose(one)}
            >
              {name || title}
            </button>
          );
        })}
        {list.length > SHOWN && <span class="gw-mute">… {grouped(list.length - SHOWN)} more</span>}
      </span>
    </div>
  );
}

function operations(graph: GraphPayload, keys: Int32Array): [string, number][] {
  const counts = new Map<string, number>();
  for (const key of keys) {
    const label = graph.labels[graph.op[key] ?? -1] ?? "?";
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  const sorted = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const rest = sorted.slice(SHOWN).reduce((sum, [, count]) => sum + count, 0);
  return rest > 0 ? [...sorted.slice(0, SHOWN), ["others", rest]] : sorted;
}
