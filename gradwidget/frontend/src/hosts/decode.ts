import { Trouble } from "../host";
import { WIRE_VERSION } from "../wire";

export type Bytes = DataView | ArrayBuffer | Uint8Array;

function plain(bytes: Bytes): Uint8Array<ArrayBuffer> {
  if (bytes instanceof ArrayBuffer) return new Uint8Array(bytes);
  const copy = new Uint8Array(bytes.byteLength);
  copy.set(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return copy;
}

/** Gzipped JSON to an object; null for an empty trait. */
export async function decode<T>(bytes: Bytes | null | undefined): Promise<T | null> {
  if (!bytes || bytes.byteLength === 0) return null;
  const stream = new Blob([plain(bytes)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text()) as T;
}

/** The same, for the payloads that carry a version. */
export async function decodeVersioned<T extends { v: number }>(
  bytes: Bytes | null | undefined,
): Promise<T | null> {
  const payload = await decode<T>(bytes);
  if (payload && payload.v !== WIRE_VERSION) {
    throw new Trouble(
      `This page speaks version ${WIRE_VERSION} of gradwidget's wire, the kernel speaks version ${payload.v}.`,
      "Restart the kernel and reload the page.",
    );
  }
  return payload;
}
