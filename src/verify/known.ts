/**
 * The known differences from Microsoft's libraries: each with its cases, its devices, the reason and the evidence. A difference that is not listed
 * fails; an entry whose cases all agree is reported, and fails with --strict.
 */

import type { Element } from "./case.ts";

/** What an entry may depend on. */
export interface DeviceFacts {
  /** 0x6200 for 6.2. */
  readonly featureLevel: number;
  /** True for Microsoft's DirectML, false for the software adapter. */
  readonly microsoft: boolean;
  /** The smallest number of lanes of the GPU's waves; DirectML chooses kernels by it. */
  readonly waveLanes: number;
}

export interface Known {
  /** Ids of the cases. */
  readonly cases: RegExp;
  /** Of these cases' findings ("id: label", newline, text) those that match; all of them when left out. */
  readonly findings?: RegExp;
  /** Of findings with elements, those whose every element this explains; all when left out. */
  readonly explains?: (element: Element) => boolean;
  /** Where it shows; everywhere when left out. */
  readonly on?: { readonly minLevel?: number; readonly maxLevel?: number; readonly minLanes?: number };
  /** True for what a specification leaves open: other drivers may agree, and then the entry is not out of date. */
  readonly isFreedom?: boolean;
  readonly reason: string;
  readonly evidence: string;
}

