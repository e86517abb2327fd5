import { useRef, useState } from "preact/hooks";
import { SaveIcon } from "../icons";
import { pngFile } from "./png_file";
import type { SvgFile } from "./svg_file";

interface Props {
  /** What the files are called, without an ending. */
  name: string;
  picture(): SvgFile;
}

/** Saves the picture as it stands: a button that opens two more. */
export function SaveMenu({ name, picture }: Props) {
  const [problem, setProblem] = useState("");
  const menu = useRef<HTMLDetailsElement>(null);
  const close = () => {
    if (!menu.current?.open) return;
    menu.current.open = false;
    menu.current.querySelector("summary")?.focus();
  };
  const save = async (ending: "svg" | "png") => {
    try {
      const svg = picture();
      const blob = ending === "png" ? await pngFile(svg) : new Blob([svg.text], { type: "image/svg+xml" });
      download(blob, `${name}.${ending}`);
      setProblem("");
      close();
    } catch (error) {
      setProblem(`The picture could not be saved: ${error instanceof Error ? error.message : error}`);
    }
  };
  return (
    <details
      ref={menu}
      class="gw-save"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        close();
        event.stopPropagation();
      }}
      onFocusOut={(event) => {
        const next = event.relatedTarget as Node | null;
        if (menu.current && next && !menu.current.contains(next)) menu.current.open = false;
      }}
    >
      <summary class="gw-button" aria-label="Save the picture" title="Save the picture" data-gw-save="">
        <SaveIcon />
      </summary>
      <div class="gw-save-choices">
        <button type="button" data-gw-save-as="svg" onClick={() => save("svg")}>
          SVG <span class="gw-mute">for papers and slides</span>
        </button>
        <button type="button" data-gw-save-as="png" onClick={() => save("png")}>
          PNG <span class="gw-mute">for chats and issues</span>
        </button>
        {problem && <p role="alert">{problem}</p>}
      </div>
    </details>
  );
}

function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A name for a file from a title that may hold anything. */
export function fileName(title: string): string {
  const kept = title.normalize("NFKC").replace(/[^\p{L}\p{N}_-]+/gu, "-");
  return kept.replace(/^-+|-+$/g, "").slice(0, 60) || "graph";
}
