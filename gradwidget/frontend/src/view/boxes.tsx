import type { PlacedNode } from "../scene";
import type { Measure } from "../scene/text";
import type { Look } from "./grad/looks";
import { isButton } from "./net";
import { NodeShape } from "./nodes";

interface Props {
  nodes: PlacedNode[];
  selected: number | null;
  lit: number | null;
  active: PlacedNode | undefined;
  measure: Measure;
  down: boolean;
  /** The folded group around the selected node. */
  holder: PlacedNode | null;
  /** Hits of a search in each box, by id. */
  hits: ReadonlyMap<string, number>;
  look(key: number): Look;
  describe(node: PlacedNode, words: string): string;
}

/** All boxes in view, each as it looks at this step. */
export function Boxes({ nodes, selected, lit, active, holder, hits, measure, down, look, describe }: Props) {
  return (
    <>
      {nodes.map((node) => {
        const { words, ...marks } = look(node.key);
        return (
          <NodeShape
            key={node.id}
            node={node}
            selected={isButton(node) && node.key === selected}
            lit={isButton(node) && node.key === lit}
            active={node === active}
            label={describe(node, words)}
            measure={measure}
            down={down}
            holds={node === holder}
            hits={hits.get(node.id) ?? 0}
            {...marks}
          />
        );
      })}
    </>
  );
}
