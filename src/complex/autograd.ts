/** Gradients of functions of complex numbers: those of the two parts, which together are PyTorch's (dL/dre + i dL/dim). */
import * as engine from "../autograd/backward.ts";
import * as checks from "../autograd/gradcheck.ts";
import type { BackwardOptions } from "../autograd/backward.ts";
import type { GradcheckOptions, GradgradcheckOptions } from "../autograd/gradcheck.ts";
import { ComplexTensor } from "../core/complex-tensor.ts";
import { AutogradError, ShapeError } from "../core/errors.ts";
import { zerosLike } from "../ops/creation/creation.ts";
import { stack } from "../ops/shape/join.ts";
import { requiresGrad_ as requires } from "../ops/data/state.ts";
import { neg } from "../ops/elementwise/unary.ts";
import { sameShape, showShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { fromPairs, fromParts } from "./pairs.ts";

type Any = Tensor | ComplexTensor;
type Some<T> = T | readonly T[];

/** Options of backward() of complex results. */
export interface ComplexBackwardOptions extends Omit<BackwardOptions, "gradient"> {
  /** Gradient of each result; needed where a result is complex or has more than one element. */
  readonly gradient?: Some<Any | null> | undefined;
}

const listed = <T>(value: Some<T>): readonly T[] => (Array.isArray(value) ? (value as readonly T[]) : [value as T]);
/** Tensors and complex ones as tensors alone; and back. */
const flat = (list: readonly Any[]): Tensor[] => list.map((x) => (x instanceof ComplexTensor ? x.pairs : x));
const regrouped = (like: readonly Any[], tensors: readonly (Tensor | null)[]): (Any | null)[] =>
  like.map((x, i) => {
    const t = tensors[i]!;
    return x instanceof ComplexTensor && t !== null ? fromPairs(t, x.isConj) : t;
  });

/** A gradient as pairs, of what is stored. */
function stored(g: Any, isConj: boolean): Tensor {
  if (!(g instanceof ComplexTensor)) return fromParts(g, zerosLike(g)).pairs;
  return g.isConj === isConj ? g.pairs : stack([g.re, neg(g.im)], -1);
}

/** The results as tensors, with their gradients. */
function rootsOf(
  operation: string,
  results: readonly Any[],
  { gradient, ...options }: ComplexBackwardOptions,
): { roots: Tensor[]; options: BackwardOptions } {
  const gradients = gradient === undefined ? [] : listed(gradient);
  const roots: Tensor[] = [];
  const seeds: (Tensor | null)[] = [];
  results.forEach((result, i) => {
    const g = gradients[i] ?? null;
    if (!(result instanceof ComplexTensor)) {
      if (g instanceof ComplexTensor)
        throw new AutogradError({ operation, argument: "gradient", expected: "real, as the result is", received: g.describe() });
      roots.push(result);
      seeds.push(g);
      return;
    }
    if (g === null)
      throw new AutogradError({ operation, argument: "result", expected: "real when no gradient is given", received: result.describe() });
    if (!sameShape(g.shape, result.shape)) throw new ShapeError(operation, "gradient", showShape(result.shape), showShape(g.shape));
    roots.push(result.pairs);
    seeds.push(stored(g, result.isConj));
  });
  return { roots, options: gradient === undefined ? options : { ...options, gradient: seeds } };
}

/** Options of grad. */
export interface GradOptions<AllowUnused extends boolean = boolean> extends ComplexBackwardOptions {
  /** Whether an input that the results do not depend on has null for its gradient. Default false: it is an error. */
  readonly allowUnused?: AllowUnused;
}

/** One gradient for each input, in their order: real or complex as the input is. null may stand among them with allowUnused. */
export type Gradients<Inputs extends readonly Any[], AllowUnused extends boolean = false> = {
  -readonly [K in keyof Inputs]:
    (Inputs[K] extends Tensor ? Tensor : Inputs[K] extends ComplexTensor ? ComplexTensor : Any) | (true extends AllowUnused ? null : never);
};

/**
 * Gradients of the results with respect to the given tensors, real or complex, without touching any `grad`.
 *
 * results: one tensor or several, whose gradients are added. inputs: tensors that require a gradient. Result: for each input a tensor of its
 * shape and dtype. Throws AutogradError for an input that the results do not depend on, or gives null for it with allowUnused.
 * Reference: torch.autograd.grad.
 */
export function grad<const Inputs extends readonly Any[], AllowUnused extends boolean = false>(
  results: Some<Any>,
  inputs: Inputs,
  options?: GradOptions<AllowUnused>,
): Gradients<Inputs, AllowUnused>;
export function grad(results: Some<Any>, inputs: readonly Any[], options: GradOptions = {}): (Any | null)[] {
  const all = listed(results);
  if (![...all, ...inputs].some((x) => x instanceof ComplexTensor))
    return engine.grad(all as readonly Tensor[], inputs as readonly Tensor[], options as BackwardOptions);
  const { roots, options: passed } = rootsOf("grad", all, options);
  const found = engine.grad(roots, flat(inputs), { ...passed, allowUnused: true });
  const grouped = regrouped(inputs, found);
  grouped.forEach((g, i) => {
    if (g === null && options.allowUnused !== true)
      throw new AutogradError({
        operation: "grad",
        argument: `inputs[${i}]`,
        expected: "a tensor that the results depend on",
        received: inputs[i]!.describe(),
        hint: "Pass allowUnused: true to get null for it.",
      });
  });
  return grouped;
}

/** Adds the gradient of the results, real or complex, to the `grad` of every leaf that requires one. Reference: torch.autograd.backward. */
export function backward(result: Some<Any>, options: ComplexBackwardOptions = {}): void {
  const all = listed(result);
  if (!all.some((x) => x instanceof ComplexTensor)) return engine.backward(result as Some<Tensor>, options as BackwardOptions);
  const { roots, options: passed } = rootsOf("backward", all, options);
  return engine.backward(roots, passed);
}

/** A function of tensors for one of tensors and complex ones. */
const taken =
  (fn: (...inputs: never[]) => Some<Any>, inputs: readonly Any[]) =>
  (...tensors: Tensor[]): Tensor[] => {
    const results = listed(fn(...(regrouped(inputs, tensors) as never[])));
    return results.flatMap((r) => (r instanceof ComplexTensor ? [r.re, r.im] : [r]));
  };

/**
 * Throws AutogradError unless the gradients of fn at the inputs, real or complex, agree with finite differences by both parts; true
 * otherwise. Inputs are float32 or complex64, of which those that require a gradient are checked. Reference: torch.autograd.gradcheck.
 */
export function gradcheck(fn: (...inputs: Tensor[]) => Some<Tensor>, inputs: readonly Tensor[], options?: GradcheckOptions): true;
export function gradcheck<T extends readonly Any[]>(
  fn: (...inputs: T) => Some<Any>,
  inputs: readonly [...T],
  options?: GradcheckOptions,
): true;
export function gradcheck(fn: (...inputs: never[]) => Some<Any>, inputs: readonly Any[], options: GradcheckOptions = {}): true {
  return checks.gradcheck(taken(fn, inputs), flat(inputs), options);
}

/** gradcheck of the gradient of fn. gradients: one for each part of a complex result. Reference: torch.autograd.gradgradcheck. */
export function gradgradcheck(fn: (...inputs: Tensor[]) => Some<Tensor>, inputs: readonly Tensor[], options?: GradgradcheckOptions): true;
export function gradgradcheck<T extends readonly Any[]>(
  fn: (...inputs: T) => Some<Any>,
  inputs: readonly [...T],
  options?: GradgradcheckOptions,
): true;
export function gradgradcheck(fn: (...inputs: never[]) => Some<Any>, inputs: readonly Any[], options: GradgradcheckOptions = {}): true {
  return checks.gradgradcheck(taken(fn, inputs), flat(inputs), options);
}

/** Asks for gradients. */
export function requiresGrad_(z: ComplexTensor, wants = true): ComplexTensor {
  requires(z.pairs, wants);
  z.forgetParts();
  return z;
}

/** What backward() has added up: a complex number for each element; null before. */
export function gradOf({ pairs, isConj }: ComplexTensor): ComplexTensor | null {
  const { grad: found } = pairs;
  return found === null ? null : fromPairs(found, isConj);
}
