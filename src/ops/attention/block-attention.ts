/** Attention by the library's shaders (shader/kernels/attention.ts), where they are chosen: no score is in memory. */
import { grad as gradientsOf } from "../../autograd/backward.ts";
import { enableGrad, isGradEnabled, noGrad } from "../../autograd/grad-mode.ts";
import { batching } from "../../core/batching.ts";
import { define, type Definition, type GradRule } from "../../core/definition.ts";
import type { DType } from "../../core/dtype.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { tracer } from "../../core/tracer.ts";
import { assign, dispatch } from "../../dispatch/dispatch.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import type { Expr } from "../../graph/graph.ts";
import { nativeDevice } from "../../runtime/devices.ts";
import { noteComposed } from "../../runtime/fallback.ts";
import { choosesShader, type ShaderName } from "../../shader/choice.ts";
import { tracedChoice } from "../../shader/shader-forms.ts";
import {
  attention,
  attentionKeyGradient,
  attentionQueryGradient,
  MAX_WIDTH,
  type AttentionForm,
  type AttentionLaunch,
} from "../../shader/kernels/attention.ts";
import { fewQueryAttention, takesFewQueries } from "../../shader/kernels/few-query-attention.ts";
import { callOf, type Kernel } from "../../shader/kernels/kernel.ts";
import { toDType } from "../data/conversion.ts";
import { clone } from "../data/state.ts";
import { mul } from "../elementwise/binary.ts";
import { defaultGenerator, Generator } from "../random/random.ts";
import { sum } from "../reduce/reduce.ts";
import { cat } from "../shape/join.ts";
import { narrow, reshape } from "../shape/movement.ts";
import { pad } from "../shape/pad.ts";

/** @package */
export interface BlockAttention {
  readonly scale: number;
  readonly causal: boolean;
  /** Heads of queries, and how many of them share one of keys. */
  readonly heads: number;
  readonly sharing: number;
  readonly hasMask: boolean;
  /** Probability with which a weight is dropped; 0: no state is among the inputs. */
  readonly p: number;
  /** Whether a group of threads has one query, forward: few-query-attention.ts. */
  readonly isFew: boolean;
}

/** The gradients of composed operations: of gradients that have gradients, and of masks. state: of the random numbers that drop weights, null: none. */
type Composed = (
  dy: Tensor,
  inputs: readonly (Tensor | undefined)[],
  state: Tensor | null,
  attrs: BlockAttention,
  needs: readonly boolean[],
) => readonly (Tensor | null)[];

interface Output {
  readonly sizes: readonly number[];
  readonly dtype: DType;
}

function emit(
  g: GraphBuilder,
  kernel: Kernel,
  inputs: Readonly<Record<string, Expr>>,
  outputs: Readonly<Record<string, Output>>,
  params: AttentionLaunch,
): Expr[] {
  const shapes = Object.fromEntries([...Object.entries(inputs), ...Object.entries(outputs)].map(([name, { sizes }]) => [name, sizes]));
  return g.shader(callOf(g.capabilities, kernel, { shapes, params }), Object.values(inputs), Object.values(outputs));
}

/** The operands by the names of the kernels' buffers, in their order. */
interface Operands {
  readonly q: Expr;
  readonly k: Expr;
  readonly v: Expr;
  readonly dy?: Expr;
  readonly statistics?: Expr;
  readonly mask?: Expr;
  readonly state?: Expr;
}

function operandsOf(inputs: readonly Expr[], { hasMask, p }: BlockAttention, isGradient: boolean): Operands {
  const [q, k, v, ...rest] = inputs as [Expr, Expr, Expr, ...Expr[]];
  const more = isGradient ? { dy: rest.shift()!, statistics: rest.shift()! } : {};
  return { q, k, v, ...more, ...(hasMask ? { mask: rest.shift()! } : {}), ...(p > 0 ? { state: rest.shift()! } : {}) };
}

const formOf = ({ capabilities }: GraphBuilder, { q, v }: Operands, { causal, hasMask, p }: BlockAttention): AttentionForm => ({
  element: q.dtype === "float16" ? "f16" : "f32",
  width: q.sizes[2]!,
  valueWidth: v.sizes[2]!,
  isCausal: causal,
  hasMask,
  drops: p > 0,
  // Random numbers are long already.
  isUnrolled: capabilities.compilesLongShaders && p === 0,
});

