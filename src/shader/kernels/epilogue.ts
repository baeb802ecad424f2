/** What follows the sums of a convolution or a GEMM in the launch that writes them: y = activation(norm(sum + bias) + addend), or that of relu's gradient. */
import type { Activation } from "../../graph/graph.ts";
import { keyOf } from "../../graph/key.ts";
import type { BufferElements } from "../language.ts";
import type { Float, Uint } from "../numbers.ts";
import { activationCode } from "../operations/activations.ts";
import type { Constants } from "../operations/code.ts";

/** The epilogue of a launch. A GEMM's has neither bias nor batch norm: what it adds to its products comes before. */
export interface EpilogueForm {
  /** A number for each channel of the result. */
  readonly hasBias: boolean;
  /** Batch norm with known statistics, (v - mean) / sqrt(variance + epsilon) * gain + shift, each of them a number for each channel; null: none. */
  readonly epsilon: number | null;
  /** A tensor of the result's shape. */
  readonly hasAddend: boolean;
  readonly activation: Activation | null;
  /** The gradient of relu by a tensor of the result's shape, in place of an activation; null: none. */
  readonly reluGradient: ReluGradient | null;
  /** Whether the result is cast from float32 to float16 in the end, or back. */
  readonly casts?: boolean;
  /** Operands that are in memory of the other float type. Default: none. A GEMM's form has them itself. */
  readonly cast?: readonly string[];
}

/** Buffers that kernel() casts, of a launch that writes y. */
export const castBuffers = ({ cast = [], casts }: Pick<EpilogueForm, "cast" | "casts">): readonly string[] => [
  ...cast,
  ...(casts === true ? ["y"] : []),
];

/** 0 where x is at most 0, or where it is not above 0: they differ at NaN. */
export type ReluGradient = "unless at most 0" | "where above 0";

export const NO_EPILOGUE: EpilogueForm = { hasBias: false, epsilon: null, hasAddend: false, activation: null, reluGradient: null };

/** Names of the buffers of batch norm. */
export const NORM_BUFFERS = ["mean", "variance", "gain", "shift"] as const;

/** Names of the buffers that it reads, in the kernels' order. */
export const epilogueBuffers = ({ hasBias, epsilon, hasAddend, reluGradient }: EpilogueForm): readonly string[] => [
  ...(hasBias ? ["bias"] : []),
  ...(epsilon === null ? [] : NORM_BUFFERS),
  ...(hasAddend ? ["addend"] : []),
  ...(reluGradient === null ? [] : ["mask"]),
];

export const epilogueName = ({ hasBias, epsilon, hasAddend, activation, reluGradient, casts }: EpilogueForm): string[] => [
  hasBias ? "bias" : "",
  epsilon === null ? "" : `norm ${epsilon}`,
  hasAddend ? "addend" : "",
  activation === null ? "" : keyOf([activation.operator, activation.attributes]),
  reluGradient === null ? "" : `zero ${reluGradient}`,
  casts === true ? "cast" : "",
];

type AnyScope = Constants & { readonly buffers: { readonly [name: string]: BufferElements<"f32" | "f16"> } };

/** Values of one channel as they are written. at: the index of the first one in the result; the others follow it. */
export type Epilogue = (values: readonly Float[], at: Uint) => Float[];

/** By the bits of x: drivers may turn comparisons around, which NaN does not allow. */
function masked(v: Float, x: Float, kind: ReluGradient, s: AnyScope): Float {
  const bits = x.bits();
  const zero = s.f32(0);
  if (kind === "where above 0") return bits.sub(1).lt(0x7f800000).select(v, zero);
  return bits.eq(0).or(bits.sub(0x80000000).lt(0x7f800001)).select(zero, v);
}

/** The epilogue for a channel, whose numbers are read once. */
export function epilogueOf(
  s: AnyScope,
  { hasBias, epsilon, hasAddend, activation, reluGradient }: EpilogueForm,
): (channel: () => Uint) => Epilogue {
  const curve = activation === null ? null : activationCode(activation)!;
  return (channel) => {
    const one = (name: string): Float => s.buffers[name]!.loadsInside(channel(), 1)[0]!;
    const bias = hasBias ? one("bias") : null;
    const norm =
      epsilon === null ? null : { mean: one("mean"), scale: one("variance").add(epsilon).rsqrt().mul(one("gain")), shift: one("shift") };
    return (values, at) => {
      const added = hasAddend ? s.buffers["addend"]!.loadsInside(at, values.length) : null;
      const mask = reluGradient === null ? null : s.buffers["mask"]!.loadsInside(at, values.length);
      return values.map((v, q) => {
        const sum = bias === null ? v : v.add(bias);
        const normed = norm === null ? sum : sum.sub(norm.mean).mul(norm.scale).add(norm.shift);
        const total = added === null ? normed : normed.add(added[q]!);
        if (reluGradient !== null) return masked(total, mask![q]!, reluGradient, s);
        return curve === null ? total : curve(total, s);
      });
    };
  };
}
