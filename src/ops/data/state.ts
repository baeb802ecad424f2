/** Clone, detach, hooks, retained gradients, in-place writes. */
import type { Hook } from "../../autograd/tape.ts";
import { batching } from "../../core/batching.ts";
import { defineView } from "../../core/definition.ts";
import { requireChangeable } from "../../core/inference.ts";
import { noGrad } from "../../autograd/grad-mode.ts";
import { assign, call } from "../../dispatch/dispatch.ts";
import { isFloat } from "../../core/dtype.ts";
import { AutogradError, DTypeError, ShapeError } from "../../core/errors.ts";
import { contiguousOp } from "../../runtime/assign.ts";
import { isBroadcastableTo, showShape } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { tracer } from "../../core/tracer.ts";
import type { Arithmetic } from "../elementwise/binary.ts";
import { full } from "../creation/creation.ts";
import { to, toDType } from "./conversion.ts";
import { broadcastTo, narrow } from "../shape/movement.ts";
import { any } from "../reduce/reduce.ts";
import { maskedFill } from "../elementwise/where.ts";
import { sample, type Sample, real } from "../declare/sample.ts";

/** A packed copy. Gradients flow through it. Reference: torch.clone. DirectML: ELEMENT_WISE_IDENTITY. */
export const clone = (x: Tensor): Tensor => call(contiguousOp, [x], undefined);

/** Not on the tape: a function that is being compiled identifies the tensor by it. */
const detachOp = defineView<undefined>({ name: "detach", view: ({ shape, strides }) => ({ shape, strides, offset: 0 }), grad: (dy) => dy });

/** The same elements, as a leaf without a gradient. Reference: torch.Tensor.detach. */
export function detach(x: Tensor): Tensor {
  x.requireLive("detach");
  const make = (): Tensor => new Tensor(x.storage, x.desc, x.offset);
  const level = batching();
  if (level !== null) return level.view(detachOp, x, undefined, make, detach);
  const t = tracer();
  // The tape's edge is not asked for: a view would get a new one from its base.
  return t === null ? make() : noGrad(() => t.view(detachOp, x, undefined, make));
}

/** x takes the values of source, broadcast to its shape and cast to its dtype. Reference: torch.Tensor.copy_. @package */
export function copy_(x: Tensor, source: Tensor): Tensor {
  source.requireLive("copy_", "source");
  if (!isBroadcastableTo(source.shape, x.shape))
    throw new ShapeError("copy_", "source", `one that broadcasts to ${showShape(x.shape)}`, source.describe());
  return assign("copy_", x, () => broadcastTo(toDType(to(source, x.device), x.dtype), x.shape), {
    replaces: true,
    uniform: source === x,
  });
}

/** All elements of x become value. Reference: torch.Tensor.fill_. @package */
export const fill_ = (x: Tensor, value: number | bigint | boolean): Tensor =>
  assign("fill_", x, () => full(x.shape, value, { dtype: x.dtype, device: x.device }), { replaces: true, uniform: true });

/** All elements of x become 0. Reference: torch.Tensor.zero_. @package */
export const zero_ = (x: Tensor): Tensor =>
  assign("zero_", x, () => full(x.shape, 0, { dtype: x.dtype, device: x.device }), { replaces: true, uniform: true });

/**
 * x takes `value` where the mask is true; elements that share memory (expand) take it together. Reference: torch.Tensor.masked_fill_.
 * @package
 */
export function maskedFill_(x: Tensor, mask: Tensor, value: Arithmetic): Tensor {
  const shared = x.shape.flatMap((d, axis) => (d > 1 && x.strides[axis] === 0 ? [axis] : []));
  if (shared.length === 0) return assign("maskedFill_", x, () => maskedFill(x, mask, value));
  const distinct = shared.reduce((t, axis) => narrow(t, axis, 0, 1), x);
  const some = any(broadcastTo(mask, x.shape), shared, { keepDims: true });
  assign("maskedFill_", distinct, () => maskedFill(distinct, some, value));
  return x;
}

/**
 * Says whether backward() accumulates a gradient for this leaf. Throws for others, and for integers. Reference: torch.Tensor.requires_grad_.
 * @package
 */
export function requiresGrad_(x: Tensor, requires = true): Tensor {
  x.requireLive("requiresGrad_");
  if (!x.isLeaf) {
    if (requires) return x;
    throw new AutogradError({
      operation: "requiresGrad_",
      argument: "x",
      expected: "a leaf",
      received: `${x.describe()}, made by ${x.node!.name}`,
      hint: "Use detach().",
    });
  }
  if (requires) requireChangeable(x, "requiresGrad_", "x");
  if (requires && !isFloat(x.dtype)) throw new DTypeError("requiresGrad_", "x", "of a floating dtype", x.describe());
  const before = x.leafRequiresGrad;
  tracer()?.lost(() => {
    x.leafRequiresGrad = before;
  });
  x.leafRequiresGrad = requires;
  return x;
}

/** The handle of a hook, which removes it. */
export interface HookHandle {
  /** Removes the hook. */
  remove(): void;
}

/**
 * Calls fn with the gradient of x whenever backward() has it; what fn returns replaces it. Reference: torch.Tensor.register_hook.
 */
export function registerHook(x: Tensor, fn: Hook): HookHandle {
  if (!x.requiresGrad)
    throw new AutogradError({
      operation: "registerHook",
      argument: "x",
      expected: "a tensor that requires a gradient",
      received: x.describe(),
    });
  const node = x.node;
  let list: Hook[];
  if (node === null) {
    list = x.hooks ??= [];
  } else {
    node.change();
    const hooks = (node.hooks ??= new Map<number, Hook[]>());
    list = hooks.get(x.outputIndex) ?? [];
    hooks.set(x.outputIndex, list);
  }
  list.push(fn);
  const remove = (): void => {
    const at = list.indexOf(fn);
    if (at < 0) return;
    tracer()?.lost(() => list.splice(at, 0, fn));
    list.splice(at, 1);
  };
  tracer()?.lost(remove);
  return { remove };
}

/** backward() accumulates the gradient of x in x.grad, though x is no leaf. Reference: torch.Tensor.retain_grad. */
export function retainGrad(x: Tensor): Tensor {
  if (!x.requiresGrad)
    throw new AutogradError({
      operation: "retainGrad",
      argument: "x",
      expected: "a tensor that requires a gradient",
      received: x.describe(),
    });
  const node = x.node;
  node?.change();
  if (node === null) return x;
  const { outputIndex } = x;
  const retained = (node.retained ??= new Map<number, Tensor>());
  const before = retained.get(outputIndex);
  retained.set(outputIndex, x);
  if (before !== x) tracer()?.lost(() => (before === undefined ? retained.delete(outputIndex) : retained.set(outputIndex, before)));
  return x;
}

export const methods = { clone, detach, copy_, fill_, zero_, maskedFill_, requiresGrad_, registerHook, retainGrad };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("exact", "a write into a part with gaps", [real([3, 4]), real([3])], (x, v) => {
    const y = x!.neg();
    copy_(y.select(1, 2), v!);
    return y;
  }),
];
