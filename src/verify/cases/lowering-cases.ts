/** Runs operations with their gradients on both devices: eagerly and compiled, on packed tensors and on views. */
import * as dx from "../../index.ts";
import type { DType, Shape, Tensor } from "../../index.ts";
import { arrayClass, DTYPES, isFloat, toHalf } from "../../core/dtype.ts";
import { agrees, differs, type Case, type Context, type Finding, type Result } from "../case.ts";
import { compare, differenceText } from "../differences.ts";
import { randomFor } from "../operator-case.ts";
import type { Random } from "../values/seeded-random.ts";
import { failureOf, type Side } from "../side.ts";
import { elementsOf, tensor } from "../values/layouts.ts";
import { toleranceOf, type Kind } from "../values/tolerances.ts";
import { typeOf } from "../values/types.ts";
import type { Argument, Sample } from "../../ops/declare/sample.ts";
import { lowerings } from "./lowerings.ts";

const MODES = ["eager", "compiled", "views"] as const;
type Mode = (typeof MODES)[number];

function valuesFor({ shape, dtype, low, high, distinct }: Argument, random: Random): number[] {
  const n = elementsOf(shape);
  if (distinct) {
    const order = Array.from({ length: n }, (_, i) => (i - (n >> 1)) / (isFloat(dtype) ? 8 : 1));
    for (let i = n - 1; i > 0; i--) {
      const k = random.between(0, i);
      [order[i], order[k]] = [order[k]!, order[i]!];
    }
    return order;
  }
  const unit = isFloat(dtype) ? 8 : 1;
  return Array.from({ length: n }, () => random.between(low * unit, high * unit) / unit);
}

function packed(values: readonly number[], { shape, dtype }: Argument, side: Side): Tensor {
  const raw = new (arrayClass(dtype))(values.length);
  values.forEach((v, i) => {
    raw[i] = (dtype === "float16" ? toHalf(v) : DTYPES[dtype].sizeInBytes === 8 ? BigInt(v) : v) as never;
  });
  return dx.tensor(raw, { shape: [...shape], dtype, device: side.name });
}

/** The same tensor as a view: its axes backwards in memory, from an odd offset on. */
function asView(values: readonly number[], argument: Argument, side: Side): Tensor {
  const { shape } = argument;
  const rank = shape.length;
  const backwards = shape.toReversed();
  const axes = shape.map((_, i) => rank - 1 - i);
  const straight = packed(values, argument, side);
  const transposed = dx.contiguous(dx.permute(straight, axes)).reshape(elementsOf(shape));
  const shifted = dx.cat([dx.narrow(transposed, 0, 0, 1), transposed]);
  return dx.permute(dx.reshape(dx.narrow(shifted, 0, 1, elementsOf(shape)), ...backwards), axes);
}

/** Outputs, then the gradients of the float inputs of a weighted sum of the float outputs. */
function evaluate({ run }: Sample, inputs: readonly Tensor[]): { readonly tensors: Tensor[]; readonly outputs: number } {
  const results = run(...inputs);
  const outputs = results instanceof dx.Tensor ? [results] : [...results];
  const roots = outputs.filter((t) => isFloat(t.dtype) && t.requiresGrad);
  const wanted = inputs.filter((t) => t.requiresGrad);
  if (roots.length === 0 || wanted.length === 0) return { tensors: outputs, outputs: outputs.length };
  // Another weight for each element, or mistakes that are symmetric would cancel; eighths, which every format represents.
  const weights = roots.map((t) =>
    dx.reshape(dx.to(dx.sub(dx.mul(dx.arange(t.size, { device: t.device }), 0.125), 1), t.dtype), ...t.shape),
  );
  const gradients = dx.grad(roots, wanted, { gradient: weights, allowUnused: true }).filter((t) => t !== null);
  return { tensors: [...outputs.map((t) => t.detach()), ...gradients], outputs: outputs.length };
}

export interface Values {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly bytes: ArrayBuffer;
}

export interface Run {
  readonly values: readonly Values[];
  /** How many of them are results; the others are gradients. */
  readonly outputs: number;
}

/** Leaves over storages of their own: each call has new ones. */
const leavesOf = (lowering: Sample, values: readonly (readonly number[])[], make: typeof packed, side: Side): Tensor[] =>
  lowering.inputs.map((argument, i) => {
    const t = make(values[i]!, argument, side);
    return isFloat(argument.dtype) ? t.detach().requiresGrad_() : t;
  });

function runOn(side: Side, lowering: Sample, make: typeof packed, random: Random): Run[] {
  return dx.withDevice(side.name, () =>
    dx.scope(() => {
      const values = lowering.inputs.map((argument) => valuesFor(argument, random));
      const { tensors, outputs } = evaluate(lowering, leavesOf(lowering, values, make, side));
      return [{ values: read(tensors), outputs }];
    }),
  );
}

