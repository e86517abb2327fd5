export type Theme = "light" | "dark";

/** The page's own word first (JupyterLab, VS Code, Colab, marimo), then the system's. */
export function pageTheme(body: HTMLElement, html: HTMLElement, systemDark: boolean): Theme {
  const jupyter = body.dataset.jpThemeLight;
  if (jupyter !== undefined) return jupyter === "false" ? "dark" : "light";
  const code = body.dataset.vscodeThemeKind;
  if (code !== undefined) return code.includes("light") ? "light" : "dark";
  for (const element of [html, body]) {
    const said = element.getAttribute("theme") ?? element.dataset.theme;
    if (said === "dark" || element.classList.contains("dark")) return "dark";
    if (said === "light" || element.classList.contains("light")) return "light";
  }
  return systemDark ? "dark" : "light";
}

export function followTheme(signal: AbortSignal, apply: (theme: Theme) => void): void {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const update = () => apply(pageTheme(document.body, document.documentElement, system.matches));
  const observer = new MutationObserver(update);
  const attributeFilter = ["class", "theme", "data-theme", "data-jp-theme-light", "data-vscode-theme-kind"];
  for (const element of [document.body, document.documentElement]) {
    observer.observe(element, { attributes: true, attributeFilter });
  }
  system.addEventListener("change", update, { signal });
  signal.addEventListener("abort", () => observer.disconnect(), { once: true });
  update();
}
