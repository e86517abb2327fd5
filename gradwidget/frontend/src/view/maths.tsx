import { h, type VNode } from "preact";
import type { MathNode, Maths as Typeset } from "../wire";

/** What the kernel may ask for. Texts inside are texts, whatever they hold. */
const TAGS = new Set("mrow mi mn mo mtext mfrac msup msub msqrt mover mtable mtr mtd".split(" "));

/** Typeset by the browser itself; read out and copied as its text. What is longer than a line breaks before "=". */
export function Maths({ of, class: name = "" }: { of: Typeset; class?: string }) {
  const parts = brokenAtEquals(of.maths);
  return (
    <span class={`gw-maths ${name}`} role="img" aria-label={of.text} title={of.text}>
      {parts.map((part, i) => (
        <span key={i} class="gw-maths-part">
          {h("math", { "aria-hidden": "true" }, drawn(part, 0))}
        </span>
      ))}
    </span>
  );
}

function drawn(node: MathNode | string, index: number): VNode | string {
  if (typeof node === "string") return node;
  const [tag, ...children] = node;
  return h(TAGS.has(tag) ? tag : "mrow", { key: index }, children.map(drawn));
}

const EQUALS = new Set(["=", "+="]);

/** `a = b = c` as `a = b` and `= c`; an equals sign in parentheses is none of these. */
export function brokenAtEquals(maths: MathNode): MathNode[] {
  const [tag, ...children] = maths;
  if (tag !== "mrow") return [maths];
  const parts: (MathNode | string)[][] = [[]];
  let depth = 0;
  let equals = 0;
  for (const child of children) {
    const sign = typeof child !== "string" && child[0] === "mo" ? String(child[1]) : "";
    if (sign === "(" || sign === "[") depth += 1;
    if (sign === ")" || sign === "]") depth -= 1;
    if (depth === 0 && EQUALS.has(sign)) {
      equals += 1;
      if (equals > 1) parts.push([]);
    }
    parts.at(-1)?.push(child);
  }
  return parts.map((part) => ["mrow", ...part]);
}
