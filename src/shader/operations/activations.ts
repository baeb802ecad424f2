/** DirectML's activations as shader code, alone or fused into another operator. */
import type { OperatorName } from "../../dml/operators.generated.ts";
import type { Activation } from "../../graph/graph.ts";
import type { Float } from "../numbers.ts";
import { FLOATS, isNegative, type Constants, type ElementCode, type Reading } from "./code.ts";
import { expm1, softplus } from "./elementwise.ts";

type Numbers = { readonly alpha: number; readonly beta: number; readonly gamma: number; readonly [name: string]: number };
type Curve = (x: Float, numbers: Numbers, s: Constants) => Float;

const toUnit = (x: Float): Float => x.max(0).min(1);

const CURVES: { readonly [K in OperatorName]?: Curve } = {
  ACTIVATION_ELU: (x, { alpha }) => x.ge(0).select(x, expm1(x).mul(alpha)),
  ACTIVATION_CELU: (x, { alpha }) => x.max(0).add(expm1(x.mul(1 / alpha)).mul(alpha).min(0)), // prettier-ignore
  ACTIVATION_GELU: (x) => x.mul(Math.SQRT1_2).erf().add(1).mul(x.mul(0.5)),
  ACTIVATION_HARD_SIGMOID: (x, { alpha, beta }) => toUnit(x.mul(alpha).add(beta)),
  ACTIVATION_HARD_SWISH: (x, { alpha, beta }) => x.mul(toUnit(x.mul(alpha).add(beta))),
  ACTIVATION_IDENTITY: (x) => x,
  ACTIVATION_LEAKY_RELU: (x, { alpha }) => x.ge(0).select(x, x.mul(alpha)),
  ACTIVATION_LINEAR: (x, { alpha, beta }) => x.mul(alpha).add(beta),
  ACTIVATION_PARAMETRIC_SOFTPLUS: (x, { alpha, beta }) => softplus(x.mul(beta)).mul(alpha),
  ACTIVATION_RELU: (x) => x.max(0),
  ACTIVATION_SCALED_ELU: (x, { alpha, gamma }) => x.gt(0).select(x.mul(gamma), expm1(x).mul(gamma * alpha)),
  ACTIVATION_SCALED_TANH: (x, { alpha, beta }) => x.mul(beta).tanh().mul(alpha),
  ACTIVATION_SIGMOID: (x) => x.sigmoid(),
  ACTIVATION_SOFTPLUS: (x, { steepness }) => softplus(x.mul(steepness!)).mul(1 / steepness!),
  ACTIVATION_SOFTSIGN: (x) => x.div(x.abs().add(1)),
  ACTIVATION_SWISH: (x, { sigmoidInputScale }) => x.mul(x.mul(sigmoidInputScale!).sigmoid()),
  ACTIVATION_TANH: (x) => x.tanh(),
  // NaN stays.
  ACTIVATION_THRESHOLDED_RELU: (x, { alpha }) => (alpha === 0 ? isNegative(x) : x.le(alpha)).select(0, x),
};

/** A fused activation; null: there is no code of it. */
export function activationCode({ operator, attributes }: Activation): ((x: Float, s: Constants) => Float) | null {
  const curve = CURVES[operator];
  return curve === undefined ? null : (x, s) => curve(x, attributes as Numbers, s);
}

const alone =
  (curve: Curve): ElementCode =>
  (s, [x], node) =>
    curve(x as Float, node.attributes as Numbers, s);

export const ACTIVATIONS: { readonly [K in OperatorName]?: Reading } = {
  ...Object.fromEntries(Object.entries(CURVES).map(([name, curve]) => [name, { dtypes: FLOATS, code: { element: alone(curve) } }])),
  ACTIVATION_PARAMETERIZED_RELU: {
    dtypes: FLOATS,
    code: { element: (_, [x, slope]) => (x as Float).ge(0).select(x as Float, (x as Float).mul(slope as Float)) },
  },
  ACTIVATION_RELU_GRAD: { dtypes: FLOATS, code: { element: (_, [x, dy]) => (x as Float).gt(0).select(dy as Float, 0) } },
  ELEMENT_WISE_ADD1: {
    dtypes: FLOATS,
    code: {
      element: (s, [a, b], { attributes }) => {
        const sum = (a as Float).add(b as Float);
        const activation = (attributes["fusedActivation"] ?? null) as Activation | null;
        return activation === null ? sum : activationCode(activation)!(sum, s);
      },
    },
    accepts: ({ attributes }) => {
      const activation = (attributes["fusedActivation"] ?? null) as Activation | null;
      return activation === null || activationCode(activation) !== null;
    },
  },
};
