/** QuantizedLinear and QuantizedEmbedding: layers whose weights stay packed, and quantize(), which makes them of layers with float weights. */
import { DTypeError, ShapeError, UnsupportedError, ValueError } from "../core/errors.ts";
import { noGrad } from "../autograd/grad-mode.ts";
import { isFloat, type DType } from "../core/dtype.ts";
import { keep, outsideScopes, scope } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import {
  packedLinear,
  packedRows,
  packedValues,
  packWeight,
  requirePacked,
  type PackedWeight,
  type PackingScheme,
} from "../ops/quantized/packed-weights.ts";
import { Embedding } from "./embedding.ts";
import { ADAPTS, INNER, KEEPS_DTYPES, OWN } from "./inner.ts";
import type { LinearSite } from "./lora-kinds.ts";
import { Linear } from "./linear.ts";
import { Module } from "./module.ts";
import { Parameter } from "./parameter.ts";
import { isUninitialized } from "./uninitialized.ts";
import { MultiheadAttention } from "./attention.ts";

/** A packed weight [N, K]: w = (code - middle) * scale + minimum, in blocks along K. It is what GGUF files and DirectML's DEQUANTIZE have. */
export interface QuantizedWeight {
  /** [N, K] int8 (middle 0) or uint8 (middle 128); of 4 bits [N, K / 2] uint8, two codes in a byte, the low half first (middle 8). */
  readonly codes: Tensor;
  /** [N, blocks] floating: one for each block of K / blocks elements. */
  readonly scales: Tensor;
  /** [N, blocks] floating: what a code of the middle stands for. Default: 0. */
  readonly minima?: Tensor | null | undefined;
  /** Of a code. */
  readonly bits: 4 | 8;
}

/** Options of the layers' constructors. */
export interface QuantizedLinearOptions {
  /** [N], which is trained if it requires a gradient. Default: none. */
  readonly bias?: Tensor | null | undefined;
}

/** Options of a quantized embedding. */
export interface QuantizedEmbeddingOptions {
  /** The dtype of the rows that it gives. Default: float32. */
  readonly dtype?: "float32" | "float16" | "bfloat16" | undefined;
}

/** What the layers with packed weights share: codes, scales and minima as buffers, which keep their dtypes when a model is cast. */
export abstract class QuantizedModule extends Module {
  /** Of a code. */
  readonly bits: 4 | 8;
  /** The packed codes, `[N, K]` or `[N, K / 2]`. */
  declare readonly codes: Tensor;
  /** [N, blocks] */
  declare readonly scales: Tensor;
  /** [N, blocks]; undefined where there are none. */
  declare readonly minima: Tensor | undefined;

  /** @internal */
  constructor(weight: QuantizedWeight) {
    super();
    this.bits = weight.bits;
    this.registerBuffer("codes", weight.codes);
    this.registerBuffer("scales", weight.scales);
    const { minima } = weight;
    if (minima !== undefined && minima !== null) this.registerBuffer("minima", minima);
  }

  /** @internal */
  override get [KEEPS_DTYPES](): boolean {
    return true;
  }

  /** Elements of a block: each has a scale. */
  get blockSize(): number {
    return (this.codes.shape[1]! * (8 / this.bits)) / this.scales.shape[1]!;
  }

  /** The weight [N, K] as floats: a new tensor, which has no gradient. */
  dequantize({ dtype = "float32" }: QuantizedEmbeddingOptions = {}): Tensor {
    return noGrad(() => packedValues(this.packed, dtype));
  }

  /** @internal */
  get packed(): PackedWeight {
    return { codes: this.codes, scales: this.scales, minima: this.minima ?? null, bits: this.bits };
  }

  protected describePacking(): string {
    return `bits=${this.bits}, blockSize=${this.blockSize}${this.minima === undefined ? "" : ", minima"}`;
  }
}

/** A weight's tensors as a layer takes them. */
function checked(operation: string, weight: QuantizedWeight): QuantizedWeight {
  const { codes, scales, minima = null, bits } = weight;
  if (bits !== 4 && bits !== 8) throw new ValueError(operation, "bits", "4 or 8", bits);
  requirePacked(operation, { codes, scales, minima, bits });
  return weight;
}

/**
 * x W^T + bias with a packed W, which is not unpacked in memory: [..., inputs] to [..., outputs] in x's dtype. Gradients flow to x and the bias; the
 * weight does not learn. `codes`, `scales` and `minima` are the state. Throws ShapeError and DTypeError for tensors that do not fit.
 * Reference: torchao's quantized linear layers, bitsandbytes.nn.Linear4bit.
 */
