/** Whether one of the library's shaders stands for an operation here, and of which element. */
import type { DType } from "../../core/dtype.ts";
import { sizeOf } from "../../core/shape.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import type { Expr } from "../../graph/graph.ts";
import { choosesShader, type ShaderName } from "../choice.ts";
import type { FloatElement } from "./elementwise.ts";

/** What a buffer of a shader may hold, as GraphBuilder.shader has it. */
export const MAX_BYTES = 2 ** 29;

export const elementOf = (dtype: DType): FloatElement | null => (dtype === "float32" ? "f32" : dtype === "float16" ? "f16" : null);

export type Sized = { readonly dtype: DType; readonly sizes: readonly number[]; readonly strides?: readonly number[] };

/** The element of tensors that a shader takes here; null: none is chosen. */
export function chosen(
  g: GraphBuilder,
  name: ShaderName,
  tensors: readonly Sized[],
  extent = sizeOf(tensors[0]!.sizes),
): FloatElement | null {
  const { dtype } = tensors[0]!;
  const element = elementOf(dtype);
  const isPacked = tensors.every((x) => x.strides === undefined || packs(x.sizes, { sizes: x.sizes, strides: x.strides }));
  if (element === null || !choosesShader(g.capabilities, g.isAlone, name, { dtype, extent, isPacked })) return null;
  return tensors.every((t) => elementOf(t.dtype) !== null && sizeOf(t.sizes) * 4 <= MAX_BYTES) ? element : null;
}

/** Whether strides are those of a packed tensor, whatever stands where there is but one element. */
export function packs(sizes: readonly number[], x: Pick<Expr, "sizes" | "strides">): boolean {
  let stride = 1;
  for (let i = sizes.length - 1; i >= 0; i--) {
    if (sizes[i] === 1) continue;
    if (x.strides[i] !== stride) return false;
    stride *= sizes[i]!;
  }
  return true;
}
