import { defineConfig } from "vitest/config";

/** The build inlines the worker as a string; here there are no workers and the page lays out by itself. */
const noWorker = {
  name: "no-worker",
  enforce: "pre" as const,
  resolveId: (id: string) => (id.startsWith("inline:") ? `\0${id}` : null),
  load: (id: string) => (id.startsWith("\0inline:") ? 'export default ""' : null),
};

export default defineConfig({
  plugins: [noWorker],
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  test: { include: ["test/**/*.test.{ts,tsx}"], pool: "threads", maxWorkers: 2, minWorkers: 1 },
});
