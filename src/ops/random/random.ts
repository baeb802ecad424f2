/** Random numbers and generators: Philox on the device, from a seeded generator whose state is a tensor. */
import { asItIs } from "../../core/padded-axes.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { assign, dispatch } from "../../dispatch/dispatch.ts";
import { defaultDevice, device as deviceOf, type Device } from "../../core/device.ts";
import { isFloat, isInteger, type DType } from "../../core/dtype.ts";
import { elements, canRepresent, notRepresentable, rangeOf } from "../../core/elements.ts";
import { batching } from "../../core/batching.ts";
import { DTypeError, ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { arithmetic } from "../../autograd/gradient-arithmetic.ts";
import { noGrad } from "../../autograd/grad-mode.ts";
import { ordinary } from "../../core/inference.ts";
import { changing } from "../../core/journal.ts";
import { onClose } from "../../runtime/devices.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import { keep, outsideScopes } from "../../core/scope.ts";
import { sizeOf, type Shape } from "../../core/shape.ts";
import { effect, tracer, withTracer } from "../../core/tracer.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, mul } from "../elementwise/binary.ts";
import { empty, tensor, withGrad, type TensorOptions } from "../creation/creation.ts";
import { define, type Definition } from "../../core/definition.ts";
import { broadcastTo } from "../shape/movement.ts";
import { cast, computing, cut } from "../declare/support.ts";
import { toDType } from "../data/conversion.ts";
import { lt } from "../elementwise/compare.ts";
import { sample, type Sample, real } from "../declare/sample.ts";

/** A generator's state as plain data that JSON represents exactly. */
export interface GeneratorState {
  /** The seed, in decimal digits. */
  readonly seed: string;
  /** The host's own state: integers and permutations are drawn from it. */
  readonly host: string;
  /** Counter and key on each device that it was used on, by the device's name. */
  readonly devices: Readonly<Record<string, readonly number[]>>;
}

/**
 * A source of random numbers. Its state (a 128-bit counter and a 64-bit key, for each device it is used on) is a tensor that
 * every draw reads and advances, so that compiled functions draw new numbers in each call.
 */
export class Generator {
  #seed: bigint;
  #host: bigint;
  readonly #states = new Map<Device, Tensor>();

  constructor(seed: number | bigint = entropy()) {
    this.#seed = checkedSeed(seed);
    this.#host = this.#seed;
    generators.add(new WeakRef(this));
  }

  /** The seed. */
  get seed(): bigint {
    return this.#seed;
  }

  /** @internal The host's state: a generator with this number as its seed draws the same integers. */
  get hostState(): bigint {
    return this.#host;
  }

  /** Resets the state to a seed, on all devices. */
  manualSeed(seed: number | bigint): this {
    const checked = checkedSeed(seed);
    effect(() => {
      this.#changing();
      this.#seed = this.#host = checked;
    });
    for (const [dev, state] of this.#states) outsideScopes(() => noGrad(() => assign("manualSeed", state, () => initial(this.#seed, dev))));
    return this;
  }

  /** States by device. What was drawn on meta has no numbers, so it has no state. */
  #readable(): readonly (readonly [Device, Tensor])[] {
    return [...this.#states].filter(([dev]) => dev.hasElements);
  }

  /** @internal What getState() says, with the words of each device as the tensor that holds them. */
  get currentState(): { readonly seed: string; readonly host: string; readonly devices: Readonly<Record<string, Tensor>> } {
    const devices = Object.fromEntries(this.#readable().map(([dev, state]) => [String(dev), state]));
    return { seed: String(this.#seed), host: String(this.#host), devices };
  }

  /** The current state: setState() makes any generator draw what this one would draw next. Reference: torch.Generator.get_state. */
  async getState(): Promise<GeneratorState> {
    const [seed, host] = [String(this.#seed), String(this.#host)];
    const read = this.#readable().map(async ([dev, state]) => [String(dev), [...((await state.data()) as Uint32Array)]] as const);
    return { seed, host, devices: Object.fromEntries(await Promise.all(read)) };
  }

  /** Restores a state of getState(). Devices that were not used then start from the seed. Reference: torch.Generator.set_state. */
  setState(state: GeneratorState): this {
    const states = statesIn(state);
    this.manualSeed(BigInt(state.seed));
    const host = BigInt(state.host);
    effect(() => {
      this.#host = host;
    });
    for (const [dev, words] of states)
      outsideScopes(() => noGrad(() => assign("setState", this.stateOn(dev), () => tensor(Uint32Array.from(words), { device: dev }))));
    return this;
  }

  /** @internal The state on a device. */
  stateOn(dev: Device): Tensor {
    let state = this.#states.get(dev);
    if (state === undefined) {
      // Created eagerly, also while a function is compiled: the state outlives the function.
      state = withTracer(null, () => outsideScopes(() => ordinary(() => keep(initial(this.#seed, dev)))));
      this.#states.set(dev, state);
    }
    return state;
  }

  /** @internal The present state: restore() makes the generator draw again what it draws from here on. */
  snapshot(): { restore(): void; dispose(): void } {
    const [seed, host] = [this.#seed, this.#host];
    const words = new Map([...this.#states].map(([dev, state]) => [dev, noGrad(() => arithmetic.clone(state))]));
    return {
      restore: () => {
        this.#seed = seed;
        this.#host = host;
        for (const [dev, state] of this.#states) {
          const then = words.get(dev);
          outsideScopes(() =>
            noGrad(() => assign("Generator", state, () => (then === undefined ? initial(seed, dev) : arithmetic.clone(then)))),
          );
        }
      },
      dispose: () => {
        for (const t of words.values()) t.dispose();
      },
    };
  }

  /** @internal Frees the states on a device. */
  drop(dev: Device | null): void {
    for (const [d, state] of this.#states) {
      if (dev !== null && d !== dev) continue;
      if (dev === null) state.dispose();
      this.#states.delete(d);
    }
  }

  #changing(): void {
    changing(this, () => {
      const [seed, host] = [this.#seed, this.#host];
      return () => {
        this.#seed = seed;
        this.#host = host;
      };
    });
  }

  /** An integer in [0, limit), drawn by the host (splitmix64): for permutations. */
  nextBelow(limit: number): number {
    batching()?.requireHostRandom("the host");
    const mask = 0xffffffffffffffffn;
    this.#changing();
    this.#host = (this.#host + 0x9e3779b97f4a7c15n) & mask;
    let z = this.#host;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
    z ^= z >> 31n;
    return Math.floor((Number(z >> 11n) / 2 ** 53) * limit);
  }
}

const generators = new Set<WeakRef<Generator>>();
onClose((native) => {
  for (const ref of generators) {
    const g = ref.deref();
    if (g === undefined) generators.delete(ref);
    else g.drop(native.device);
  }
});

const entropy = (): bigint => (BigInt(Date.now()) << 20n) ^ BigInt(Math.floor(Math.random() * 2 ** 52));

function checkedSeed(seed: number | bigint): bigint {
  if (typeof seed !== "bigint" && !Number.isSafeInteger(seed)) throw new ValueError("Generator", "seed", "an integer", seed);
  return BigInt.asUintN(64, BigInt(seed));
}

const isWord = (v: unknown): boolean => typeof v === "number" && Number.isInteger(v) && v >= 0 && v < 2 ** 32;

/** The devices of a state with their words, all checked before any is set. */
function statesIn(state: GeneratorState): (readonly [Device, readonly number[]])[] {
  if (typeof state !== "object" || state === null) throw new ValueError("setState", "state", "a result of getState()", state);
  if (typeof state.devices !== "object" || state.devices === null)
    throw new ValueError("setState", "devices", "an object with a list for each device", state.devices);
  for (const name of ["seed", "host"] as const)
    if (!/^\d{1,20}$/.test(String(state[name]))) throw new ValueError("setState", name, "an integer as text", state[name]);
  return Object.entries(state.devices).map(([name, words]) => {
    if (!Array.isArray(words) || words.length !== 6 || !words.every(isWord))
      throw new ValueError("setState", `devices.${name}`, "6 integers of 32 bits", words);
    return [deviceOf(name), words as readonly number[]] as const;
  });
}

const initial = (seed: bigint, dev: Device): Tensor =>
  tensor(Uint32Array.of(0, 0, 0, 0, Number(seed & 0xffffffffn), Number(seed >> 32n)), { device: dev });

let shared: Generator | null = null;
/** The default generator. */
export function defaultGenerator(): Generator {
  shared ??= new Generator();
  return shared;
}

/** Seeds the default generator. Reference: torch.manual_seed. */
export const manualSeed = (seed: number | bigint): Generator => defaultGenerator().manualSeed(seed);

interface DrawAttributes {
  readonly shape: Shape;
  readonly dtype: DType;
  readonly kind: "uniform" | "normal" | "bits";
  /** Of uniform numbers. */
  readonly bits: number;
}

/** How many bits of a word make a number in [0, 1): the precision of the dtype, since rounding the largest number would give 1. */
const unitBits = (dtype: DType): number => (dtype === "float16" ? 11 : dtype === "bfloat16" ? 8 : 24);

/** Words of the generator as numbers in [0, 1). */
function unit(g: GraphBuilder, words: Expr, dtype: DType, bits: number): Expr {
  const shift = g.expand(
    g.fillValueConstant({ output: { sizes: [1], dtype: "uint32" }, valueDataType: "UINT32", value: { dtype: "uint32", value: 32 - bits } }),
    words.sizes,
  );
  const high = g.elementWiseBitShiftRight(words, shift);
  return g.elementWiseIdentity(g.cast(high, { output: { dtype } }), { scaleBias: [2 ** -bits, 0] });
}

/** The numbers, and the generator's next state. DirectML: RANDOM_GENERATOR. */
const drawOp: Definition<DrawAttributes> = define<DrawAttributes>({
  name: "random",
  batched: ({ inputs, attrs, size, run, shared }) => {
    const [values, state] = run(inputs, { ...attrs, shape: [size, ...attrs.shape] });
    return [values!, shared(state!)];
  },
  traits: { random: true },
  infer: ([state], { shape, dtype }) => [{ shape, dtype }, state!],
  lower: (g, [state], { shape, dtype, kind, bits }) => {
    const n = sizeOf(shape);
    // Box-Muller: two normal numbers from two uniform ones.
    const half = Math.ceil(n / 2);
    const count = kind === "normal" ? 2 * half : n;
    const { output, outputState } = g.randomGenerator(state!, {
      output: { sizes: [count], dtype: "uint32" },
      outputState: { sizes: [6], dtype: "uint32" },
      type: "PHILOX_4X32_10",
    });
    if (kind === "bits") return [cast(g, output, dtype), outputState!];
    if (kind === "uniform") return [unit(g, output, dtype, bits), outputState!];
    const u = unit(g, output, "float32", unitBits("float32"));
    const part = (start: number): Expr => cut(g, u, 0, start, half);
    // 1 - u lies in (0, 1], so that the logarithm is finite.
    const radius = g.elementWiseSqrt(g.elementWiseLog(part(0), { scaleBias: [-1, 1] }), { scaleBias: [-2, 0] });
    const angle = g.elementWiseIdentity(part(half), { scaleBias: [2 * Math.PI, 0] });
    const both = g.join([g.elementWiseMultiply(radius, g.elementWiseCos(angle)), g.elementWiseMultiply(radius, g.elementWiseSin(angle))], {
      output: { sizes: [count] },
      axis: 0,
    });
    return [cast(g, cut(g, both, 0, 0, n), dtype), outputState!];
  },
  grad: null,
  padded: asItIs,
});

/** @internal Numbers of a shape, drawn from a generator, whose state advances. */
export function draw(
  kind: DrawAttributes["kind"],
  shape: Shape,
  dtype: DType,
  dev: Device,
  generator: Generator = defaultGenerator(),
): Tensor {
  if (sizeOf(shape) === 0) return empty(shape, { dtype, device: dev });
  return noGrad(() => {
    const state = generator.stateOn(dev);
    const [values, next] = dispatch(drawOp, [state], { shape: [...shape], dtype, kind, bits: unitBits(dtype) });
    assign("random", state, () => next!);
    return values!;
  });
}

/** @internal Uniform numbers of float32 drawn from a state, which stays. */
export const uniformFrom = (state: Tensor, shape: Shape): Tensor =>
  noGrad(() => dispatch(drawOp, [state], { shape: [...shape], dtype: "float32", kind: "uniform", bits: unitBits("float32") })[0]!);

/** Options of functions that draw tensors. */
export interface RandomOptions extends TensorOptions {
  /** Default: the default generator. */
  readonly generator?: Generator | undefined;
}

const deviceIn = (options: TensorOptions): Device => (options.device === undefined ? defaultDevice() : deviceOf(options.device));

function shapeIn(operation: string, shape: Shape): Shape {
  if (!Array.isArray(shape) || shape.some((d) => !Number.isInteger(d) || d < 0))
    throw new ValueError(operation, "shape", "a list of integers of at least 0", shape);
  return shape;
}

function floatIn(operation: string, options: TensorOptions): DType {
  const dtype = computing(operation, options.dtype ?? "float32");
  if (!isFloat(dtype)) throw new DTypeError(operation, "dtype", "a floating one", dtype);
  return dtype;
}

/** Uniform numbers in [0, 1), multiples of 2^-24. Default dtype float32. Reference: torch.rand. DirectML: RANDOM_GENERATOR. */
export const rand = (shape: Shape, options: RandomOptions = {}): Tensor =>
  withGrad("rand", draw("uniform", shapeIn("rand", shape), floatIn("rand", options), deviceIn(options), options.generator), options);

/** Normal numbers of mean 0 and deviation 1. Default dtype float32. Reference: torch.randn. DirectML: RANDOM_GENERATOR, LOG, COS, SIN. */
export const randn = (shape: Shape, options: RandomOptions = {}): Tensor =>
  withGrad("randn", draw("normal", shapeIn("randn", shape), floatIn("randn", options), deviceIn(options), options.generator), options);

const like = (x: Tensor, options: RandomOptions): RandomOptions => ({
  ...options,
  dtype: options.dtype ?? x.dtype,
  device: options.device ?? x.device,
});
/** rand() with the shape of x, and its dtype and device unless the options name others. */
export const randLike = (x: Tensor, options: RandomOptions = {}): Tensor => rand(x.shape, like(x, options));
/** randn() with the shape of x, and its dtype and device unless the options name others. */
export const randnLike = (x: Tensor, options: RandomOptions = {}): Tensor => randn(x.shape, like(x, options));

const inRangeOp: Definition<{ readonly low: number; readonly range: number; readonly dtype: DType }> = define<{
  readonly low: number;
  readonly range: number;
  readonly dtype: DType;
}>({
  name: "randint",
  infer: ([words], { dtype }) => [{ shape: words!.shape, dtype }],
  lower: (g, [words], { low, range, dtype }) => {
    const constant = (d: DType, v: number | bigint): Expr =>
      g.expand(
        g.fillValueConstant({
          output: { sizes: [1], dtype: d },
          valueDataType: d === "uint32" ? "UINT32" : "INT64",
          value: { dtype: d, value: v },
        }),
        words!.sizes,
      );
    const rest = range === 2 ** 32 ? words! : g.elementWiseModulusFloor(words!, constant("uint32", range));
    const moved = g.elementWiseAdd(g.cast(rest, { output: { dtype: "int64" } }), constant("int64", BigInt(low)));
    return [cast(g, moved, dtype)];
  },
  grad: null,
});

/** Throws DTypeError unless a dtype represents the integers in [low, high). @package */
export function requireDrawable(operation: string, dtype: DType, low: number, high: number): void {
  const [min, max] = dtype === "bool" ? [0, 1] : isFloat(dtype) ? [-Infinity, Infinity] : rangeOf(dtype);
  if (low < min || !canRepresent(dtype, low)) throw notRepresentable(operation, "low", dtype, low);
  if (high - 1 > max || !canRepresent(dtype, high - 1)) throw notRepresentable(operation, "high", dtype, high);
}

/** Integers in [low, high), at most 2^32 of them. Default dtype int64. Reference: torch.randint. DirectML: RANDOM_GENERATOR. */
export function randint(low: number, high: number, shape: Shape, options: RandomOptions = {}): Tensor {
  if (!Number.isSafeInteger(low) || !Number.isSafeInteger(high) || high <= low || high - low > 2 ** 32)
    throw new ValueError("randint", "high", `an integer in (${low}, ${low} + 2^32]`, high);
  const dtype = computing("randint", options.dtype ?? "int64");
  requireDrawable("randint", dtype, low, high);
  const dev = deviceIn(options);
  if (sizeOf(shapeIn("randint", shape)) === 0) return empty(shape, { dtype, device: dev });
  return withGrad(
    "randint",
    dispatch(inRangeOp, [draw("bits", shape, "uint32", dev, options.generator)], { low, range: high - low, dtype })[0]!,
    options,
  );
}

/** 0 to n - 1 in a random order, drawn by the host. Default dtype int32. Reference: torch.randperm. */
export function randperm(n: number, options: RandomOptions = {}): Tensor {
  const dtype = computing("randperm", options.dtype ?? "int32");
  const t = tracer();
  if (t === null || n === 0) return tensor(permutation(n, options.generator), { dtype, device: options.device });
  const drawn = (): ArrayBufferView => elements(dtype, Array.from(permutation(n, options.generator)));
  return withGrad("randperm", t.constant(deviceIn(options), dtype, [n], drawn(), drawn), options);
}

/** Of a permutation, which the host draws: some seconds. */
const MAX_DRAWN = 2 ** 27;

/** @internal 0 to n - 1 in a random order. */
export function permutation(n: number, generator: Generator = defaultGenerator()): Int32Array {
  if (!Number.isInteger(n) || n < 0 || n > MAX_DRAWN) throw new ValueError("randperm", "n", `an integer from 0 to ${MAX_DRAWN}`, n);
  const order = Int32Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = generator.nextBelow(i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}

interface DrawOptions {
  readonly generator?: Generator | undefined;
}

/** 1 with the probability that p names for each element, else 0, in p's dtype. Reference: torch.bernoulli. */
export function bernoulli(p: Tensor, { generator }: DrawOptions = {}): Tensor {
  if (!isFloat(p.dtype)) throw new DTypeError("bernoulli", "p", "of a floating dtype", p.describe());
  return noGrad(() => toDType(lt(draw("uniform", p.shape, "float32", p.device, generator), p), p.dtype));
}

/** x is filled with uniform numbers in [low, high). Reference: torch.Tensor.uniform_. @package */
export function uniform_(x: Tensor, low = 0, high = 1, { generator }: DrawOptions = {}): Tensor {
  if (!(high >= low)) throw new ValueError("uniform_", "high", `at least low (${low})`, high);
  return assign("uniform_", x, () => add(mul(draw("uniform", x.shape, filled("uniform_", x), x.device, generator), high - low), low));
}

/** x is filled with normal numbers. Reference: torch.Tensor.normal_. @package */
export function normal_(x: Tensor, mean = 0, std = 1, { generator }: DrawOptions = {}): Tensor {
  if (!(std >= 0)) throw new ValueError("normal_", "std", "at least 0", std);
  return assign("normal_", x, () => add(mul(draw("normal", x.shape, filled("normal_", x), x.device, generator), std), mean));
}

/** x is filled with 1 with probability p, else 0. Reference: torch.Tensor.bernoulli_. @package */
export function bernoulli_(x: Tensor, p: number | Tensor = 0.5, { generator }: DrawOptions = {}): Tensor {
  const chance = typeof p === "number" ? scalarTensor(x.device, "float32", p) : p;
  return assign("bernoulli_", x, () =>
    toDType(lt(draw("uniform", x.shape, "float32", x.device, generator), broadcastTo(chance, x.shape)), x.dtype),
  );
}

function filled(operation: string, x: Tensor): DType {
  if (isInteger(x.dtype) || x.dtype === "bool") throw new DTypeError(operation, "x", "of a floating dtype", x.describe());
  return computing(operation, x.dtype);
}

export const methods = { randLike, randnLike, bernoulli, uniform_, normal_, bernoulli_ };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("exact", "random numbers", [real([2])], (x) => {
    const options = { generator: new Generator(5), device: x!.device };
    return [rand([5, 7], options), randint(-3, 9, [11], options)];
  }),
];
