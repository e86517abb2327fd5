import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { pageTheme, type Theme } from "../../src/view/theme";

type Rgb = [number, number, number];
type Palette = Map<string, string>;

const css = readFileSync(new URL("../../src/view/style/palette.css", import.meta.url), "utf8");
/** JupyterLab's own papers: `--jp-layout-color0` of its two themes. */
const JUPYTER = { light: "#ffffff", dark: "#111111" };

function palette(theme: Theme): Palette {
  const found: Palette = new Map();
  for (const [, selector = "", body = ""] of css.matchAll(/([^{}]+)\{([^{}]*)\}/g)) {
    if (selector.includes("dark") && theme !== "dark") continue;
    for (const [, name = "", value = ""] of body.matchAll(/(--gw-[a-z0-9-]+):\s*([^;]+);/g))
      found.set(name, value.trim());
  }
  return found;
}

function rgb(value: string, all: Palette): Rgb {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(value);
  if (hex) return hex.slice(1).map((part) => Number.parseInt(part, 16)) as Rgb;
  const mix = /^color-mix\(in srgb, (.+) (\d+)%, (.+)\)$/.exec(value);
  if (mix) {
    const share = Number(mix[2]) / 100;
    const [a, b] = [rgb(mix[1] ?? "", all), rgb(mix[3] ?? "", all)];
    return a.map((part, i) => part * share + (b[i] ?? 0) * (1 - share)) as Rgb;
  }
  const own = /^var\((--gw-[a-z0-9-]+)\)$/.exec(value)?.[1];
  if (own) return rgb(all.get(own) ?? "", all);
  const fallback = /^var\(--jp-[a-z0-9-]+, (.+)\)$/.exec(value)?.[1];
  if (fallback) return rgb(fallback, all);
  throw new Error(`no colour: ${value}`);
}

function luminance(colour: Rgb): number {
  const [r = 0, g = 0, b = 0] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: Rgb, b: Rgb): number {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

describe.each(["light", "dark"] as const)("the %s theme", (theme) => {
  const papers = ["--gw-bg", "--gw-panel", "--gw-card", "--gw-chip"];
  const inks = [
    "--gw-ink",
    "--gw-mute",
    "--gw-value",
    "--gw-gradient",
    "--gw-warn",
    "--gw-alarm",
    "--gw-brand",
  ];
  const own = palette(theme);
  const jupyter = new Map(own).set("--gw-bg", JUPYTER[theme]);

  it.each(inks)("%s can be read on every paper", (ink) => {
    for (const all of [own, jupyter]) {
      for (const paper of papers) {
        const ratio = contrast(rgb(`var(${ink})`, all), rgb(`var(${paper})`, all));
        expect(ratio, `${ink} on ${paper}`).toBeGreaterThanOrEqual(4.5);
      }
    }
  });

  it.each([0, 1, 2, 3, 4, 5, 6])("text can be read on level %i of the gradient scale", (level) => {
    const ink = level < 4 ? "var(--gw-ink)" : "var(--gw-heat-ink)";
    const ratio = contrast(rgb(ink, own), rgb(`var(--gw-heat-${level})`, own));
    expect(ratio).toBeGreaterThanOrEqual(4.5);
  });

  it("the gradient scale gets stronger from level to level", () => {
    const paper = rgb("var(--gw-card)", own);
    const steps = [0, 1, 2, 3, 4, 5, 6].map((level) => contrast(rgb(`var(--gw-heat-${level})`, own), paper));
    for (const [level, step] of steps.slice(1).entries())
      expect(step / (steps[level] ?? 1)).toBeGreaterThan(1.1);
  });

  it.each(["leaf", "operation", "function", "checkpoint", "compiled", "hook"])(
    "the bar of a %s stands out",
    (kind) => {
      expect(contrast(rgb(`var(--gw-${kind})`, own), rgb("var(--gw-card)", own))).toBeGreaterThanOrEqual(2.8);
    },
  );
});

describe("the page's theme", () => {
  const element = (dataset: Record<string, string>, classes: string[] = [], theme: string | null = null) =>
    ({
      dataset,
      classList: { contains: (name: string) => classes.includes(name) },
      getAttribute: () => theme,
    }) as unknown as HTMLElement;
  const none = element({});

  it("is JupyterLab's, whatever the system says", () => {
    expect(pageTheme(element({ jpThemeLight: "true" }), none, true)).toBe("light");
    expect(pageTheme(element({ jpThemeLight: "false" }), none, false)).toBe("dark");
  });

  it("is VS Code's, Colab's, marimo's", () => {
    expect(pageTheme(element({ vscodeThemeKind: "vscode-dark" }), none, false)).toBe("dark");
    expect(pageTheme(none, element({}, [], "dark"), false)).toBe("dark");
    expect(pageTheme(element({}, ["light"]), none, true)).toBe("light");
  });

  it("is the system's where the page says nothing", () => {
    expect(pageTheme(none, none, true)).toBe("dark");
    expect(pageTheme(none, none, false)).toBe("light");
  });
});
