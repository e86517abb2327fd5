import { useMemo } from "preact/hooks";
import type { Host, QuizAnswers } from "../../host";
import type { GraphPayload, Pass } from "../../wire";
import { isRight } from "./grade";
import type { Hidden } from "./masked";

export interface QuizControl {
  on: boolean;
  questions: number[];
  answers: QuizAnswers;
  right: number;
  /** Nodes whose gradients are not shown yet. */
  hidden: Hidden;
  /** Nodes whose formula was looked at. */
  hinted: Hidden;
  truth(key: number): string;
  toggle(): void;
  answer(key: number, given: string): boolean;
  hint(key: number): void;
  show(key: number): void;
}

const NONE: Hidden = new Set();

/** The quiz is shared with Python: it starts it, or reads what was answered. */
export function useQuiz(host: Host, graph: GraphPayload, pass: Pass | null): QuizControl {
  const { quiz, answers } = host;
  const texts = useMemo(() => textsOf(pass), [pass]);
  const questions = useMemo(() => (quiz ? questionsOf(graph, texts, quiz.keys) : []), [quiz, graph, texts]);
  const hidden = useMemo(() => {
    if (!quiz) return NONE;
    return new Set(questions.filter((key) => !answers[key]?.right && !answers[key]?.shown));
  }, [quiz, questions, answers]);
  const hinted = useMemo(
    () => new Set(questions.filter((key) => answers[key]?.hinted)),
    [questions, answers],
  );
  const truth = (key: number) => texts.get(key) ?? "";
  const change = (key: number, part: Partial<QuizAnswers[number]>) => {
    const old = answers[key] ?? { tries: [], hinted: false, shown: false, right: false };
    host.setAnswers({ ...answers, [key]: { ...old, ...part } });
  };
  return {
    on: quiz !== null,
    questions,
    answers,
    right: questions.filter((key) => answers[key]?.right && !answers[key]?.shown).length,
    hidden,
    hinted,
    truth,
    toggle: () => {
      if (!quiz) host.setAnswers({});
      host.setQuiz(quiz ? null : { keys: null, tolerance: 0.01 });
    },
    answer: (key, given) => {
      const right = isRight(given, truth(key), quiz?.tolerance ?? 0);
      change(key, { tries: [...(answers[key]?.tries ?? []), given], right });
      return right;
    },
    hint: (key) => change(key, { hinted: true }),
    show: (key) => change(key, { shown: true }),
  };
}

/** Gradients of nodes with one output, where they are few numbers. */
function textsOf(pass: Pass | null): Map<number, string> {
  const found = new Map<number, string>();
  const several = new Set<number>();
  pass?.key.forEach((key, row) => {
    if (found.has(key)) several.add(key);
    found.set(key, pass.text[row] ?? "");
  });
  for (const [key, text] of found) if (several.has(key) || !text || text === "none") found.delete(key);
  return found;
}

function questionsOf(graph: GraphPayload, texts: Map<number, string>, keys: number[] | null): number[] {
  if (keys) return keys.filter((key) => texts.has(key));
  const seeds = new Set(graph.outputs.map(([key]) => key));
  return [...texts.keys()].filter((key) => !seeds.has(key)).sort((a, b) => a - b);
}
