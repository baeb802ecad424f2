/** The transforms of dft.ts by shaders, over pairs: no part of a complex tensor is copied. */
import { dispatch } from "../dispatch/dispatch.ts";
import { define, type Definition } from "../core/definition.ts";
import { tracer } from "../core/tracer.ts";
import type { Tensor } from "../core/tensor.ts";
import { nativeDevice } from "../runtime/devices.ts";
import { tableTensors } from "../runtime/tables.ts";
import { choosesShader } from "../shader/choice.ts";
import { emitShaders, type Half, type PairTransform } from "./shader-lower.ts";
import { servesInner, shaderPlanOf, shaderTables } from "./shader-plan.ts";

const opposite: { readonly [H in Half]: Half } = { none: "none", input: "output", output: "input" };

const pairDftOp: Definition<PairTransform> = define<PairTransform>({
  name: "pairDft",
  infer: ([x], { outputs, to }) => [{ shape: [x!.shape[0]!, outputs, x!.shape[2]!, ...(to === "complex" ? [2] : [])], dtype: x!.dtype }],
  lower: (g, [x, ...tables], attrs) => [emitShaders(g, shaderPlanOf(attrs.n)!, x!, tables, attrs)],
  grad: (dy, { attrs, specs }) => {
    const { inputs, outputs, sign, from, to, half } = attrs;
    const adjoint = {
      ...attrs,
      inputs: outputs,
      outputs: inputs,
      sign: sign === 1 ? -1 : 1,
      from: to,
      to: from,
      half: opposite[half],
    } as const;
    return [pairDft(dy, adjoint), ...new Array<null>(specs.length - 1).fill(null)];
  },
  saves: { inputs: [], outputs: false },
  whenEmpty: 0,
});

/** The largest buffer of a shader. */
const MAX_BYTES = 2 ** 29;

/** Whether shaders transform float32 numbers of [P, ., Q] with so many inputs and outputs along the axis in between. */
export function choosesShaders(x: Tensor, p: number, q: number, n: number): boolean {
  const plan = shaderPlanOf(n);
  const extent = p * n * q;
  if (plan === null || extent === 0 || 8 * extent > MAX_BYTES || !servesInner(plan, q)) return false;
  const { capabilities } = nativeDevice(x.device, "fft");
  return choosesShader(capabilities, tracer() === null, "fft", { dtype: "float32", extent, isPacked: true });
}

/** x: [P, inputs, Q] or pairs [P, inputs, Q, 2] of float32. */
export function pairDft(x: Tensor, attrs: PairTransform): Tensor {
  const tables = tableTensors(x.device, shaderTables(shaderPlanOf(attrs.n)!, x.shape[2]!));
  return dispatch(pairDftOp, [x, ...tables], attrs)[0]!;
}
