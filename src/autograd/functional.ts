/** jvp(), vjp(), jacobian(), hessian(), hvp(), vhp(): derivatives of functions of tensors. Reference: torch.autograd.functional. */
import { batching } from "../core/batching.ts";
import { isFloat } from "../core/dtype.ts";
import { AutogradError, DTypeError, ShapeError } from "../core/errors.ts";
import { requireChangeable } from "../core/inference.ts";
import { scope } from "../core/scope.ts";
import { sameShape, showShape } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import { arithmetic } from "./gradient-arithmetic.ts";
import { grad } from "./backward.ts";
import { enableGrad } from "./grad-mode.ts";

/** One tensor or several. */
export type OneOrMore = Tensor | readonly Tensor[];
/** The arguments of a function of these inputs. */
export type ArgumentsOf<Inputs extends OneOrMore> = Inputs extends readonly Tensor[] ? Inputs : [Tensor];
/** A tensor for each of these: one for one, a list for a list. */
export type Like<Some extends OneOrMore> = Some extends readonly Tensor[] ? { -readonly [K in keyof Some]: Tensor } : Tensor;
/** A tensor for each output and input: lists, of outputs first, where there are several. */
export type JacobianOf<Inputs extends OneOrMore, Outputs extends OneOrMore> = Outputs extends readonly Tensor[]
  ? { -readonly [K in keyof Outputs]: Like<Inputs> }
  : Like<Inputs>;
/** A tensor for each two inputs. */
export type HessianOf<Inputs extends OneOrMore> = Inputs extends readonly Tensor[]
  ? { -readonly [K in keyof Inputs]: Like<Inputs> }
  : Tensor;

/** Options of jacobian() and the functions like it. Reference: torch.autograd.functional. */
export interface FunctionalOptions {
  /** Whether the results have a history, by the inputs that require a gradient. Default: false. */
  readonly createGraph?: boolean;
  /** Whether a result that does not depend on an input is an AutogradError. Default: false, it has zeros. */
  readonly strict?: boolean;
}

type Fn = (...inputs: never[]) => unknown;

const regrouped = (like: unknown, list: readonly unknown[]): unknown => (like instanceof Tensor ? list[0] : list);
const zerosLike = (t: Tensor): Tensor => arithmetic.zeros(t, t.desc);

/** A leaf with the tensor's elements. keepsGraph: inside vmap() its history outside is kept. */
function leafOf(t: Tensor, keepsGraph = false): Tensor {
  const level = batching();
  const leaf = level === null ? arithmetic.detach(t) : level.leaf(keepsGraph ? t : arithmetic.detach(t));
  leaf.leafRequiresGrad = true;
  return leaf;
}

/** One call of one of the functions. */
class Call {
  readonly operation: string;
  readonly #createGraph: boolean;
  readonly #strict: boolean;

  constructor(operation: string, { createGraph = false, strict = false }: FunctionalOptions) {
    this.operation = operation;
    this.#createGraph = createGraph;
    this.#strict = strict;
  }

