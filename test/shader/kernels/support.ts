/** The library's shaders in the evaluator, before and after lowering. */
import { afterEach, beforeEach, expect } from "vitest";
import { evaluateShader } from "../../../src/shader/evaluate.ts";
import type { Kernel } from "../../../src/shader/kernels/kernel.ts";
import { lower } from "../../../src/shader/lower-memory.ts";
import { floatOfHalf, halfOfFloat } from "../../../src/shader/operations.ts";
import { simplify } from "../../../src/shader/simplify.ts";
import { sizeOf, type Shape } from "../../../src/core/shape.ts";
import { generator } from "../random.ts";

export interface LaunchBuffer {
  readonly shape: Shape;
  /** Left out: an output. */
  readonly values?: readonly number[];
}

const GUARD = 0xabcdef01;

/** Numbers of the outputs. Accesses outside that are not guarded, races and writes behind the end fail. */
export function launch(
  kernel: Kernel,
  described: { readonly [buffer: string]: LaunchBuffer },
  params: { readonly [name: string]: number } = {},
): { readonly [output: string]: number[] } {
  const { source } = kernel.program;
  const shapes = Object.fromEntries(Object.entries(described).map(([name, g]) => [name, g.shape]));
  const facts = { shapes, params };
  const grid = kernel.program.grid(kernel.groups(facts));
  const uniforms = Object.fromEntries(source.uniforms.map((u) => [u.name, kernel.program.uniform(u, facts, grid[0])]));
  const results = [source, simplify(lower(simplify(source)))].map((shader) => {
    const buffers = Object.fromEntries(
      source.buffers.map(({ name, element }) => {
        const { values, shape } = described[name]!;
        const count = sizeOf(shape);
        const words = new Uint32Array(Math.ceil(count / (element === "f16" ? 2 : 1)));
        if (values === undefined) return [name, words];
        if (element === "f32") words.set(new Uint32Array(Float32Array.from(values).buffer));
        else if (element === "f16") new Uint16Array(words.buffer).set(values.map(halfOfFloat));
        else words.set(values.map((v) => v >>> 0));
        return [name, words];
      }),
    );
    // Words behind the end must stay as they are.
    const guarded = Object.fromEntries(
      Object.entries(buffers).map(([name, words]) => {
        const whole = new Uint32Array(words.length + 4).fill(GUARD);
        whole.set(words);
        return [name, whole];
      }),
    );
    const { faults } = evaluateShader(shader, { groups: grid[0] * grid[1], grid: grid[0], buffers: guarded, uniforms });
    expect(faults.filter((f) => f.kind !== "outside")).toEqual([]);
    for (const [name, words] of Object.entries(guarded))
      expect([...words.subarray(buffers[name]!.length)]).toEqual([GUARD, GUARD, GUARD, GUARD]);
    return guarded;
  });
  expect(results[1]).toEqual(results[0]);
  return Object.fromEntries(
    source.buffers
      .filter((b) => b.isWritable)
      .map(({ name, element }) => {
        const words = results[0]![name]!;
        const count = sizeOf(described[name]!.shape);
        const halves = (): number[] => Array.from({ length: count }, (_, i) => floatOfHalf(words[i >>> 1]! >>> (16 * (i & 1))));
        const seen = { f32: Float32Array, i32: Int32Array, u32: Uint32Array };
        return [name, element === "f16" ? halves() : [...new seen[element](words.buffer, 0, count)]];
      }),
  );
}

/** Numbers between -scale and scale, exact in the element's precision. */
export function numbers(count: number, seed: number, scale = 4, element: "f32" | "f16" = "f32"): number[] {
  const random = generator(seed);
  return Array.from({ length: count }, () => {
    const x = ((random(4001) - 2000) / 2000) * scale;
    return element === "f16" ? floatOfHalf(halfOfFloat(x)) : Math.fround(x);
  });
}

/** How far results may lie from a float64 reference. */
export function expectClose(got: readonly number[], expected: readonly number[], element: "f32" | "f16" = "f32", terms = 1): void {
  const [relative, minimum] = element === "f32" ? [2e-5, 2e-6] : [2e-3, 1e-3];
  // Numbers of about 1 that were added in another order.
  const absolute = minimum * Math.sqrt(terms);
  expect(got.length).toBe(expected.length);
  got.forEach((x, i) => {
    const y = expected[i]!;
    const isClose = Number.isFinite(y) ? Math.abs(x - y) <= relative * Math.abs(y) + absolute : Object.is(x, y);
    if (!isClose) expect(`element ${i}: ${x}`).toBe(`element ${i}: ${y}`);
  });
}

/** Sets a variable of the environment; undefined: none. */
export function setVariable(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

/** Each test of the file begins and ends with the modes of shaders and of fusion that the process has. */
export function restoresShaderModes(): void {
  const names = ["DXTENSOR_SHADERS", "DXTENSOR_FUSE"];
  let before: readonly (string | undefined)[] = [];
  beforeEach(() => void (before = names.map((name) => process.env[name])));
  afterEach(() => names.forEach((name, i) => setVariable(name, before[i])));
}
