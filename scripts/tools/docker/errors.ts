// Errors of an engine, each with a code.
import { ScriptError } from "../project.ts";

/**
 * ENGINE_ADDRESS: what names it is none, or can't be read. NO_ENGINE: it does not answer, and none can be started. ENGINE_LOST: it stopped answering
 * in the middle. ENGINE_REFUSED: it answered with an error. NO_IMAGE, IMAGE_BUILD, IMAGE_LOAD: an image that could not be had.
 */
export type EngineProblem =
  "ENGINE_ADDRESS" | "NO_ENGINE" | "ENGINE_LOST" | "ENGINE_REFUSED" | "ENGINE_STAYS" | "NO_IMAGE" | "IMAGE_BUILD" | "IMAGE_LOAD";

export class EngineError extends ScriptError {
  declare readonly code: EngineProblem;
  /** The HTTP status of its answer, null where none came. */
  readonly status: number | null;

  constructor(code: EngineProblem, message: string, hint?: string, status: number | null = null) {
    super(code, message, hint);
    this.name = "EngineError";
    this.status = status;
  }
}

/** What the client library throws: an answer that is an error has its status, a connection's failure has not. */
interface Failure {
  readonly statusCode?: number;
  readonly json?: { readonly message?: string } | null;
}

export const statusOf = (error: unknown): number | null => (error instanceof EngineError ? error.status : null);

/** `what` completes "could not". */
export function engineError(engine: string, what: string, error: unknown): Error {
  if (error instanceof ScriptError) return error;
  const { statusCode, json } = error as Failure;
  const message = error instanceof Error ? error.message : String(error);
  if (statusCode === undefined) return new EngineError("ENGINE_LOST", `The engine ${engine} was lost and could not ${what}: ${message}`);
  const text = json?.message ?? message.replace(/^\(HTTP code \d+\) .*? - /, "").trim();
  const code = statusCode === 404 && /no such image/i.test(text) ? "NO_IMAGE" : "ENGINE_REFUSED";
  return new EngineError(code, `The engine ${engine} could not ${what}: ${text}`, undefined, statusCode);
}

/** For one who asks what may be gone already, or is going. */
export const isGone = (error: unknown): boolean => statusOf(error) === 404 || statusOf(error) === 409;

export const orNull = (error: unknown): null => {
  if (statusOf(error) === 404) return null;
  throw error;
};
