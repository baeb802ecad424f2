/** One result for each element: copy, relu, gelu, casts, add, SwiGLU, Adam. Threads move 16 bytes at once, several times. */
import { sizeOf } from "../../shape.ts";
import type { LaunchFacts } from "../compiled.ts";
import type { Bool, Float } from "../numbers.ts";
import { kernel, read, write, type Kernel, type Numbers } from "./kernel.ts";

export type FloatElement = "f32" | "f16";

const THREADS = 256;
/** Accesses in flight of a thread where there are enough elements to keep all processors busy. */
const DEEP = 4;
const MANY_ELEMENTS = 2 ** 21;

type Names = { readonly [name: string]: FloatElement };

/** fn gives the outputs' values from the inputs', in the order of their names. */
function elementwise(
  name: string,
  inputs: Names,
  outputs: Names,
  fn: (values: readonly Float[], constants: readonly Float[]) => readonly Float[],
  size: number,
  /** Elements of the input `scalars`, which all threads read. */
  constants = 0,
): Kernel {
  const elements = [...Object.values(inputs), ...Object.values(outputs)];
  // Of the wider element 16 bytes: threads that write 32 would leave gaps between them in each access.
  const width = elements.includes("f32") ? 4 : 8;
  const depth = size >= MANY_ELEMENTS ? (width === 8 ? DEEP / 2 : DEEP) : 1;
  const tile = THREADS * width * depth;
  const key = `${name} ${elements.join(" ")} x${depth}`;
  const groups = ({ shapes }: LaunchFacts): number => Math.ceil(sizeOf(shapes[Object.keys(outputs)[0]!]!) / tile);
  const given: Names = constants === 0 ? inputs : { ...inputs, scalars: "f32" };
  return kernel(key, { inputs: given, outputs, threads: THREADS, groups, inPlace: true }, (s) => {
    const of = (names: Names): Numbers[] => Object.keys(names).map((key) => s.buffers[key] as Numbers);
    const [from, to] = [of(inputs), of(outputs)];
    const shared = Array.from({ length: constants }, (_, i) => (s.buffers["scalars"] as Numbers).load(i));
    const start = s.group.mul(tile);
    const whole = (): void => {
      const places = Array.from({ length: depth }, (_, i) => start.add(s.local.mul(width)).add(i * THREADS * width));
      const found = places.map((at) => from.map((x) => read(x, at, width, true)));
      places.forEach((at, i) => {
        const made = Array.from({ length: width }, (_, k) => {
          const values = found[i]!.map((x) => x[k]!);
          return fn(values, shared);
        });
        to.forEach((y, o) => {
          const values = made.map((each) => each[o]!);
          write(y, at, values, true);
        });
      });
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

const unary = (name: string, from: FloatElement, to: FloatElement, size: number, fn: (x: Float) => Float): Kernel =>
  elementwise(name, { x: from }, { y: to }, ([x]) => [fn(x!)], size);

export const copy = (e: FloatElement, size: number): Kernel => unary("copy", e, e, size, (x) => x);
export const cast = (from: FloatElement, to: FloatElement, size: number): Kernel => unary("cast", from, to, size, (x) => x);
/** What is below 0 by its bits: NVIDIA's driver makes a maximum, which loses NaN, of a comparison of numbers with the choice after it. */
const isNegative = (x: Float): Bool => x.bits().sub(0x80000000).lt(0x7f800001);
/** NaN stays NaN. */
export const relu = (e: FloatElement, size: number): Kernel => unary("relu", e, e, size, (x) => isNegative(x).select(0, x));
/** x/2 (1 + erf(x/√2)). */
export const gelu = (e: FloatElement, size: number): Kernel =>
  unary("gelu", e, e, size, (x) => x.mul(Math.SQRT1_2).erf().add(1).mul(x.mul(0.5)));
export const add = (e: FloatElement, size: number): Kernel => elementwise("add", { a: e, b: e }, { y: e }, ([a, b]) => [a!.add(b!)], size);

/** a σ(a) b. */
export const swiglu = (e: FloatElement, size: number): Kernel =>
  elementwise("swiglu", { a: e, b: e }, { y: e }, ([a, b]) => [a!.sigmoid().mul(a!).mul(b!)], size);
/** Gradients of swiglu from that of y. */
export const swigluBackward = (e: FloatElement, size: number): Kernel =>
  elementwise(
    "swigluBackward",
    { a: e, b: e, dy: e },
    { da: e, db: e },
    ([a, b, dy]) => {
      const sigmoid = a!.sigmoid();
      const silu = a!.mul(sigmoid);
      return [dy!.mul(b!).mul(sigmoid.add(silu).sub(silu.mul(sigmoid))), dy!.mul(silu)];
    },
    size,
  );

/**
 * One step of Adam over a flat buffer: parameters p, gradients g, moments m and v; `scalars` holds [lr / (1 - b1^t), b1, b2, eps,
 * 1 / sqrt(1 - b2^t), weight decay that is added to g, 1 - lr * decoupled weight decay]. p, m and v may be written in place.
 */
export const adam = (size: number): Kernel =>
  elementwise(
    "adam",
    { p: "f32", g: "f32", m: "f32", v: "f32" },
    { pNext: "f32", mNext: "f32", vNext: "f32" },
    ([p, g, m, v], [rate, b1, b2, eps, scale, decay, keep]) => {
      const grad = p!.fma(decay!, g!);
      const mNext = grad.sub(m!).fma(b1!.neg().add(1), m!);
      const vNext = grad.square().sub(v!).fma(b2!.neg().add(1), v!);
      const step = mNext.mul(rate!).div(vNext.sqrt().fma(scale!, eps!));
      return [p!.mul(keep!).sub(step), mNext, vNext];
    },
    size,
    7,
  );
