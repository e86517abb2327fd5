import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";

export interface SideTab {
  id: string;
  title: string;
  /** Drawn only while its tab is open. */
  body(): ComponentChildren;
}

interface Props {
  tabs: SideTab[];
  current: string;
  label: string;
  onChoose(id: string): void;
}

/** What stands beside the graph, one at a time. Arrow keys go from tab to tab. */
export function SideTabs({ tabs, current, label, onChoose }: Props) {
  const name = useId();
  const list = useRef<HTMLDivElement>(null);
  const open = tabs.find(({ id }) => id === current) ?? tabs[0];
  const press = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || !open) return;
    event.preventDefault();
    event.stopPropagation();
    const next = tabs[(tabs.indexOf(open) + step + tabs.length) % tabs.length];
    if (!next) return;
    onChoose(next.id);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[tabs.indexOf(next)]?.focus();
  };
  return (
    <div class="gw-side" data-gw-side={open?.id}>
      <div class="gw-side-tabs" role="tablist" aria-label={label} ref={list} onKeyDown={press}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${name}-${tab.id}`}
            class={tab === open ? "gw-tab gw-open" : "gw-tab"}
            aria-selected={tab === open}
            aria-controls={`${name}-body`}
            tabindex={tab === open ? 0 : -1}
            data-gw-tab-of={tab.id}
            onClick={() => onChoose(tab.id)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div class="gw-tab-body" role="tabpanel" id={`${name}-body`} aria-labelledby={`${name}-${open?.id}`}>
        {open?.body()}
      </div>
    </div>
  );
}
