// Text of which the end is kept.
export class Tail {
  readonly #limit: number;
  #text = "";

  /** limit: characters. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  add(text: string): void {
    this.#text += text;
    if (this.#text.length > 2 * this.#limit) this.#text = this.text;
  }

  get text(): string {
    return this.#text.length > this.#limit ? this.#text.slice(this.#text.length - this.#limit) : this.#text;
  }
}
