/** gradcheck() and gradgradcheck(): compare gradients with finite differences. */
import { arrayClass, isFloat, type TypedArray } from "../core/dtype.ts";
import { AutogradError } from "../core/errors.ts";
import { scope } from "../core/scope.ts";
import { Tensor } from "../core/tensor.ts";
import { enableGrad, noGrad } from "./grad-mode.ts";
import { grad as gradients } from "./backward.ts";

/** Options of gradcheck(). Reference: torch.autograd.gradcheck. */
export interface GradcheckOptions {
  /** Step of the differences. Default: 0.02, where float32's rounding and the formula's error are about equal. */
  readonly step?: number;
  /** Largest |difference| allowed: absolute + relative * |expected|. Defaults 2e-3 and 5e-3. */
  readonly absolute?: number;
  /** Relative tolerance, as a fraction of the numerical gradient. */
  readonly relative?: number;
}

/** @internal The operations that the check needs; set by ops/exports/wiring.ts, which this file may not import. */
export const dataAccess = {
  data: null as unknown as (t: Tensor) => TypedArray,
  tensor: null as unknown as (data: Float32Array, like: Tensor) => Tensor,
};

/** Weights of the outputs' elements, so that errors cannot cancel: fixed, irregular, of order 1. */
const weight = (i: number): number => Math.sin(1 + 12.9898 * i) + 0.25;

/**
 * Throws AutogradError unless the gradients of fn at the inputs agree with finite differences; true otherwise. fn gives one tensor
 * or several; the inputs are float32, of which those that require a gradient are checked, each element by itself. The differences
 * are of fourth order, their sums in float64. What fn makes for the differences is disposed of. Reference: torch.autograd.gradcheck.
 */
export function gradcheck(
  fn: (...inputs: Tensor[]) => Tensor | readonly Tensor[],
  inputs: readonly Tensor[],
  { step = 0.02, absolute = 2e-3, relative = 5e-3 }: GradcheckOptions = {},
): true {
  const checked = inputs.flatMap((t, i) => (t.requiresGrad ? [i] : []));
  for (const i of checked)
    if (inputs[i]!.dtype !== "float32")
      throw new AutogradError({
        operation: "gradcheck",
        argument: `inputs[${i}]`,
        expected: "of dtype float32",
        received: inputs[i]!.describe(),
      });
  const listed = (result: Tensor | readonly Tensor[]): Tensor[] =>
    (result instanceof Tensor ? [result] : [...result]).filter((t) => isFloat(t.dtype));
  const results = listed(fn(...inputs));
  const which = results.flatMap((t, i) => (t.requiresGrad ? [i] : []));
  const outputs = which.map((i) => results[i]!);
  if (outputs.length === 0)
    throw new AutogradError({
      operation: "gradcheck",
      argument: "fn",
      expected: "a function whose results require a gradient",
      received: "one whose results do not",
    });
  let offset = 0;
  const seeds = outputs.map((t) => {
    const values = Float32Array.from({ length: t.size }, (_, i) => weight(offset + i));
    offset += t.size;
    return dataAccess.tensor(values, t);
  });
  const found = gradients(
    outputs,
    checked.map((i) => inputs[i]!),
    { gradient: seeds, allowUnused: true },
  );
  const value = (args: Tensor[]): number => {
    let sum = 0;
    let at = 0;
    scope(() => {
      const results = listed(noGrad(() => fn(...args)));
      for (const i of which) for (const v of dataAccess.data(results[i]!) as Float32Array) sum += weight(at++) * v;
    });
    return sum;
  };
  checked.forEach((i, k) => {
    const x = inputs[i]!;
    const base = Float32Array.from(dataAccess.data(x) as Float32Array);
    const analytic = found[k] === null ? new (arrayClass("float32"))(x.size) : dataAccess.data(found[k]!);
    const at = (j: number, delta: number): { value: number; step: number } => {
      const moved = base.slice();
      moved[j]! += delta;
      const t = dataAccess.tensor(moved, x);
      const result = value(inputs.map((own, n) => (n === i ? t : own)));
      t.dispose();
      // The step that float32 really took.
      return { value: result, step: moved[j]! - base[j]! };
    };
    for (let j = 0; j < base.length; j++) {
      const [a, b, c, d] = [at(j, step), at(j, -step), at(j, 2 * step), at(j, -2 * step)];
      const near = (a.value - b.value) / (a.step - b.step);
      const far = (c.value - d.value) / (c.step - d.step);
      const expected = (4 * near - far) / 3;
      const got = Number(analytic[j]);
      if (!(Math.abs(got - expected) <= absolute + relative * Math.abs(expected)))
        throw new AutogradError({
          operation: "gradcheck",
          argument: `gradient of inputs[${i}] at element ${j}`,
          expected: `about ${expected}`,
          received: String(got),
        });
    }
  });
  return true;
}

/** Options of gradgradcheck(). Reference: torch.autograd.gradgradcheck. */
export interface GradgradcheckOptions extends GradcheckOptions {
  /** Gradients of fn's results; the second derivative by those that require a gradient is checked too. Default: irregular numbers. */
  readonly gradients?: readonly Tensor[];
}

/**
 * gradcheck of the gradient of fn: throws AutogradError unless the second derivatives, by the inputs that require a gradient and by the
 * gradients that flow in, agree with finite differences of the first ones; true otherwise. Reference: torch.autograd.gradgradcheck.
 */
export function gradgradcheck(
  fn: (...inputs: Tensor[]) => Tensor | readonly Tensor[],
  inputs: readonly Tensor[],
  { gradients: outputGradients, ...options }: GradgradcheckOptions = {},
): true {
  const wants = inputs.map((t) => t.requiresGrad);
  const differentiable = (args: readonly Tensor[]): Tensor[] => {
    const results = fn(...args);
    return (results instanceof Tensor ? [results] : [...results]).filter((t) => t.requiresGrad);
  };
  const flowing =
    outputGradients ??
    differentiable(inputs).map((t, k) => {
      const values = dataAccess.tensor(
        Float32Array.from({ length: t.size }, (_, i) => weight(i + 0.5 * (k + 1))),
        t,
      );
      values.leafRequiresGrad = true;
      return values;
    });
  const first = (...args: Tensor[]): Tensor[] =>
    enableGrad(() => {
      // gradcheck gives plain tensors for the inputs that it perturbs.
      const xs = args.slice(0, inputs.length).map((t, i) => (wants[i] && !t.requiresGrad ? leafOf(t) : t));
      const found = gradients(
        differentiable(xs),
        xs.filter((_, i) => wants[i]),
        { gradient: args.slice(inputs.length), createGraph: true, allowUnused: true },
      );
      return found.filter((t): t is Tensor => t !== null);
    });
  const points = [...inputs, ...flowing];
  // A gradient that is the same everywhere, as that of steps: its derivatives are zero.
  if (!first(...points).some((t) => t.requiresGrad)) return true;
  return gradcheck(first, points, options);
}

function leafOf(t: Tensor): Tensor {
  const leaf = new Tensor(t.storage, t.desc, t.offset);
  leaf.leafRequiresGrad = true;
  return leaf;
}
