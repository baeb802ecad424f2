/** Why something could not be fetched: a code for programs, a text, and what to do. */
export class FetchFailure extends Error {
  readonly code: string;
  readonly hint: string | null;
  constructor(code: string, message: string, hint: string | null = null) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}
