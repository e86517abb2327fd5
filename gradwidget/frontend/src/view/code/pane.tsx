import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { CodeFile } from "../../wire";
import { plural } from "../numbers";
import type { CodeIndex } from "./code_index";

interface Props {
  code: CodeIndex;
  files: CodeFile[];
  hovered: number | null;
  selected: number | null;
  /** The line under the pointer or with the focus, as a place of the index. */
  onLine(place: number | null): void;
  onSelect(key: number): void;
}

/** The code that made the graph. A line lights its nodes, a node lights its line. */
export function CodePane({ code, files, hovered, selected, onLine, onSelect }: Props) {
  const [open, setOpen] = useState(true);
  const lines = useRef<HTMLDivElement>(null);
  const lit = code.place(hovered) ?? code.place(selected);
  useLayoutEffect(() => {
    const pane = lines.current;
    const line = pane?.querySelector<HTMLElement>(`[data-gw-place="${lit}"]`);
    if (!pane || !line) return;
    // Within the pane only: the notebook must not move.
    const top = line.offsetTop;
    if (top < pane.scrollTop + HEAD) pane.scrollTop = top - HEAD;
    else if (top + line.offsetHeight > pane.scrollTop + pane.clientHeight)
      pane.scrollTop = top + line.offsetHeight - pane.clientHeight + MARGIN;
  }, [lit, open]);
  if (files.length === 0) return null;
  return (
    <section class="gw-code" aria-label="Source lines" data-gw-code={open ? "open" : "closed"}>
      <button
        type="button"
        class="gw-code-toggle"
        aria-expanded={open}
        onClick={() => {
          setOpen(!open);
          onLine(null);
        }}
      >
        <span class="gw-turn" aria-hidden="true" />
        code <span class="gw-mute">{files.map(({ title }) => title).join(", ")}</span>
      </button>
      {open && (
        <div class="gw-code-lines" ref={lines} onPointerLeave={() => onLine(null)}>
          {files.map((file, i) => (
            <Lines
              key={`${i}:${file.title}`}
              code={code}
              file={file}
              at={i}
              titled={files.length > 1}
              lit={code.place(hovered)}
              chosen={code.place(selected)}
              selected={selected}
              onLine={onLine}
              onSelect={onSelect}
            />
          ))}
        </div>
      )}
    </section>
  );
}

const HEAD = 20;
const MARGIN = 4;

interface LinesProps {
  code: CodeIndex;
  file: CodeFile;
  at: number;
  titled: boolean;
  lit: number | null;
  chosen: number | null;
  selected: number | null;
  onLine(place: number | null): void;
  onSelect(key: number): void;
}

function Lines({ code, file, at, titled, lit, chosen, selected, onLine, onSelect }: LinesProps) {
  return (
    <>
      {titled && <div class="gw-code-file">{file.title}</div>}
      {file.lines.map(([number, text], i) => {
        const place = code.placeAt(at, number);
        const gap = i > 0 && number > (file.lines[i - 1]?.[0] ?? 0) + 1;
        const content = (
          <>
            <span class="gw-line-number">{number}</span>
            <code dir="ltr">{text || " "}</code>
          </>
        );
        const start = gap ? " gw-line-gap" : "";
        if (place === null) {
          return (
            <div key={number} class={`gw-line${start}`} onPointerEnter={() => onLine(null)}>
              {content}
            </div>
          );
        }
        const nodes = code.nodes(place);
        const marks = `${place === lit ? " gw-line-lit" : ""}${place === chosen ? " gw-line-chosen" : ""}`;
        return (
          <button
            key={number}
            type="button"
            class={`gw-line gw-line-live${start}${marks}`}
            data-gw-place={place}
            data-gw-line={`${file.title}:${number}`}
            data-gw-line-lit={place === lit ? "1" : "0"}
            title={`${file.title}, line ${number} made ${plural(nodes.length, "node")}`}
            onPointerEnter={() => onLine(place)}
            onFocus={() => onLine(place)}
            onBlur={() => onLine(null)}
            onClick={() => onSelect(after(nodes, selected))}
          >
            {content}
          </button>
        );
      })}
    </>
  );
}

/** Clicked again and again, a line goes through its nodes. */
function after(nodes: readonly number[], selected: number | null): number {
  const at = selected === null ? -1 : nodes.indexOf(selected);
  return nodes[(at + 1) % nodes.length] ?? nodes[0] ?? 0;
}
