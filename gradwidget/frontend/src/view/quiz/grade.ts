/** Whether typed numbers are those: the same rule as in `_quiz.py`. */

const ROUNDED = 0.1;

/** "1.3", "[1, 2]", "1 2"; null where it is no number. */
export function numbersIn(text: string): number[] | null {
  const parts = text
    .trim()
    .replace(/^[[(\s]+|[\])\s]+$/g, "")
    .split(/[\s,;]+/)
    .filter(Boolean);
  const numbers = parts.map(Number);
  return parts.length > 0 && numbers.every((one) => !Number.isNaN(one)) ? numbers : null;
}

/** "0,5" is half as well as two numbers: the count of the right ones tells which. */
const readings = (text: string): (number[] | null)[] => [
  numbersIn(text),
  numbersIn(text.replace(/(\d),(?=\d)/g, "$1.")),
];

export function isRight(given: string, truth: string, tolerance: number): boolean {
  const right = numbersIn(truth);
  return !!right && readings(given).some((numbers) => !!numbers && close(numbers, right, tolerance));
}

function close(numbers: number[], right: number[], tolerance: number): boolean {
  if (numbers.length !== right.length) return false;
  return right.every((b, i) => {
    const room = Math.max(tolerance * Math.abs(b), Math.abs(b) >= ROUNDED ? 0.005001 : 0, 1e-9);
    // What is compared with is rounded to four digits itself.
    return Math.abs((numbers[i] ?? Number.NaN) - b) <= room + 1e-3 * Math.abs(b);
  });
}
