import { expect, it } from "vitest";
import { fileName } from "../../src/view/save/save_menu";
import { plain } from "../../src/view/save/svg_file";

it("writes colours and sizes as every program reads them", () => {
  expect(plain("color(srgb 0.1 0.2 1)")).toBe("rgb(26, 51, 255)");
  expect(plain("color(srgb 0 0.5 1 / 0.25)")).toBe("rgba(0, 128, 255, 0.25)");
  expect(plain("4px, 2.5px")).toBe("4, 2.5");
  expect(plain("rgb(1, 2, 3)")).toBe("rgb(1, 2, 3)");
});

it("calls a file by its title, whatever stands there", () => {
  expect(fileName("e = Mul")).toBe("e-Mul");
  expect(fileName("../../<loss>")).toBe("loss");
  expect(fileName("损失")).toBe("损失");
  expect(fileName("///")).toBe("graph");
  expect(fileName("x".repeat(500))).toHaveLength(60);
});
