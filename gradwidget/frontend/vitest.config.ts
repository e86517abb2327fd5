import { defineConfig } from "vitest/config";

/** The build makes a function of the layout that stands alone; here there are no workers to send it to. */
const openFunction = {
  name: "open-function",
  enforce: "pre" as const,
  resolveId: (id: string) => (id.startsWith("closed:") ? `\0${id}` : null),
  load: (id: string) =>
    id.startsWith("\0closed:")
      ? 'import { place } from "/src/place/engine.ts"; export default () => place'
      : null,
};

export default defineConfig({
  plugins: [openFunction],
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  test: {
    include: ["test/**/*.test.{ts,tsx}"],
    pool: "threads",
    maxWorkers: 2,
    minWorkers: 1,
    testTimeout: 40_000,
  },
});
