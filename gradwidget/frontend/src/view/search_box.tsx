import { useEffect, useRef } from "preact/hooks";
import { ChevronIcon, CloseIcon, SearchIcon } from "./icons";
import { grouped } from "./numbers";

interface Props {
  root: HTMLElement;
  query: string;
  count: number;
  /** Which hit was jumped to, from 0; -1 none yet. */
  at: number;
  onQuery(query: string): void;
  onJump(by: 1 | -1): void;
}

/** `/` goes there from anywhere in the widget; Enter and Shift-Enter jump from hit to hit. */
export function SearchBox({ root, query, count, at, onQuery, onJump }: Props) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const life = new AbortController();
    const press = (event: KeyboardEvent) => {
      const typing = (event.target as Element | null)?.closest?.("input, textarea, select");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      input.current?.focus();
      input.current?.select();
    };
    root.addEventListener("keydown", press, { signal: life.signal });
    return () => life.abort();
  }, [root]);
  const press = (event: KeyboardEvent) => {
    // The notebook has keys of its own.
    event.stopPropagation();
    if (event.key === "Enter") onJump(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      onQuery("");
      input.current?.blur();
    } else return;
    event.preventDefault();
  };
  const words =
    count === 0
      ? "no hit"
      : at < 0
        ? `${grouped(count)} hit${count === 1 ? "" : "s"}`
        : `${grouped(at + 1)} of ${grouped(count)}`;
  return (
    <span class="gw-search" role="search">
      <SearchIcon />
      <input
        ref={input}
        type="text"
        value={query}
        placeholder="search"
        spellcheck={false}
        autocomplete="off"
        aria-label="Search nodes by name, operation, module, shape or source line"
        title="Name, operation, module, shape or source line; / comes here, Enter jumps to the next"
        data-gw-search=""
        onInput={(event) => onQuery(event.currentTarget.value)}
        onKeyDown={press}
      />
      {query && (
        <>
          <span class="gw-mute gw-hits" role="status" data-gw-hits={count}>
            {words}
          </span>
          <button
            type="button"
            class="gw-flip"
            aria-label="Previous hit"
            disabled={count === 0}
            onClick={() => onJump(-1)}
          >
            <ChevronIcon />
          </button>
          <button type="button" aria-label="Next hit" disabled={count === 0} onClick={() => onJump(1)}>
            <ChevronIcon />
          </button>
          <button type="button" aria-label="Clear the search" onClick={() => onQuery("")}>
            <CloseIcon />
          </button>
        </>
      )}
    </span>
  );
}