function launchOf({ q, k, mask }: Operands, { scale, heads, sharing, p }: BlockAttention): AttentionLaunch {
  const [batch, head, query, key] = mask?.sizes ?? [1, 1, 1, 1];
  const stride = (size: number | undefined, rest: number): number => (size === 1 ? 0 : rest);
  return {
    queries: q.sizes[1]!,
    keys: k.sizes[1]!,
    heads,
    sharing,
    scale,
    maskBatch: stride(batch, head! * query! * key!),
    maskHead: stride(head, query! * key!),
    maskQuery: stride(query, key!),
    maskKey: stride(key, 1),
    threshold: Math.ceil(Math.fround(p) * 2 ** 24),
    factor: 1 / (1 - p),
  };
}

/** tensors: what the shader reads. run: the operation over such tensors, which `tune` measures in both forms. */
function chooses(
  tensors: readonly Tensor[],
  {
    keys,
    causal,
    isGradient,
    isFew = false,
    settings,
  }: {
    readonly keys: number;
    readonly causal: boolean;
    readonly isGradient: boolean;
    readonly isFew?: boolean;
    readonly settings: unknown;
  },
  run: (tensors: readonly Tensor[]) => Tensor,
): boolean {
  const q = tensors[0]!;
  if (q.dtype !== "float32" && q.dtype !== "float16") return false;
  const { capabilities } = nativeDevice(q.device, "scaledDotProductAttention");
  const name: ShaderName = isFew ? "fewQueryAttention" : `${causal ? "causalAttention" : "attention"}${isGradient ? "Gradient" : ""}`;
  const tuned = capabilities.runsShaders ? tracedChoice({ name, tensors, settings, run }) : null;
  return tuned ?? choosesShader(capabilities, tracer() === null, name, { dtype: q.dtype, extent: keys, isPacked: true });
}

/** Forward and backward once more, without dropout: what is dropped costs both forms the same. */
function gradientAgain([q, k, v, dy, ...mask]: readonly Tensor[], attrs: BlockAttention): Tensor {
  return enableGrad(() => {
    const leaves = [q!, k!, v!].map((t) => t.detach().requiresGrad_());
    const [y] = dispatch(blockAttentionOp, [...leaves, ...mask], { ...attrs, p: 0, isFew: false });
    const found = gradientsOf(y!, leaves, { gradient: dy! }) as Tensor[];
    return cat(found.map((t) => reshape(t, [t.size])), 0); // prettier-ignore
  });
}

const outputOf = ({ shape, dtype }: { readonly shape: readonly number[]; readonly dtype: DType }): Output => ({ sizes: shape, dtype });

const grad: GradRule<BlockAttention> = (dy, { inputs, outputs: [y, softmax], attrs, needs }) => {
  const [q, k, v, ...rest] = inputs as [Tensor, Tensor, Tensor, ...Tensor[]];
  const [mask, state] = [attrs.hasMask ? rest[0] : undefined, attrs.p > 0 ? rest.at(-1)! : null];
  const others = new Array<null>(rest.length).fill(null);
  const tensors = [q, k, v, dy, ...(attrs.hasMask ? [mask!] : [])];
  const settings = { keys: k.shape[1]!, causal: attrs.causal, isGradient: true, settings: attrs };
  const takes = (): boolean => chooses(tensors, settings, (list) => gradientAgain(list, attrs));
  if (isGradEnabled() || (attrs.hasMask && needs[3]) || !takes()) {
    const found = composed!(dy, [q, k, v, mask], state, attrs, needs);
    return [...found.slice(0, 3), ...others.map((x, i) => (i === 0 && attrs.hasMask ? found[3]! : x))];
  }
  const dots = sum(toDType(mul(dy, y!), "float32"), -1);
  const statistics = cat([softmax!, reshape(dots, [1, ...dots.shape])], 0);
  const operands = [q, k, v, dy, statistics, ...rest];
  const [dk, dv] = needs[1] || needs[2] ? dispatch(keyGradientOp, operands, attrs) : [null, null];
  const shared = (t: Tensor | null | undefined): Tensor | null => {
    if (t === null || t === undefined) return null;
    const [n, keys, width] = t.shape as [number, number, number];
    return attrs.sharing === 1 ? t : sum(reshape(t, [n / attrs.sharing, attrs.sharing, keys, width]), 1);
  };
  const dq = needs[0] ? dispatch(queryGradientOp, operands, attrs)[0]! : null;
  return [dq, needs[1] ? shared(dk) : null, needs[2] ? shared(dv) : null, ...others];
};

