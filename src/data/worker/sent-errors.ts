/** Errors that go from a worker to its loader: as plain data, since a thread loses their class and properties. */
import { CollateError } from "./host-collate.ts";
import type { SentError } from "./protocol.ts";

/** An error as plain data, with the errors that caused it. */
export function sentError(thrown: unknown, depth = 0): SentError {
  if (!(thrown instanceof Error)) {
    const message = typeof thrown === "string" ? thrown : String(thrown);
    return { name: "Error", message, stack: undefined, code: undefined, cause: null, collate: null };
  }
  const { code } = thrown as { code?: unknown };
  const collate =
    thrown instanceof CollateError ? { kind: thrown.kind, expected: thrown.expected, received: String(thrown.received) } : null;
  return {
    name: String(thrown.name),
    message: String(thrown.message),
    stack: thrown.stack,
    code: typeof code === "string" ? code : undefined,
    cause: thrown.cause === undefined || depth > 8 ? null : sentError(thrown.cause, depth + 1),
    collate,
  };
}

const classes: Readonly<Record<string, new (message: string, options?: ErrorOptions) => Error>> = {
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  EvalError,
  URIError,
};

/** The error again: JavaScript's own classes are kept, others keep their name. */
export function receivedError(sent: SentError): Error {
  const { name, message, stack, code, cause } = sent;
  const error = new (classes[name] ?? Error)(message, cause === null ? undefined : { cause: receivedError(cause) });
  if (error.name !== name) Object.defineProperty(error, "name", { value: name, configurable: true, writable: true });
  Object.defineProperty(error, "stack", { value: stack ?? `${name}: ${message}`, configurable: true, writable: true });
  return code === undefined ? error : Object.assign(error, { code });
}
