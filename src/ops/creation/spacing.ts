/** Linspace and logspace. */
import { noGrad } from "../../autograd/grad-mode.ts";
import { isInteger } from "../../core/dtype.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import { add, mul, sub } from "../elementwise/binary.ts";
import { lt } from "../elementwise/compare.ts";
import { tensor, withGrad, type TensorOptions } from "./creation.ts";
import { to, toDType } from "../data/conversion.ts";
import { pow } from "../elementwise/power.ts";
import { arange, evenly, evenSteps } from "./ranges.ts";
import { computing } from "../declare/support.ts";
import { where } from "../elementwise/where.ts";

/** Counted from the nearer end, on the device of the tensors; gradients do not flow to them, as in PyTorch. */
function between(operation: string, start: number | Tensor, end: number | Tensor, steps: number, options: TensorOptions): Tensor {
  const first = start instanceof Tensor ? start : (end as Tensor);
  const device = options.device ?? first.device;
  const dtype = computing(operation, options.dtype ?? "float32");
  const ends = [start, end].map((v, i) => {
    if (!(v instanceof Tensor)) return isInteger(dtype) ? Math.trunc(v) : v;
    if (v.rank > 0) throw new ShapeError(operation, i === 0 ? "start" : "end", "a number, or a tensor of rank 0", v.describe());
    return toDType(toDType(to(v, device), dtype), "float32");
  });
  if (!Number.isInteger(steps) || steps < 0) throw new ValueError(operation, "steps", "an integer of at least 0", steps);
  return noGrad(() => {
    const [from, until] = ends as [Tensor, number] | [number, Tensor];
    const at = arange(steps, { dtype: "float32", device });
    if (steps < 2) return add(mul(at, 0), from);
    const step = mul(sub(until, from), 1 / (steps - 1));
    return where(lt(at, steps / 2), add(mul(at, step), from), sub(until, mul(sub(steps - 1, at), step)));
  });
}

/**
 * `steps` numbers from start to end, both included, at equal distances; start and end may be tensors of rank 0. Default dtype float32.
 * Reference: torch.linspace.
 */
export function linspace(start: number | Tensor, end: number | Tensor, steps: number, options: TensorOptions = {}): Tensor {
  if (!(start instanceof Tensor) && !(end instanceof Tensor)) return evenSteps(start, end, steps, options);
  return withGrad("linspace", toDType(between("linspace", start, end, steps, options), options.dtype ?? "float32"), options);
}

/**
 * `steps` numbers from base^start to base^end, evenly apart in their logarithms; start and end may be tensors of rank 0.
 * Reference: torch.logspace. DirectML: ELEMENT_WISE_POW.
 */
export function logspace(
  start: number | Tensor,
  end: number | Tensor,
  steps: number,
  {
    base = 10,
    ...options
  }: TensorOptions & {
    /** What is raised to the powers. Default: 10. */
    readonly base?: number | undefined;
  } = {},
): Tensor {
  const dtype = options.dtype ?? "float32";
  if (start instanceof Tensor || end instanceof Tensor)
    return withGrad("logspace", toDType(pow(base, between("logspace", start, end, steps, options)), dtype), options);
  if (isInteger(dtype) && dtype !== "bool") {
    const powers = evenly(Math.trunc(start), Math.trunc(end), steps).map((v) => Math.trunc(base ** v));
    return tensor(powers, { ...options, dtype, shape: [steps] });
  }
  return toDType(pow(base, evenSteps(start, end, steps, { ...options, dtype: "float32" })), dtype);
}
