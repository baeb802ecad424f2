/** What a device cannot do runs on the software adapter, with copies: warned of once, counted, refused in strict mode. */
import { device } from "../device.ts";
import { UnsupportedError } from "../errors.ts";
import type { Definition } from "../definition.ts";
import type { Tensor } from "../tensor.ts";
import { nativeDevice, type NativeDevice } from "./devices.ts";
import { transfer } from "./transfer.ts";

export interface FallbackRecord {
  readonly operation: string;
  readonly device: string;
  /** "float32[2, 3], float32[3]" of the first call. */
  readonly inputs: string;
  readonly reason: string;
  readonly calls: number;
}

const records = new Map<string, FallbackRecord>();
let strict: boolean | null = null;

const isStrict = (): boolean => strict ?? process.env.DXTENSOR_STRICT === "1";

/** Operations that ran on the software adapter because their device lacks something, with the number of calls. */
export const fallbackStats = (): readonly FallbackRecord[] => [...records.values()];

export function resetFallbackStats(): void {
  records.clear();
}

/** In strict mode a fallback throws UnsupportedError. null: as DXTENSOR_STRICT says. */
export function setStrict(mode: boolean | null): void {
  strict = mode;
}

/** @internal Counts a fallback and warns of the first of its kind; throws in strict mode. */
export function noteFallback(operation: string, inputs: readonly Tensor[], native: NativeDevice, reason: string): void {
  const described = inputs.map((t) => t.describe()).join(", ");
  if (isStrict())
    throw new UnsupportedError({
      operation,
      argument: described,
      expected: `supported by ${native.device} (${native.adapter.name})`,
      received: reason,
      hint: "Strict mode forbids running it elsewhere.",
    });
  const key = `${operation}|${native.device}`;
  const before = records.get(key);
  if (before === undefined)
    process.emitWarning(`${operation}(${described}) falls back: ${native.device} (${native.adapter.name}) lacks something. ${reason}`, {
      type: "FallbackWarning",
    });
  records.set(
    key,
    before === undefined
      ? { operation, device: String(native.device), inputs: described, reason, calls: 1 }
      : { ...before, calls: before.calls + 1 },
  );
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