/**
 * Inputs q [N, L, E], k [M, S, E], v [M, S, D], a mask [A, H, L, S] of whose sizes each may be 1, a generator's state. Outputs [N, L, D], softmax [2, N, L] and, with a
 * state, the next one.
 */
const blockAttentionOp: Definition<BlockAttention> = define<BlockAttention>({
  name: "blockAttention",
  infer: (inputs, { p }) => {
    const [q, , v] = inputs;
    const rows = q!.shape.slice(0, 2);
    const results: { shape: readonly number[]; dtype: DType }[] = [
      { shape: [...rows, v!.shape[2]!], dtype: q!.dtype },
      { shape: [2, ...rows], dtype: "float32" },
    ];
    return p > 0 ? [...results, inputs.at(-1)!] : results;
  },
  lower: (g, inputs, attrs, [y, softmax, next]) => {
    const operands = operandsOf(inputs, attrs, false);
    const outputs = { y: outputOf(y!), softmax: outputOf(softmax!), ...(next === undefined ? {} : { next: outputOf(next) }) };
    const form = formOf(g, operands, attrs);
    return emit(
      g,
      attrs.isFew ? fewQueryAttention(form) : attention(form),
      operands as unknown as Record<string, Expr>,
      outputs,
      launchOf(operands, attrs),
    );
  },
  grad,
});

const queryGradientOp: Definition<BlockAttention> = define<BlockAttention>({
  name: "blockAttentionQueryGradient",
  infer: ([q]) => [q!],
  lower: (g, inputs, attrs, [dq]) => {
    const operands = operandsOf(inputs, attrs, true);
    const kernel = attentionQueryGradient(formOf(g, operands, attrs));
    return emit(g, kernel, operands as unknown as Record<string, Expr>, { dq: outputOf(dq!) }, launchOf(operands, attrs));
  },
  grad: null,
});

const keyGradientOp: Definition<BlockAttention> = define<BlockAttention>({
  name: "blockAttentionKeyGradient",
  infer: ([q, k, v]) => [k!, v!].map(({ shape, dtype }) => ({ shape: [q!.shape[0]!, ...shape.slice(1)], dtype })),
  lower: (g, inputs, attrs, [dk, dv]) => {
    const operands = operandsOf(inputs, attrs, true);
    const kernel = attentionKeyGradient(formOf(g, operands, attrs));
    const outputs = { dk: outputOf(dk!), dv: outputOf(dv!) };
    return emit(g, kernel, operands as unknown as Record<string, Expr>, outputs, launchOf(operands, attrs));
  },
  grad: null,
});

let composed: Composed | null = null;

/** @internal attention.ts gives it, which imports this file. */
export const setComposed = (fn: Composed): void => void (composed = fn);

/** Attention in the form that is chosen. */
type Attend = (q: Tensor, k: Tensor, v: Tensor, mask: Tensor | null, options: BlockOptions) => Tensor;

let attend: Attend | null = null;

/** @internal As setComposed. */
export const setAttend = (fn: Attend): void => void (attend = fn);

/** The largest buffer of a shader. */
const MAX_BYTES = 2 ** 29;
/** Elements of a part of a row, which is one access. */
const PART = 4;

type FourSizes = readonly [number, number, number, number];

/** The last four sizes; null: there are more. */
function fourSizes(shape: readonly number[]): FourSizes | null {
  if (shape.length > 4) return null;
  return [...new Array<number>(4 - shape.length).fill(1), ...shape] as unknown as FourSizes;
}

