/** Attention by the library's shaders (shader/kernels/attention.ts), where they are chosen: no score is in memory. */
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { define, type Definition } from "../../core/definition.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { tracer } from "../../core/tracer.ts";
import { dispatch } from "../../dispatch/dispatch.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import type { Expr } from "../../graph/graph.ts";
import { nativeDevice } from "../../runtime/devices.ts";
import { choosesShader } from "../../shader/choice.ts";
import {
  attention,
  attentionKeyGradient,
  attentionQueryGradient,
  MAX_WIDTH,
  type AttentionForm,
  type AttentionLaunch,
} from "../../shader/kernels/attention.ts";
import { callOf, type Kernel } from "../../shader/kernels/kernel.ts";
import { sum } from "../reduce/reduce.ts";
import { mul } from "../elementwise/binary.ts";
import { cat } from "../shape/join.ts";
import { reshape } from "../shape/movement.ts";

/** @package */
export interface BlockAttention {
  readonly scale: number;
  readonly causal: boolean;
  /** Heads of queries, and how many of them share one of keys. */
  readonly heads: number;
  readonly sharing: number;
}

/** The gradients of composed operations: of gradients that have gradients, and of masks. */
type Composed = (
  dy: Tensor,
  inputs: readonly (Tensor | undefined)[],
  attrs: BlockAttention,
  needs: readonly boolean[],
) => readonly (Tensor | null)[];

function emit(
  g: GraphBuilder,
  kernel: Kernel,
  inputs: Readonly<Record<string, Expr>>,
  outputs: Readonly<Record<string, readonly number[]>>,
  params: AttentionLaunch,
): Expr[] {
  const shapes = { ...Object.fromEntries(Object.entries(inputs).map(([name, x]) => [name, x.sizes])), ...outputs };
  const specs = Object.values(outputs).map((sizes) => ({ dtype: "float32" as const, sizes }));
  return g.shader(callOf(g.capabilities, kernel, { shapes, params }), Object.values(inputs), specs);
}

function formOf([q, , v, mask]: readonly Expr[], { causal }: BlockAttention): AttentionForm {
  return { width: q!.sizes[2]!, valueWidth: v!.sizes[2]!, isCausal: causal, hasMask: mask !== undefined };
}

function launchOf([q, k, , mask]: readonly Expr[], { scale, heads, sharing }: BlockAttention): AttentionLaunch {
  const [batch, head, query, key] = mask?.sizes ?? [1, 1, 1, 1];
  const stride = (size: number | undefined, rest: number): number => (size === 1 ? 0 : rest);
  return {
    queries: q!.sizes[1]!,
    keys: k!.sizes[1]!,
    heads,
    sharing,
    scale,
    maskBatch: stride(batch, head! * query! * key!),
    maskHead: stride(head, query! * key!),
    maskQuery: stride(query, key!),
    maskKey: stride(key, 1),
  };
}

const named = ([q, k, v, mask]: readonly Expr[], more: Readonly<Record<string, Expr>> = {}): Record<string, Expr> => ({
  q: q!,
  k: k!,
  v: v!,
  ...more,
  ...(mask === undefined ? {} : { mask }),
});

/** Inputs q [N, L, E], k [M, S, E], v [M, S, D], a mask [A, H, L, S] of whose sizes each may be 1. Outputs [N, L, D] and logs [N, L]. */
const blockAttentionOp: Definition<BlockAttention> = define<BlockAttention>({
  name: "blockAttention",
  infer: ([q, , v]) => [
    { shape: [...q!.shape.slice(0, 2), v!.shape[2]!], dtype: q!.dtype },
    { shape: q!.shape.slice(0, 2), dtype: q!.dtype },
  ],
  lower: (g, inputs, attrs, [y, logs]) =>
    emit(g, attention(formOf(inputs, attrs)), named(inputs), { y: y!.shape, logs: logs!.shape }, launchOf(inputs, attrs)),
  grad: (dy, { inputs: [q, k, v, mask], outputs: [y, logs], attrs, needs }) => {
    if (isGradEnabled() || needs[3]) return composed!(dy, [q, k, v, mask], attrs, needs);
    const dots = sum(mul(dy, y!), -1);
    const statistics = cat([reshape(logs!, [1, ...logs!.shape]), reshape(dots, [1, ...dots.shape])], 0);
    const operands = [q!, k!, v!, dy, statistics, ...(mask === undefined ? [] : [mask])];
    const [dk, dv] = needs[1] || needs[2] ? dispatch(keyGradientOp, operands, attrs) : [null, null];
    const shared = (t: Tensor | null | undefined): Tensor | null => {
      if (t === null || t === undefined) return null;
      const [n, keys, width] = t.shape as [number, number, number];
      return attrs.sharing === 1 ? t : sum(reshape(t, [n / attrs.sharing, attrs.sharing, keys, width]), 1);
    };
    const dq = needs[0] ? dispatch(queryGradientOp, operands, attrs)[0]! : null;
    return [dq, shared(dk), shared(dv), ...(mask === undefined ? [] : [null])];
  },
});

