/** Prints on a terminal, once a call, that a function is being compiled, if that takes long: JavaScript is blocked meanwhile, as in a process that hangs. */
import { isSwitchedOn } from "../host/environment.ts";

/** After so long it is said. */
const PATIENCE_MS = 2000;
/** The device's compiler takes up to so many times what recording and planning took; nothing can be said while it works. */
const COMPILER_SHARE = 2;
/** Operations between two looks at the clock. */
const STRIDE = 256;

/** @internal The clock and the terminal; tests replace them. */
export const terminal = {
  now: (): number => performance.now(),
  isTerminal: (): boolean => process.stderr.isTTY,
  write: (line: string): void => void process.stderr.write(line),
};

/** DXTENSOR_PROGRESS: 0 for never, 1 for also where standard error is a file or a pipe. */
const isWanted = (): boolean => (process.env.DXTENSOR_PROGRESS === undefined ? terminal.isTerminal() : isSwitchedOn("DXTENSOR_PROGRESS"));

export class Notice {
  readonly #name: string;
  readonly #start = terminal.now();
  #operations = 0;
  #isSaid = false;

  constructor(name: string) {
    this.#name = name;
  }

  /** One more operation was recorded. */
  count(): void {
    if (++this.#operations % STRIDE === 0) this.#say(1);
  }

  /** So many operations are given to the device's compiler. */
  compiles(operations: number): void {
    this.#operations = Math.max(this.#operations, operations);
    this.#say(1 + COMPILER_SHARE);
  }

  #say(share: number): void {
    if (this.#isSaid) return;
    const elapsed = terminal.now() - this.#start;
    if (elapsed * share < PATIENCE_MS) return;
    this.#isSaid = true;
    if (!isWanted()) return;
    const count = this.#operations.toLocaleString("en-US");
    terminal.write(
      `dxtensor: compiling ${this.#name}: ${count} operations after ${(elapsed / 1000).toFixed(1)} s. Later calls replay them. DXTENSOR_PROGRESS=0 hides this.\n`,
    );
  }
}
