/**
 * The differences from Microsoft's libraries that stay: each with the cases it touches, the devices it shows on, the reason and
 * the evidence. A difference that is not here fails; an entry whose cases all agree is reported, and fails with --strict.
 */

import type { Element } from "./case.ts";

/** What an entry may depend on. */
export interface DeviceFacts {
  /** 0x6200 for 6.2. */
  readonly featureLevel: number;
  /** True for Microsoft's DirectML, false for the software adapter. */
  readonly microsoft: boolean;
}

export interface Known {
  /** Ids of the cases. */
  readonly cases: RegExp;
  /** Of these cases' findings ("id: label", newline, text) those that match; all of them when left out. */
  readonly findings?: RegExp;
  /** Of findings with elements, those whose every element this explains; all when left out. */
  readonly explains?: (element: Element) => boolean;
  /** Where it shows; everywhere when left out. */
  readonly on?: { readonly leastLevel?: number; readonly highestLevel?: number };
  /** True for what a specification leaves open: other drivers may agree, and then the entry is not out of date. */
  readonly isFreedom?: boolean;
  readonly reason: string;
  readonly evidence: string;
}

export function applies({ on = {} }: Known, facts: DeviceFacts): boolean {
  return facts.microsoft && facts.featureLevel >= (on.leastLevel ?? 0) && facts.featureLevel <= (on.highestLevel ?? Infinity);
}

const small = (v: number | bigint): boolean => typeof v === "number" && v !== 0 && Math.abs(v) < 2 ** -126;
const huge =
  (limit: number) =>
  (v: number | bigint): boolean =>
    Math.abs(Number(v)) > limit;
const some =
  (test: (v: number | bigint) => boolean) =>
  ({ inputs }: Element): boolean =>
    inputs?.some(test) ?? false;

const isNaNElement = (v: number | bigint): boolean => typeof v === "number" && Number.isNaN(v);

/** One unit of the last place towards zero, or the largest number where the other has infinity. */
function towardZero({ type, got, want }: Element): boolean {
  if (type.name !== "f16") return false;
  const [a, b] = [Math.abs(Number(got)), Math.abs(Number(want))];
  if (!Number.isFinite(a) || !Number.isFinite(b)) return Math.min(a, b) === 65504 && Math.max(a, b) === Infinity;
  return Math.abs(a - b) <= Math.max(2 ** -24, Math.max(a, b) * 2 ** -10);
}

