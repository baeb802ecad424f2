/** parametrize: tensors of modules that are computed of other parameters each time they are read, as torch.nn.utils.parametrize. */
import { isGradEnabled, noGrad } from "../autograd/grad-mode.ts";
import { Ambient } from "../core/ambient.ts";
import { DTypeError, ShapeError, TraceError, ValueError } from "../core/errors.ts";
import { modes } from "../core/journal.ts";
import { outsideScopes } from "../core/scope.ts";
import { sameShape, showShape } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { copyInto } from "../ops/data/copy.ts";
import { clone } from "../ops/data/state.ts";
import { INNER, OWN } from "./inner.ts";
import type { Module } from "./module.ts";
import { called, hold, ParametrizationList, type Parametrization } from "./parametrization-list.ts";
import { Parameter } from "./parameter.ts";
import { replace } from "./replace.ts";

export type { Parametrization, ParametrizationList } from "./parametrization-list.ts";

/** Options of registerParametrization(). */
export interface ParametrizationOptions {
  /** Whether it is not checked that the tensor keeps its shape and dtype. Default: false. */
  readonly unsafe?: boolean | undefined;
}

type Fields = Record<string, unknown>;

/** A module with parametrized tensors. */
export interface Parametrized<Name extends string = string> {
  /** The parametrizations of each tensor by its name. */
  readonly parametrizations: { readonly [K in Name]: ParametrizationList };
}

const listsOf = (module: Module): Record<string, ParametrizationList> | undefined => {
  const { parametrizations } = module as unknown as { parametrizations?: unknown };
  if (typeof parametrizations !== "object" || parametrizations === null || Array.isArray(parametrizations)) return undefined;
  const lists = Object.values(parametrizations);
  return lists.every((l) => l instanceof ParametrizationList) ? (parametrizations as Record<string, ParametrizationList>) : undefined;
};

function listOf(operation: string, module: Module, name: string): ParametrizationList {
  const lists = listsOf(module);
  if (lists === undefined || !Object.hasOwn(lists, name))
    throw new ValueError(operation, "tensorName", "the name of a parametrized tensor of the module", name);
  return lists[name]!;
}

/**
 * Whether a module has parametrized tensors, or the tensor of a name is one. Reference: torch.nn.utils.parametrize.is_parametrized.
 */
export function isParametrized(module: Module, tensorName?: string): boolean {
  const lists = listsOf(module);
  if (lists === undefined) return false;
  return tensorName === undefined ? Object.keys(lists).length > 0 : Object.hasOwn(lists, tensorName);
}

interface Cached {
  readonly value: Tensor;
  readonly isRecorded: boolean;
  readonly trace: object | null;
}

const caching = new Ambient<Map<ParametrizationList, Cached> | null>(null);

/**
 * Runs fn, in which each parametrized tensor is computed once, however often it is read: for weights that are shared, or read in a loop. fn may return a promise.
 * Whoever changes an original inside sees the old value until the end. Reference: torch.nn.utils.parametrize.cached.
 */
export const cached = <T>(fn: () => T): T => (caching.value === null ? caching.run(new Map(), fn) : fn());

/** The value of a parametrized tensor. */
function valueOf(module: Module, name: string): Tensor {
  const list = listOf(module.constructor.name, module, name);
  const cache = caching.value;
  if (cache === null) return called(list, []);
  const trace = tracer();
  const before = cache.get(list);
  if (before !== undefined && before.trace === trace && !before.value.isDisposed && (before.isRecorded || !isGradEnabled()))
    return before.value;
  const value = called(list, []);
  cache.set(list, { value, isRecorded: isGradEnabled(), trace });
  return value;
}

/** An original takes a value, of whatever shape. */
function write(operation: string, original: Tensor, value: Tensor): void {
  if (sameShape(original.shape, value.shape)) copyInto(operation, original, value);
  else noGrad(() => outsideScopes(() => replace(original, clone(value))));
}

