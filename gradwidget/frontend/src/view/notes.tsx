import { useState } from "preact/hooks";
import type { GraphPayload, LivePayload, Pass } from "../wire";
import { CloseIcon } from "./icons";
import { grouped } from "./numbers";

/** Everything the user should be told about the whole figure, in sentences. */
export function notesOf(
  graph: GraphPayload,
  live: LivePayload | null,
  pass: Pass | null,
  leftOut: number,
  problem: string,
): string[] {
  const notes = [problem, live?.status ?? "", ...graph.notes];
  if (pass?.state === "failed")
    notes.push(`Pass ${pass.number} stopped early${pass.note ? `: ${pass.note}` : "."}`);
  else if (pass?.note) notes.push(pass.note);
  if (leftOut > 0) {
    const drawn = graph.nodes - leftOut;
    notes.push(
      `${grouped(drawn)} of ${grouped(graph.nodes)} nodes are drawn, those nearest to the output; the other ${grouped(leftOut)} are folded into the dashed boxes.`,
    );
  }
  if (live && live.dropped > 0)
    notes.push(`The numbers of the ${live.dropped} oldest passes are no longer sent along.`);
  return [...new Set(notes.filter(Boolean))];
}

/** A closed note stays closed; the same words do not come back. */
export function Notes({ notes }: { notes: string[] }) {
  const [closed, setClosed] = useState<string[]>([]);
  const open = notes.filter((note) => !closed.includes(note));
  if (open.length === 0) return null;
  return (
    <ul class="gw-notes" role="status">
      {open.map((note) => (
        <li key={note} class="gw-note">
          <span>{note}</span>
          <button
            type="button"
            class="gw-close"
            aria-label="Close this note"
            onClick={() => setClosed([...closed, note])}
          >
            <CloseIcon />
          </button>
        </li>
      ))}
    </ul>
  );
}
