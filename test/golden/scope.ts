/** Cases outside the library's scope, decided by their dtypes alone; and cases that Microsoft's library computes differently. */
import { elementsOf, isTensor, tensorsOf, type Case, type Golden } from "./cases.ts";

/** Every value of a call, nested ones too. */
function* values(v: Golden): Generator<Golden> {
  yield v;
  if (Array.isArray(v)) for (const x of v) yield* values(x);
  else if (typeof v === "object" && v !== null && "k" in v && v.k === "tuple") for (const x of v.v) yield* values(x);
}
const operands = (c: Case): Golden[] => [c.input, ...c.args, ...Object.values(c.kwargs)].flatMap((v) => [...values(v)]);

/** The dtypes of a call and of its result, complex numbers as "c64". */
const dtypes = (c: Case): string[] =>
  [...operands(c), ...(c.out === undefined ? [] : tensorsOf(c.out))].flatMap((v) => {
    if (isTensor(v)) return [v.t];
    if (typeof v !== "object" || v === null || !("k" in v)) return [];
    return v.k === "dtype" ? [v.v] : v.k === "complex" ? ["c64"] : [];
  });

/** Operations that move or convert elements only: they take dtypes that compute nothing, too. */
const CARRIES = new Set([
  "bool",
  "byte",
  "char",
  "short",
  "int",
  "long",
  "half",
  "float",
  "double",
  "bfloat16",
  "to",
  "clone",
  "contiguous",
  "reshape",
  "reshape_as",
  "view",
  "view_as",
  "flatten",
  "ravel",
  "unflatten",
  "permute",
  "transpose",
  "t",
  "T",
  "movedim",
  "moveaxis",
  "expand",
  "expand_as",
  "broadcast_to",
  "squeeze",
  "unsqueeze",
  "diagonal",
  "narrow",
  "select",
  "slice",
  "split",
  "split_with_sizes",
  "chunk",
  "unbind",
  "numel",
  "promote_types",
  "result_type",
  "can_cast",
]);
/** Where complex numbers belong: transforms, eigenvalues, and what their results are made of and read by. */
const COMPLEX =
  /^(fft\.|linalg\.eig(vals)?$|stft$|istft$|complex$|polar$|real$|imag$|angle$|abs$|view_as_(real|complex)$|conj|resolve_|is_complex$|promote_types$|result_type$|can_cast$)/;

/** Why a case is out of scope, or null. */
export function outOfScope(c: Case): string | null {
  const seen = dtypes(c);
  if (seen.includes("c128") && !CARRIES.has(c.op)) return "complex numbers of another precision than float32";
  if (seen.some((d) => d.startsWith("c")) && !COMPLEX.test(c.op)) return "complex numbers beyond transforms";
  if (seen.includes("f64") && !CARRIES.has(c.op)) return "float64, which DirectML has for copies only";
  return null;
}

/** Whether max_unpoolNd writes two values to one element: recorded ones are equal, those of a call with other data need not be. */
function writesTwice(c: Case): boolean {
  const spatial = /max_unpool([123])d$/.exec(c.op)?.[1];
  const indices = [...c.args, ...Object.values(c.kwargs)].find((v) => isTensor(v) && /^[iu]\d/.test(v.t));
  if (spatial === undefined || !isTensor(indices)) return false;
  const plane = indices.shape.slice(-Number(spatial)).reduce((a, b) => a * b, 1);
  const all = elementsOf(indices).map((index, i) => `${Math.floor(i / plane)} ${index}`);
  return new Set(all).size < all.length;
}

const nonfinite = (c: Case): boolean => (c.tags ?? []).some((t) => t === "nonfinite" || t === "nonfinite-out" || t === "nonfinite-grad");

/** What Microsoft's library computes otherwise, by its shaders or by what Direct3D says of them. */
export const microsoft: readonly { readonly reason: string; readonly applies: (c: Case) => boolean }[] = [
  {
    reason: "the numbers of operands are looked at only with DXTENSOR_CHECK_INDICES=1",
    applies: (c) => /between 0 and 1|ZeroDivisionError|probabilit|weights cannot be negative/.test(c.error?.message ?? ""),
  },
  {
    reason: "the modulus of large numbers is x - y trunc(x / y), rounded after each step",
    applies: (c) => (c.op === "fmod" || c.op === "remainder") && c.id.endsWith(":f32:a36a900b0c"),
  },
  {
    reason: "of writes to one index any one wins",
    applies: (c) => ["as_strided_scatter:f32:f1f11a6abf", "as_strided_scatter:bf16:11b5a66983"].includes(c.id) || writesTwice(c),
  },
  {
    reason: "averages are summed in another order, which may be another bfloat16",
    applies: (c) => c.op === "nn.functional.avg_pool2d" && c.id.includes(":bf16:"),
  },
  { reason: "POW of a negative base takes whole exponents beyond int32 for odd ones", applies: (c) => c.id === "pow:f32:a36a900b0c" },
  {
    reason: "ASINH of large negative numbers is not finite",
    applies: (c) => c.op === "asinh" && ((c.tags ?? []).includes("large") || nonfinite(c)),
  },
  {
    reason: "CAST gives float16's largest number for what lies beyond",
    applies: (c) => c.op === "half" && isTensor(c.input) && elementsOf(c.input).some((v) => Math.abs(Number(v)) > 65504),
  },
];

/** Results that are less exact there. HLSL's asin and acos are polynomials good to 7e-5, and its tangent is the quotient of a sine and a cosine with bounded absolute errors. */
export const looser: { readonly [op: string]: { readonly rtol: number; readonly atol: number } } = {
  asin: { rtol: 1e-3, atol: 1e-4 },
  acos: { rtol: 1e-4, atol: 1e-4 },
  tan: { rtol: 2e-2, atol: 1e-3 },
  asinh: { rtol: 2e-3, atol: 1e-4 },
  // A GPU's powers and logarithms.
  "special.polygamma": { rtol: 2e-5, atol: 1e-5 },
};

/**
 * Contractions: each product rounds relative to itself, so where large ones cancel the error is one of the largest
 * result's last bits, whatever the order of summation.
 */
export const contractions = /(^|\.)(conv|matmul|mm|bmm|addmm|addbmm|baddbmm|linear|bilinear|einsum|dot|mv|inner|tensordot|multi_dot|cdist)/;
