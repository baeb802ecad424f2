/** Runs one recorded case and returns its outcome. */
import * as dx from "../../src/index.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { refusedProduct, storageOf } from "../device.ts";
import { Call, operandsOf, type Operands } from "./call.ts";
import {
  Missing,
  isNumbers,
  packedOf,
  stridedOf,
  tensorOf,
  tensorsOf,
  withComplex,
  type Case,
  type GoldenTensor,
  type Numbers,
} from "./cases.ts";
import { boundOf, checkGradient, checkOutputs, difference, flatten, outputsDiffer, type Output } from "./compare.ts";
import { outOfScope } from "./scope.ts";
import { entryOf, type Entry } from "./table/index.ts";
import { fallbacks, observed, type Way } from "./way.ts";

export interface Mode {
  /** Three calls of the compiled function, the second with other data. */
  readonly compiled?: boolean;
  /** Operands are views with gaps and an offset. */
  readonly strided?: boolean;
}

export interface Outcome {
  readonly id: string;
  readonly result: "passed" | "failed" | "missing" | "outOfScope";
  /** Why not passed. */
  readonly reason?: string;
  /** Which way it ran; for cases that passed with a result. */
  readonly way?: Way;
  /** What was compared in addition to the result. */
  readonly gradients?: boolean;
  readonly inPlace?: boolean;
  /** DirectML operators of the call; of those that passed eagerly. */
  readonly operators?: readonly string[];
}

interface Context {
  readonly entry: Entry;
  readonly mode: Mode;
  readonly make: (v: GoldenTensor) => Numbers;
  readonly isMicrosoft: boolean;
  /** PyTorch's parameter names, which refused calls do not bring. */
  readonly names: readonly string[];
}

export function runCase(c: Case, names: readonly string[], mode: Mode = {}, device = String(dx.defaultDevice())): Outcome {
  const { id } = c;
  const outside = outOfScope(c);
  if (outside !== null) return { id, result: "outOfScope", reason: outside };
  const entry = entryOf(c.op);
  if (entry === null) return { id, result: "missing", reason: `no ${c.op}` };
  if ("out" in c.kwargs) return { id, result: "missing", reason: "out= arguments" };
  const context: Context = {
    entry,
    mode,
    make: withComplex(mode.strided === true && entry.packed !== true ? stridedOf : tensorOf),
    isMicrosoft: nativeDevice(dx.defaultDevice()).runtime === "gpu",
    names,
  };
  try {
    return dx.scope(() => (c.kind === "error" ? refused(c, context) : ok(c, context)));
  } catch (error) {
    if (error instanceof Missing) return { id, result: "missing", reason: error.message };
    const product = c.op === "prod" ? refusedProduct(error, device) : null;
    if (product !== null) return { id, result: "missing", reason: product };
    const text = error instanceof Error ? error.message : String(error);
    if (error instanceof dx.DTypeError && /only stored and cast/.test(text)) return { id, result: "missing", reason: text };
    return {
      id,
      result: "failed",
      reason: error instanceof dx.DxError ? `${error.name}: ${text}` : error instanceof Error ? (error.stack ?? text) : text,
    };
  }
}

/** A call that must throw one of the library's own errors. */
function refused(c: Case, { entry, make, names }: Context): Outcome {
  try {
    const call = new Call(c, operandsOf(c, make), names);
    for (const r of flatten(entry.run(call))) if (isNumbers(r) && r.size > 0) r.dataSync();
  } catch (error) {
    if (error instanceof Missing) throw error;
    if (error instanceof dx.DxError) return { id: c.id, result: "passed" };
    return { id: c.id, result: "failed", reason: `threw ${String(error)}, which is none of the library's errors` };
  }
  return { id: c.id, result: "failed", reason: `did not throw (${c.error!.message})` };
}

