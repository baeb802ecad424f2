/** Text of tokens that come one by one, and its end at a stop string. */
import type { TokenDecoder } from "./options.ts";

/** What a token adds to a text. */
export interface AddedText {
  readonly text: string;
  /** A stop string has appeared: the text ends before it. */
  readonly isStopped: boolean;
}

export class TextStream {
  readonly #decoder: TokenDecoder | undefined;
  readonly #stops: readonly string[];
  readonly #tokens: number[] = [];
  /** Tokens from `#start` on are decoded again with each new one; the text of those before `#read` is known. */
  #start = 0;
  #read = 0;
  /** Text that may be the beginning of a stop string. */
  #held = "";

  constructor(decoder: TokenDecoder | undefined, stops: readonly string[]) {
    this.#decoder = decoder;
    this.#stops = stops;
  }

  add(token: number): AddedText {
    if (this.#decoder === undefined) return { text: "", isStopped: false };
    this.#tokens.push(token);
    return this.#release(this.#next());
  }

  /** What was held back. */
  end(): string {
    if (this.#decoder === undefined) return "";
    const rest = this.#held + this.#pending();
    this.#held = "";
    this.#read = this.#tokens.length;
    return rest;
  }

  #pending(): string {
    const known = this.#decoder!.decode(this.#tokens.slice(this.#start, this.#read));
    return this.#decoder!.decode(this.#tokens.slice(this.#start)).slice(known.length);
  }

  /** The text of new tokens; "" as long as their last character is not complete. */
  #next(): string {
    const text = this.#pending();
    if (text === "" || text.endsWith("\uFFFD")) return "";
    this.#start = this.#read;
    this.#read = this.#tokens.length;
    return text;
  }

  #release(text: string): AddedText {
    this.#held += text;
    const ends = this.#stops.map((stop) => this.#held.indexOf(stop)).filter((at) => at >= 0);
    if (ends.length > 0) {
      const made = this.#held.slice(0, Math.min(...ends));
      this.#held = "";
      this.#read = this.#tokens.length;
      this.#start = this.#read;
      return { text: made, isStopped: true };
    }
    let kept = 0;
    for (const stop of this.#stops)
      for (let n = Math.min(stop.length - 1, this.#held.length); n > kept; n--) if (this.#held.endsWith(stop.slice(0, n))) kept = n;
    const made = this.#held.slice(0, this.#held.length - kept);
    this.#held = this.#held.slice(this.#held.length - kept);
    return { text: made, isStopped: false };
  }
}
