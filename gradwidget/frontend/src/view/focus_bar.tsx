import type { Focus, Kin } from "./focus";
import { CloseIcon } from "./icons";
import { plural } from "./numbers";

/** From the whole graph to what is looked at now. */
export function Breadcrumbs({ trail, onBack }: { trail: Focus[]; onBack(to: number): void }) {
  if (trail.length === 0) return null;
  return (
    <nav
      class="gw-crumbs"
      aria-label="Focus"
      data-gw-crumbs={trail.length}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onBack(trail.length - 1);
      }}
    >
      <button type="button" class="gw-link" onClick={() => onBack(0)}>
        whole graph
      </button>
      {trail.map(({ title, keys }, i) => (
        <span key={`${i} ${title}`} class="gw-crumb">
          <span aria-hidden="true">›</span>
          {i === trail.length - 1 ? (
            <strong aria-current="true">{title}</strong>
          ) : (
            <button type="button" class="gw-link" onClick={() => onBack(i + 1)}>
              {title}
            </button>
          )}
          {i === trail.length - 1 && <span class="gw-mute">{plural(keys.size, "node")}</span>}
        </span>
      ))}
      <button type="button" class="gw-close" aria-label="Back to the whole graph" onClick={() => onBack(0)}>
        <CloseIcon />
      </button>
    </nav>
  );
}

interface ActionsProps {
  /** A path was begun elsewhere: what it is called. */
  from: string;
  /** It was begun here. */
  waiting: boolean;
  /** Where there is something to look at. */
  has: Record<Kin, boolean>;
  note: string;
  onKin(kin: Kin): void;
  onPath(): void;
}

const WORDS: [Kin, string][] = [
  ["ancestors", "what it is made from"],
  ["descendants", "what it leads to"],
];

export function FocusActions({ from, waiting, has, note, onKin, onPath }: ActionsProps) {
  return (
    <section class="gw-section gw-focus-actions" aria-label="Look at a part of the graph">
      <h4>look only at</h4>
      <p>
        {WORDS.filter(([kin]) => has[kin]).map(([kin, words]) => (
          <button type="button" key={kin} class="gw-button" data-gw-focus={kin} onClick={() => onKin(kin)}>
            {words}
          </button>
        ))}
        <button type="button" class="gw-button" data-gw-focus="path" aria-pressed={waiting} onClick={onPath}>
          {from ? `the path from ${from}` : waiting ? "now choose its other end" : "a path from here …"}
        </button>
      </p>
      {note && (
        <p class="gw-mute" role="status" data-gw-pathless="">
          {note}
        </p>
      )}
    </section>
  );
}