function ok(c: Case, context: Context): Outcome {
  const failed = (reason: string): Outcome => ({ id: c.id, result: "failed", reason });
  if (context.mode.compiled === true && tensorsOf(c.out!).length > 0) return compiled(c, context);
  const { entry, make, isMicrosoft } = context;
  const operands = operandsOf(c, make);
  const call = new Call(c, operands);
  const { result: outputs, way, operators } = observed(() => flatten(dx.noGrad(() => entry.run(call))));
  const problem = checkOutputs(c, call, outputs, entry, isMicrosoft) ?? mutationsDiffer(c, call, isMicrosoft);
  if (problem !== null) return failed(problem);
  const copied = aliases(c, context);
  if (copied !== null) return failed(copied);
  const gradients = c.grads !== undefined && c.gradOutputs !== undefined;
  if (gradients) {
    const wrong = gradientsDiffer(c, context);
    if (wrong !== null) return failed(wrong);
  }
  const inPlace = c.inplace !== undefined && entry.inPlace !== undefined;
  if (inPlace) {
    const wrong = inPlaceDiffers(c, context);
    if (wrong !== null) return failed(`in place: ${wrong}`);
  }
  return { id: c.id, result: "passed", way, operators, gradients, inPlace };
}

/** Operands that the call changes, such as running statistics. */
function mutationsDiffer(c: Case, call: Call, isMicrosoft: boolean): string | null {
  for (const { path, value } of c.mutated ?? []) {
    const bound = boundOf(c, value, c.tol ?? { rtol: 1e-5, atol: 1e-6 }, isMicrosoft);
    const problem = difference(call.tensors.get(JSON.stringify(path))!, value, "close", bound);
    if (problem !== null) return `${JSON.stringify(path)} afterwards: ${problem}`;
  }
  return null;
}

const partsOf = (t: Numbers): readonly dx.Tensor[] => (t instanceof dx.Tensor ? [t] : [t.real, t.imag]);

/** Results that PyTorch gives as views are views here. */
function aliases(c: Case, { entry, make }: Context): string | null {
  if (!(c.alias ?? []).includes(true) || entry.copies === true) return null;
  const call = new Call(c, operandsOf(c, make));
  const outputs = flatten(dx.noGrad(() => entry.run(call)));
  const copy = c.alias!.findIndex((t, i) => {
    const out = outputs[i];
    return t && isNumbers(out) && partsOf(call.z).every((p) => p.isContiguous && partsOf(out).every((o) => storageOf(o) !== storageOf(p)));
  });
  return copy < 0 ? null : `result ${copy} is a copy instead of a view`;
}

function gradientsDiffer(c: Case, { entry, make, isMicrosoft }: Context): string | null {
  const operands = operandsOf(c, make);
  const leaves = c.grads!.map(({ path }) => operands.get(JSON.stringify(path))!.requiresGrad_() as Numbers);
  const outputs = flatten(entry.run(new Call(c, operands)));
  const seeds = c.gradOutputs!.map((g) => (g === null ? null : withComplex(packedOf)(g)));
  const wants = (t: Output | undefined): t is Numbers => isNumbers(t) && t.requiresGrad;
  const roots = outputs.filter((t, i): t is Numbers => seeds[i] != null && wants(t));
  const found =
    roots.length === 0
      ? leaves.map(() => null)
      : dx.grad(roots, leaves, { gradient: seeds.filter((s, i) => s !== null && wants(outputs[i])), allowUnused: true });
  for (const [i, { path, grad }] of c.grads!.entries()) {
    const got = found[i] ?? null;
    if (grad === null) {
      if (got !== null) return `a gradient of ${JSON.stringify(path)} where there is none`;
      continue;
    }
    const leaf = leaves[i]!;
    const problem = checkGradient(c, got ?? zerosOf(leaf), grad, isMicrosoft);
    if (problem !== null) return `gradient of ${JSON.stringify(path)}: ${problem}`;
  }
  return null;
}

