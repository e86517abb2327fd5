// node test/demo.mjs FOLDER: one standalone page for each sample graph, for eyes and browser tests.
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import * as esbuild from "esbuild";
import { options } from "../build.mjs";
import { SAMPLES } from "./demo/samples.mjs";

const [folder] = process.argv.slice(2);
if (!folder) throw new Error("Say where to: node test/demo.mjs FOLDER");

const script = (text) => text.replaceAll("</", "<\\/");
const json = (data) => JSON.stringify(data).replaceAll("<", "\\u003c");

function page(bundle, data) {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>gradwidget</title></head>
<body style="margin:18px">
<div id="here"></div>
<script>${script(bundle)}</script>
<script>
const query = new URLSearchParams(location.search);
if (query.has("jp")) {
  document.body.dataset.jpThemeLight = query.get("jp");
  document.body.style.background = query.get("jp") === "false" ? "#111" : "#fff";
}
const data = ${json(data)};
for (const name of ["selected", "step", "height", "direction"]) {
  if (query.has(name)) data[name] = /^\\d+$/.test(query.get(name)) ? Number(query.get(name)) : query.get(name);
}
window.host = gradwidget.open(document.getElementById("here"), data);
// ?click=SELECTOR presses a button once the figure stands; several, one after the other.
const press = ([selector, ...rest]) => setTimeout(() => {
  const box = document.getElementById("here").firstElementChild;
  if (!box?.dataset.gwReady) return press([selector, ...rest]);
  const target = box.shadowRoot.querySelector(selector);
  target?.scrollIntoView();
  target?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  if (rest.length > 0) press(rest);
}, 120);
if (query.has("width")) document.getElementById("here").style.width = query.get("width") + "px";
if (query.has("silence")) host.silence = query.get("silence");
if (query.has("click")) press(query.getAll("click"));
</script>
</body></html>
`;
}

const built = await esbuild.build(
  options({ entryPoints: ["test/demo/page.ts"], format: "iife", globalName: "gradwidget", write: false }),
);
const bundle = built.outputFiles[0].text;
await mkdir(folder, { recursive: true });
const pages = Object.entries(SAMPLES).map(([name, make]) => [name, make({})]);
pages.push(
  ["before", SAMPLES.abc({ passes: 0 })],
  ["twice", SAMPLES.abc({ passes: 2 })],
  [
    "ask",
    SAMPLES.abc({
      passes: 0,
      probe: "2 hooks of yours would run: watch (cell 3, line 2), scale (cell 3, line 5).",
    }),
  ],
  ["silent", SAMPLES.abc({ details: false })],
);
for (const [name, data] of pages) await writeFile(path.join(folder, `${name}.html`), page(bundle, data));
console.log(`${pages.length} pages, bundle ${(bundle.length / 1000).toFixed(1)} kB`);
