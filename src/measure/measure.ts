/** Times DirectML's operators and the library's shaders in alternation on a device. */
import { performance } from "node:perf_hooks";
import * as dx from "../index.ts";
import type { Tensor } from "../index.ts";
import type { ShaderMode } from "../shader/choice.ts";
import { isFaster, type Measurement, type ShaderContext } from "../shader/measured.ts";
import { forgetPrograms } from "../runtime/eager.ts";
import { nativeDevice } from "../runtime/devices.ts";
import { measureCases, QUICK, SIZES, type MeasureCase, type Prepared } from "./cases.ts";

export interface MeasureOptions {
  readonly quick: boolean;
  /** Before each measurement. */
  readonly onCase: (name: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/** How often each form is timed, and for how many seconds at least. */
interface Effort {
  readonly rounds: number;
  readonly minSeconds: number;
}
const THOROUGH: Effort = { rounds: 4, minSeconds: 0.02 };
const BRIEF: Effort = { rounds: 1, minSeconds: 0.001 };
/** A shader that is so much slower, and takes so long, is not measured at larger sizes. */
const HOPELESS = { times: 3, seconds: 0.05 };

/** One form after the other: the mode is the process's while fn is under way. */
async function inMode<T>(mode: ShaderMode, fn: () => Promise<T>): Promise<T> {
  const before = process.env["DXTENSOR_SHADERS"];
  process.env["DXTENSOR_SHADERS"] = mode;
  try {
    return await fn();
  } finally {
    if (before === undefined) delete process.env["DXTENSOR_SHADERS"];
    else process.env["DXTENSOR_SHADERS"] = before;
  }
}

/** One form of one case, ready to be called again and again in its mode. */
interface Form {
  readonly mode: ShaderMode;
  once(): Tensor;
  dispose(): void;
}

function formOf(device: dx.Device, prepared: Prepared, context: ShaderContext, mode: ShaderMode): Form {
  if (context === "alone") {
    // Programs of operations are kept by what they are called with: each form makes them again.
    const forget = (): void => forgetPrograms(nativeDevice(device));
    forget();
    return { mode, once: () => prepared.alone(), dispose: forget };
  }
  const compiled = dx.compile(() => prepared.among(), { name: "measured", check: false });
  return { mode, once: () => compiled(), dispose: () => compiled.dispose() };
}

async function seconds(device: dx.Device, form: Form, calls: number): Promise<number> {
  await dx.synchronize(device);
  const start = performance.now();
  for (let i = 0; i < calls; i++) form.once().dispose();
  await dx.synchronize(device);
  return (performance.now() - start) / 1000 / calls;
}

/** Of enough calls, after those that make programs. */
async function timed(device: dx.Device, form: Form, minSeconds: number): Promise<number> {
  await seconds(device, form, 2);
  const estimate = await seconds(device, form, 1);
  const calls = Math.ceil(minSeconds / estimate);
  return calls <= 1 ? estimate : seconds(device, form, Math.min(1000, calls));
}

/** Of a result, in float32. */
async function elementsOf(y: Tensor): Promise<ArrayLike<number>> {
  const wide = y.to("float32");
  const data = (await wide.data()) as Float32Array;
  if (wide !== y) wide.dispose();
  y.dispose();
  return data;
}

/** Whether two results are the same but for roundings: a driver may make something else of a shader. */
function agree(a: ArrayLike<number>, b: ArrayLike<number>, dtype: MeasureCase["dtype"]): boolean {
  let largest = 0;
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs(a[i]!));
  const tolerance = (dtype === "float32" ? 1e-4 : 1e-2) * largest;
  for (let i = 0; i < a.length; i++) if (!(Math.abs(a[i]! - b[i]!) <= tolerance)) return false;
  return a.length === b.length;
}

/** What is measured, in which context, and with how much effort. */
interface Spot {
  readonly device: dx.Device;
  readonly case: MeasureCase;
  readonly context: ShaderContext;
  readonly effort: Effort;
}

async function firstResult({ device, case: c, context }: Spot, mode: ShaderMode): Promise<ArrayLike<number>> {
  const prepared = c.prepare();
  const form = formOf(device, prepared, context, mode);
  try {
    return await elementsOf(await inMode(mode, () => Promise.resolve(form.once())));
  } finally {
    form.dispose();
    prepared.dispose();
  }
}

/** The minimum time of each mode. Modes alternate, so that what slows the machine for a while slows both. */
async function minTimes({ device, case: c, context, effort }: Spot, modes: readonly ShaderMode[]): Promise<number[]> {
  const prepared = c.prepare();
  const min = modes.map(() => Infinity);
  try {
    for (let round = 0; round < effort.rounds; round++)
      for (const [i, mode] of modes.entries()) {
        const form = formOf(device, prepared, context, mode);
        try {
          min[i] = Math.min(min[i]!, await inMode(mode, () => timed(device, form, effort.minSeconds)));
        } finally {
          form.dispose();
        }
      }
  } finally {
    prepared.dispose();
  }
  return min;
}

async function measureOne(spot: Spot, isHopeless: boolean): Promise<Measurement> {
  const { shader, dtype, extent } = spot.case;
  const at = { shader, dtype, extent, place: spot.context };
  if (isHopeless) {
    const [directml] = await minTimes(spot, ["off"]);
    return { ...at, directml: directml!, byShader: null, isWrong: false };
  }
  const [wanted, made] = [await firstResult(spot, "off"), await firstResult(spot, "on")];
  // What is cast to float16 has no more digits than that.
  const isWrong = !agree(wanted, made, shader === "cast" ? "float16" : dtype);
  const [directml, byShader] = (await minTimes(spot, ["off", "on"])) as [number, number];
  const first = { ...at, directml, byShader, isWrong };
  if (!isFaster(first)) return first;
  // What is taken has been measured twice: chance does not favour the same form both times.
  const [again, againByShader] = (await minTimes(spot, ["off", "on"])) as [number, number];
  return { ...first, directml: Math.min(directml, again), byShader: Math.min(byShader, againByShader) };
}

/** All cases, alone and compiled. */
export async function measureDevice(device: dx.Device, { quick, onCase, signal }: MeasureOptions): Promise<Measurement[]> {
  const hopeless = new Set<string>();
  const measurements: Measurement[] = [];
  for (const c of measureCases(device, quick ? QUICK : SIZES))
    for (const context of ["alone", "compiled"] as const) {
      signal?.throwIfAborted();
      const kind = `${c.shader} ${c.dtype} ${context}`;
      onCase(`${kind} ${c.extent}`);
      const m = await measureOne({ device, case: c, context, effort: quick ? BRIEF : THOROUGH }, hopeless.has(kind));
      if (m.byShader !== null && m.byShader > HOPELESS.times * m.directml && m.byShader > HOPELESS.seconds) hopeless.add(kind);
      measurements.push(m);
    }
  return measurements;
}
