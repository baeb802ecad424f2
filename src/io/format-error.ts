/** Files that are not what they should be. */
import { DxError } from "../errors.ts";

/** A file or byte sequence that breaks the rules of its format: `expected` says which, `received` what is there. */
export class FormatError extends DxError {
  constructor(operation: string, source: string, expected: string, received: string, hint?: string) {
    super({ operation, argument: source, expected, received, hint });
  }
}
