/** What stands in the middle of the figure; belongs to the view. */
export type Tab = "graph" | "references";

const TABS: [Tab, string, string][] = [
  ["graph", "graph", "The graph"],
  ["references", "references", "Names, tensor objects and memory"],
];

interface Props {
  tab: Tab;
  onTab(tab: Tab): void;
}

export function Tabs({ tab, onTab }: Props) {
  const press = (event: KeyboardEvent) => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (way === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const at = TABS.findIndex(([name]) => name === tab);
    const next = (at + way + TABS.length) % TABS.length;
    const list = event.currentTarget as HTMLElement;
    onTab(TABS[next]?.[0] ?? "graph");
    list.querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };
  return (
    <span class="gw-group gw-switch gw-tabs" role="tablist" aria-label="What is shown" onKeyDown={press}>
      {TABS.map(([name, text, title]) => (
        <button
          key={name}
          type="button"
          role="tab"
          class={name === tab ? "gw-lit" : ""}
          aria-selected={name === tab}
          aria-controls={`gw-tab-${name}`}
          tabindex={name === tab ? 0 : -1}
          title={title}
          data-gw-tab={name}
          onClick={() => onTab(name)}
        >
          {text}
        </button>
      ))}
    </span>
  );
}
