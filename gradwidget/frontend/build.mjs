// Builds static/widget.js: one ES module with the styles inside it as a string.
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));

const shared = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".css": "text" },
  logLevel: "warning",
};

/** `closed:` gives a module's export `place` as a function around all it needs, so that its text stands alone. */
const closedFunction = {
  name: "closed-function",
  setup(build) {
    build.onResolve({ filter: /^closed:/ }, (args) => ({
      path: path.resolve(args.resolveDir, args.path.slice("closed:".length)),
      namespace: "closed",
    }));
    build.onLoad({ filter: /.*/, namespace: "closed" }, async (args) => {
      const built = await esbuild.build({
        ...shared,
        entryPoints: [path.relative(here, args.path)],
        format: "iife",
        globalName: "engine",
        write: false,
        metafile: true,
      });
      const watchFiles = Object.keys(built.metafile.inputs).map((file) => path.resolve(here, file));
      const contents = `export default function(){${built.outputFiles[0].text};return engine.place}`;
      return { contents, loader: "js", watchFiles };
    });
  },
};

const minifyStyles = {
  name: "minify-styles",
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async (args) => {
      const built = await esbuild.build({
        entryPoints: [args.path],
        minify: true,
        charset: "utf8",
        write: false,
        loader: { ".css": "css" },
      });
      return { contents: built.outputFiles[0].text.trim(), loader: "text", watchFiles: [args.path] };
    });
  },
};

export const options = (overrides) => ({
  ...shared,
  format: "esm",
  plugins: [closedFunction, minifyStyles],
  ...overrides,
});

/** The style of what Python shows without scripts, beside the bundle. */
const staticStyle = {
  absWorkingDir: here,
  stdin: {
    contents: '@import "./static.css"; @import "./references.css";',
    loader: "css",
    resolveDir: path.join(here, "src", "view", "style"),
  },
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  outfile: "../static/static.css",
  logLevel: "warning",
};

async function main() {
  const widget = options({ entryPoints: ["src/widget.ts"], outfile: "../static/widget.js" });
  if (process.argv.includes("--watch")) {
    const context = await esbuild.context({ ...widget, logLevel: "info" });
    await context.watch();
    return;
  }
  await esbuild.build(staticStyle);
  const built = await esbuild.build({ ...widget, metafile: true });
  for (const [file, output] of Object.entries(built.metafile.outputs)) {
    console.log(`${file}  ${(output.bytes / 1000).toFixed(1)} kB`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
