import { expect, it } from "vitest";
import { completeDetail, completeGraph } from "../../src/hosts/complete";
import { isTrueName, legible, legibleName } from "../../src/hosts/legible";
import { keyOf, selectedOf } from "../../src/view/state";
import { page } from "../samples";

const TURNED = "a\u202ebc\u0007";

it("shows what can't be seen as escapes, wherever it stands", () => {
  expect(legible({ list: [TURNED, 1, null], line: "x\n\ty" })).toEqual({
    list: ["a\\u202ebc\\u0007", 1, null],
    line: "x\n\ty",
  });
  expect(["\u2066", "\u200f", "\u{e0001}", "\u2028"].map(legible)).toEqual([
    "\\u2066",
    "\\u200f",
    "\\U000e0001",
    "\\u2028",
  ]);
});

it("leaves letters of all scripts alone", () => {
  for (const text of ["שלום.עולם", "名前", "می\u200cخواهم", "👩\u200d🔬", "∂"])
    expect(legibleName(text)).toBe(text);
});

it("has names on one line", () => expect(legibleName("a\nb\tc")).toBe("a\\nb\\tc"));

it("tells the kernel a key where the name on the page is not the true one", () => {
  const { graph } = page("abc");
  const shown = completeGraph({ ...graph, names: [[3, 0, [TURNED]]] });
  expect(shown.names[0]?.[2]).toEqual(["a\\u202ebc\\u0007"]);
  expect(keyOf(TURNED, shown)).toBe(3);
  expect(selectedOf(3, shown)).toBe(3);
  expect(["d", "net.0.weight", "C:\\new"].map(isTrueName)).toEqual([true, true, false]);
});

it("covers the panel", () => {
  const detail = page("abc").details["1"];
  if (!detail) throw new Error("no sample");
  const why = { kind: "", cause: `${TURNED}\nnext`, remedy: "", evidence: [TURNED] };
  const shown = completeDetail({ ...detail, names: [TURNED], why });
  expect([shown.names[0], shown.why?.cause]).toEqual(["a\\u202ebc\\u0007", "a\\u202ebc\\u0007\nnext"]);
  expect(shown.why?.evidence).toEqual(["a\\u202ebc\\u0007"]);
});

it("still shows the sentence that an older kernel sent", () => {
  const detail = page("abc").details["1"];
  if (!detail) throw new Error("no sample");
  const old = (why: string) => completeDetail({ ...detail, why } as never).why;
  expect(old("d is not a leaf.")?.cause).toBe("d is not a leaf.");
  expect(old("")).toBeNull();
});
