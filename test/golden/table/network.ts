/** Products, windows, normalisations and losses. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import { Missing } from "../cases.ts";
import type { Entry, Result } from "./entry.ts";

type PerAxis = number | readonly number[];

const optional = (c: Call, ...names: string[]): dx.Tensor | null => {
  const v = c.get(...names);
  return v === undefined || v === null ? null : c.tensor(v);
};
const defined = <T>(c: Call, name: string): T | undefined => {
  const v = c.get(name);
  return v === undefined || v === null ? undefined : (v as T);
};
/** PyTorch takes lists of one number for all axes, too. */
const perAxis = (c: Call, name: string): PerAxis | undefined => {
  const v = defined<PerAxis>(c, name);
  return Array.isArray(v) && v.length === 1 ? (v[0] as number) : Array.isArray(v) && v.length === 0 ? undefined : v;
};

const convolution = (f: typeof dx.conv2d): Entry => ({ run: (c) => {
  return f(c.x, c.tensor(c.get("weight")), optional(c, "bias"), { stride: perAxis(c, "stride"), padding: perAxis(c, "padding") as number | "same" | undefined, dilation: perAxis(c, "dilation"), groups: defined<number>(c, "groups") });
} });

const transposed = (f: typeof dx.convTranspose2d): Entry => ({ run: (c) => {
  return f(c.x, c.tensor(c.get("weight")), optional(c, "bias"), { stride: perAxis(c, "stride"), padding: perAxis(c, "padding"), outputPadding: perAxis(c, "output_padding"), dilation: perAxis(c, "dilation"), groups: defined<number>(c, "groups") });
} });

const poolOptions = (c: Call): dx.MaxPoolOptions => ({ stride: perAxis(c, "stride"), padding: perAxis(c, "padding"), ceilMode: c.bool("ceil_mode") });
const size = (c: Call): PerAxis => perAxis(c, "kernel_size") as PerAxis;
const int64 = ({ values, indices }: dx.Pooled): Result => [values, indices.to("int64")];

const maxPool = (f: typeof dx.maxPool2d, g: typeof dx.maxPool2dWithIndices): Entry => ({ run: (c) => {
  const options = { ...poolOptions(c), dilation: perAxis(c, "dilation") };
  return c.bool("return_indices") ? int64(g(c.x, size(c), options)) : f(c.x, size(c), options);
} });

const avgPool = (f: typeof dx.avgPool2d): Entry => ({ run: (c) => {
  return f(c.x, size(c), { ...poolOptions(c), countIncludePad: defined<boolean>(c, "count_include_pad"), divisorOverride: defined<number>(c, "divisor_override") });
} });

const outputSize = (c: Call, spatial: number): number | readonly (number | null)[] => {
  const v = c.get("output_size") as number | readonly (number | null)[];
  return Array.isArray(v) && v.length === 1 && spatial > 1 ? (v[0] as number) : v;
};
const adaptiveAvg = (f: typeof dx.adaptiveAvgPool2d, spatial: number): Entry => ({ run: (c) => f(c.x, outputSize(c, spatial)) });
const adaptiveMax = (f: typeof dx.adaptiveMaxPool2d, g: typeof dx.adaptiveMaxPool2dWithIndices, spatial: number): Entry => ({
  run: (c) => (c.bool("return_indices") ? int64(g(c.x, outputSize(c, spatial))) : f(c.x, outputSize(c, spatial))),
});

function requireOne(c: Call, reason: string, excluded: boolean): void {
  if (c.case.kind === "ok" && excluded) throw new Missing(reason);
}

const batchNorm: Entry = { run: (c) => batchNormOf(c) };
const batchNormOf = (c: Call): dx.Tensor => dx.batchNorm(c.x, optional(c, "running_mean"), optional(c, "running_var"), optional(c, "weight"), optional(c, "bias"), { training: c.bool("training"), momentum: c.number("momentum", 0.1), eps: c.number("eps", 1e-5) });

const instanceNorm: Entry = { run: (c) => {
  requireOne(c, "instance norm by running statistics is not delivered", c.get("use_input_stats") === false);
  return dx.instanceNorm(c.x, optional(c, "weight"), optional(c, "bias"), { eps: c.number("eps", 1e-5) });
} };

const layerNorm = (c: Call): dx.Tensor => dx.layerNorm(c.x, c.list("normalized_shape"), optional(c, "weight"), optional(c, "bias"), { eps: c.number("eps", 1e-5) });

