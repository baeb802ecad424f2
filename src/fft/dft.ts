/**
 * The one definition behind all transforms: sums of x_j exp(±2πi jk / n) over the first indices j, for the first indices k, of real or
 * complex numbers, wholly or their real parts only. Its adjoint is of the same kind with inputs and outputs exchanged and the other sign.
 */
import { dispatch } from "../dispatch/dispatch.ts";
import { define, type Definition } from "../core/definition.ts";
import { tableTensors } from "../runtime/tables.ts";
import type { Tensor } from "../core/tensor.ts";
import { emitTransform } from "./lower-plan.ts";
import { planOf } from "./transform-plan.ts";
import { tablesOf } from "./transform-tables.ts";

/** @package */
export interface DftAttributes {
  /** Length of the transform. */
  readonly n: number;
  /** The number of input elements; the rest up to n is zero. */
  readonly inputs: number;
  /** The number of output elements, the first of n. */
  readonly outputs: number;
  /** The sign of the exponent. */
  readonly sign: -1 | 1;
  readonly scale: number;
  /** Whether there is an imaginary part. */
  readonly from: "real" | "complex";
  readonly to: "real" | "complex";
}

/** A tensor's real and imaginary parts; null: it is real. */
export type Parts = readonly [re: Tensor, im: Tensor | null];

const dftOp: Definition<DftAttributes> = define<DftAttributes>({
  name: "dft",
  infer: ([x], { outputs, to }) => {
    const spec = { shape: [x!.shape[0]!, outputs, x!.shape[2]!], dtype: x!.dtype };
    return to === "real" ? [spec] : [spec, spec];
  },
  lower: (g, operands, { n, inputs, outputs, sign, scale, from, to }) => {
    const plan = planOf(n);
    const parts = from === "real" ? 1 : 2;
    const tables = new Map(
      tablesOf(plan, inputs, outputs, sign).map(({ key }, i) => [key, [operands[parts + 2 * i]!, operands[parts + 2 * i + 1]!] as const]),
    );
    const x = { re: operands[0]!, im: from === "real" ? null : operands[1]! };
    const y = emitTransform({ g, tables: (key) => tables.get(key)! }, plan, x, { outputs, sign, scale, complex: to === "complex" });
    return to === "real" ? [y.re] : [y.re, y.im!];
  },
  grad: (dy, { dys, attrs, specs }) => {
    const { inputs, outputs, sign, from } = attrs;
    const [re, im] = dft([dy, dys[1] ?? null], {
      ...attrs,
      inputs: outputs,
      outputs: inputs,
      sign: sign === 1 ? -1 : 1,
      to: from,
    });
    return [re, ...(im === null ? [] : [im]), ...new Array<null>(specs.length - (im === null ? 1 : 2)).fill(null)];
  },
  saves: { inputs: [], outputs: false },
  whenEmpty: 0,
});

/** x: float32 [P, inputs, Q] to [P, outputs, Q], as the attributes say. */
export function dft([re, im]: Parts, attrs: Omit<DftAttributes, "from">): Parts {
  const full: DftAttributes = { ...attrs, from: im === null ? "real" : "complex" };
  const tables = tableTensors(re.device, tablesOf(planOf(attrs.n), attrs.inputs, attrs.outputs, attrs.sign));
  const [first, second] = dispatch(dftOp, [re, ...(im === null ? [] : [im]), ...tables], full);
  return [first!, second ?? null];
}
