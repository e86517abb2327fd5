import { expect, it } from "vitest";
import { shortPath } from "../../src/view/text";

const width = (text: string) => [...text].length;
const short = (text: string, room: number) => shortPath(text, room, width);

it("paths of a row lose what they share, then their beginning", () => {
  const row = "transformer.h.0 … transformer.h.11";
  expect(short(row, 40)).toBe(row);
  expect(short(row, 20)).toBe("transformer.h.0 … 11");
  expect(short(row, 19)).toBe("…h.0 … 11");
  expect(short(row, 8)).toBe("…0 … 11");
});

it("a path keeps its end, and what call it is", () => {
  expect(short("encoder.layers.3.attention (call 2)", 25)).toBe("…3.attention (call 2)");
  expect(short("encoder", 5)).toBe("enco…");
});
