/** A progress bar on a terminal, by cli-progress, which is loaded with the first bar. */
import type { SingleBar } from "cli-progress";

/** The terminal: process.stderr, or a stream that says that it is one. */
export type Terminal = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

const CELLS = 24;

/** "[=====>    ] 12/60  facts"; without a total "12  facts". */
const lineOf = (value: number, total: number | null, facts: string): string => {
  if (total === null) return `${value}  ${facts}`;
  const done = Math.round(CELLS * Math.min(1, total === 0 ? 1 : value / total));
  return `[${"=".repeat(done)}${" ".repeat(CELLS - done)}] ${value}/${total}  ${facts}`;
};

export class Bar {
  readonly #bar: SingleBar;
  readonly #total: number | null;
  #value: number;
  #facts = "";

  /** Draws the bar. Its timer runs until stop(). */
  static async draw(total: number | null, value: number, terminal: Terminal): Promise<Bar> {
    const progress = await import("cli-progress");
    return new Bar(progress.SingleBar, total, value, terminal);
  }

  private constructor(Single: typeof SingleBar, total: number | null, value: number, terminal: Terminal) {
    this.#total = total;
    this.#value = value;
    this.#bar = new Single({
      // A line that wraps could not be cleared.
      format: (_, { maxWidth }: { readonly maxWidth: number }) => lineOf(this.#value, this.#total, this.#facts).slice(0, maxWidth - 1),
      stream: terminal,
      clearOnComplete: true,
      linewrap: true,
      // SIGINT, the cursor and the terminal's wrapping are left alone: a second Ctrl-C ends the process as it is.
      gracefulExit: false,
      hideCursor: null,
    });
    this.#start();
  }

  #start(): void {
    this.#bar.start(this.#total ?? 0, this.#value);
  }

  /** Takes a count, and what is shown behind it. cli-progress draws at most ten times a second. */
  update(value: number, facts = this.#facts): void {
    [this.#value, this.#facts] = [value, facts];
    this.#bar.update(value);
  }

  /** Calls fn, which prints lines, while the bar is away. */
  away(fn: () => void): void {
    this.#bar.stop();
    try {
      fn();
    } finally {
      this.#start();
    }
  }

  /** Clears the bar's line. */
  stop(): void {
    this.#bar.stop();
  }
}
