/** Counts the recordings of a function, keeps their reasons, and warns if there are too many. */
import { callSite } from "../host/call-site.ts";
import { Kinds } from "./kinds.ts";

/** Recordings of one function after which it warns. */
const MANY = 16;

export class Recordings {
  /** Why, one after the other. */
  readonly reasons: string[] = [];
  readonly kinds = new Kinds();
  readonly #name: string;
  #unexpected = 0;
  #hasWarned = false;
  #hasWarnedUnbucketed = false;

  constructor(name: string) {
    this.#name = name;
  }

  /** isBucket: a recording for a bucket of sizes, which is expected. */
  note(reason: string, isBucket = false): void {
    if (this.reasons.length < 1000) this.reasons.push(reason);
    if (!isBucket) this.#unexpected++;
    if (this.#unexpected < MANY || this.#hasWarned) return;
    this.#hasWarned = true;
    const site = callSite();
    process.emitWarning(
      `${this.#name} was recorded ${this.reasons.length} times, the last time ${site === null ? "" : `by the call ${site}, `}because of ${reason}. ` +
        `Each recording costs milliseconds and memory: ${this.kinds.remedy}.`,
      { type: "CompileWarning" },
    );
  }

  /** Sizes that have programs of their own although they should not: said once. */
  noteUnbucketed(reason: string): void {
    this.note(reason);
    if (this.#hasWarnedUnbucketed) return;
    this.#hasWarnedUnbucketed = true;
    process.emitWarning(
      `${this.#name} is recorded for each size: ${reason}. Leave that axis out of \`dynamic\`, or make it of shapes alone.`,
      { type: "CompileWarning" },
    );
  }
}