export const known: readonly Known[] = [
  {
    cases: /^(operator|special)\/ELEMENT_WISE_(MAX|MIN|LOGICAL_(GREATER|LESS)_THAN(_OR_EQUAL)?)\/\d+\/i64/,
    reason: "Microsoft's library compares the low halves of int64 as signed numbers",
    evidence: "its DXIL for MAX of int64 has icmp slt i32 for both halves (libdirectml.so, feature level 6.2); uint64 is right",
  },
  {
    cases: /^operator\/(ARGMAX|ARGMIN|MAX_POOLING\d?|TOP_K1?|REDUCE)\/\d+\/i64/,
    findings: /ARGM|POOLING|TOP_K|function=(ARGMAX|ARGMIN|MAX|MIN)/,
    reason: "Microsoft's library compares the low halves of int64 as signed numbers",
    evidence: "the same in sorting, pooling and reductions; uint64 is right",
  },
  {
    cases: /^operator\/ELEMENT_WISE_POW\/\d+\/[iu]\d+-f/,
    isFreedom: true,
    explains: ({ got, want }) => Math.abs(Number(got) - Number(want)) <= 1,
    reason: "integers to the power of floats are cut to an integer, and a GPU's pow is a little less than the exact number",
    evidence: "5 to the power of 3.0 is 124: pow is exp2(y * log2(x)), which Direct3D bounds relatively only",
  },
  {
    cases: /^special\/.*\/f32$/,
    isFreedom: true,
    explains: some(small),
    reason: "float32 denormals count as 0: Direct3D lets arithmetic flush them",
    evidence: "Direct3D 11.3 functional specification, 3.1.2: denorm flush on input and output",
  },
  {
    cases: /^special\/ELEMENT_WISE_(SIN|COS|TAN)\//,
    isFreedom: true,
    explains: some(huge(314)),
    reason: "sine and cosine are bounded in [-100 pi, 100 pi] only",
    evidence: "Direct3D 11.3 functional specification, sincos: the error bound is given for that range",
  },
  {
    cases: /^special\/.*\/f16$/,
    isFreedom: true,
    explains: towardZero,
    reason:
      "float32 is rounded to float16 toward zero, as Direct3D's rules for conversions ask; the software adapter and many GPUs round to the nearest",
    evidence: "Data conversion rules of Direct3D: round-to-zero to a float format of lower range. CAST of 1.0007 is 1 on lavapipe",
  },
  {
    cases: /^special\/ELEMENT_WISE_BIT_SHIFT_\w+\//,
    isFreedom: true,
    explains: ({ type, inputs }) => Number(inputs?.[1]) >= type.bits || Number(inputs?.[1]) < 0,
    reason: "shifts by the width of the type or more have no meaning",
    evidence: "DirectML documents none; HLSL takes the count's low five bits",
  },
  {
    cases: /^special\/ELEMENT_WISE_(ATAN|ATAN_YX)\//,
    isFreedom: true,
    explains: some(isNaNElement),
    reason: "HLSL's atan is a polynomial behind min and max, which drop NaN",
    evidence: "atan of NaN is 0.785 on libdirectml.so, which is atan(1)",
  },
  {
    cases: /^special\/ELEMENT_WISE_A(SIN|COS)H\//,
    isFreedom: true,
    explains: ({ inputs }) => Number(inputs?.[0]) > 1e19 || Number(inputs?.[0]) < -1000,
    reason: "asinh and acosh are log(x + sqrt(x * x ± 1)): the square overflows, and the sum of a large negative x is 0",
    evidence: "asinh of -10000 is -infinity on libdirectml.so, that of -100 is wrong in the fifth digit",
  },
  {
    cases: /^special\/ELEMENT_WISE_POW\//,
    isFreedom: true,
    explains: ({ inputs, want }) =>
      isNaNElement(inputs![1]!) ||
      Math.abs(Number(inputs![1])) >= 2 ** 24 ||
      Math.abs(Number(want)) > 1e38 ||
      typeof inputs![0] === "bigint",
    reason:
      "pow is exp2(y * log2(x)) with cases for signs: NaN exponents, exponents without a last bit, and results at the end of the range differ",
    evidence: "0 to the power of NaN is 0 on libdirectml.so; HLSL's documentation of pow leaves these open",
  },
  {
    cases: /^special\/ACTIVATION_SOFTPLUS\//,
    explains: some(huge(1e38)),
    reason: "steepness times the input overflows in the software adapter",
    evidence: "only for inputs over 1.7e38",
  },
  {
    cases: /^special\/ELEMENT_WISE_MODULUS_\w+\/\d+\/f/,
    isFreedom: true,
    explains: ({ inputs }) => {
      const quotient = Math.abs(Number(inputs![0]) / Number(inputs![1]));
      return !(quotient < 2 ** 20) || quotient < 2 ** -120;
    },
    reason: "the modulus is x - y * trunc(x / y), which has no digits left for large quotients",
    evidence: "0.5 modulo 2^-126 is -6e-8 on libdirectml.so",
  },
  {
    cases: /^special\/ELEMENT_WISE_ADD1\/\d+\/f16$/,
    isFreedom: true,
    explains: ({ inputs }) => Math.abs(Number(inputs![0]) + Number(inputs![1])) > 65504,
    reason: "a float16 sum at the end of the range becomes infinite before the activation in some drivers",
    evidence: "the sum itself is an entry above; RELU of -infinity is NaN in fused form, on both",
  },
  {
    cases: /^refusal\/ELEMENT_WISE_CLIP1\//,
    findings: /minMaxDataType/,
    reason: "Microsoft's library does not look at MinMaxDataType",
    evidence: "CreateOperator accepts UNKNOWN",
  },
  {
    cases: /^refusal\/GATHER\//,
    findings: /indices\.sizes/,
    reason: "sizes of indices before those that count may be other than 1 on Microsoft's library, which never reads their values",
    evidence: "CreateOperator accepts them, and the output has no place for them",
  },
  {
    cases: /^refusal\/(RNN|LSTM|GRU|MULTIHEAD_ATTENTION)\//,
    findings: /(direction|maskType)=unknown/,
    reason: "Microsoft's library does not look at some enums",
    evidence: "CreateOperator accepts Direction 3, and mask types without a mask",
  },
  {
    cases: /^refusal\/MAX_POOLING_GRAD\//,
    findings: /all sizes/,
    reason: "a window larger than the padded tensor is accepted where the unsigned difference wraps around to the right size",
    evidence: "CreateOperator accepts a 3 by 2 window on a 1 by 1 tensor",
  },
  {
    cases: /^refusal\/MULTIHEAD_ATTENTION\//,
    findings: /query\.sizes/,
    reason: "Microsoft's library rounds the query's width down to a multiple of the head count",
    evidence: "CreateOperator accepts a width of 9 for 4 heads",
  },
];
