// Finds the failures in a suite's output. The end of a run repeats them, because often only the end of a long log is kept.

/** A failed test, of vitest ("FAIL", and "×" while it runs) or of the C++ programs ("FAILED"). */
const isTest = /^ *(?:FAIL|FAILED:?|not ok|failed) /;
const isMark = /^ *[×✗] /;
const isError = /: FAILED\b|: ended with (?:status|signal)|: not done after|Error: |ERROR: |error: /;
/** Where vitest's output has the position in the source, or the next failure. */
const isOver = /^ *(?:❯ |⎯{3})/;

/** Lines that are kept of one failure, and of a suite. */
const maxOfOne = 20;
const maxOfAll = 200;
const maxCharacters = 300;
/** Lines of the end, where none tells of a failure. */
const tailLines = 12;

export class Failures {
  readonly #tests: string[][] = [];
  readonly #marks: string[] = [];
  readonly #errors: string[] = [];
  readonly #tail: string[] = [];
  #current: string[] | null = null;
  #count = 0;

  /** A test's failure was among the lines. */
  get hasFailed(): boolean {
    return this.#tests.length > 0 || this.#marks.length > 0;
  }

  take(text: string): void {
    if (text.trim() === "") return;
    const line = text.trimEnd().slice(0, maxCharacters);
    this.#tail.push(line);
    if (this.#tail.length > tailLines) this.#tail.shift();
    if (isOver.test(line)) this.#current = null;
    if (this.#count >= maxOfAll) return;
    if (isTest.test(line)) this.#tests.push((this.#current = [line.trim()]));
    else if (this.#current !== null && this.#current.length < maxOfOne) this.#current.push(line);
    else if (isMark.test(line)) this.#marks.push(line.trim());
    else if (isError.test(line)) this.#errors.push(line.trim());
    else return;
    this.#count++;
  }

  /** One list for each failure, its name or message first; the end of the output where it names none. */
  get told(): readonly (readonly string[])[] {
    if (this.#tests.length > 0) return this.#tests;
    const lines = [...this.#marks, ...this.#errors];
    return lines.length > 0 ? lines.map((line) => [line]) : this.#tail.length > 0 ? [this.#tail] : [];
  }
}

/** The failures in so many lines: of each its first ones. */
export function shortened(failures: readonly (readonly string[])[], lines: number): readonly string[] {
  const each = Math.max(2, Math.floor(lines / failures.length));
  const shown: string[] = [];
  for (const [i, failure] of failures.entries()) {
    const some = failure.slice(0, each);
    if (shown.length + some.length > lines && i > 0) return [...shown, `and ${failures.length - i} more`];
    shown.push(...some, ...(some.length < failure.length && failures.length === 1 ? ["…"] : []));
  }
  return shown;
}
