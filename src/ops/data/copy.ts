/** Writing the values of one tensor into another that exists. @package */
import { noGrad } from "../../autograd/grad-mode.ts";
import { batching } from "../../core/batching.ts";
import { ShapeError } from "../../core/errors.ts";
import { valueIfTaken } from "../../autograd/branch.ts";
import { assign, call } from "../../dispatch/dispatch.ts";
import { assignEager, contiguousOp } from "../../runtime/assign.ts";
import { requireElements } from "../../runtime/meta.ts";
import { requireChangeable } from "../../core/inference.ts";
import { outsideScopes } from "../../core/scope.ts";
import { sameShape, showShape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { tracer } from "../../core/tracer.ts";
import { to, toDType } from "./conversion.ts";

/**
 * target takes the values of source, converted to its dtype and moved to its device; autograd records nothing. target keeps its
 * buffer where it can. Throws ShapeError unless the shapes are equal.
 */
export function copyInto(operation: string, target: Tensor, source: Tensor): void {
  target.requireLive(operation);
  source.requireLive(operation);
  requireChangeable(target, operation);
  if (!target.device.hasElements && source.device !== target.device) requireElements(operation, target);
  if (!sameShape(target.shape, source.shape)) throw new ShapeError(operation, "source", showShape(target.shape), showShape(source.shape));
  noGrad(() =>
    outsideScopes(() => {
      if (source.storage === target.storage && source.offset === target.offset && source.desc === target.desc) return;
      // A buffer is never read and written by one copy.
      const apart = source.storage === target.storage && source.device === target.device ? call(contiguousOp, [source], undefined) : source;
      const moved = to(apart, target.device);
      const value = toDType(moved, target.dtype);
      const t = tracer();
      if (batching() !== null) assign(operation, target, () => value);
      else if (t === null) assignEager(target, value, false);
      else t.assign(target, valueIfTaken(value, target));
      for (const made of new Set([apart, moved, value])) if (made !== source) made.dispose();
    }),
  );
}
