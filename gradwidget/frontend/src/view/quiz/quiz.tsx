import { useState } from "preact/hooks";
import type { Formula } from "../../wire";
import { Maths } from "../maths";
import { clipped } from "../numbers";
import { numbersIn } from "./grade";
import type { QuizControl } from "./use_quiz";

/** Above the figure: what there is to do, and how far it is done. */
export function QuizStrip({ quiz, hasPass }: { quiz: QuizControl; hasPass: boolean }) {
  if (!quiz.on) return null;
  const { right, questions, hidden, toggle } = quiz;
  const done = questions.length > 0 && hidden.size === 0;
  const todo = !hasPass
    ? "Call backward(), or press probe: then gradients can be predicted."
    : questions.length === 0
      ? "No gradient here is short enough to be typed. Use tensors of up to four numbers."
      : "Select a node and type its gradient.";
  return (
    <div class="gw-strip" data-gw-quiz="" data-gw-score={`${right}/${questions.length}`}>
      <span role="status">
        <strong>Predict</strong> {done ? "All done." : todo}{" "}
        {questions.length > 0 && `${right} of ${questions.length} right.`}
      </span>
      <button type="button" class="gw-text-button" data-gw-quiz-end="" onClick={toggle}>
        show the gradients
      </button>
    </div>
  );
}

interface CardProps {
  quiz: QuizControl;
  node: number;
  name: string;
  /** The node's formula, for the hint; null while it is not known. */
  formula: Formula | null;
}

/** The question about one node. */
export function QuizCard({ quiz, node, name, formula }: CardProps) {
  const [text, setText] = useState("");
  const [nonsense, setNonsense] = useState("");
  if (!quiz.on || !quiz.questions.includes(node)) return null;
  const answer = quiz.answers[node];
  const tried = answer?.tries.at(-1);
  const check = (event: Event) => {
    event.preventDefault();
    const given = (event.currentTarget as HTMLFormElement).querySelector("input")?.value.trim();
    if (!given) return;
    const readable = numbersIn(given) !== null;
    setNonsense(readable ? "" : given);
    if (readable) quiz.answer(node, given);
  };
  const state = answer?.right ? "right" : answer?.shown ? "shown" : tried === undefined ? "open" : "wrong";
  return (
    <form class="gw-quiz" data-gw-quiz-card={node} data-gw-quiz-state={state} onSubmit={check}>
      <p class="gw-question">
        What is dL/d<code dir="auto">{name}</code>?
      </p>
      {quiz.hidden.has(node) && (
        <input
          type="text"
          aria-label={`The gradient of ${name}`}
          inputMode="decimal"
          autocomplete="off"
          value={text}
          onInput={(event) => setText((event.currentTarget as HTMLInputElement).value)}
          onKeyDown={(event) => event.stopPropagation()}
        />
      )}
      {quiz.hidden.has(node) && (
        <span class="gw-quiz-buttons">
          <button type="submit" class="gw-button">
            check
          </button>
          {formula?.hint && !answer?.hinted && (
            <button type="button" class="gw-button" data-gw-quiz-hint="" onClick={() => quiz.hint(node)}>
              hint
            </button>
          )}
          <button type="button" class="gw-button" data-gw-quiz-show="" onClick={() => quiz.show(node)}>
            show it
          </button>
        </span>
      )}
      <p role="status" class={`gw-quiz-verdict gw-quiz-${state}`}>
        {state === "right" && `✓ Right: ${quiz.truth(node)}.`}
        {state === "shown" && `It is ${quiz.truth(node)}.`}
        {nonsense && quiz.hidden.has(node) && `${clipped(nonsense, 24)} is not a number.`}
        {!nonsense && state === "wrong" && `✗ ${tried} is not right. Try again.`}
      </p>
      {answer?.hinted && formula?.hint && <Maths of={formula.hint} />}
    </form>
  );
}

export function QuizSwitch({ quiz }: { quiz: QuizControl }) {
  return (
    <button
      type="button"
      class={quiz.on ? "gw-button gw-lit" : "gw-button"}
      aria-pressed={quiz.on}
      aria-label="Predict: hide the gradients until they are typed"
      title="Predict: hide the gradients until they are typed"
      data-gw-quiz-switch=""
      onClick={quiz.toggle}
    >
      ? <span class="gw-word">predict</span>
    </button>
  );
}