/** Why shaders do not compute attention of so many elements; null: they do. */
function refusalOf(
  [a, b, c]: readonly (FourSizes | null)[],
  mask: Tensor | null,
  isGrouped: boolean,
  p: number,
  seesTexels: boolean,
): string | null {
  const m = mask === null ? null : fourSizes(mask.shape);
  if (!a || !b || !c || (mask !== null && m === null)) return "tensors have more than four axes";
  const [batch, heads, queries, width] = a;
  const [, keyHeads, keys] = b;
  const isSame = b[0] === batch && c[0] === batch && c[1] === keyHeads && (isGrouped ? heads % keyHeads === 0 : heads === keyHeads);
  if (!isSame) return "the batches of q, k and v differ";
  const widest = Math.max(width, c[3]);
  if (widest > MAX_WIDTH) return `heads are wider than ${MAX_WIDTH}`;
  const largest = batch * heads * Math.max(queries, keys) * (widest + PART);
  if (4 * largest > MAX_BYTES || (m !== null && 4 * sizeOf(m) > MAX_BYTES)) return `a tensor has more than ${MAX_BYTES} bytes`;
  if (p === 0) return null;
  if (keys % PART !== 0) return `weights of ${keys} keys are dropped, which is no multiple of ${PART}`;
  if (batch * heads * queries * keys >= 2 ** 34) return "more than 2^34 weights may be dropped";
  return mask !== null && !seesTexels ? "weights are dropped under a mask, which takes more buffers than there are" : null;
}

/** Zeros behind the last axis up to a multiple of a part. */
function filled(t: Tensor): Tensor {
  const missing = -t.shape.at(-1)! & (PART - 1);
  return missing === 0 ? t : pad(t, [0, missing]);
}

/** @package */
export interface BlockOptions {
  readonly scale: number;
  readonly causal: boolean;
  /** Heads of q may share one of k and v. */
  readonly isGrouped: boolean;
  /** Probability with which a weight is dropped, less than 1. */
  readonly p: number;
  readonly generator: Generator | undefined;
}

/** softmax(q kᵀ scale + mask) v where shaders are chosen for it; null: they are not. mask: numbers, which broadcast. @package */
export function blockAttention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | null, options: BlockOptions): Tensor | null {
  const { scale, causal, isGrouped, p, generator } = options;
  if ([q, k, v].some((t) => t.size === 0) || batching() !== null) return null;
  const keys = k.shape.at(-2)!;
  const isFew = !causal && p === 0 && q.dtype === "float32" && takesFewQueries(q.shape.at(-2)!, keys);
  const settings = { keys, causal, isGradient: false, isFew, settings: { scale, causal, isGrouped, p } };
  const again = ([ownQ, ownK, ownV, ownMask]: readonly Tensor[]): Tensor =>
    attend!(ownQ!, ownK!, ownV!, ownMask ?? null, { ...options, generator: new Generator(0) });
  if (!chooses(mask === null ? [q, k, v] : [q, k, v, mask], settings, again)) return null;
  const native = nativeDevice(q.device, "scaledDotProductAttention");
  const sizes = [q, k, v].map((t) => fourSizes(t.shape));
  const why = refusalOf(sizes, mask, isGrouped, p, native.capabilities.seesTexels);
  if (why !== null) {
    noteComposed("scaledDotProductAttention", [q, k, v], native, why);
    return null;
  }
  const [heads, keyHeads] = [sizes[0]![1], sizes[1]![1]];
  const attrs: BlockAttention = { scale, causal, heads, sharing: heads / keyHeads, hasMask: mask !== null, p, isFew };
  const flat = (t: Tensor): Tensor => reshape(t, [sizeOf(t.shape.slice(0, -2)), ...t.shape.slice(-2)]);
  const inputs = [q, k, v].map((t) => filled(flat(t)));
  if (mask !== null) inputs.push(reshape(mask, [...fourSizes(mask.shape)!]));
  const state = p > 0 ? (generator ?? defaultGenerator()).stateOn(q.device) : null;
  // A copy: the gradients draw the same numbers, from the state as it is now.
  if (state !== null) inputs.push(noGrad(() => clone(state)));
  const [y, , next] = dispatch(blockAttentionOp, inputs, attrs);
  if (state !== null) noGrad(() => assign("random", state, () => next!));
  const width = v.shape.at(-1)!;
  const own = y!.shape[2] === width ? y! : narrow(y!, -1, 0, width);
  return reshape(own, [...q.shape.slice(0, -1), width]);
}