export function applies({ on = {} }: Known, facts: DeviceFacts): boolean {
  const { minLevel = 0, maxLevel = Infinity, minLanes = 0 } = on;
  return facts.microsoft && facts.featureLevel >= minLevel && facts.featureLevel <= maxLevel && facts.waveLanes >= minLanes;
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

/** One of the results is at the end of the integer type: what was converted is no number of the type. */
function isOutside({ type, got, want }: Element): boolean {
  const ends = type.name.startsWith("u") ? [2 ** type.bits - 1] : [-(2 ** (type.bits - 1)), 2 ** (type.bits - 1) - 1];
  return ends.includes(Number(got)) || ends.includes(Number(want));
}

/** One ULP towards zero, or the largest number where the other has infinity. */
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
    cases: /^operator\/REDUCE\/\d+\/[iu]64/,
    findings: /refused: .*CompileOperator.*E_NOTIMPL[^]*function=(MULTIPLY|SUM_SQUARE) /,
    on: { minLevel: 0x6400, minLanes: 32 },
    isFreedom: true,
    reason:
      "for waves of 32 lanes DirectML.dll multiplies 64-bit integers in a reduction with a kernel that keeps 8-byte numbers in memory shared by a group, which libvkd3d's shader compiler cannot translate",
    evidence:
      "of int64: E_NOTIMPL at CompileOperator on an H100 under Wine (libvkd3d 2.1, DirectML.dll 1.15.4); with 8 lanes, on lavapipe, it computes",
  },
  {
    cases: /^operator\/(UN)?FOLD\/\d+\/f64/,
    findings: /refused: .*CompileOperator.*DXGI_ERROR_UNSUPPORTED/,
    on: { minLevel: 0x6400 },
    isFreedom: true,
    reason: "the documentation lists no data types: DirectML.dll makes both of float64 and then does not compile them",
    evidence:
      "DXGI_ERROR_UNSUPPORTED at CompileOperator under Wine (DirectML.dll 1.15.4); all other types but those of 4 bits compile and agree",
  },
  {
    cases: /^operator\/ELEMENT_WISE_POW\/\d+\/[iu]\d+-f/,
    isFreedom: true,
    explains: (element) => Math.abs(Number(element.got) - Number(element.want)) <= 1 || isOutside(element),
    reason:
      "integers to the power of floats are cut to an integer, and a GPU's pow is a little less than the exact number; what no integer of the type is has no value",
    evidence: "on an H100 5 to the power of 3.0 is 124: pow is exp2(y * log2(x)), which Direct3D bounds relatively only",
  },
  {
    cases: /^(operator|special)\/ELEMENT_WISE_MODULUS_(TRUNCATE|FLOOR)\/\d+\/i64/,
    isFreedom: true,
    explains: (element) => element.inputs === undefined || some((v) => v < 0)(element),
    reason: "Vulkan leaves the remainder of negative numbers undefined: a GPU's driver may give it the other sign in 64 bits",
    evidence: "OpSRem in Vulkan's environment for SPIR-V; right on lavapipe, -1 becomes 3 modulo 4 on an H100 (driver 580.159)",
  },
  {
    cases: /^special\/ELEMENT_WISE_DIVIDE\/\d+\/f32/,
    isFreedom: true,
    explains: ({ inputs }) => Math.abs(Number(inputs![1])) > 2 ** 126,
    reason: "a quotient is computed as a multiplication by the reciprocal, which is a denormal for divisors at the end of the range",
    evidence: "HLSL bounds a division by 2.5 ULP only where the reciprocal is normal",
  },
  {
    cases: /^special\/ELEMENT_WISE_DIVIDE\/\d+\/[iu]\d/,
    isFreedom: true,
    explains: ({ inputs }) => Number(inputs![1]) === 0,
    reason: "an integer divided by 0 has no value",
    evidence: "-1 on an H100, 0 on lavapipe",
  },
  {
    cases: /^special\/ELEMENT_WISE_CONSTANT_POW\//,
    isFreedom: true,
    explains: ({ inputs }) => Math.abs(Number(inputs![0])) < 2 ** -120 || Math.abs(Number(inputs![0])) > 2 ** 120,
    reason: "pow is exp2(y * log2(x)): powers of 0, of denormals and at the end of the range are open",
    evidence: "HLSL's documentation of pow leaves them open; an H100 gives infinity or NaN where lavapipe gives 0",
  },
  {
    cases: /^special\/(ACTIVATION_SOFTSIGN|ELEMENT_WISE_ATANH)\//,
    isFreedom: true,
    explains: some(huge(1e38)),
    reason: "the divisor 1 + |x| is at the end of the range, where its reciprocal is a denormal",
    evidence: "softsign of the largest float32 is 0 on an H100, 1 on lavapipe",
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
    explains: ({ inputs }) => inputs!.some((v) => isNaNElement(v) || v === 0 || Math.abs(Number(v)) > 1e38),
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
    explains: ({ inputs, want, got }) =>
      (Number(want) === 0 && !Number.isFinite(Number(got))) ||
      isNaNElement(inputs![1]!) ||
      Math.abs(Number(inputs![1])) >= 2 ** 24 ||
      Number(inputs![0]) === 0 ||
      Math.abs(Number(want)) > 1e37 ||
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
      return !(quotient < 2 ** 20) || quotient < 2 ** -120 || Number(inputs![1]) === 0 || Math.abs(Number(inputs![1])) > 2 ** 126;
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
    cases: /^operator\/RESAMPLE1?\/\d+\/[iu]8/,
    findings: /interpolationMode=NEAREST_NEIGHBOR/,
    reason: "Microsoft's library takes the lower neighbour instead of the nearest one for 8-bit integers in RESAMPLE and RESAMPLE1",
    evidence:
      "uint8 1 10 100 doubled is 1 1 1 10 10 100, float32 1 1 10 10 100 100 (libdirectml.so, feature level 6.2; DirectML.dll 1.15.4)",
  },
  {
    cases: /^operator\/RESAMPLE3\//,
    findings: /antialiased=1/,
    on: { minLevel: 0x6400 },
    reason:
      "the weights of DirectML.dll's antialiasing are not documented and follow the sizes' ratio instead of Scales; the software adapter widens the triangle by 1 / scale and makes its weights sum to 1",
    evidence:
      "9 elements to 3 with scale 0.375: the middle one weighs 33 42 42 42 33 of 192, symmetric about element 4, though the offsets put it at 3.5 (DirectML.dll 1.15.4)",
  },
  {
    cases: /^operator\/RESAMPLE\d?\/\d+\/[iu]8/,
    findings: /interpolationMode=LINEAR .*scales=\[[^\]]*(1\.5|2\.5|0\.375|1\.625|0\.3125)/,
    isFreedom: true,
    explains: (element) => Math.abs(Number(element.got) - Number(element.want)) <= 1,
    reason: "8-bit integers are cut, not rounded: a mean that is an integer may be a little less where the scale has no exact reciprocal",
    evidence: "the exact value is an integer at these elements; scales with an exact reciprocal agree",
  },
  {
    cases: /^refusal\/ELEMENT_WISE_CLIP1\//,
    findings: /minMaxDataType/,
    reason: "Microsoft's library ignores MinMaxDataType",
    evidence: "CreateOperator accepts UNKNOWN",
  },
  {
    cases: /^refusal\/(MATRIX_MULTIPLY_INTEGER_TO_FLOAT|QUANTIZED_LINEAR_(AVERAGE_POOLING|CONVOLUTION|MATRIX_MULTIPLY))\//,
    findings: /accepted instead of E_INVALIDARG: (?!.*ZeroPoint)/,
    reason: "Microsoft's library compares scales and data types by way of the zero points, and without these not at all",
    evidence: "CreateOperator accepts scales of any rank, and A of uint8 with B of uint32, where there are no zero points",
  },
  {
    cases: /^refusal\/GATHER\//,
    findings: /indices\.sizes/,
    reason: "sizes of indices before those that count may be other than 1 on Microsoft's library, which never reads their values",
    evidence: "CreateOperator accepts them, and the output has no elements for them",
  },
  {
    cases: /^refusal\/(RNN|LSTM|GRU|MULTIHEAD_ATTENTION1?)\//,
    findings: /(direction|maskType)=unknown/,
    reason: "Microsoft's library ignores some enums",
    evidence: "CreateOperator accepts Direction 3, and mask types without a mask",
  },
  {
    cases: /^refusal\/MAX_POOLING_GRAD\//,
    findings: /all sizes/,
    reason: "a window larger than the padded tensor is accepted where the unsigned difference wraps around to the right size",
    evidence: "CreateOperator accepts a 3 by 2 window on a 1 by 1 tensor",
  },
  {
    cases: /^refusal\/MULTIHEAD_ATTENTION1?\//,
    findings: /query\.sizes/,
    reason: "Microsoft's library rounds the query's width down to a multiple of the head count",
    evidence: "CreateOperator accepts a width of 9 for 4 heads",
  },
];
