/** One result for each element: copy, relu, gelu, casts, add, SwiGLU, Adam. Threads move 16 bytes at once. */
import { sizeOf } from "../../core/shape.ts";
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { Bool, Float } from "../numbers.ts";
import { kernel, read, write, type Kernel, type Numbers } from "./kernel.ts";

export type FloatElement = "f32" | "f16";

const THREADS = 256;

type Names = { readonly [name: string]: FloatElement };

/** fn gives the outputs' values from the inputs', in the order of their names. */
function elementwise(
  name: string,
  inputs: Names,
  outputs: Names,
  fn: (values: readonly Float[], constants: readonly Float[], params: { readonly [name: string]: Float }) => readonly Float[],
  /** Elements of the input `scalars`, which all threads read. */
  constants = 0,
  params: { readonly [name: string]: "f32" } = {},
): Kernel {
  const elements = [...Object.values(inputs), ...Object.values(outputs)];
  // 16 bytes of the narrower element: two adjacent accesses to the wider one cost less than halves of 16 bytes.
  const width = elements.includes("f16") ? 8 : 4;
  // More accesses in flight of a thread cost a little: on an H200 copies reach 4.05 TB/s with one, 3.95 with two, 3.9 with four.
  const tile = THREADS * width;
  const key = `${name} ${elements.join(" ")}`;
  const groups = ({ shapes }: LaunchFacts): number => Math.ceil(sizeOf(shapes[Object.keys(outputs)[0]!]!) / tile);
  const allInputs: Names = constants === 0 ? inputs : { ...inputs, scalars: "f32" };
  return kernel(key, { inputs: allInputs, outputs, params, threads: THREADS, groups, inPlace: true }, (s) => {
    const of = (names: Names): Numbers[] => Object.keys(names).map((key) => s.buffers[key] as Numbers);
    const [from, to] = [of(inputs), of(outputs)];
    const shared = Array.from({ length: constants }, (_, i) => (s.buffers["scalars"] as Numbers).load(i));
    const start = s.group.mul(tile);
    const whole = (): void => {
      const at = start.add(s.local.mul(width));
      const found = from.map((x) => read(x, at, width, true));
      const made = Array.from({ length: width }, (_, k) =>
        fn(
          found.map((x) => x[k]!),
          shared,
          s.params,
        ),
      );
      to.forEach((y, o) => write(y, at, made.map((each) => each[o]!), true)); // prettier-ignore
    };
    // The last tile, element by element, or word by word: pipelines are made faster for little code.
    const few = Object.values(outputs).includes("f16") ? 2 : 1;
    const part = (): void =>
      s.for(
        s.local,
        tile / few,
        (i) => {
          const at = start.add(i.mul(few));
          s.if(at.lt(to[0]!.size), () => {
            const made = Array.from({ length: few }, (_, k) =>
              fn(
                from.map((x) => x.load(at.add(k))),
                shared,
                s.params,
              ),
            );
            to.forEach((y, o) => y.storesInside(at, made.map((each) => each[o]!))); // prettier-ignore
          });
        },
        { step: THREADS, unroll: false },
      );
    s.if(s.group.add(1).mul(tile).le(to[0]!.size), whole, part);
  });
}

const unary = (name: string, from: FloatElement, to: FloatElement, fn: (x: Float) => Float): Kernel =>
  elementwise(name, { x: from }, { y: to }, ([x]) => [fn(x!)]);

