/** The reason of a failed download: a code for programs, a text, and a remedy. */
export class FetchFailure extends Error {
  readonly code: string;
  readonly hint: string | null;
  constructor(code: string, message: string, hint: string | null = null) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}