export class QuantizedLinear extends QuantizedModule {
  /** Length of the last axis of inputs. */
  readonly inputs: number;
  /** Length of the last axis of results. */
  readonly outputs: number;
  /** [outputs] */
  bias: Parameter | null = null;

  constructor(weight: QuantizedWeight, { bias = null }: QuantizedLinearOptions = {}) {
    super(checked("QuantizedLinear", weight));
    this.outputs = weight.codes.shape[0]!;
    this.inputs = weight.codes.shape[1]! * (8 / weight.bits);
    if (bias === null) return;
    if (!isFloat(bias.dtype)) throw new DTypeError("QuantizedLinear", "bias", "floating", bias.describe());
    if (bias.rank !== 1 || bias.size !== this.outputs)
      throw new ShapeError("QuantizedLinear", "bias", `[${this.outputs}]`, bias.describe());
    this.bias = bias instanceof Parameter ? bias : outsideScopes(() => new Parameter(bias, { requiresGrad: bias.requiresGrad }));
  }

  /** @internal */
  get [ADAPTS](): LinearSite {
    const { inputs, outputs, codes } = this;
    return { inputs, outputs, device: codes.device, dtype: "float32", isTransposed: null };
  }

  forward(x: Tensor): Tensor {
    return packedLinear("QuantizedLinear", x, this.packed, this.bias);
  }

  protected override describeOptions(): string {
    return `inFeatures=${this.inputs}, outFeatures=${this.outputs}, bias=${this.bias !== null}, ${this.describePacking()}`;
  }
}

/** Rows of a packed table by their numbers: [...] to [..., width]. The table does not learn. Reference: torchao's quantized embedding. */
export class QuantizedEmbedding extends QuantizedModule {
  /** Number of rows: indices are below it. */
  readonly rows: number;
  /** Length of each row. */
  readonly width: number;
  /** The dtype of the rows that it gives. */
  readonly dtype: DType;

  constructor(weight: QuantizedWeight, { dtype = "float32" }: QuantizedEmbeddingOptions = {}) {
    super(checked("QuantizedEmbedding", weight));
    this.rows = weight.codes.shape[0]!;
    this.width = weight.codes.shape[1]! * (8 / weight.bits);
    this.dtype = dtype;
  }

  forward(indices: Tensor): Tensor {
    return packedRows(indices, this.packed, this.dtype);
  }

  protected override describeOptions(): string {
    return `${this.rows}, ${this.width}, ${this.describePacking()}`;
  }
}

/** Options of quantize(). */
export interface QuantizeModuleOptions {
  /** Of a code. Default: 4. */
  readonly bits?: 4 | 8 | undefined;
  /** Elements that share a scale, along the weight's last axis; "channel": whole rows. Default: 32 of 4 bits, "channel" of 8 bits. */
  readonly blockSize?: number | "channel" | undefined;
  /** Whether 0 stands for 0, so that there are no minima. Default: true. */
  readonly symmetric?: boolean | undefined;
  /** Which layers are quantized, by name and layer. Default: all Linear and Embedding layers whose rows are multiples of the block. */
  readonly filter?: ((name: string, layer: Linear | Embedding) => boolean) | undefined;
}

/**
 * Replaces the Linear and Embedding layers of a module by QuantizedLinear and QuantizedEmbedding, with their weights packed: of 4 bits as
 * Q4_0 (or Q4_1, if not symmetric), of 8 bits as Q8_0 or one scale a row. Layers that share a weight share the packed one. The float weights are
 * given up. Returns the module; of a Linear or an Embedding itself, the new layer. Layers with hooks, maxNorm or subclasses stay as they are. Throws
 * ValueError for a block that does not divide the rows of a layer that `filter` names, UnsupportedError where nothing is quantized.
 * Reference: torchao.quantization.quantize_.
 */
