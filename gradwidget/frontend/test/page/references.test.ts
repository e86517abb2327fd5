// @vitest-environment happy-dom
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PageHost } from "../../src/hosts/page";
import type { ReferencesPayload } from "../../src/wire";
import { page } from "../samples";
import { click, shown } from "./shown";

const golden = (name: string): ReferencesPayload =>
  JSON.parse(readFileSync(path.resolve("../../tests/wire", name, "references.json"), "utf8"));

let life: AbortController;
beforeEach(() => {
  life = new AbortController();
});
afterEach(() => life.abort());

async function opened(references: ReferencesPayload | null) {
  const figure = await shown(new PageHost({ ...page("abc"), references }), life.signal);
  click(figure.find('[data-gw-tab="references"]')[0]);
  await vi.waitFor(() =>
    expect(figure.find('.gw-references [role="alert"], [data-gw-ref]').length).toBeGreaterThan(0),
  );
  return figure;
}

describe("the references tab", () => {
  it("draws a name, an object and a memory for each tensor that Python sent", async () => {
    const sent = golden("abc-before");
    const { find } = await opened(sent);
    expect(find("[data-gw-ref-name]").map((one) => one.textContent)).toEqual(["a", "b", "c", "d", "e"]);
    expect(find("[data-gw-ref]")).toHaveLength(sent.objects.length);
    expect(find(".gw-refs-memory")).toHaveLength(sent.memory.length);
    expect(find(".gw-refs-wire")).toHaveLength(sent.names.length + sent.objects.length);
    expect(find('[data-gw-ref="a"]')[0]?.getAttribute("aria-label")).toMatch(
      /^a: leaf.*gradients arrive here/,
    );
  });

  it("jumps to the node of an object", async () => {
    const { host, find } = await opened(golden("abc-before"));
    click(find('[data-gw-ref="d"]')[0]);
    await vi.waitFor(() => expect(find(".gw-references")).toHaveLength(0));
    expect(host.selected).toBe("d");
    expect(find('[data-gw-tab="graph"]')[0]?.getAttribute("aria-selected")).toBe("true");
  });

  it("hides the graph from pointer and screen reader while it is open", async () => {
    const { find } = await opened(golden("abc-before"));
    expect(find(".gw-graph-tab")[0]?.hasAttribute("inert")).toBe(true);
    click(find('[data-gw-tab="graph"]')[0]);
    await vi.waitFor(() => expect(find(".gw-graph-tab")[0]?.hasAttribute("inert")).toBe(false));
  });

  it("shows a long name without its middle, and whole on hover", async () => {
    const { find } = await opened(golden("hostile-before"));
    const pill = find("[data-gw-ref-name]").find((one) => one.title.startsWith("xxx"));
    expect(pill?.title.length).toBeGreaterThan(60);
    expect(pill?.textContent).toMatch(/^x{9}…x{18}$/);
  });

  it("shows hostile names as text", async () => {
    const { find } = await opened(golden("hostile-before"));
    expect(find("[data-gw-ref-name]").some((one) => one.textContent?.includes("</script>"))).toBe(true);
    expect(find(".gw-references img, .gw-references script")).toHaveLength(0);
  });

  it("says so when nothing was sent along", async () => {
    const { text } = await opened(null);
    expect(text(".gw-references")).toMatch(/not saved/);
  });
});
