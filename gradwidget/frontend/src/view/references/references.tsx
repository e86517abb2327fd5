import { useState } from "preact/hooks";
import type { ReferenceObject, ReferencesPayload } from "../../wire";
import { middleOf, wirePath } from "./geometry";
import type { Named } from "./use_references";

interface Props {
  named: Named;
  selected: number | null;
  /** Shows an object's node in the graph. */
  onJump(key: number): void;
  onLeave(): void;
}

/** Names -> tensor objects -> memory. What belongs together lights up under the pointer and the focus. */
export function References({ named, selected, onJump, onLeave }: Props) {
  const { found, trouble } = named;
  if (trouble) {
    return (
      <p class="gw-wait" role="alert">
        {trouble.message}
      </p>
    );
  }
  if (!found) return <p class="gw-wait">Looking at the names…</p>;
  if (found.objects.length === 0) return <p class="gw-wait">No variable holds a tensor.</p>;
  return <Columns found={found} selected={selected} onJump={onJump} onLeave={onLeave} />;
}

interface ColumnsProps extends Omit<Props, "named"> {
  found: ReferencesPayload;
}

function Columns({ found, selected, onJump, onLeave }: ColumnsProps) {
  const { names, objects, memory, sentences, height, names_width, left_out } = found;
  const [over, setOver] = useState<number | null>(null);
  const chosen = selected === null ? -1 : objects.findIndex(({ node }) => node === selected);
  const lit = over ?? (chosen < 0 ? null : chosen);
  const glow = (...mine: number[]) => (lit !== null && mine.includes(lit) ? "gw-refs-lit" : "");
  const light = (index: number) => ({
    onPointerEnter: () => setOver(index),
    onPointerLeave: () => setOver(null),
  });
  const press = (event: KeyboardEvent, index: number) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const way = { ArrowDown: 1, ArrowUp: -1, Home: -objects.length, End: objects.length }[event.key];
    if (way !== undefined) {
      const next = Math.min(objects.length - 1, Math.max(0, index + way));
      const column = (event.currentTarget as HTMLElement).parentElement;
      column?.querySelectorAll("button")[next]?.focus();
    } else if (event.key === "Escape") onLeave();
    else if (event.key !== "Enter" && event.key !== " ") return;
    // Enter and Space press the button; the notebook has keys of its own.
    event.stopPropagation();
    if (event.key !== "Enter" && event.key !== " ") event.preventDefault();
  };
  const size = { height: `${height}px` };
  return (
    <div class="gw-refs" style={{ "--gw-refs-names": `${names_width}px` }}>
      <div class="gw-refs-heads" aria-hidden="true">
        <span>names</span>
        <span />
        <span>tensor objects</span>
        <span />
        <span>memory</span>
      </div>
      <div class="gw-refs-columns">
        <div class="gw-refs-column" role="list" aria-label="Names" style={size}>
          {names.map((name, i) => (
            <div
              key={i}
              role="listitem"
              dir="auto"
              class={`gw-refs-name ${name.more ? "gw-refs-more" : ""} ${glow(name.object)}`}
              style={place(name)}
              title={name.text}
              data-gw-ref-name={name.text}
              {...light(name.object)}
            >
              {name.short}
            </div>
          ))}
        </div>
        <Wires height={height} wires={names.map((name) => [middleOf(name), name.end, glow(name.object)])} />
        <div
          class="gw-refs-column"
          role="group"
          aria-label="Tensor objects. Arrow keys move, Enter shows the node in the graph."
          style={size}
        >
          {objects.map((one, i) => (
            <button
              key={one.id}
              type="button"
              class={`gw-refs-object ${one.leaf ? "gw-refs-leaf" : ""} ${one.dashed ? "gw-refs-dashed" : ""} ${one.tall ? "gw-refs-tall" : ""} ${glow(i)}`}
              style={place(one)}
              aria-label={spoken(one, sentencesOf(found, i))}
              aria-disabled={one.node === null}
              title={`${one.about} ${one.note}`}
              data-gw-ref={one.names[0]}
              data-gw-ref-node={one.node ?? ""}
              onClick={() => one.node !== null && onJump(one.node)}
              onFocus={() => setOver(i)}
              onBlur={() => setOver(null)}
              onKeyDown={(event) => press(event, i)}
              {...light(i)}
            >
              <span class="gw-refs-what">
                <span class="gw-refs-title">{one.title}</span>
                <span class="gw-refs-note">{one.note}</span>
              </span>
              <span class={`gw-refs-verdict gw-refs-${one.tone}`}>
                {one.verdict}
                {one.node !== null && <span class="gw-refs-jump">show in graph</span>}
              </span>
            </button>
          ))}
        </div>
        <Wires
          height={height}
          wires={objects.flatMap((one, i) =>
            one.memory < 0 ? [] : [[middleOf(one), one.end, glow(i)] as Wire],
          )}
        />
        <div class="gw-refs-column" role="list" aria-label="Memory" style={size}>
          {memory.map((box, i) => (
            <div
              key={i}
              role="listitem"
              class={`gw-refs-memory ${box.shared ? "gw-refs-shared" : ""} ${glow(...box.objects)}`}
              style={place(box)}
              title={`${box.text}: ${box.note}`}
            >
              <span class="gw-refs-value">{box.text}</span>
              <span class="gw-refs-note">{box.note}</span>
            </div>
          ))}
        </div>
      </div>
      {sentences.length > 0 && (
        <ul class="gw-refs-sentences">
          {sentences.map(({ parts, objects: about }, i) => (
            <li key={i} class={`gw-refs-said ${glow(...about)}`}>
              {parts.map(([text, name], k) => (name ? <b key={k}>{text}</b> : <span key={k}>{text}</span>))}
            </li>
          ))}
        </ul>
      )}
      {over !== null && objects[over] && (
        <p class="gw-refs-now" data-gw-ref-said="">
          {sentencesOf(found, over).join(" ") || objects[over].about}
        </p>
      )}
      {left_out && <p class="gw-refs-rest">{left_out}</p>}
    </div>
  );
}

type Wire = [from: number, to: number, glow: string];

function Wires({ height, wires }: { height: number; wires: Wire[] }) {
  return (
    <div class="gw-refs-column" aria-hidden="true" style={{ height: `${height}px` }}>
      <svg class="gw-refs-wires" aria-hidden="true" viewBox={`0 0 100 ${height}`} preserveAspectRatio="none">
        {wires.map(([from, to, glow], i) => (
          <path key={i} class={`gw-refs-wire ${glow}`} d={wirePath(from, to)} />
        ))}
      </svg>
      {wires.map(([, to, glow], i) => (
        <i key={i} class={`gw-refs-head ${glow}`} style={{ top: `${to}px` }} />
      ))}
    </div>
  );
}

const place = ({ top, height }: { top: number; height: number }) => ({
  top: `${top}px`,
  height: `${height}px`,
});

const sentencesOf = ({ sentences }: ReferencesPayload, index: number): string[] =>
  sentences
    .filter(({ objects }) => objects.includes(index))
    .map(({ parts }) => parts.map(([text]) => text).join(""));

const spoken = (one: ReferenceObject, sentences: string[]): string =>
  `${one.names.join(", ")}: ${one.title}; ${one.verdict}. ${one.note}. ${sentences.join(" ") || one.about}${one.node === null ? "" : " Show in graph."}`;