  #fail(argument: string, expected: string, received: string): never {
    throw new AutogradError({ operation: this.operation, argument, expected, received });
  }

  /** Throws unless all are real and floating. */
  real(argument: string, some: unknown): readonly Tensor[] {
    const list: readonly unknown[] = Array.isArray(some) ? some : [some];
    list.forEach((t, i) => {
      const name = Array.isArray(some) ? `${argument}[${i}]` : argument;
      if (!(t instanceof Tensor) || !isFloat(t.dtype))
        throw new DTypeError(this.operation, name, "a tensor of a real floating dtype", t, "Of complex numbers take both parts.");
      t.requireLive(this.operation, name);
    });
    return list as readonly Tensor[];
  }

  /** The tensors that fn is called with. */
  inputs(some: OneOrMore): Tensor[] {
    return this.real("inputs", some).map((t) => {
      requireChangeable(t, this.operation, "inputs");
      return this.#createGraph && t.requiresGrad ? arithmetic.clone(t) : leafOf(t, this.#createGraph);
    });
  }

  run(fn: Fn, inputs: readonly Tensor[]): { readonly result: OneOrMore; readonly outputs: readonly Tensor[] } {
    const result = fn(...(inputs as never[]));
    const outputs = this.real("fn's result", result);
    if (this.#strict)
      outputs.forEach((t, i) => {
        if (!t.requiresGrad) this.#fail(`result ${i} of fn`, "a tensor that depends on the inputs", "one that depends on none");
      });
    return { result: result as OneOrMore, outputs };
  }

  /** v as a list like these. */
  vector(v: OneOrMore | undefined, like: readonly Tensor[], of: string): Tensor[] {
    if (v === undefined) {
      if (like.length !== 1 || like[0]!.size !== 1) this.#fail("v", `given, since fn's ${of} are no single number`, "undefined");
      return [arithmetic.onesLike(arithmetic.detach(like[0]!))];
    }
    const list = this.real("v", v);
    if (list.length !== like.length) this.#fail("v", `${like.length} tensors, one for each of fn's ${of}`, `${list.length}`);
    return list.map((t, i) => {
      if (!sameShape(t.shape, like[i]!.shape))
        throw new ShapeError(this.operation, `v[${i}]`, showShape(like[i]!.shape), showShape(t.shape));
      return this.#createGraph ? t : arithmetic.detach(t);
    });
  }

  /** The gradients, null where there are none. */
  gradients(outputs: readonly Tensor[], inputs: readonly Tensor[], vectors: readonly Tensor[], createGraph: boolean): (Tensor | null)[] {
    const wanting = outputs.flatMap((t, i) => (t.requiresGrad ? [i] : []));
    if (wanting.length === 0) return inputs.map(() => null);
    const gradient = wanting.map((i) => vectors[i]!);
    const options = { gradient, createGraph, retainGraph: true, allowUnused: true };
    return grad(wanting.map((i) => outputs[i]!), inputs, options); // prettier-ignore
  }

  /** The same with zeros, or an error where it is strict. */
  filled(found: readonly (Tensor | null)[], like: readonly Tensor[], what: (i: number) => string): Tensor[] {
    return found.map((g, i) => {
      if (this.#strict && (g === null || (this.#createGraph && !g.requiresGrad)))
        this.#fail(what(i), g === null ? "dependent" : "differentiable again", g === null ? "an independent one" : "one without a history");
      return g ?? zerosLike(like[i]!);
    });
  }

  get createsGraph(): boolean {
    return this.#createGraph;
  }

  get isStrict(): boolean {
    return this.#strict;
  }

  /** Results as the user gets them. */
  ended(list: readonly Tensor[]): Tensor[] {
    return this.#createGraph ? [...list] : list.map((t) => (t.requiresGrad ? arithmetic.detach(t) : t));
  }

  /** The one number that fn gives. */
  number(outputs: readonly Tensor[]): Tensor {
    if (outputs.length !== 1 || outputs[0]!.size !== 1)
      this.#fail("fn's result", "a tensor of one element", outputs.map((t) => t.describe()).join(", "));
    return outputs[0]!;
  }
}

const independent = (i: number): string => `the result by input ${i}`;

/**
 * fn(...inputs), and the gradients of its results' products with v by the inputs: v times the Jacobian.
 *
 * fn: gives a floating tensor or a list of them. inputs: one floating tensor or a list, which fn gets as arguments. v: like fn's result; may be missing for one
 * number. Results: as fn's result, as the inputs. They have no history without createGraph. Throws AutogradError for a missing v, for inference tensors outside of
 * inferenceMode(), and if strict for what does not depend on an input; DTypeError for complex tensors and integers; ShapeError for v. Reference:
 * torch.autograd.functional.vjp.
 */
export function vjp<const Inputs extends OneOrMore, Outputs extends OneOrMore>(
  fn: (...inputs: ArgumentsOf<Inputs>) => Outputs,
  inputs: Inputs,
  v?: OneOrMore,
  options: FunctionalOptions = {},
): [outputs: Like<Outputs>, vjp: Like<Inputs>] {
  const call = new Call("vjp", options);
  return enableGrad(() => {
    const xs = call.inputs(inputs);
    const { result, outputs } = call.run(fn as Fn, xs);
    const vectors = call.vector(v, outputs, "results");
    const found = call.filled(call.gradients(outputs, xs, vectors, call.createsGraph), xs, independent);
    return [regrouped(result, call.ended(outputs)), regrouped(inputs, call.ended(found))];
  }) as [Like<Outputs>, Like<Inputs>];
}

/**
 * fn(...inputs), and the derivatives of its results in the direction v: the Jacobian times v. It is computed by two backward passes: the gradient of a
 * gradient by the gradient that flows in. So each operation needs a second derivative, and the cost is about three times that of vjp().
 *
 * v: like the inputs; may be missing for one number. Results: both as fn's result. Else as vjp(). Reference: torch.autograd.functional.jvp.
 */
export function jvp<const Inputs extends OneOrMore, Outputs extends OneOrMore>(
  fn: (...inputs: ArgumentsOf<Inputs>) => Outputs,
  inputs: Inputs,
  v?: OneOrMore,
  options: FunctionalOptions = {},
): [outputs: Like<Outputs>, jvp: Like<Outputs>] {
  const call = new Call("jvp", options);
  return enableGrad(() => {
    const xs = call.inputs(inputs);
    const vectors = call.vector(v, xs, "inputs");
    const { result, outputs } = call.run(fn as Fn, xs);
    const flowing = outputs.map((t) => leafOf(zerosLike(t)));
    const first = call.gradients(outputs, xs, flowing, true);
    if (call.isStrict) call.filled(first, xs, independent);
    const wanting = first.flatMap((g, i) => (g === null ? [] : [i]));
    const second = call.gradients(
      wanting.map((i) => first[i]!),
      flowing,
      wanting.map((i) => vectors[i]!),
      call.createsGraph,
    );
    const found = call.filled(second, outputs, (i) => `the derivative of result ${i}`);
    return [regrouped(result, call.ended(outputs)), regrouped(result, call.ended(found))];
  }) as [Like<Outputs>, Like<Outputs>];
}

/** All rows of a Jacobian, one backward pass each: [...outputs' shape, ...input's shape] of each output and input. */
function rows(call: Call, outputs: readonly Tensor[], xs: readonly Tensor[]): Tensor[][] {
  return outputs.map((output, k) => {
    const shapeOf = (x: Tensor): readonly number[] => [...output.shape, ...x.shape];
    if (output.size === 0) return xs.map((x) => arithmetic.zeros(x, { shape: shapeOf(x), dtype: x.dtype }));
    const flat = arithmetic.reshape(output, [output.size]);
    const row = (i: number): Tensor[] => {
      const seed = arithmetic.oneHot(flat, i);
      return call.filled(call.gradients([flat], xs, [seed], call.createsGraph), xs, (n) => `result ${k} by input ${n}`);
    };
    const all = Array.from({ length: output.size }, (_, i) => (call.createsGraph ? row(i) : scope(() => row(i))));
    return xs.map((x, n) => arithmetic.reshape(arithmetic.stack(all.map((own) => own[n]!)), shapeOf(x)));
  });
}

/**
 * The derivatives of all elements of fn's results by all elements of the inputs, by one backward pass for each element of the results.
 *
 * Result: [...result's shape, ...input's shape]. Of several inputs a list; of several results a list of these, by result first. Else as vjp().
 * Reference: torch.autograd.functional.jacobian.
 */
export function jacobian<const Inputs extends OneOrMore, Outputs extends OneOrMore>(
  fn: (...inputs: ArgumentsOf<Inputs>) => Outputs,
  inputs: Inputs,
  options: FunctionalOptions = {},
): JacobianOf<Inputs, Outputs> {
  const call = new Call("jacobian", options);
  return enableGrad(() => {
    const xs = call.inputs(inputs);
    const { result, outputs } = call.run(fn as Fn, xs);
    const found = rows(call, outputs, xs).map((row) => regrouped(inputs, call.ended(row)));
    return regrouped(result, found);
  }) as JacobianOf<Inputs, Outputs>;
}

/** The gradients of the number that fn gives, which can be differentiated. */
function slopes(call: Call, fn: Fn, xs: readonly Tensor[]): { readonly result: Tensor; readonly found: readonly Tensor[] } {
  const result = call.number(call.run(fn, xs).outputs);
  const found = call.gradients([result], xs, [arithmetic.onesLike(result)], true);
  return { result, found: call.filled(found, xs, independent) };
}

/**
 * The second derivatives of the number that fn gives by all elements of the inputs: the Jacobian of the gradient.
 *
 * fn: gives a tensor of one element. Result: [...shape of the input, ...shape of the input]; of several inputs a list of lists, [i][j] by inputs i and j.
 * Else as vjp(). Reference: torch.autograd.functional.hessian.
 */
export function hessian<const Inputs extends OneOrMore>(
  fn: (...inputs: ArgumentsOf<Inputs>) => Tensor,
  inputs: Inputs,
  options: FunctionalOptions = {},
): HessianOf<Inputs> {
  const call = new Call("hessian", options);
  return enableGrad(() => {
    const xs = call.inputs(inputs);
    const { found } = slopes(call, fn as Fn, xs);
    return regrouped(
      inputs,
      rows(call, found, xs).map((row) => regrouped(inputs, call.ended(row))),
    );
  }) as HessianOf<Inputs>;
}

function product(operation: string, fn: Fn, inputs: OneOrMore, v: OneOrMore | undefined, options: FunctionalOptions): unknown {
  const call = new Call(operation, options);
  return enableGrad(() => {
    const xs = call.inputs(inputs);
    const vectors = call.vector(v, xs, "inputs");
    const { result, found } = slopes(call, fn, xs);
    const second = call.filled(call.gradients(found, xs, vectors, call.createsGraph), xs, independent);
    return [call.ended([result])[0], regrouped(inputs, call.ended(second))];
  });
}

/**
 * fn(...inputs), a number, and v times its Hessian, by two backward passes. v: like the inputs; may be missing for one number. Results: a tensor, and as
 * the inputs. Else as vjp(). Reference: torch.autograd.functional.vhp.
 */
export const vhp = <const Inputs extends OneOrMore>(
  fn: (...inputs: ArgumentsOf<Inputs>) => Tensor,
  inputs: Inputs,
  v?: OneOrMore,
  options: FunctionalOptions = {},
): [output: Tensor, vhp: Like<Inputs>] => product("vhp", fn as Fn, inputs, v, options) as [Tensor, Like<Inputs>];

/**
 * fn(...inputs), a number, and its Hessian times v: computed as vhp(), since Hessians of functions that are twice differentiable are symmetric. PyTorch
 * computes it by three backward passes, with the same values. Reference: torch.autograd.functional.hvp.
 */
export const hvp = <const Inputs extends OneOrMore>(
  fn: (...inputs: ArgumentsOf<Inputs>) => Tensor,
  inputs: Inputs,
  v?: OneOrMore,
  options: FunctionalOptions = {},
): [output: Tensor, hvp: Like<Inputs>] => product("hvp", fn as Fn, inputs, v, options) as [Tensor, Like<Inputs>];