function zerosOf(leaf: Numbers): Numbers {
  if (leaf instanceof dx.Tensor) return dx.zeros(leaf.shape, { dtype: leaf.dtype });
  return new dx.ComplexTensor(dx.zerosLike(leaf.real), dx.zerosLike(leaf.imag));
}

function inPlaceDiffers(c: Case, { entry, make, isMicrosoft }: Context): string | null {
  const second = new Call(c, operandsOf(c, make));
  try {
    entry.inPlace!(second);
  } catch (error) {
    if (c.inplace === "throws" && error instanceof dx.DxError) return null;
    throw error;
  }
  return c.inplace === "throws" ? "did not throw" : checkOutputs(c, second, [second.x], entry, isMicrosoft);
}

/** Floating operands with their elements in the reverse order; others as they are, since they may be indices. */
function otherOf(v: GoldenTensor): GoldenTensor {
  const size = { f32: 4, f16: 2, bf16: 2, c64: 8, c32: 4 }[v.t];
  if (size === undefined) return v;
  const bytes = Buffer.from(v.data, "base64");
  const reversed = Buffer.alloc(bytes.length);
  for (let i = 0; i < bytes.length; i += size) bytes.copy(reversed, bytes.length - i - size, i, i + size);
  return { ...v, data: reversed.toString("base64") };
}

function compiled(c: Case, context: Context): Outcome {
  const { entry, make, isMicrosoft } = context;
  const operands = operandsOf(c, make);
  const paths = [...operands.keys()];
  const asCall = (tensors: readonly Numbers[]): Call => new Call(c, new Map(paths.map((p, i) => [p, tensors[i]!])));
  const run = (...tensors: Numbers[]): Numbers[] => flatten(entry.run(asCall(tensors))) as Numbers[];
  const others = (): Operands => operandsOf(c, (v) => make(otherOf(v)));
  const program = dx.compile(run, { name: c.op });
  const before = fallbacks();
  const onHost = fallbacks("host");
  try {
    return dx.noGrad(() => {
      for (const round of [1, 2, 3]) {
        const roundOperands = round === 1 ? operands : round === 2 ? others() : operandsOf(c, make);
        if (round === 2) {
          const eager = attempt(() => run(...others().values()));
          if (eager === null) continue;
          // Numbers that are drawn differ from call to call.
          const drawn = c.compare?.includes("meta") === true;
          const problem = outputsDiffer(program(...roundOperands.values()), eager, drawn);
          if (problem !== null) return { id: c.id, result: "failed" as const, reason: `compiled, other data: ${problem}` };
          continue;
        }
        const outputs = attemptDynamic(entry, () => program(...roundOperands.values()));
        if (outputs === null) return { id: c.id, result: "passed" as const };
        const problem = checkOutputs(c, asCall([...roundOperands.values()]), outputs, entry, isMicrosoft);
        if (problem !== null) return { id: c.id, result: "failed" as const, reason: `compiled, call ${round}: ${problem}` };
      }
      if (fallbacks() > before)
        return { id: c.id, result: "passed" as const, way: fallbacks("host") > onHost ? ("host" as const) : ("fallback" as const) };
      const { nodes } = program.explain();
      return { id: c.id, result: "passed" as const, way: nodes.length === 0 ? "view" : nodes.length === 1 ? "operator" : "graph" };
    });
  } finally {
    program.dispose();
  }
}

/** Null where other data are refused. */
function attempt<T>(run: () => T): T | null {
  try {
    return run();
  } catch (error) {
    if (error instanceof dx.DxError) return null;
    throw error;
  }
}

/** Null where what compile() can not do is refused by name, such as a shape that depends on data. */
function attemptDynamic<T>(entry: Entry, run: () => T): T | null {
  try {
    return run();
  } catch (error) {
    if (entry.dynamic === true && error instanceof dx.DxError && /side compile\(\)/.test(error.message)) return null;
    throw error;
  }
}
