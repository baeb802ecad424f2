/** Packages that users install for one reader: they are loaded when it is first used. */
import { DxError, FormatError, MissingPackageError } from "../core/errors.ts";

/** Whether an import failed because the package itself is not there, and not because of something that the package needs. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") && String(message).includes(`'${name}'`);
}

/**
 * The module of a package. load: `() => import("NAME" as string)`, so that bundlers see the name and TypeScript needs no types of it. source: the file
 * that is to be read, for the error.
 */
export async function loadPeer<T>(operation: string, source: string, name: string, load: () => Promise<unknown>): Promise<T> {
  try {
    return (await load()) as T;
  } catch (error) {
    if (isMissing(error, name)) throw new MissingPackageError(operation, source, name, { cause: error });
    const problem = error instanceof Error ? error.message : String(error);
    const wrong = new FormatError(operation, source, `read by the package ${name}`, `an error when that was loaded: ${problem}`);
    wrong.cause = error;
    throw wrong;
  }
}

/** A file that a package could not read: its error is the cause. Errors of this library and aborts pass through. */
export function peerError(operation: string, source: string, expected: string, error: unknown): unknown {
  if (error instanceof DxError) return error;
  if (error instanceof Error && error.name === "AbortError") return error;
  const wrong = new FormatError(operation, source, expected, error instanceof Error ? error.message.trim() : String(error));
  wrong.cause = error;
  return wrong;
}
