import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { decode, decodeVersioned } from "../../src/hosts/decode";

const packed = (value: unknown) => new Uint8Array(gzipSync(JSON.stringify(value)));

describe("decode", () => {
  it("reads gzipped JSON from a view into a larger buffer", async () => {
    const bytes = packed({ v: 1, text: "∂ שלום" });
    const buffer = new ArrayBuffer(bytes.length + 10);
    new Uint8Array(buffer).set(bytes, 7);
    expect(await decode(new DataView(buffer, 7, bytes.length))).toEqual({ v: 1, text: "∂ שלום" });
  });

  it("takes an empty trait for nothing", async () => {
    expect(await decode(new DataView(new ArrayBuffer(0)))).toBeNull();
    expect(await decode(null)).toBeNull();
  });

  it("refuses bytes that are not gzip", async () => {
    await expect(decode(new Uint8Array([1, 2, 3]))).rejects.toThrow();
  });
});

it("names both versions when they differ, and the remedy", async () => {
  await expect(decodeVersioned(packed({ v: 99 }))).rejects.toThrow(
    /version 1 .* version 99.* Restart the kernel/s,
  );
});
