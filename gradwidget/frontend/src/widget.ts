/** The anywidget module. Work for a model in initialize, work for a view in render; all of it ends with a signal. */
import type { Host } from "./host";
import { type AnyModel, ModelHost } from "./hosts/model";
import { mount } from "./mount";

/** The same bundle opens the page that `to_html` writes. */
export { openPage } from "./page";

interface Initialize {
  model: AnyModel;
  signal?: AbortSignal;
}

interface Render extends Initialize {
  el: HTMLElement;
}

function lifetime(outer: AbortSignal | undefined): AbortController {
  const controller = new AbortController();
  outer?.addEventListener("abort", () => controller.abort(), { once: true });
  return controller;
}

/** anywidget calls this once for each model, and hands initialize and render different proxies of it. */
export default function gradwidget() {
  let host: Host | null = null;
  return {
    initialize({ model, signal }: Initialize) {
      const life = lifetime(signal);
      host = new ModelHost(model, life.signal);
      return () => life.abort();
    },
    render({ model, el, signal }: Render) {
      const life = lifetime(signal);
      mount(el, host ?? new ModelHost(model, life.signal), life.signal);
      return () => life.abort();
    },
  };
}