export const copy = (e: FloatElement): Kernel => unary("copy", e, e, (x) => x);
export const cast = (from: FloatElement, to: FloatElement): Kernel => unary("cast", from, to, (x) => x);
/** What is below 0 by its bits: NVIDIA's driver makes a maximum, which loses NaN, of a comparison of numbers with the choice after it. */
export const isNegative = (x: Float): Bool => x.bits().sub(0x80000000).lt(0x7f800001);
/** NaN stays NaN. */
export const relu = (e: FloatElement): Kernel => unary("relu", e, e, (x) => isNegative(x).select(0, x));
/** log2(erfc(t/√2)/2) for t from 0 on, to 5e-6 up to 5.8 (fitted with the least largest error), and far below what counts beyond. */
const HALF_TAIL = [-1.828677e-6, 6.14937307e-5, -9.29837232e-4, 8.50569550e-3, -5.39565571e-2, -0.458467007, -1.15125036, -0.99999535]; // prettier-ignore
/** x Φ(x); the share of what lies beyond |x| has all digits that a float16 keeps. */
function geluOfHalf(x: Float): Float {
  const t = x.abs();
  const beyond = HALF_TAIL.slice(2)
    .reduce((sum, c) => sum.fma(t, c), t.fma(HALF_TAIL[0]!, HALF_TAIL[1]!))
    .exp2();
  return x.lt(0).select(beyond, beyond.neg().add(1)).mul(x);
}
/** x/2 (1 + erf(x/√2)). */
export const gelu = (e: FloatElement): Kernel =>
  unary("gelu", e, e, e === "f16" ? geluOfHalf : (x) => x.mul(Math.SQRT1_2).erf().add(1).mul(x.mul(0.5)));
export const add = (e: FloatElement): Kernel => elementwise("add", { a: e, b: e }, { y: e }, ([a, b]) => [a!.add(b!)]);

/** a σ(a) b. */
export const swiglu = (e: FloatElement): Kernel =>
  elementwise("swiglu", { a: e, b: e }, { y: e }, ([a, b]) => [a!.sigmoid().mul(a!).mul(b!)]);
/** Gradients of swiglu from that of y. */
export const swigluBackward = (e: FloatElement): Kernel =>
  elementwise("swigluBackward", { a: e, b: e, dy: e }, { da: e, db: e }, ([a, b, dy]) => {
    const sigmoid = a!.sigmoid();
    const silu = a!.mul(sigmoid);
    // 1 - sigmoid(a) as sigmoid(-a): of large numbers the difference would keep nothing.
    return [dy!.mul(b!).mul(a!.neg().sigmoid().mul(silu).add(sigmoid)), dy!.mul(silu)];
  });

/** Of Adam, as numbers of the launch. */
export interface AdamNumbers {
  readonly [name: string]: number;
  /** -1: climb. */
  readonly sign: number;
  readonly beta2: number;
  /** 1 - beta2, which float32 would round more coarsely. */
  readonly rest2: number;
  readonly eps: number;
  /** Added to the gradient, times the parameter. */
  readonly decay: number;
  /** Of the parameter itself, times the learning rate. */
  readonly shrinking: number;
}
const adamNumbers = { sign: "f32", beta2: "f32", rest2: "f32", eps: "f32", decay: "f32", shrinking: "f32" } as const;

/**
 * One step of Adam over a flat buffer: parameters p, gradients g, moments m and v, which may be written in place; `scalars` holds [learning rate,
 * beta1, 1 - beta1, 1 - beta1^t, 1 - beta2^t]. See optim/adam.ts, whose roundings these are.
 */
export const adam = (): Kernel =>
  elementwise(
    "adam",
    { p: "f32", g: "f32", m: "f32", v: "f32" },
    { pNext: "f32", mNext: "f32", vNext: "f32" },
    ([p, g, m, v], [rate, beta1, rest1, corrected1, corrected2], n) => {
      const gradient = p!.fma(n["decay"]!, g!.mul(n["sign"]!));
      const mNext = m!.mul(beta1!).add(gradient.mul(rest1!));
      const vNext = v!.mul(n["beta2"]!).add(gradient.square().mul(n["rest2"]!));
      const root = corrected2!.sqrt();
      const step = rate!.mul(root).div(corrected1!);
      const kept = p!.mul(rate!.mul(n["shrinking"]!).neg().add(1));
      return [kept.sub(mNext.mul(step).div(vNext.sqrt().add(root.mul(n["eps"]!)))), mNext, vNext];
    },
    5,
    adamNumbers,
  );
