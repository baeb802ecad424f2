/** How far results may lie from the expected ones, by dtype. */
import { expect } from "vitest";
import type { DType, Tensor } from "../src/index.ts";
import { values } from "../src/ops/data/conversion.ts";

export interface Tolerance {
  readonly rtol: number;
  readonly atol: number;
}

/**
 * float32: GPUs' transcendental functions are good to some units of the last place, sums depend on their order.
 * float16: one unit of the last place is 2^-11 = 4.9e-4 of the value.
 */
export const TOLERANCE: { readonly [K in DType]?: Tolerance } = {
  float32: { rtol: 1e-5, atol: 1e-5 },
  float16: { rtol: 2e-3, atol: 1e-3 },
  // One unit of the last place: a sum of float32 that lies almost between two numbers may fall to either.
  bfloat16: { rtol: 2 ** -7, atol: 1e-6 },
};

export const toleranceOf = (dtype: DType): Tolerance => TOLERANCE[dtype] ?? { rtol: 0, atol: 0 };

/** Equal NaN and infinities, else |got - want| <= atol + rtol |want|. */
export const near = (got: number, want: number, { rtol, atol }: Tolerance): boolean =>
  Object.is(got, want) ||
  got === want ||
  (Number.isNaN(got) && Number.isNaN(want)) ||
  (Number.isFinite(got) && Number.isFinite(want) && Math.abs(got - want) <= atol + rtol * Math.abs(want));

const isTop = (x: number): boolean => Math.abs(x) >= 65504;

/**
 * Microsoft's library over Vulkan truncates float16 where fused shaders round it to nearest, and so keeps 65504 where these have infinity. The tolerance of one
 * operator is two units in the last place of float16, for float32 results of float16 operands too; that of several is theirs together.
 */
export const nearTruncated = (got: number, want: number, operators = 1): boolean =>
  near(got, want, { rtol: 2 ** -8 * operators, atol: 2 ** -9 * operators }) ||
  (isTop(got) && isTop(want) && Math.sign(got) === Math.sign(want));

/**
 * For float32 sums whose terms cancel each other, such as gradients, where 1 - tanh(x)^2 is one: a rounding error is as large as the terms make it, not
 * as the sum. It stays within 1e-5 of the largest expected element, or of 1.
 */
export const ofLargest = (want: readonly number[]): Tolerance => ({
  rtol: 0,
  atol: 1e-5 * Math.max(1, ...want.filter(Number.isFinite).map(Math.abs)),
});

/** Fails unless the tensor has these elements (nested as its shape, or flat) within its dtype's tolerance. */
export function expectClose(t: Tensor, want: unknown, tolerance: Tolerance = toleranceOf(t.dtype)): void {
  const flat = (Array.isArray(want) ? (want.flat(Infinity) as (number | bigint | boolean)[]) : [want as number]).map(Number);
  const got = values(t.dtype, t.dataSync()).map(Number);
  const at = got.length === flat.length ? got.findIndex((g, i) => !near(g, flat[i]!, tolerance)) : 0;
  if (got.length !== flat.length || at >= 0) expect(got, `${t.describe()}, element ${at}`).toEqual(flat);
}
