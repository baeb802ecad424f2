/** Addition with broadcasting: the result's axes, merged where the strides of all tensors allow it, and each input's strides. */
import { sizeOf, type Shape } from "../../core/shape.ts";
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { Float, Uint } from "../numbers.ts";
import type { FloatElement } from "./elementwise.ts";
import { kernel, read, write, type Kernel, type Numbers } from "./kernel.ts";

const THREADS = 256;
/** Merged axes. */
export const MAX_AXES = 4;

export interface Broadcast {
  /** Outermost first; 1 in front where there are fewer than MAX_AXES. */
  readonly sizes: readonly number[];
  readonly a: readonly number[];
  readonly b: readonly number[];
}

/** null: more axes are left than the kernel has. */
export function mergedAxes(out: Shape, a: Shape, b: Shape): Broadcast | null {
  const strides = (shape: Shape): number[] => {
    let stride = 1;
    const result = new Array<number>(out.length).fill(0);
    for (let i = 1; i <= shape.length; i++) {
      const d = shape[shape.length - i]!;
      if (d !== 1) result[out.length - i] = stride;
      stride *= d;
    }
    return result;
  };
  const [sa, sb] = [strides(a), strides(b)];
  const axes: { size: number; a: number; b: number }[] = [];
  out.forEach((size, i) => {
    if (size === 1) return;
    const [x, y] = [sa[i]!, sb[i]!];
    const last = axes.at(-1);
    if (last?.a === x * size && last.b === y * size) axes[axes.length - 1] = { size: last.size * size, a: x, b: y };
    else axes.push({ size, a: x, b: y });
  });
  if (axes.length > MAX_AXES) return null;
  while (axes.length < MAX_AXES) axes.unshift({ size: 1, a: 0, b: 0 });
  return { sizes: axes.map((x) => x.size), a: axes.map((x) => x.a), b: axes.map((x) => x.b) };
}

/** The parameters of a launch. */
export function broadcastParams({ sizes, a, b }: Broadcast): { [name: string]: number } {
  const named = (name: string, list: readonly number[]): [string, number][] => list.map((n, i) => [`${name}${i}`, n]);
  return Object.fromEntries([...named("n", sizes), ...named("a", a), ...named("b", b)]);
}

const names = ["n", "a", "b"].flatMap((name) => Array.from({ length: MAX_AXES }, (_, i) => `${name}${i}`));

/** a + b over merged axes; the innermost one is read in wide accesses where it is a multiple of them. */
export function addBroadcast(e: FloatElement, { sizes, a, b }: Broadcast): Kernel {
  const widest = e === "f16" ? 8 : 4;
  const inner = MAX_AXES - 1;
  const isWide = sizes[inner]! % widest === 0;
  const width = isWide ? widest : 1;
  const runs = [a[inner]!, b[inner]!];
  const groups = ({ shapes }: LaunchFacts): number => Math.ceil(sizeOf(shapes["y"]!) / (THREADS * width));
  const params = Object.fromEntries(names.map((name) => [name, "u32" as const]));
  return kernel(
    `addBroadcast ${e} ${width} ${isWide ? runs.join(" ") : ""}`,
    { inputs: { a: e, b: e }, outputs: { y: e }, params, threads: THREADS, groups },
    (s) => {
      const at = s.thread.mul(width);
      const p = (name: string): Uint => s.params[name]!;
      const offsetOf = (tensor: string): Uint => {
        let rest = at;
        let offset = s.u32(0);
        for (let i = inner; i >= 0; i--) {
          const [n, stride] = [p(`n${i}`), p(`${tensor}${i}`)];
          offset = offset.add((i === 0 ? rest : rest.mod(n)).mul(stride));
          rest = rest.div(n);
        }
        return offset;
      };
      const valuesOf = (tensor: "a" | "b", run: number): Float[] => {
        const x = s.buffers[tensor] as Numbers;
        if (!isWide || run === 1) return read(x, offsetOf(tensor), width, true);
        return new Array<Float>(width).fill(read(x, offsetOf(tensor), 1, true)[0]!);
      };
      s.if(at.lt(s.buffers.y.size), () => {
        const [x, y] = [valuesOf("a", runs[0]!), valuesOf("b", runs[1]!)];
        const sums = x.map((v, i) => v.add(y[i]!));
        write(s.buffers.y as Numbers, at, sums, isWide);
      });
    },
  );
}
