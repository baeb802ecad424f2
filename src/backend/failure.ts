/** Converts errors of a backend from outside to the addon's failures; fromNative() makes the public error classes of these. */
import { DxError } from "../core/errors.ts";
import type { NativeFailure } from "../native/binding.ts";

type Kind = NativeFailure["kind"];
const kinds: ReadonlySet<unknown> = new Set<Kind>(["removed", "timeout", "outOfMemory", "unsupported", "invalid", "internal"]);

/** An error with the properties of NativeFailure. */
export function failure(kind: Kind, message: string, call: string | null = null, operator: string | null = null, cause?: unknown): Error {
  const data: NativeFailure = { kind, hresult: null, hresultName: null, call, operator, reason: message, isElsewhere: false };
  return Object.assign(new Error(message, { cause }), data);
}

/** The failure of a call of a backend's. Errors of this library pass through. */
export function asFailure(backend: string, call: string, operator: string | null, error: unknown): unknown {
  if (error instanceof DxError) return error;
  const kind = typeof error === "object" && error !== null && "kind" in error ? error.kind : undefined;
  const text = error instanceof Error ? error.message : `it threw ${String(error)}`;
  const made = failure(kinds.has(kind) ? (kind as Kind) : "internal", `${backend}: ${text}`, call, operator, error);
  if (error instanceof Error && error.stack !== undefined) made.stack = error.stack;
  return made;
}
