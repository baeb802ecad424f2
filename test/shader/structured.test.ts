/** Memory that is accessed as structures or texels: only if all accesses are at multiples of their sizes. */
import { describe, expect, it } from "vitest";
import { emitShader } from "../../src/shader/dxbc/emit.ts";
import { evaluateShader } from "../../src/shader/evaluate.ts";
import type { Scope } from "../../src/shader/language.ts";
import type { Float, Uint } from "../../src/shader/numbers.ts";
import { randomShader } from "./random.ts";
import { build, words } from "./support.ts";

type Buffers = { readonly x: "f32"; readonly h: "f16"; readonly out: "f32" };
type S = Scope<Buffers, { readonly n: "u32" }>;
const views = (body: (s: S) => void, seesTexels: boolean): [buffer: number, form: number][] => {
  const all = emitShader(build({ x: "f32", h: "f16", out: "f32" }, { n: "u32" }, 64, body), { seesTexels, roundsHalf: false }).views;
  return Array.from({ length: all.length / 2 }, (_, i) => [all[2 * i]!, all[2 * i + 1]!]);
};
/** Of x, h and out. */
const strides = (body: (s: S) => void): number[] => {
  const seen = views(body, false);
  expect(seen.map(([buffer]) => buffer)).toEqual([0, 1, 2]);
  return seen.map(([, form]) => form);
};
const TEXELS = 255;
/** Members that the published types leave out: accesses that the shader itself keeps inside. */
interface Unguarded {
  loadsInside(at: Uint, count: number): Float[];
  storesInside(at: Uint, values: readonly Float[]): void;
}
/** x is read, four elements at once, from an index on. */
const reads = (at: (s: S) => Uint): number => strides((s) => s.buffers.out.store(s.thread, s.buffers.x.loads(at(s), 4)[3]!))[0]!;

describe("a buffer", () => {
  it.each<readonly [string, number, (s: S) => Uint]>([
    ["a multiple by a multiplication", 16, (s) => s.thread.mul(4)],
    ["a multiple by a shift", 16, (s) => s.thread.shiftLeft(3)],
    ["sums and choices of multiples", 16, (s) => s.local.lt(3).select(s.thread.mul(8).add(4), s.thread.mul(12).sub(8))],
    ["bits that are cut off", 16, (s) => s.thread.and(0xfffffffc)],
    ["the rest of a multiple", 16, (s) => s.thread.mul(4).mod(20)],
    ["the half of a multiple of eight", 16, (s) => s.thread.mul(8).shiftRight(1)],
    ["a constant", 16, (s) => s.u32(32)],
    ["any index", 0, (s) => s.thread],
    ["a multiple of two", 0, (s) => s.thread.mul(2)],
    ["a multiplication by a number of the launch", 0, (s) => s.local.mul(s.params.n)],
    ["a multiple and one", 0, (s) => s.thread.mul(4).add(1)],
    ["a quotient", 0, (s) => s.thread.mul(12).div(3)],
  ])("is read at %s", (_, stride, at) => {
    expect(reads(at)).toBe(stride);
    const texels = views((s) => s.buffers.out.store(s.thread, s.buffers.x.loads(at(s), 4)[3]!), true);
    // The last elements, of which there are fewer than four, are read one by one.
    expect(texels.filter(([buffer]) => buffer === 0).map(([, form]) => form)).toEqual(stride === 16 ? [0, TEXELS] : [0]);
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

describe("with texels", () => {
  const wide = (s: S): void => s.buffers.out.stores(s.thread.mul(4), s.buffers.x.loads(s.thread.mul(4), 4));
  /** Where nothing has to be guarded. */
  const inside = (s: S): void =>
    (s.buffers.out as unknown as Unguarded).storesInside(
      s.thread.mul(4),
      (s.buffers.x as unknown as Unguarded).loadsInside(s.thread.mul(4), 4),
    );

  it("a buffer's own view is of texels where all accesses are, else there is one more", () => {
    expect(views(inside, true)).toEqual([[0, TEXELS], [1, 0], [2, TEXELS]]); // prettier-ignore
    expect(views(wide, true)).toEqual([[0, 0], [1, 0], [2, 0], [0, TEXELS], [2, TEXELS]]); // prettier-ignore
  });

  it("what the shader reads and writes has no two views", () => {
    const reread = (at: number) => (s: S) => {
      wide(s);
      s.buffers.out.store(s.thread, s.buffers.out.load(s.thread.add(at)));
    };
    expect(views(reread(1), true)).toEqual([[0, 0], [1, 0], [2, 16], [0, TEXELS]]); // prettier-ignore
    const both = (s: S): void => {
      inside(s);
      const out = s.buffers.out as unknown as Unguarded;
      out.storesInside(s.thread.mul(4), out.loadsInside(s.thread.mul(4), 4));
    };
    expect(views(both, true)[2]).toEqual([2, TEXELS]);
  });

  it("a buffer with atomics is raw, and pairs are structures", () => {
    const atomic = (s: S): void => {
      inside(s);
      s.buffers.out.atomicAdd(s.thread, 1);
    };
    expect(views(atomic, true).slice(2)).toEqual([[2, 0]]);
    expect(views((s) => s.buffers.out.stores(s.thread.mul(2), [1, 2]), true)[2]).toEqual([2, 8]);
  });
});

it("random shaders have all forms", () => {
  const forms = (seesTexels: boolean): number[] =>
    Array.from({ length: 60 }, (_, i) =>
      [...emitShader(randomShader(i + 1), { seesTexels, roundsHalf: false }).views].filter((_n, k) => k % 2 === 1),
    ).flat();
  const count = (seesTexels: boolean, form: number): number => forms(seesTexels).filter((n) => n === form).length;
  for (const n of [count(false, 0), count(false, 8), count(false, 16), count(true, TEXELS)]) expect(n).toBeGreaterThan(10);
  expect(count(false, TEXELS)).toBe(0);
});

it("an access that promises to be aligned and is not is a fault", () => {
  const shader = build({ x: "f32", out: "f32" }, {}, 1, (s) => {
    s.buffers.out.storesInside(s.u32(0), s.buffers.x.loadsInside(s.u32(2), 4));
  });
  const buffers = { x: words([0, 1, 2, 3, 4, 5]), out: new Uint32Array(4) };
  const { faults } = evaluateShader(shader, { groups: 1, buffers, uniforms: { "x.size": 6, "out.size": 4 } });
  expect(faults.map((f) => [f.kind, f.memory, f.at])).toEqual([["unaligned", "x", 2]]);
});
