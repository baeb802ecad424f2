/** Rotary position embedding: the angles of each position, with the ways to scale them to longer texts. Reference: transformers.modeling_rope_utils. */
import type { Device } from "../core/device.ts";
import type { DType } from "../core/dtype.ts";
import { keep } from "../core/scope.ts";
import { internDesc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { empty } from "../ops/creation/creation.ts";
import { toDType } from "../ops/data/conversion.ts";
import { embedding } from "../ops/index/embedding.ts";
import { unsqueeze } from "../ops/shape/movement.ts";
import { upload } from "../runtime/buffers.ts";
import { nativeDevice } from "../runtime/devices.ts";
import type { ConfigValues } from "./config-values.ts";

/** How fast each pair of elements rotates, and the factor of cosines and sines. */
export interface RopeFrequencies {
  readonly inverse: Float32Array;
  readonly factor: number;
}

const f32 = Math.fround;

const plain = (base: number, width: number): Float32Array =>
  Float32Array.from({ length: width / 2 }, (_, i) => 1 / f32(base ** f32((2 * i) / width)));

/** The frequencies that a config asks for: `rope_theta` and `rope_scaling`, or `rope_parameters`. width: of a head. */
export function ropeFrequencies(config: ConfigValues, width: number): RopeFrequencies {
  const rope = config.inner("rope_parameters") ?? config.inner("rope_scaling");
  const base = rope?.get("rope_theta") === undefined ? config.number("rope_theta", 10000) : rope.number("rope_theta");
  if (rope === null) return { inverse: plain(base, width), factor: 1 };
  if (rope.number("partial_rotary_factor", 1) !== 1) throw rope.error("partial_rotary_factor", "1");
  const name = rope.get("rope_type") === undefined && rope.get("type") !== undefined ? "type" : "rope_type";
  const kind = rope.oneOf(name, ["default", "linear", "llama3", "yarn", "factors"], "default");
  const inverse = plain(base, width);
  switch (kind) {
    case "default":
      return { inverse, factor: 1 };
    case "linear":
      return { inverse: inverse.map((x) => x / rope.number("factor")), factor: 1 };
    case "llama3":
      return { inverse: llama3(rope, config, inverse), factor: 1 };
    case "factors":
      return { inverse: inverse.map((x, i) => x / rope.floats("factors", inverse.length)[i]!), factor: 1 };
    case "yarn":
      return yarn(rope, config, base, width);
    default:
      return kind satisfies never;
  }
}

const originalLength = (rope: ConfigValues, config: ConfigValues): number =>
  rope.get("original_max_position_embeddings") === undefined
    ? config.count("max_position_embeddings")
    : rope.count("original_max_position_embeddings");

/** Long waves are slowed down by the factor, short ones are kept, between them both are mixed. */
function llama3(rope: ConfigValues, config: ConfigValues, inverse: Float32Array): Float32Array {
  const [factor, low, high] = [rope.number("factor"), rope.number("low_freq_factor"), rope.number("high_freq_factor")];
  const length = originalLength(rope, config);
  return inverse.map((x) => {
    const wave = f32(f32(2 * Math.PI) / x);
    if (wave > length / low) return x / factor;
    if (wave < length / high) return x;
    const smooth = f32(f32(length / wave) - low) / (high - low);
    return f32((1 - smooth) * x) / factor + smooth * x;
  });
}

/** As llama3, by ranges of rotations; cosines and sines are scaled too. */
function yarn(rope: ConfigValues, config: ConfigValues, base: number, width: number): RopeFrequencies {
  const length = originalLength(rope, config);
  const factor = rope.get("factor") === undefined ? config.count("max_position_embeddings") / length : rope.number("factor");
  const scaleOf = (scale: number, by = 1): number => (scale <= 1 ? 1 : 0.1 * by * Math.log(scale) + 1);
  const [own, all] = [rope.number("mscale", 0), rope.number("mscale_all_dim", 0)];
  const inferred = own !== 0 && all !== 0 ? scaleOf(factor, own) / scaleOf(factor, all) : scaleOf(factor);
  const dimension = (rotations: number): number => (width * Math.log(length / (rotations * 2 * Math.PI))) / (2 * Math.log(base));
  const truncates = rope.flag("truncate", true);
  const ends = [dimension(rope.number("beta_fast", 32)), dimension(rope.number("beta_slow", 1))] as const;
  const low = Math.max(truncates ? Math.floor(ends[0]) : ends[0], 0);
  let high = Math.min(truncates ? Math.ceil(ends[1]) : ends[1], width - 1);
  if (low === high) high += 0.001;
  const inverse = plain(base, width).map((x, i) => {
    const ramp = Math.min(Math.max((i - low) / (high - low), 0), 1);
    return (x / factor) * ramp + x * (1 - ramp);
  });
  return { inverse, factor: rope.number("attention_factor", inferred) };
}

/** Cosines and sines of positions 0 to length - 1, each [length, width / 2] in float32. */
export interface RopeTables {
  readonly cosine: Tensor;
  readonly sine: Tensor;
}

/** Angles are rounded to float32, as PyTorch multiplies them; cosines and sines are of the rounded angles. */
function makeTables({ inverse, factor }: RopeFrequencies, length: number, device: Device): RopeTables {
  const shape = [length, inverse.length];
  if (!device.hasElements) return { cosine: empty(shape, { device }), sine: empty(shape, { device }) };
  const [cosine, sine] = [new Float32Array(length * inverse.length), new Float32Array(length * inverse.length)];
  for (let position = 0, at = 0; position < length; position++)
    for (const speed of inverse) {
      const angle = f32(position * speed);
      cosine[at] = Math.cos(angle) * factor;
      sine[at++] = Math.sin(angle) * factor;
    }
  const native = nativeDevice(device, "rotaryEmbedding");
  // Outside of scopes and of what is traced: compiled functions read them as any tensor from outside.
  const made = (data: Float32Array): Tensor =>
    keep(new Tensor(upload(native, data, "rotaryEmbedding"), internDesc(device, "float32", shape)));
  return { cosine: made(cosine), sine: made(sine) };
}

const kept = new WeakMap<RopeFrequencies, RopeTables>();

/** The same, at least so long: kept with the frequencies, and made again where they are too short or on another device. */
export function ropeTables(frequencies: RopeFrequencies, length: number, device: Device): RopeTables {
  const known = kept.get(frequencies);
  if (known?.cosine.device === device && !known.cosine.isDisposed && known.cosine.shape[0]! >= length) return known;
  const made = makeTables(frequencies, length, device);
  kept.set(frequencies, made);
  return made;
}

/** Cosines and sines at positions [B, L], as [B, 1, L, width / 2]. */
export function rotationsAt({ cosine, sine }: RopeTables, positions: Tensor, dtype: DType): RopeTables {
  const at = (table: Tensor): Tensor => toDType(unsqueeze(embedding(positions, table), 1), dtype);
  return { cosine: at(cosine), sine: at(sine) };
}