const split = ([q, k, v, dy, statistics, ...mask]: readonly Expr[]): { readonly inputs: Expr[]; readonly more: Record<string, Expr> } => ({
  inputs: [q!, k!, v!, ...mask],
  more: { dy: dy!, statistics: statistics! },
});

const queryGradientOp: Definition<BlockAttention> = define<BlockAttention>({
  name: "blockAttentionQueryGradient",
  infer: ([q]) => [q!],
  lower: (g, operands, attrs, [dq]) => {
    const { inputs, more } = split(operands);
    return emit(g, attentionQueryGradient(formOf(inputs, attrs)), named(inputs, more), { dq: dq!.shape }, launchOf(inputs, attrs));
  },
  grad: null,
});

const keyGradientOp: Definition<BlockAttention> = define<BlockAttention>({
  name: "blockAttentionKeyGradient",
  infer: ([q, k, v]) => [k!, v!].map(({ shape, dtype }) => ({ shape: [q!.shape[0]!, ...shape.slice(1)], dtype })),
  lower: (g, operands, attrs, [dk, dv]) => {
    const { inputs, more } = split(operands);
    const outputs = { dk: dk!.shape, dv: dv!.shape };
    return emit(g, attentionKeyGradient(formOf(inputs, attrs)), named(inputs, more), outputs, launchOf(inputs, attrs));
  },
  grad: null,
});

let composed: Composed | null = null;

/** @internal attention.ts gives it, which imports this file. */
export const setComposed = (fn: Composed): void => void (composed = fn);

/** The largest buffer of a shader. */
const MAX_BYTES = 2 ** 29;

/** The last four sizes; null: there are more. */
function fourSizes(shape: readonly number[]): readonly [number, number, number, number] | null {
  if (shape.length > 4) return null;
  return [...new Array<number>(4 - shape.length).fill(1), ...shape] as unknown as readonly [number, number, number, number];
}

/** softmax(q kᵀ scale + mask) v where shaders are chosen for it; null: they are not. mask: numbers, which broadcast. isGrouped: heads of q may share one of k and v. @package */
export function blockAttention(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  mask: Tensor | null,
  { scale, causal, isGrouped }: { readonly scale: number; readonly causal: boolean; readonly isGrouped: boolean },
): Tensor | null {
  const [a, b, c] = [fourSizes(q.shape), fourSizes(k.shape), fourSizes(v.shape)];
  const m = mask === null ? null : fourSizes(mask.shape);
  if (a === null || b === null || c === null || (mask !== null && m === null) || q.dtype !== "float32") return null;
  const [batch, heads, queries, width] = a;
  const [, keyHeads, keys] = b;
  const valueWidth = c[3];
  const isSame = b[0] === batch && c[0] === batch && c[1] === keyHeads && (isGrouped ? heads % keyHeads === 0 : heads === keyHeads);
  if (!isSame || batch * heads * queries * keys === 0) return null;
  if ([width, valueWidth].some((w) => w < 4 || w > MAX_WIDTH || w % 4 !== 0)) return null;
  const largest = batch * heads * Math.max(queries, keys) * Math.max(width, valueWidth);
  if (4 * largest > MAX_BYTES || (m !== null && 4 * sizeOf(m) > MAX_BYTES)) return null;
  const { capabilities } = nativeDevice(q.device, "scaledDotProductAttention");
  if (!choosesShader(capabilities, tracer() === null, "attention", { dtype: "float32", extent: keys, isPacked: true })) return null;
  const attrs: BlockAttention = { scale, causal, heads, sharing: heads / keyHeads };
  const flat = (t: Tensor, [x, y, ...rest]: readonly number[]): Tensor => reshape(t, [x! * y!, ...rest]);
  const inputs = [flat(q, a), flat(k, b), flat(v, c), ...(mask === null ? [] : [reshape(mask, [...m!])])];
  return reshape(dispatch(blockAttentionOp, inputs, attrs)[0]!, [...q.shape.slice(0, -1), valueWidth]);
}