const loss = <O>(f: (x: dx.Tensor, target: dx.Tensor, options: O) => dx.Tensor, more: (c: Call) => object = () => ({})): Entry => ({
  run: (c) => f(c.x, c.tensor(c.get("target")), { reduction: defined<dx.Reduction>(c, "reduction"), ...more(c) } as O),
});

const dropout: Entry = { run: (c) => {
  const p = c.number("p", 0.5);
  const training = c.get("training") !== false;
  requireOne(c, "random results are not PyTorch's", training && p > 0 && p < 1 && c.case.compare?.[0] !== "meta");
  return dx.dropout(c.x, { p, training, generator: new dx.Generator(1) });
} };

const embedding: Entry = { run: (c) => {
  requireOne(c, "maxNorm and scaleGradByFreq are not delivered", c.has("max_norm") || c.bool("scale_grad_by_freq"));
  return dx.embedding(c.x, c.tensor(c.get("weight")), { paddingIdx: defined<number>(c, "padding_idx") });
} };

const fn = (name: string): string => `nn.functional.${name}`;

export const network: Readonly<Record<string, Entry>> = {
  __rmatmul__: { run: (c) => dx.matmul(c.tensor(c.positional[1]), c.x) },
  [fn("linear")]: { run: (c) => dx.linear(c.x, c.tensor(c.get("weight")), optional(c, "bias")) },
  [fn("conv1d")]: convolution(dx.conv1d), [fn("conv2d")]: convolution(dx.conv2d), [fn("conv3d")]: convolution(dx.conv3d),
  [fn("conv_transpose1d")]: transposed(dx.convTranspose1d), [fn("conv_transpose2d")]: transposed(dx.convTranspose2d), [fn("conv_transpose3d")]: transposed(dx.convTranspose3d),
  [fn("max_pool1d")]: maxPool(dx.maxPool1d, dx.maxPool1dWithIndices), [fn("max_pool2d")]: maxPool(dx.maxPool2d, dx.maxPool2dWithIndices), [fn("max_pool3d")]: maxPool(dx.maxPool3d, dx.maxPool3dWithIndices),
  [fn("avg_pool1d")]: avgPool(dx.avgPool1d), [fn("avg_pool2d")]: avgPool(dx.avgPool2d), [fn("avg_pool3d")]: avgPool(dx.avgPool3d),
  [fn("adaptive_avg_pool1d")]: adaptiveAvg(dx.adaptiveAvgPool1d, 1), [fn("adaptive_avg_pool2d")]: adaptiveAvg(dx.adaptiveAvgPool2d, 2), [fn("adaptive_avg_pool3d")]: adaptiveAvg(dx.adaptiveAvgPool3d, 3),
  [fn("adaptive_max_pool1d")]: adaptiveMax(dx.adaptiveMaxPool1d, dx.adaptiveMaxPool1dWithIndices, 1),
  [fn("adaptive_max_pool2d")]: adaptiveMax(dx.adaptiveMaxPool2d, dx.adaptiveMaxPool2dWithIndices, 2),
  [fn("adaptive_max_pool3d")]: adaptiveMax(dx.adaptiveMaxPool3d, dx.adaptiveMaxPool3dWithIndices, 3),
  [fn("batch_norm")]: batchNorm, [fn("instance_norm")]: instanceNorm, [fn("layer_norm")]: { run: layerNorm },
  native_layer_norm: { run: (c) => { const r = dx.nativeLayerNorm(c.x, c.list("normalized_shape"), optional(c, "weight"), optional(c, "bias"), { eps: c.number("eps", 1e-5) }); return [r.output, r.mean, r.rstd]; } },
  native_group_norm: { run: (c) => { const r = dx.nativeGroupNorm(c.x, c.number("group", 1), optional(c, "weight"), optional(c, "bias"), { eps: c.number("eps", 1e-5) }); return [r.output, r.mean, r.rstd]; } },
  [fn("group_norm")]: { run: (c) => dx.groupNorm(c.x, c.number("num_groups", 1), optional(c, "weight"), optional(c, "bias"), { eps: c.number("eps", 1e-5) }) },
  [fn("embedding")]: embedding, [fn("dropout")]: dropout,
  [fn("binary_cross_entropy")]: loss(dx.binaryCrossEntropy, (c) => ({ weight: optional(c, "weight") })),
};
