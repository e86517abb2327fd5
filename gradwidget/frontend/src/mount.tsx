import { render } from "preact";
import type { Host } from "./host";
import { App } from "./view/app";
import { Boundary } from "./view/boundary";
import { styles } from "./view/style/styles";
import { followTheme } from "./view/theme";
import { ThemeProvider } from "./view/theme_context";

/** Draws one view into a shadow root of its own; gone without a trace when the signal fires. */
export function mount(element: HTMLElement, host: Host, signal: AbortSignal): void {
  const box = document.createElement("div");
  box.style.display = "block";
  const shadow = box.attachShadow({ mode: "open" });
  const style = document.createElement("style");
  style.textContent = styles;
  const root = document.createElement("div");
  root.className = "gw-root";
  shadow.append(style, root);
  element.append(box);

  const mark = (name: string, value: string) => {
    for (const target of [box, root]) target.setAttribute(name, value);
  };
  followTheme(signal, (theme) => {
    root.dataset.gwTheme = theme;
    const view = (
      <Boundary>
        <ThemeProvider value={theme}>
          <App host={host} signal={signal} root={root} mark={mark} />
        </ThemeProvider>
      </Boundary>
    );
    render(view, root);
  });
  signal.addEventListener(
    "abort",
    () => {
      render(null, root);
      box.remove();
    },
    { once: true },
  );
}
