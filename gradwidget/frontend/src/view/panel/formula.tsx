import type { Formula, FormulaPart, MathNode, Maths as Typeset } from "../../wire";
import { Maths } from "../maths";
import { Note, Section } from "./parts";

/** The chain rule at this node, a paragraph for each input. */
export function FormulaSection({ formula }: { formula: Formula | null }) {
  if (!formula) return null;
  const { state, forward, arrival, parts, note } = formula;
  const known = parts.filter((part) => part.chain);
  if (!forward && !arrival && known.length === 0 && !note) return null;
  return (
    <Section title="Formula">
      <div class="gw-formula" data-gw-formula={state}>
        {forward && <Maths of={forward} />}
        {arrival && (
          <div class="gw-arrival-sum" data-gw-formula-arrival="">
            <Maths of={arrival} />
          </div>
        )}
        {known.map((part) => (
          <Part key={part.slot} part={part} />
        ))}
        <Note>{note}</Note>
      </div>
    </Section>
  );
}

function Part({ part }: { part: FormulaPart }) {
  const { gradient, alone, local, chain, numbers, result, note } = part;
  if (!chain) return null;
  const sign = alone ? "=" : "+=";
  let line = joined(gradient, sign, chain);
  if (numbers && numbers.text !== chain.text) line = joined(line, "=", numbers);
  if (result && result.text !== (numbers ?? chain).text) line = joined(line, "=", result);
  return (
    <div class="gw-formula-part" data-gw-formula-part={part.key}>
      {local && <Maths of={local} />}
      <Maths of={line} />
      <Note>{note}</Note>
    </div>
  );
}

const row = (maths: MathNode): (MathNode | string)[] => (maths[0] === "mrow" ? maths.slice(1) : [maths]);

const joined = (left: Typeset, sign: string, right: Typeset): Typeset => ({
  text: `${left.text} ${sign} ${right.text}`,
  maths: ["mrow", ...row(left.maths), ["mo", sign], ...row(right.maths)],
});