function assignThrough(module: Module, name: string, value: unknown): void {
  const operation = `${module.constructor.name}.${name}`;
  if (!(value instanceof Tensor)) throw new DTypeError(operation, "value", "a tensor", value);
  const list = listOf(operation, module, name);
  const values = noGrad(() => list.inverse(operation, value));
  if (values.length !== list.count) throw new ValueError(operation, "value", `of ${list.count} originals`, values.length);
  caching.value?.delete(list);
  list.originals.forEach((t, i) => {
    write(operation, t, values[i]!);
  });
}

const requireLike = (of: string, t: unknown, like: Tensor): Tensor => {
  if (!(t instanceof Tensor)) throw new DTypeError("registerParametrization", of, "a tensor", t);
  if (t.dtype !== like.dtype) throw new DTypeError("registerParametrization", of, `of dtype ${like.dtype}, the tensor's`, t.describe());
  if (!sameShape(t.shape, like.shape))
    throw new ShapeError("registerParametrization", of, `${showShape(like.shape)}, the tensor's shape`, t.describe());
  return t;
};

function requireOutsideTrace(operation: string): void {
  if (tracer() === null) return;
  throw new TraceError({ operation, expected: "called outside of compiled functions", received: "a call inside of one" });
}

/** One more parametrization of a tensor that has some. */
function append(module: Module, name: string, parametrization: Parametrization, unsafe: boolean): void {
  const list = listOf("registerParametrization", module, name);
  if (!unsafe)
    noGrad(() => {
      const before = called(list, []);
      const value = requireLike("forward()'s result", called(parametrization, [before]), before);
      if (typeof parametrization.rightInverse === "function")
        requireLike("rightInverse()'s result", parametrization.rightInverse(value), before);
    });
  list[INNER].push(parametrization);
  list.unsafe ||= unsafe;
}

/** The tensor's own parameter or buffer, and whether it is saved. */
function ownTensor(module: Module, name: string): { readonly tensor: Tensor; readonly persistent: boolean } {
  const buffer = module[OWN].buffers.get(name);
  if (buffer !== undefined) return buffer;
  const value: unknown = Object.getOwnPropertyDescriptor(module, name)?.value;
  if (value instanceof Parameter) return { tensor: value, persistent: true };
  const names = [...module.members()].flatMap(([n, m]) => (m instanceof Parameter && Object.hasOwn(module, n) ? [n] : []));
  const known = [...names, ...module[OWN].buffers.keys()];
  throw new ValueError(
    "registerParametrization",
    "tensorName",
    known.length === 0 ? "a parameter in a field of the module, or a buffer; it has none" : `of ${known.join(", ")}`,
    name,
  );
}

/**
 * The tensor of a name, a parameter or buffer in a field of the module, is from now on what the parametrization computes of it: `module.weight` is
 * `parametrization(original)`, computed each time it is read, and gradients reach the original, which is a parameter of the module: `parametrizations.weight.original`
 * (`original0`, `original1`, … where rightInverse() gives several, which an optimizer then needs). Registered again, parametrizations are called one after the other. Assigning to
 * `module.weight` goes through rightInverse(). Returns the module.
 *
 * Throws ValueError for a name that is no tensor of the module, ShapeError or DTypeError for parametrizations that change shape or dtype, unless unsafe; TraceError
 * inside compiled functions. Reference: torch.nn.utils.parametrize.register_parametrization.
 */
