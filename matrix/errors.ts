import { ScriptError } from "../scripts/tools/project.ts";

/** A failure that is the user's to mend, shown without a stack. */
export class MatrixError extends ScriptError {
  constructor(message: string, hint?: string) {
    super("MATRIX", message, hint);
    this.name = "MatrixError";
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
