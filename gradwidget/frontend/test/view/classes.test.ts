import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const files = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? files(join(folder, entry.name)) : [join(folder, entry.name)],
  );

/** A role once had the name of a group of buttons, and every box of that role got its halo. */
it("gives no box a class that something else has", () => {
  const sources = files(join(__dirname, "../../src")).map((path) => readFileSync(path, "utf8"));
  const made = sources.flatMap((text) => text.match(/gw-[a-z-]*\$\{[^}]*\}/g) ?? []);
  expect(made.length).toBeGreaterThan(5);
  const heads = new Set(made.map((name) => name.split("$")[0] ?? ""));
  expect(heads).not.toContain("gw-");
});
