/** Cases that do not apply here, each group with its reason. Every one is counted and reported. */
import type { Case, Golden } from "./cases.ts";
import { dtypeOf, elementsOf, isTensor, tensorsOf } from "./cases.ts";

export interface Exclusion {
  readonly reason: string;
  readonly applies: (c: Case) => boolean;
}

/** Every value of a call, nested ones too. */
function* values(v: Golden): Generator<Golden> {
  yield v;
  if (Array.isArray(v)) for (const x of v) yield* values(x);
  else if (typeof v === "object" && v !== null && "k" in v && v.k === "tuple") for (const x of v.v) yield* values(x);
}
const operands = (c: Case): Golden[] => [c.input, ...c.args, ...Object.values(c.kwargs)].flatMap((v) => [...values(v)]);
const dtypes = (c: Case): string[] => [...operands(c), ...(c.out === undefined ? [] : tensorsOf(c.out))].flatMap((v) => (isTensor(v) ? [v.t] : typeof v === "object" && v !== null && "k" in v && v.k === "dtype" ? [v.v] : []));

const CASTS = new Set(["bool", "byte", "char", "short", "int", "long", "half", "float", "double", "bfloat16", "to", "clone", "contiguous"]);
/** Operations that move elements only: they take dtypes that are only stored, too. */
const MOVES = new Set(["reshape", "reshape_as", "view", "view_as", "flatten", "ravel", "unflatten", "permute", "transpose", "t", "T", "movedim", "moveaxis", "expand", "expand_as", "broadcast_to", "squeeze", "unsqueeze", "diagonal", "narrow", "select", "slice", "split", "split_with_sizes", "chunk", "unbind", "numel", "promote_types"]);

const RANGES: Readonly<Record<string, readonly [number, number]>> = { byte: [0, 255], char: [-128, 127], short: [-32768, 32767], int: [-(2 ** 31), 2 ** 31 - 1], long: [-(2 ** 63), 2 ** 63 - 1] };

/** A float beyond the integer dtype that it is cast to. */
function overflows(c: Case): boolean {
  const range = RANGES[c.op];
  if (range === undefined || !isTensor(c.input) || !dtypeOf(c.input.t).startsWith("float")) return false;
  return elementsOf(c.input).some((v) => !(Number(v) >= range[0] && Number(v) <= range[1]));
}

const isNumber = (v: Golden | undefined): boolean => typeof v === "number" || (typeof v === "object" && v !== null && "k" in v && v.k === "float");

const nonfinite = (c: Case): boolean => (c.tags ?? []).some((t) => t === "nonfinite" || t === "nonfinite-out" || t === "nonfinite-grad");

export const exclusions: readonly Exclusion[] = [
  { reason: "out= arguments are not part of the library", applies: (c) => "out" in c.kwargs },
  { reason: "refused in PyTorch by a Python signature that takes no number there, which is taken here", applies: (c) => c.kind === "error" && [c.input, ...c.args].some(isNumber) && /must be Tensor, not|invalid combination of arguments|descriptor|has no attribute/.test(c.error!.message) },
  { reason: "indices of any integer dtype are taken", applies: (c) => c.kind === "error" && /Expected dtype int64 for index/.test(c.error!.message) },
  { reason: "indices on the device are not read to check them", applies: (c) => c.kind === "error" && ["gather", "index_select", "take_along_dim"].includes(c.op) && /out of (bounds|range)/.test(c.error!.message) },
  { reason: "PyTorch's __rpow__ lets no gradient through to the base", applies: (c) => c.op === "__rpow__" && (c.grads ?? []).some((g) => g.grad === null) },
  { reason: "DirectML's POW has other infinities and NaN", applies: (c) => (c.op === "pow" || c.op === "__rpow__") && nonfinite(c) },
  { reason: "alpha is not a parameter here", applies: (c) => c.kind === "error" && "alpha" in c.kwargs && /alpha/.test(c.error!.message) },
  { reason: "a whole JavaScript number counts as int32 beside bool, as int64 in PyTorch", applies: (c) => ["add", "sub", "mul"].includes(c.op) && c.dtype === "bool" && (isNumber(c.args[0]) || "alpha" in c.kwargs) && dtypes(c).includes("i64") },
  { reason: "a float beyond the integer dtype it is cast to is undefined", applies: overflows },
  { reason: "a transposed convolution of float16 sums in float16", applies: (c) => c.op === "nn.functional.conv_transpose2d" && c.dtype === "f16" },
  { reason: "DirectML says nothing of NaN in HARD_SIGMOID", applies: (c) => c.op === "nn.functional.hardsigmoid" && (c.tags ?? []).includes("nonfinite") },
  { reason: "complex numbers are not part of the library", applies: (c) => dtypes(c).some((d) => d.startsWith("c")) || operands(c).some((v) => typeof v === "object" && v !== null && "k" in v && v.k === "complex") },
  { reason: "float64 and bfloat16 are stored and cast only", applies: (c) => !CASTS.has(c.op) && !MOVES.has(c.op) && dtypes(c).some((d) => d === "f64" || d === "bf16") },
];

/** What Microsoft's library computes otherwise, by its shaders or by what Direct3D says of them. */
export const microsoft: readonly Exclusion[] = [
  { reason: "ASINH of large negative numbers is not finite", applies: (c) => c.op === "asinh" && ((c.tags ?? []).includes("large") || nonfinite(c)) },
  { reason: "CAST gives float16's largest number for what lies beyond", applies: (c) => c.op === "half" && isTensor(c.input) && elementsOf(c.input).some((v) => Math.abs(Number(v)) > 65504) },
];

/** Results that are less exact there. HLSL's asin and acos are polynomials good to 7e-5, and its tangent is the quotient of a sine and a cosine with bounded absolute errors. */
export const looser: { readonly [op: string]: { readonly rtol: number; readonly atol: number } } = { asin: { rtol: 1e-3, atol: 1e-4 }, acos: { rtol: 1e-4, atol: 1e-4 }, tan: { rtol: 2e-2, atol: 1e-3 }, asinh: { rtol: 2e-3, atol: 1e-4 } };

/**
 * Sums of products: each product rounds relative to itself, so where large ones cancel the error is one of the largest
 * result's last places, whatever the order of summation.
 */
export const sumsOfProducts = /(^|\.)(conv|matmul|mm|bmm|addmm|addbmm|baddbmm|linear|bilinear|einsum|dot|mv)/;