export function registerParametrization<M extends Module, Name extends string>(
  module: M,
  tensorName: Name,
  parametrization: Parametrization,
  { unsafe = false }: ParametrizationOptions = {},
): M & Parametrized<Name> {
  requireOutsideTrace("registerParametrization");
  parametrization.train(module.training);
  if (isParametrized(module, tensorName)) {
    append(module, tensorName, parametrization, unsafe);
    modes.changes++;
    return module as M & Parametrized<Name>;
  }
  const fields = module as unknown as Fields;
  const { tensor, persistent } = ownTensor(module, tensorName);
  if (fields["parametrizations"] !== undefined && listsOf(module) === undefined)
    throw new ValueError("registerParametrization", "module", "one whose field parametrizations is free", fields["parametrizations"]);
  tensor.requireLive("registerParametrization", tensorName);
  const inverse = noGrad(() => parametrization.rightInverse?.(tensor) ?? tensor);
  const isOne = inverse instanceof Tensor;
  const values: readonly Tensor[] = isOne ? [inverse] : inverse;
  if (values.length === 0 || values.some((t) => !(t instanceof Tensor)))
    throw new DTypeError("registerParametrization", "rightInverse()'s result", "a tensor or a list of tensors", inverse);
  if (isOne && inverse.dtype !== tensor.dtype)
    throw new DTypeError("registerParametrization", "rightInverse()'s result", `of dtype ${tensor.dtype}`, inverse.describe());
  if (!unsafe) noGrad(() => requireLike("forward()'s result", called(parametrization, values), tensor));
  if (isOne && inverse !== tensor) write("registerParametrization", tensor, inverse);
  const originals = isOne ? [tensor] : values.map((t) => originalOf(t, tensor));
  const list = new ParametrizationList(parametrization, originals, isOne, persistent, unsafe);
  list.train(module.training);
  module[OWN].buffers.delete(tensorName);
  // Behind what is there, as PyTorch's: the state's order is that of the fields.
  delete fields[tensorName];
  if (fields["parametrizations"] === undefined) fields["parametrizations"] = {};
  (fields["parametrizations"] as Fields)[tensorName] = list;
  Object.defineProperty(module, tensorName, {
    get(this: Module) {
      return valueOf(this, tensorName);
    },
    set(this: Module, value: unknown) {
      assignThrough(this, tensorName, value);
    },
    // No member: what is learned are the originals.
    enumerable: false,
    configurable: true,
  });
  modes.changes++;
  return module as M & Parametrized<Name>;
}

/** One of several originals: of its own memory, a parameter where the tensor was one. */
function originalOf(value: Tensor, tensor: Tensor): Tensor {
  return noGrad(() =>
    outsideScopes(() => {
      const own = clone(value);
      if (!(tensor instanceof Parameter)) return own;
      const made = new Parameter(own, { requiresGrad: tensor.requiresGrad });
      own.dispose();
      return made;
    }),
  );
}

/**
 * The tensor is a parameter or buffer of the module again: with the value that the parametrizations gave, or with leaveParametrized false that of the original. The one
 * original stays the same object, as optimizers know it. Returns the module. Throws ValueError for a tensor that is not parametrized, and for
 * leaveParametrized false where there are several originals. Reference: torch.nn.utils.parametrize.remove_parametrizations.
 */
export function removeParametrizations<M extends Module>(
  module: M,
  tensorName: string,
  {
    leaveParametrized = true,
  }: {
    /** Whether the tensor keeps the value that the parametrizations gave. Default: true. */
    readonly leaveParametrized?: boolean | undefined;
  } = {},
): M {
  requireOutsideTrace("removeParametrizations");
  const list = listOf("removeParametrizations", module, tensorName);
  const { original, originals } = list;
  if (original === null && !leaveParametrized)
    throw new ValueError("removeParametrizations", "leaveParametrized", "true for a tensor of several originals", leaveParametrized);
  const persistent = original === null ? true : (list[OWN].buffers.get("original")?.persistent ?? true);
  const value = leaveParametrized ? noGrad(() => called(list, [])) : null;
  let tensor = original;
  if (tensor !== null) {
    if (value !== null) write("removeParametrizations", tensor, value);
  } else {
    const isLearned = originals.some((t) => t instanceof Parameter);
    tensor = outsideScopes(() => {
      const own = noGrad(() => clone(value!));
      return isLearned ? new Parameter(own, { requiresGrad: originals.some((t) => t.requiresGrad) }) : own;
    });
  }
  const fields = module as unknown as Fields;
  delete fields[tensorName];
  const lists = fields["parametrizations"] as Fields;
  delete lists[tensorName];
  if (Object.keys(lists).length === 0) delete fields["parametrizations"];
  caching.value?.delete(list);
  hold(module, tensorName, tensor, persistent);
  modes.changes++;
  return module;
}
