/** How a command ends with an error of the library: exit status 1, the error as text or as a line of JSON. */
import { DxError } from "../core/errors.ts";

/** Reports a DxError. Throws any other value again. */
export function reportError(error: unknown, isJson: boolean | undefined): void {
  if (!(error instanceof DxError)) throw error;
  process.exitCode = 1;
  if (isJson === true)
    process.stdout.write(`${JSON.stringify({ ok: false, code: error.name, message: error.message, hint: error.hint ?? null })}\n`);
  else process.stderr.write(`dxtensor: ${error.name}: ${error.message}\n`);
}