/** With some data, with equal ones, and with others: compiled, or the same three calls without. */
function threeCalls(side: Side, lowering: Sample, random: Random, isCompiled: boolean): Run[] {
  return dx.withDevice(side.name, () =>
    dx.scope(() => {
      const [some, other] = [0, 1].map(() => lowering.inputs.map((argument) => valuesFor(argument, random)));
      let outputs = 0;
      const step = (...tensors: Tensor[]): Tensor[] => {
        const evaluated = evaluate(lowering, tensors);
        outputs = evaluated.outputs;
        return evaluated.tensors;
      };
      const compiled = isCompiled ? dx.compile(step) : null;
      try {
        return [some!, some!, other!].map((values) => {
          const results = (compiled ?? step)(...leavesOf(lowering, values, packed, side));
          return { values: read(results), outputs };
        });
      } finally {
        compiled?.dispose();
      }
    }),
  );
}

export const read = (results: readonly Tensor[]): Values[] =>
  results.map((t) => {
    const raw = t.dataSync();
    const bytes = new ArrayBuffer(Math.ceil(raw.byteLength / 4) * 4);
    new Uint8Array(bytes).set(new Uint8Array(raw.buffer, raw.byteOffset, raw.byteLength));
    return { dtype: t.dtype, shape: t.shape, bytes };
  });

function compareValues(name: string, got: Values, want: Values, kind: Kind): Finding | null {
  const { dtype, shape } = want;
  if (got.dtype !== dtype || got.shape.join() !== shape.join())
    return { label: name, text: `${name}: ${got.dtype}[${got.shape.join(", ")}] instead of ${dtype}[${shape.join(", ")}]` };
  const type = typeOf(DTYPES[dtype].dml)!;
  const difference = compare(tensor(type, shape.length === 0 ? [1] : shape), got.bytes, want.bytes, toleranceOf(kind, type));
  return difference === null ? null : { label: name, text: `${name}: ${differenceText(difference)}`, elements: difference.differing };
}

function attempt<T>(run: () => T): { readonly value: T } | { readonly error: string } {
  try {
    return { value: run() };
  } catch (error) {
    const { code, message } = failureOf("verify", error);
    return { error: `${code}: ${message}` };
  }
}

/** Results of functions are composed of several; gradients are, and summed over what was broadcast. */
const resultKind = (kind: Kind): Kind => (kind === "function" ? "composed" : kind);
const gradientKind = (kind: Kind): Kind => (kind === "trained" ? kind : "composed");

/** The same work on both devices, in one call or several. A case must work on both. */
export function compareRuns(run: (side: Side) => readonly Run[], kind: Kind, { device, reference, byShaders }: Context): Result {
  const got = attempt(() => (byShaders === true ? device.byShaders(() => run(device)) : run(device)));
  const want = attempt(() => run(reference));
  if ("error" in got || "error" in want) {
    const text = `${"error" in got ? `fails: ${got.error}` : "works"}, where the reference ${"error" in want ? `fails: ${want.error}` : "works"}`;
    return differs(text);
  }
  const findings: Finding[] = [];
  for (const [call, { values, outputs }] of want.value.entries()) {
    const found = got.value[call]!.values;
    const where = want.value.length === 1 ? "" : `call ${call + 1}, `;
    if (found.length !== values.length) return differs(`${where}${found.length} results instead of ${values.length}`);
    for (const [i, w] of values.entries()) {
      const name = `${where}${i < outputs ? `result ${i}` : `gradient ${i - outputs}`}`;
      const finding = compareValues(name, found[i]!, w, i < outputs ? resultKind(kind) : gradientKind(kind));
      if (finding !== null) findings.push(finding);
    }
  }
  return findings.length === 0 ? agrees : { kind: "differs", findings };
}

/** Compiled functions are compared with the same calls without compile on the reference: what both compile wrongly would agree. */
function runLowering(lowering: Sample, mode: Mode, id: string, context: Context): Result {
  const random = (): Random => randomFor(id, context.seed);
  const run = (side: Side): Run[] => {
    if (mode === "compiled") return threeCalls(side, lowering, random(), side === context.device);
    return runOn(side, lowering, mode === "views" ? asView : packed, random());
  };
  return compareRuns(run, lowering.kind, context);
}

export function* loweringCases(quick: boolean): Generator<Case> {
  let count = 0;
  for (const lowering of lowerings) {
    for (const mode of quick ? [MODES[count++ % MODES.length]!] : MODES) {
      const id = `lowering/${lowering.name}/${mode}`;
      yield { id, run: (context) => runLowering(lowering, mode, id, context) };
    }
  }
}
