/**
 * How far two devices' results may lie apart, by kind of operator and data type.
 *
 * Integers, booleans and moved elements must be equal in every bit. For floats a result passes when it is within `ulps` ULP,
 * or |a - b| <= absolute + relative * the tensor's largest result.
 */
import type { Exactness } from "../../ops/declare/sample.ts";
import type { DataType } from "./types.ts";

export interface Tolerance {
  readonly ulps: number;
  readonly absolute: number;
  /** Of the largest finite result of the tensor. */
  readonly relative: number;
}

export type Kind = Exactness;

const exact: Tolerance = { ulps: 0, absolute: 0, relative: 0 };

const float32: { readonly [K in Kind]: Tolerance } = {
  exact,
  // One rounding; division and reciprocals of GPUs may be off by 2.5 units (Vulkan's and Direct3D's own bound), fused
  // multiply-adds save a rounding.
  rounded: { ulps: 3, absolute: 0, relative: 0 },
  // exp, log and what is made of them: Direct3D asks for 2^-21 relative, which is 8 units, of each of some steps.
  function: { ulps: 64, absolute: 2e-6, relative: 0 },
  // sin and cos: Direct3D's bound is 0.0008 absolute; real ones are far better.
  periodic: { ulps: 256, absolute: 2 ** -14, relative: 0 },
  // HLSL makes asin, acos and atan of polynomials with an error of 6.8e-5 (Abramowitz and Stegun 4.4.45 and its like).
  arc: { ulps: 64, absolute: 1e-4, relative: 0 },
  // Sums depend on their order: some units of the largest.
  sum: { ulps: 32, absolute: 0, relative: 2e-6 },
  // Several operators in a row, with gradients: differences of nearly equal numbers lose digits.
  composed: { ulps: 128, absolute: 4e-6, relative: 1e-5 },
  // Some steps of training: Adam divides by the root of tiny numbers, so single parameters may drift.
  trained: { ulps: 1024, absolute: 1e-4, relative: 1e-3 },
  // A sum, a difference of nearly equal numbers, a square root.
  normalized: { ulps: 128, absolute: 1e-6, relative: 1e-5 },
};

const float16: { readonly [K in Kind]: Tolerance } = {
  exact,
  rounded: { ulps: 1, absolute: 0, relative: 0 },
  function: { ulps: 4, absolute: 2 ** -14, relative: 0 },
  periodic: { ulps: 4, absolute: 2 ** -10, relative: 0 },
  arc: { ulps: 4, absolute: 2 ** -12, relative: 0 },
  sum: { ulps: 4, absolute: 0, relative: 2e-3 },
  composed: { ulps: 8, absolute: 2 ** -9, relative: 4e-3 },
  trained: { ulps: 16, absolute: 1e-2, relative: 1e-2 },
  normalized: { ulps: 8, absolute: 2 ** -12, relative: 4e-3 },
};

const kinds: readonly (readonly [RegExp, Kind])[] = [
  [/^ELEMENT_WISE_(SIN|COS|TAN)$/, "periodic"],
  [/^ELEMENT_WISE_(ASIN|ACOS|ATAN|ATAN_YX)$/, "arc"],
  [
    /^ELEMENT_WISE_(IDENTITY|ABS|NEGATE|SIGN|FLOOR|CEIL|ROUND|MAX|MIN|IF|CLIP|CLIP1|CLIP_GRAD|CLIP_GRAD1|THRESHOLD|IS_\w+|LOGICAL_\w+|BIT_\w+)$/,
    "exact",
  ],
  [/^ELEMENT_WISE_(ADD|ADD1|SUBTRACT|MULTIPLY|DIVIDE|MEAN|RECIP|SQRT|DIFFERENCE_SQUARE|MODULUS_\w+)$/, "rounded"],
  [/^ELEMENT_WISE_/, "function"],
  [/^ACTIVATION_(RELU|RELU_GRAD|IDENTITY|THRESHOLDED_RELU|HARDMAX1?)$/, "exact"],
  [/^ACTIVATION_(LEAKY_RELU|LINEAR|PARAMETERIZED_RELU|HARD_SIGMOID|HARD_SWISH|SHRINK|SOFTSIGN)$/, "rounded"],
  [/^ACTIVATION_.*SOFTMAX/, "normalized"],
  [/^ACTIVATION_/, "function"],
  [/^(CAST|SLICE1?|SLICE_GRAD|SPLIT|JOIN|PADDING1?|TILE|GATHER\w*|SCATTER\w*|ONE_HOT|FILL_\w+|SPACE_\w+|DEPTH_\w+|DIAGONAL_\w+)$/, "exact"],
  [/^(REVERSE_SUBSEQUENCES|RANDOM_GENERATOR|TOP_K1?|ARGM\w+|MAX_POOLING\d?|MAX_UNPOOLING|NONZERO_COORDINATES)$/, "exact"],
  [/^(VALUE_SCALE_2D|UPSAMPLE_2D|RESAMPLE\w*|ROI_\w+)$/, "sum"],
  [/NORMALIZATION|ADAM|RNN|LSTM|GRU|ATTENTION/, "normalized"],
];

/** Of an operator's outputs; sums where nothing else is known (GEMM, CONVOLUTION, REDUCE, pooling). */
export const kindOf = (operator: string): Kind => kinds.find(([pattern]) => pattern.test(operator))?.[1] ?? "sum";

/** An elementwise operator with an activation in it is as exact as the activation. */
export function kindWith(operator: string, activation: string | null): Kind {
  const own = kindOf(operator);
  return activation === null || (own !== "exact" && own !== "rounded") ? own : kindOf(activation);
}

export function toleranceOf(kind: Kind, type: DataType): Tolerance {
  if (type.name === "f32") return float32[kind];
  return type.name === "f16" ? float16[kind] : exact;
}
