// Builds static/widget.js: one ES module with the styles and the layout worker inside it as strings.
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

const inlineWorker = {
  name: "inline-worker",
  setup(build) {
    build.onResolve({ filter: /^inline:/ }, (args) => ({
      path: path.resolve(args.resolveDir, args.path.slice("inline:".length)),
      namespace: "inline",
    }));
    build.onLoad({ filter: /.*/, namespace: "inline" }, async (args) => {
      const built = await esbuild.build({
        ...shared,
        entryPoints: [path.relative(here, args.path)],
        format: "iife",
        write: false,
        metafile: true,
      });
      const watchFiles = Object.keys(built.metafile.inputs).map((file) => path.resolve(here, file));
      return { contents: built.outputFiles[0].text, loader: "text", watchFiles };
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
  plugins: [inlineWorker, minifyStyles],
  ...overrides,
});

async function main() {
  const widget = options({ entryPoints: ["src/widget.ts"], outfile: "../static/widget.js" });
  if (process.argv.includes("--watch")) {
    const context = await esbuild.context({ ...widget, logLevel: "info" });
    await context.watch();
    return;
  }
  const built = await esbuild.build({ ...widget, metafile: true });
  for (const [file, output] of Object.entries(built.metafile.outputs)) {
    console.log(`${file}  ${(output.bytes / 1000).toFixed(1)} kB`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
