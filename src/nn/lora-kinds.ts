/** How adapters of each kind of layer are made, run and multiplied out. @package */
import { isFloat, type DType } from "../core/dtype.ts";
import type { Device } from "../core/device.ts";
import { UnsupportedError, ValueError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { toDType } from "../ops/data/conversion.ts";
import { embedding as embeddingOp } from "../ops/index/embedding.ts";
import { linear as linearOp } from "../ops/exports/autocast.generated.ts";
import { matmul } from "../ops/matmul/matmul.ts";
import { reshape, t } from "../ops/shape/movement.ts";
import { Conv1d, Conv2d, Conv3d, type ConvLayerOptions } from "./conv.ts";
import { Dropout } from "./dropout.ts";
import { Embedding, EmbeddingBag } from "./embedding.ts";
import { fillNormal } from "./fill-weights.ts";
import { constant } from "./init.ts";
import { ADAPTS } from "./inner.ts";
import { Identity, Linear } from "./linear.ts";
import type { LoraSettings } from "./lora-options.ts";
import type { Layer, Module } from "./module.ts";
import { parameter, type LayerOptions } from "./options.ts";
import type { Parameter } from "./parameter.ts";

/** A layer that maps the last axis, without being a Linear. */
export interface LinearSite {
  readonly inputs: number;
  readonly outputs: number;
  readonly device: Device;
  /** The dtype of its results where that of inputs does not say it. */
  readonly dtype: DType;
  /** Whether its weight is [inputs, outputs]; null for one that is packed, into which nothing is merged. */
  readonly isTransposed: boolean | null;
}

/** The fields of a layer that has adapters, by the names of these. Names in the state are PEFT's. */
export interface AdaptedFields {
  lora_A?: Record<string, LoraFactor>;
  lora_B?: Record<string, LoraFactor>;
  lora_embedding_A?: Record<string, Parameter>;
  lora_embedding_B?: Record<string, Parameter>;
  lora_dropout?: Record<string, Layer>;
}

/** A or B. */
export type LoraFactor = Layer & { readonly weight: Parameter; readonly bias: Parameter | null };

export interface AdapterKind {
  /** Whether "all-linear" chooses it. */
  readonly isLinear: boolean;
  /** Gives the layer the fields of an adapter. */
  make(layer: Module, fields: AdaptedFields, rank: number, settings: LoraSettings): void;
  /** What an adapter adds for x, without its scale. */
  run(layer: Module, fields: AdaptedFields, name: string, x: Tensor): Tensor;
  /** The same as a weight of the layer's shape in float32. Throws UnsupportedError where it has none. */
  delta(layer: Module, fields: AdaptedFields, name: string): Tensor;
}

const wide = (x: Tensor): Tensor => toDType(x, "float32");

/** The dtype of adapters: that of the layer, but at least float32 unless it is named. */
const adapterDType = ({ dtype }: LoraSettings, own: DType): DType => dtype ?? (own === "float64" ? own : "float32");

/** A and B, with A as its layer starts or normal, and B at zero. */
function startFactors(
  fields: AdaptedFields,
  rank: number,
  settings: LoraSettings,
  make: (options: LayerOptions & { bias: boolean }, isA: boolean) => LoraFactor,
  site: LayerOptions,
): void {
  const { name, generator, dropout } = settings;
  const options = { ...site, generator };
  const a = make({ ...options, bias: false }, true);
  const b = make({ ...options, bias: settings.loraBias }, false);
  if (settings.init === "gaussian") fillNormal(a.weight, 0, 1 / rank, { generator });
  constant(b.weight, 0);
  if (b.bias !== null) constant(b.bias, 0);
  (fields.lora_dropout ??= {})[name] = dropout > 0 ? new Dropout(dropout, { generator }) : new Identity();
  (fields.lora_A ??= {})[name] = a;
  (fields.lora_B ??= {})[name] = b;
}

function runFactors(fields: AdaptedFields, name: string, x: Tensor): Tensor {
  const a = fields.lora_A![name]!;
  const { dtype } = a.weight;
  const own = x.dtype === dtype || !isFloat(x.dtype) ? x : toDType(x, dtype);
  return fields.lora_B![name]!(a(fields.lora_dropout![name]!(own)));
}

/** The site of a linear layer; null for other layers. */
export function linearSiteOf(layer: Module): LinearSite | null {
  if (layer instanceof Linear) {
    const { inputs, outputs, weight } = layer;
    return { inputs, outputs, device: weight.device, dtype: weight.dtype, isTransposed: false };
  }
  return ADAPTS in layer ? (layer[ADAPTS] as LinearSite) : null;
}

const linearKind: AdapterKind = {
  isLinear: true,
  make(layer, fields, rank, settings) {
    const { inputs, outputs, device, dtype } = linearSiteOf(layer)!;
    startFactors(fields, rank, settings, (options, isA) => (isA ? new Linear(inputs, rank, options) : new Linear(rank, outputs, options)), {
      device,
      dtype: adapterDType(settings, dtype),
    });
  },
  run: (_, fields, name, x) => runFactors(fields, name, x),
  delta(layer, fields, name) {
    const { isTransposed } = linearSiteOf(layer)!;
    if (isTransposed === null)
      throw new UnsupportedError({
        operation: "Lora.merge",
        argument: "layer",
        expected: "one whose weight is a float",
        received: "packed weights",
      });
    const product = matmul(wide(fields.lora_B![name]!.weight), wide(fields.lora_A![name]!.weight));
    return isTransposed ? t(product) : product;
  },
};

type ConvOfAdapters = Conv1d | Conv2d | Conv3d;

const convolutionKind: AdapterKind = {
  isLinear: false,
  make(layer, fields, rank, settings) {
    const { inputs, outputs, kernelSize, options, weight } = layer as ConvOfAdapters;
    const { stride, padding, dilation, paddingMode, groups = 1 } = options;
    if (rank % groups !== 0) throw new ValueError("lora", "rank", `a multiple of a convolution's ${groups} groups`, rank);
    const Class = layer instanceof Conv1d ? Conv1d : layer instanceof Conv2d ? Conv2d : Conv3d;
    startFactors(
      fields,
      rank,
      settings,
      (own, isA) => {
        const first: ConvLayerOptions = { ...own, stride, padding, dilation, paddingMode };
        return isA ? new Class(inputs, rank, kernelSize, first) : new Class(rank, outputs, 1, { ...own, groups });
      },
      { device: weight.device, dtype: adapterDType(settings, weight.dtype) },
    );
  },
  run: (_, fields, name, x) => runFactors(fields, name, x),
  delta(layer, fields, name) {
    const { weight, options } = layer as ConvOfAdapters;
    if ((options.groups ?? 1) !== 1)
      throw new UnsupportedError({
        operation: "Lora.merge",
        argument: "layer",
        expected: "a convolution of one group",
        received: `${options.groups} groups`,
        hint: "The product of its adapter is a kernel over all channels.",
      });
    const [a, b] = [wide(fields.lora_A![name]!.weight), wide(fields.lora_B![name]!.weight)];
    const [outputs, rank] = b.shape as [number, number];
    return reshape(matmul(reshape(b, [outputs, rank]), reshape(a, [rank, a.size / rank])), weight.shape);
  },
};

const embeddingKind: AdapterKind = {
  isLinear: false,
  make(layer, fields, rank, settings) {
    if (settings.loraBias) throw new ValueError("lora", "loraBias", "false for an embedding", true);
    const { rows, width, weight } = layer as Embedding;
    const site = { device: weight.device, dtype: adapterDType(settings, weight.dtype) };
    const { name, generator } = settings;
    (fields.lora_embedding_A ??= {})[name] = parameter([rank, rows], site, (p) => void constant(p, 0));
    (fields.lora_embedding_B ??= {})[name] = parameter([width, rank], site, (p) => void fillNormal(p, 0, 1, { generator }));
  },
  run(layer, fields, name, x) {
    const { options, paddingIndex } = layer as Embedding;
    const { maxNorm, normType, scaleGradByFreq } = options;
    const rows = embeddingOp(x, t(fields.lora_embedding_A![name]!), { paddingIdx: paddingIndex, maxNorm, normType, scaleGradByFreq });
    return linearOp(rows, fields.lora_embedding_B![name]!, null);
  },
  delta: (_, fields, name) => t(matmul(wide(fields.lora_embedding_B![name]!), wide(fields.lora_embedding_A![name]!))),
};

/** How a layer is adapted; null where it cannot be. */
export function kindOf(layer: Module): AdapterKind | null {
  if (linearSiteOf(layer) !== null) return linearKind;
  if (layer instanceof Conv1d || layer instanceof Conv2d || layer instanceof Conv3d) return convolutionKind;
  return layer instanceof Embedding && !(layer instanceof EmbeddingBag) ? embeddingKind : null;
}
