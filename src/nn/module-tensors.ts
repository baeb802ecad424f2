/** What modules do with the tensors that they hold: moving, casting, taking gradients away. @package */
import { device as deviceOf, deviceNames, type DeviceLike } from "../core/device.ts";
import { dtypeNamed, isDType, isFloat, type DType } from "../core/dtype.ts";
import { DTypeError } from "../core/errors.ts";
import { noGrad } from "../autograd/grad-mode.ts";
import { empty } from "../ops/creation/creation.ts";
import { to } from "../ops/data/conversion.ts";
import { outsideScopes } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { KEEPS_DTYPES } from "./inner.ts";
import type { Module } from "./module.ts";
import { replace } from "./replace.ts";
import { isUninitialized, moveUninitialized } from "./uninitialized.ts";

/** @internal Takes a gradient away, or fills it with zeros. */
export function clearGradient(p: Tensor, setToNull: boolean): void {
  const t = tracer();
  if (setToNull && t !== null) {
    // The setter tells the tracer, also where there is no gradient.
    p.grad = null;
    t.dropGradient(p);
    return;
  }
  if (p.grad === null) return;
  if (setToNull) {
    p.grad.dispose();
    p.grad = null;
  } else {
    const { grad } = p;
    // Of what it was the sum is no longer of interest.
    grad.node = null;
    grad.leafRequiresGrad = false;
    noGrad(() => grad.zero_());
  }
}

/** Parameters and buffers, each once. */
const heldBy = (module: Module): Set<Tensor> => new Set<Tensor>([...module.parameters(), ...module.buffers()]);

/** Module.to(). */
export function moveTensors(module: Module, target: DeviceLike | DType): void {
  const meant = typeof target === "string" ? dtypeNamed(target) : undefined;
  if (meant !== undefined)
    throw new DTypeError(
      "Module.to",
      "target",
      `a dtype's name, or a device: ${deviceNames((k) => k.hasElements)}`,
      target,
      `Did you mean ${meant}?`,
    );
  if (isDType(target) && !isFloat(target)) throw new DTypeError("Module.to", "dtype", "a floating one", target);
  const device = isDType(target) ? target : deviceOf(target);
  const fixed = new Set(isDType(device) ? module.modules().flatMap((m) => (m[KEEPS_DTYPES] ? m.buffers() : [])) : []);
  noGrad(() =>
    outsideScopes(() => {
      for (const t of heldBy(module)) {
        if (fixed.has(t)) continue;
        for (const each of t.grad === null ? [t] : [t, t.grad])
          if (isUninitialized(each)) moveUninitialized(each, device);
          else if (!isDType(device) || isFloat(each.dtype)) replace(each, to(each, device));
      }
    }),
  );
}

/** Module.toEmpty(). */
export function emptyTensors(module: Module, target: DeviceLike): void {
  const device = deviceOf(target);
  noGrad(() =>
    outsideScopes(() => {
      for (const t of heldBy(module))
        for (const each of t.grad === null ? [t] : [t, t.grad])
          if (isUninitialized(each)) moveUninitialized(each, device);
          else replace(each, empty(each.shape, { dtype: each.dtype, device }));
    }),
  );
}
