/** gradOf() and gradAndValue(): functions that give a function's gradient. Reference: torch.func. */
import { isFloat } from "../core/dtype.ts";
import { AutogradError, DTypeError, ValueError } from "../core/errors.ts";
import { arithmetic } from "../autograd/gradient-arithmetic.ts";
import { grad } from "../autograd/backward.ts";
import { enableGrad, isGradEnabled } from "../autograd/grad-mode.ts";
import { batching } from "../core/batching.ts";
import { requireChangeable } from "../core/inference.ts";
import { Tensor } from "../core/tensor.ts";
import { alias } from "../ops/shape/movement.ts";
import { mapTree, tensorsOf } from "./trees.ts";

/** Options of gradOf() and gradAndValue(). Reference: torch.func.grad. */
export interface GradOfOptions {
  /** By which arguments the gradient is taken: a position, or several, for a list of gradients. Default: 0, the first. */
  readonly argnums?: number | readonly number[];
  /** Whether fn gives [value, aux], where aux is whatever else is wanted of the call. Default: false. */
  readonly hasAux?: boolean;
}

/** An input that has no history but the one outside of the call. */
function inputOf(operation: string, t: Tensor, keepsGraph: boolean): Tensor {
  requireChangeable(t, operation, "argument");
  if (!isFloat(t.dtype)) throw new DTypeError(operation, "argument", "of a real floating dtype", t.describe());
  if (keepsGraph && t.requiresGrad) return alias(t);
  const level = batching();
  const leaf = level === null ? arithmetic.detach(t) : level.leaf(keepsGraph ? t : arithmetic.detach(t));
  leaf.leafRequiresGrad = true;
  return leaf;
}

function run(operation: string, fn: (...args: never[]) => unknown, args: readonly unknown[], options: GradOfOptions): unknown[] {
  const { argnums = 0, hasAux = false } = options;
  const positions = typeof argnums === "number" ? [argnums] : argnums;
  const chosen = positions.map((n) => (n < 0 ? n + args.length : n));
  for (const [i, n] of chosen.entries())
    if (!Number.isInteger(n) || n < 0 || n >= args.length)
      throw new ValueError(operation, "argnums", `positions of ${args.length} arguments`, positions[i]);
  const records = isGradEnabled();
  return enableGrad(() => {
    const inner = args.map((value, i) =>
      chosen.includes(i) ? mapTree(operation, `argument ${i}`, value, null, (t) => inputOf(operation, t, records)) : value,
    );
    const inputs = chosen.map((n) => tensorsOf(inner[n]));
    const result = fn(...(inner as never[]));
    if (hasAux && (!Array.isArray(result) || result.length !== 2))
      throw new ValueError(operation, "fn's result", "[value, aux], since hasAux is true", result);
    const [value, aux] = hasAux ? (result as [unknown, unknown]) : [result, undefined];
    if (!(value instanceof Tensor) || value.size !== 1 || value.rank !== 0)
      throw new AutogradError({
        operation,
        argument: "fn's result",
        expected: "a tensor of no axes",
        received: value instanceof Tensor ? value.describe() : typeof value,
        hint: "Reduce the loss, for example by sum() or mean().",
      });
    const all = inputs.flat();
    const isInner = records && !leadsTo(value, (leaf) => !all.includes(leaf));
    const createGraph = records && (!isInner || isRecordedBelow(value));
    const found = value.requiresGrad ? grad(value, all, { createGraph, allowUnused: true }) : all.map(() => null);
    const level = batching();
    // Without the history of this call; what is outside of it stays.
    const ended = (t: Tensor): Tensor => {
      if (!t.requiresGrad || (records && !isInner)) return t;
      return records && level?.owns(t) === true ? level.leaf(t) : arithmetic.detach(t);
    };
    let at = 0;
    const gradients = chosen.map((n) =>
      mapTree(operation, `argument ${n}`, inner[n], null, (t) => {
        const own = found[at++] ?? null;
        return own === null ? arithmetic.zeros(t, t.desc) : ended(own);
      }),
    );
    return [
      typeof argnums === "number" ? gradients[0] : gradients,
      ended(value),
      hasAux ? mapTree(operation, "aux", aux, null, ended) : undefined,
    ];
  });
}

/** Whether the history of a tensor leads to a leaf. */
function leadsTo(t: Tensor, isWanted: (leaf: Tensor) => boolean): boolean {
  if (t.node === null) return t.leafRequiresGrad && isWanted(t);
  const seen = new Set([t.node]);
  for (const node of seen)
    for (const edge of node.edges) {
      if (edge === null) continue;
      if ("node" in edge) seen.add(edge.node);
      else if (isWanted(edge.leaf)) return true;
    }
  return false;
}

/** Whether the batched value of a tensor of vmap() has a history. */
function isRecordedBelow(t: Tensor): boolean {
  const level = batching();
  if (level === null) return false;
  const value = level.valueOf(t);
  return level.below(() => value.requiresGrad || isRecordedBelow(value));
}

/** What gradOf() gives: like the first argument, or like the one that argnums names; with several argnums a list of these. With hasAux a pair of that and aux. */
export type GradientOf<Args extends readonly unknown[], Options extends GradOfOptions> = Options extends { readonly hasAux: true }
  ? [gradient: PlainGradientOf<Args, Options>, aux: unknown]
  : PlainGradientOf<Args, Options>;
/** The same without aux. */
export type PlainGradientOf<Args extends readonly unknown[], Options extends GradOfOptions> = Options extends {
  readonly argnums: readonly number[];
}
  ? Args[number][]
  : Options extends { readonly argnums: infer At extends number }
    ? Args[At]
    : Args[0];

/**
 * A function of the same arguments that gives the gradient of fn, which gives one number, by one of them: a tensor, or arrays and objects of tensors; the gradient has the
 * same shape. With vmap() it gives gradients of each sample. Calls can be nested, for higher derivatives, and gradients flow through the result to what requires one.
 *
 * fn: gives a floating tensor of no axes; with hasAux [value, aux]. Arguments by which the gradient is taken: floating tensors. Result: the gradient; with several argnums a list;
 * with hasAux [gradient, aux]. Throws AutogradError where fn gives something else, ValueError for argnums out of range, DTypeError for integers and complex tensors.
 * Reference: torch.func.grad.
 */
export function gradOf<Args extends readonly unknown[], const Options extends GradOfOptions = GradOfOptions>(
  fn: (...args: Args) => unknown,
  options: Options = {} as Options,
): (...args: Args) => GradientOf<Args, Options> {
  return (...args) => {
    const [gradient, , aux] = run("gradOf", fn as unknown as (...args: never[]) => unknown, args, options);
    return (options.hasAux === true ? [gradient, aux] : gradient) as GradientOf<Args, Options>;
  };
}

/**
 * gradOf() with fn's value: the result is [gradient, value], with hasAux [gradient, [value, aux]]. Reference: torch.func.grad_and_value.
 */
export function gradAndValue<Args extends readonly unknown[], const Options extends GradOfOptions = GradOfOptions>(
  fn: (...args: Args) => unknown,
  options: Options = {} as Options,
): (
  ...args: Args
) => [gradient: PlainGradientOf<Args, Options>, value: Options extends { readonly hasAux: true } ? [Tensor, unknown] : Tensor] {
  return (...args) => {
    const [gradient, value, aux] = run("gradAndValue", fn as unknown as (...args: never[]) => unknown, args, options);
    return [gradient, options.hasAux === true ? [value, aux] : value] as never;
  };
}
