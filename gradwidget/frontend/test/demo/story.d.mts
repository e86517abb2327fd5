import type { Detail } from "../../src/wire";
export function unpacked(detail: Detail): Detail;
