/** Files that cannot be read. */
import { FormatError } from "../core/errors.ts";

/** The error for a file that cannot be read: what the file system says is its cause. */
export function unreadable(operation: string, path: string, error: unknown, hint?: string): FormatError {
  const wrong = new FormatError(operation, path, "a file that can be read", error instanceof Error ? error.message : String(error), hint);
  wrong.cause = error;
  return wrong;
}
