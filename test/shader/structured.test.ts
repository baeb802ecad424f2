/** Which memory is seen as structures: only what is always accessed at multiples of its accesses' sizes. */
import { describe, expect, it } from "vitest";
import { emitShader } from "../../src/shader/dxbc/emit.ts";
import { evaluateShader } from "../../src/shader/evaluate.ts";
import type { Scope } from "../../src/shader/language.ts";
import type { Uint } from "../../src/shader/numbers.ts";
import { randomShader } from "./random.ts";
import { build, words } from "./support.ts";

type Buffers = { readonly x: "f32"; readonly h: "f16"; readonly out: "f32" };
type S = Scope<Buffers, { readonly n: "u32" }>;
const strides = (body: (s: S) => void): number[] => [
  ...emitShader(build({ x: "f32", h: "f16", out: "f32" }, { n: "u32" }, 64, body)).strides,
];
/** x is read, four elements at once, from a place on. */
const reads = (at: (s: S) => Uint): number => strides((s) => s.buffers.out.store(s.thread, s.buffers.x.loads(at(s), 4)[3]!))[0]!;

describe("a buffer", () => {
  it.each<readonly [string, number, (s: S) => Uint]>([
    ["a multiple by a product", 16, (s) => s.thread.mul(4)],
    ["a multiple by a shift", 16, (s) => s.thread.shiftLeft(3)],
    ["sums and choices of multiples", 16, (s) => s.local.lt(3).select(s.thread.mul(8).add(4), s.thread.mul(12).sub(8))],
    ["bits that are cut off", 16, (s) => s.thread.and(0xfffffffc)],
    ["the rest of a multiple", 16, (s) => s.thread.mul(4).mod(20)],
    ["the half of a multiple of eight", 16, (s) => s.thread.mul(8).shiftRight(1)],
    ["a constant", 16, (s) => s.u32(32)],
    ["any place", 0, (s) => s.thread],
    ["a multiple of two", 0, (s) => s.thread.mul(2)],
    ["a product with a number of the launch", 0, (s) => s.local.mul(s.params.n)],
    ["a multiple and one", 0, (s) => s.thread.mul(4).add(1)],
    ["a quotient", 0, (s) => s.thread.mul(12).div(3)],
  ])("is read at %s", (_, stride, at) => {
    expect(reads(at)).toBe(stride);
  });

  it("is read in a loop whose steps are multiples, and where it is not", () => {
    const loop = (step: number): number =>
      strides((s) => {
        const sum = s.variable(s.f32(0));
        s.for(8, s.params.n, (i) => (sum.value = sum.value.add(s.buffers.x.loads(i, 4)[0]!)), { step });
        s.buffers.out.store(s.thread, sum.value);
      })[0]!;
    expect([loop(4), loop(12), loop(2)]).toEqual([16, 16, 0]);
  });

  it("is as its widest access; all others must fit into that, and atomics do not", () => {
    const of = (...parts: ((s: S) => void)[]): number[] => strides((s) => parts.forEach((part) => part(s)));
    const wide = (s: S): void => s.buffers.out.stores(s.thread.mul(4), s.buffers.x.loads(s.thread.mul(4), 4));
    const pair = (s: S): void => s.buffers.out.stores(s.thread.mul(2), [1, 2]);
    const halves = (n: number) => (s: S) => s.buffers.out.store(s.thread, s.buffers.h.loads(s.thread.mul(n), n)[1]!);
    expect(of(wide)).toEqual([16, 0, 16]);
    expect(of(pair)).toEqual([0, 0, 8]);
    expect(of(wide, pair, (s) => s.buffers.out.store(s.thread.add(1), 1))).toEqual([16, 0, 16]);
    expect(of(wide, (s) => s.buffers.out.stores(s.thread.add(1), [1, 2]))).toEqual([16, 0, 0]);
    expect(of(wide, (s) => s.buffers.out.stores(s.thread.mul(12), [1, 2, 3]))).toEqual([16, 0, 0]);
    expect(of(wide, (s) => s.buffers.out.atomicAdd(s.thread, 1))).toEqual([16, 0, 0]);
    expect([2, 4, 8].map((n) => of(halves(n))[1])).toEqual([0, 8, 16]);
  });
});

it("random shaders have both", () => {
  const all = Array.from({ length: 60 }, (_, i) => [...emitShader(randomShader(i + 1)).strides]).flat();
  expect(all.filter((n) => n > 0).length).toBeGreaterThan(10);
  expect(all.filter((n) => n === 0).length).toBeGreaterThan(10);
});

it("an access that promises to be aligned and is not is a fault", () => {
  const shader = build({ x: "f32", out: "f32" }, {}, 1, (s) => {
    s.buffers.out.storesInside(s.u32(0), s.buffers.x.loadsInside(s.u32(2), 4));
  });
  const buffers = { x: words([0, 1, 2, 3, 4, 5]), out: new Uint32Array(4) };
  const { faults } = evaluateShader(shader, { groups: 1, buffers, uniforms: { "x.size": 6, "out.size": 4 } });
  expect(faults.map((f) => [f.kind, f.memory, f.at])).toEqual([["unaligned", "x", 2]]);
});