export function quantize<M extends Module>(module: M, options: QuantizeModuleOptions = {}): M | QuantizedLinear | QuantizedEmbedding {
  const { bits = 4, symmetric = true, filter } = options;
  const blockSize = options.blockSize ?? (bits === 4 ? 32 : "channel");
  if (bits !== 4 && bits !== 8) throw new ValueError("quantize", "bits", "4 or 8", bits);
  if (blockSize !== "channel" && !(Number.isInteger(blockSize) && blockSize > 0))
    throw new ValueError("quantize", "blockSize", 'an integer above 0, or "channel"', blockSize);
  const made = new Map<Module, Module>();
  const packedOf = new Map<Tensor, PackedWeight>();
  const old = new Set<Tensor>();
  const read = new Set(module.modules().flatMap((m): Module[] => (m instanceof MultiheadAttention ? [m.out_proj] : [])));
  noGrad(() => {
    for (const [name, layer] of module.namedModules()) {
      if (!isPlain(layer) || read.has(layer) || (filter !== undefined && !filter(name, layer))) continue;
      const width = layer.weight.shape[1]!;
      const block = blockSize === "channel" ? width : blockSize;
      if (width === 0 || layer.weight.shape[0] === 0 || width % block !== 0 || (bits === 4 && width % 2 !== 0)) {
        if (filter === undefined) continue;
        throw new ValueError("quantize", "blockSize", `a divisor of the ${width} inputs of ${name}`, block);
      }
      let packed = packedOf.get(layer.weight);
      if (packed === undefined)
        packedOf.set(layer.weight, (packed = outsideScopes(() => kept(layer.weight, { bits, block, isSymmetric: symmetric }))));
      old.add(layer.weight);
      const next =
        layer instanceof Linear
          ? new QuantizedLinear(packed, { bias: layer.bias })
          : new QuantizedEmbedding(packed, { dtype: layer.weight.dtype as "float32" });
      next.train(layer.training);
      made.set(layer, next);
    }
  });
  if (made.size === 0)
    throw new UnsupportedError({
      operation: "quantize",
      argument: "module",
      expected: "with layers that can be quantized",
      received: module.constructor.name,
    });
  const own = made.get(module);
  if (own === undefined) replaceIn(module, made);
  const used = own === undefined ? new Set<Tensor>(module.parameters()) : new Set<Tensor>();
  for (const weight of old) if (!used.has(weight)) weight.dispose();
  return (own ?? module) as M | QuantizedLinear | QuantizedEmbedding;
}

/** A packed weight that no scope frees. */
function kept(weight: Tensor, scheme: PackingScheme): PackedWeight {
  const made = scope(() => {
    const { codes, scales, minima, bits } = packWeight(weight, scheme);
    for (const t of [codes, scales, minima]) if (t !== null) keep(t);
    return { codes, scales, minima, bits };
  });
  return made;
}

/** A layer whose weight only its own forward() reads. */
function isPlain(layer: Module): layer is Linear | Embedding {
  const kind: unknown = Object.getPrototypeOf(layer);
  if (kind !== Linear.prototype && kind !== Embedding.prototype) return false;
  const { hooks } = layer[OWN];
  const isHeld = Object.getOwnPropertyDescriptor(layer, "weight")?.value instanceof Parameter;
  const changes = layer instanceof Embedding && (layer.options.maxNorm ?? null) !== null;
  return isHeld && !changes && hooks === null && !isUninitialized((layer as Linear).weight);
}

/** @internal Replaces layers by others, wherever modules hold them. */
export function replaceIn(root: Module, made: ReadonlyMap<Module, Module>): void {
  for (const module of root.modules()) {
    const fields = module as unknown as Record<PropertyKey, unknown>;
    if (INNER in module) replacement(fields[INNER], made, new Set());
    for (const key of Object.keys(module)) {
      if (!("value" in Object.getOwnPropertyDescriptor(module, key)!)) continue;
      const next = replacement(fields[key], made, new Set());
      if (next !== fields[key]) fields[key] = next;
    }
  }
}

/** What replaces a value of a field: another layer, or the same array, object, Map or Set with others in it. */
function replacement(value: unknown, made: ReadonlyMap<Module, Module>, around: Set<object>): unknown {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return value;
  if (value instanceof Module) return made.get(value) ?? value;
  if (typeof value === "function" || around.has(value)) return value;
  around.add(value);
  if (Array.isArray(value)) for (const [i, inner] of value.entries()) value[i] = replacement(inner, made, around);
  else if (value instanceof Map) for (const [key, inner] of value) value.set(key, replacement(inner, made, around));
  else if (value instanceof Set) {
    const all = [...value].map((inner) => replacement(inner, made, around));
    value.clear();
    for (const inner of all) value.add(inner);
  } else if ([Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null)) {
    const fields = value as Record<string, unknown>;
    for (const key of Object.keys(fields)) fields[key] = replacement(fields[key], made, around);
  }
  return value;
}
