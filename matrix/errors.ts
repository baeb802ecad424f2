/** A failure that is the user's to mend, shown without a stack. */
export class MatrixError extends Error {
  override readonly name = "MatrixError";
  readonly hint: string | null;

  constructor(message: string, hint: string | null = null) {
    super(hint === null ? message : `${message}\n${hint}`);
    this.hint = hint;
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
