/** Fallback: an operation that a device lacks runs on the software adapter, with copies. It warns once, is counted, and throws in strict mode. */
import { isSwitchedOn } from "../host/environment.ts";
import { device, type Device } from "../core/device.ts";
import { UnsupportedError } from "../core/errors.ts";
import type { Definition } from "../core/definition.ts";
import type { Tensor } from "../core/tensor.ts";
import { nativeDevice, type NativeDevice } from "./devices.ts";
import { transfer } from "./transfer.ts";

/** An operation that ran on the software adapter because its device lacks it. */
export interface FallbackRecord {
  /**
   * fallback: the device lacks something. host: a decomposition or a solver, which runs on the host wherever its tensors are. vmap: an operation that
   * vmap() has no rule for: it runs on the device, once for each sample. composed: an operation that shaders of the library compute on this device, but
   * not of these inputs: DirectML's operators do.
   */
  readonly kind: "fallback" | "host" | "vmap" | "composed";
  /** The operation's name. */
  readonly operation: string;
  /** The device that lacks it. */
  readonly device: string;
  /** "float32[2, 3], float32[3]" of the first call. */
  readonly inputs: string;
  /** Why it does. */
  readonly reason: string;
  /** How often it has run so. */
  readonly calls: number;
}

const records = new Map<string, FallbackRecord>();
let strict: boolean | null = null;

const isStrict = (): boolean => strict ?? isSwitchedOn("DXTENSOR_STRICT");

/**
 * Operations that ran on the software adapter because their device lacks something, and those that run on the host (`kind`), with the
 * number of calls.
 */
export const fallbackStats = (): readonly FallbackRecord[] => [...records.values()];

/** Forgets what fallbackStats() has counted, so that operations warn again. */
export function resetFallbackStats(): void {
  records.clear();
}

/**
 * In strict mode a fallback throws UnsupportedError, and so does a compiled function that would have to run eagerly. `host` operations
 * (dx.linalg) do what they say on every device and are no fallback: they run and are counted. null: as DXTENSOR_STRICT says.
 */
export function setStrict(mode: boolean | null): void {
  strict = mode;
}

/** @internal Counts a fallback and warns of the first of its kind; throws in strict mode. */
export function noteFallback(operation: string, inputs: readonly Tensor[], native: NativeDevice, reason: string): void {
  note(operation, inputs, native, reason, `falls back: ${native.device} (${native.adapter.name}) lacks something.`);
}

/** @internal The same for one operator of a program: the rest of the program runs on the device. */
export function noteNodeFallback(operation: string, inputs: string, native: NativeDevice, reason: string): void {
  noteAs(operation, inputs, native, reason, `falls back in part: ${native.device} (${native.adapter.name})`);
}

/** @internal Throws in strict mode as noteNodeFallback does, and counts nothing: for all such operators of a program before its first one runs. */
export function requireNodeFallback(operation: string, inputs: string, native: NativeDevice, reason: string): void {
  if (isStrict()) throw refused(operation, inputs, native, reason);
}

/** @internal The same for a call of a compiled function that runs eagerly. */
export function noteEager(operation: string, inputs: readonly Tensor[], native: NativeDevice, reason: string): void {
  note(operation, inputs, native, reason, "runs eagerly:");
}

function note(operation: string, inputs: readonly Tensor[], native: NativeDevice, reason: string, what: string): void {
  noteAs(operation, inputs.map((t) => t.describe()).join(", "), native, reason, what);
}

const refused = (operation: string, described: string, native: NativeDevice, reason: string): UnsupportedError =>
  new UnsupportedError({
    operation,
    argument: described,
    expected: `supported by ${native.device} (${native.adapter.name})`,
    received: reason,
    hint: "Strict mode forbids the fallback to the software adapter.",
  });

function noteAs(operation: string, described: string, native: NativeDevice, reason: string, what: string): void {
  if (isStrict()) throw refused(operation, described, native, reason);
  const before = count("fallback", operation, described, native.device, reason);
  if (before === undefined) process.emitWarning(`${operation}(${described}) ${what} ${reason}`, { type: "FallbackWarning" });
}

/** @internal What makes a function with a `host` operation run eagerly instead of compiled. where: its source line. */
export const hostOnly = (operation: string, where: string): UnsupportedError =>
  new UnsupportedError({
    operation,
    received: `an operation that runs on the host, which no program can contain${where === "" ? "" : ` (${where})`}`,
    hint: "Call it outside of the compiled function to have the rest compiled.",
  });

/** @internal Counts a call that runs on the host by its nature. */
export function noteHost(operation: string, inputs: readonly Tensor[], native: NativeDevice, reason: string): void {
  count("host", operation, inputs.map((t) => t.describe()).join(", "), native.device, reason);
}

/** @internal Counts a call that DirectML's operators compute, since the shaders chosen for it lack the form. */
export function noteComposed(operation: string, inputs: readonly Tensor[], native: NativeDevice, reason: string): void {
  count("composed", operation, inputs.map((t) => t.describe()).join(", "), native.device, reason);
}

/** @internal Counts a call that vmap() makes once for each sample. */
export function noteLoop(operation: string, inputs: readonly Tensor[]): void {
  const { device: on } = inputs[0]!;
  count("vmap", operation, inputs.map((t) => t.describe()).join(", "), on, "vmap() has no rule for it: it runs once for each sample");
}

/** Gives the record from before, if there is one. */
function count(kind: FallbackRecord["kind"], operation: string, inputs: string, on: Device, reason: string): FallbackRecord | undefined {
  const key = `${kind}|${operation}|${on}`;
  const before = records.get(key);
  records.set(
    key,
    before === undefined ? { kind, operation, device: String(on), inputs, reason, calls: 1 } : { ...before, calls: before.calls + 1 },
  );
  return before;
}

export function fallBack<A>(
  definition: Definition<A>,
  inputs: readonly Tensor[],
  attrs: A,
  native: NativeDevice,
  reason: string,
): Tensor[] {
  noteFallback(definition.name, inputs, native, reason);
  const cpu = nativeDevice(device("cpu"), definition.name);
  const moved = inputs.map((t) => transfer(t, cpu));
  const results = runOnFallback(definition, moved, attrs, cpu);
  const back = results.map((t) => transfer(t, native));
  for (const t of [...moved, ...results]) t.dispose();
  return back;
}

let runOnFallback: <A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A, native: NativeDevice) => Tensor[];

/** @internal Set by runtime/eager.ts, which imports this file. */
export function setFallbackRunner(run: typeof runOnFallback): void {
  runOnFallback = run;
}
