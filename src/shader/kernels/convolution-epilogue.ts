/** What follows a convolution's sums in the launch that writes them: y = activation(norm(sum + bias) + addend). */
import type { Activation } from "../../graph/graph.ts";
import { keyOf } from "../../graph/key.ts";
import type { BufferElements } from "../language.ts";
import type { Float, Uint } from "../numbers.ts";
import { activationCode } from "../operations/activations.ts";
import type { Constants } from "../operations/code.ts";

/** The epilogue of a convolution. */
export interface EpilogueForm {
  /** A number for each channel of the result. */
  readonly hasBias: boolean;
  /** Batch norm with known statistics, (v - mean) / sqrt(variance + epsilon) * gain + shift, each of them a number for each channel; null: none. */
  readonly epsilon: number | null;
  /** A tensor of the result's shape. */
  readonly hasAddend: boolean;
  readonly activation: Activation | null;
}

export const NO_EPILOGUE: EpilogueForm = { hasBias: false, epsilon: null, hasAddend: false, activation: null };

/** Names of the buffers of batch norm. */
export const NORM_BUFFERS = ["mean", "variance", "gain", "shift"] as const;

/** Names of the buffers that it reads, in the kernels' order. */
export const epilogueBuffers = ({ hasBias, epsilon, hasAddend }: EpilogueForm): readonly string[] => [
  ...(hasBias ? ["bias"] : []),
  ...(epsilon === null ? [] : NORM_BUFFERS),
  ...(hasAddend ? ["addend"] : []),
];

export const epilogueName = ({ hasBias, epsilon, hasAddend, activation }: EpilogueForm): string[] => [
  hasBias ? "bias" : "",
  epsilon === null ? "" : `norm ${epsilon}`,
  hasAddend ? "addend" : "",
  activation === null ? "" : keyOf([activation.operator, activation.attributes]),
];

type AnyScope = Constants & { readonly buffers: { readonly [name: string]: BufferElements<"f32"> } };

/** Values of one channel as they are written. at: the index of the first one in the result; the others follow it. */
export type Epilogue = (values: readonly Float[], at: Uint) => Float[];

/** The epilogue for a channel, whose numbers are read once. */
export function epilogueOf(s: AnyScope, { hasBias, epsilon, hasAddend, activation }: EpilogueForm): (channel: () => Uint) => Epilogue {
  const curve = activation === null ? null : activationCode(activation)!;
  return (channel) => {
    const one = (name: string): Float => s.buffers[name]!.loadsInside(channel(), 1)[0]!;
    const bias = hasBias ? one("bias") : null;
    const norm =
      epsilon === null ? null : { mean: one("mean"), scale: one("variance").add(epsilon).rsqrt().mul(one("gain")), shift: one("shift") };
    return (values, at) => {
      const added = hasAddend ? s.buffers["addend"]!.loadsInside(at, values.length) : null;
      return values.map((v, q) => {
        const sum = bias === null ? v : v.add(bias);
        const normed = norm === null ? sum : sum.sub(norm.mean).mul(norm.scale).add(norm.shift);
        const total = added === null ? normed : normed.add(added[q]!);
        return curve === null ? total : curve(total, s);
      });
    };
  };
}
