/** Stores of float16 round to the nearest, ties to even, though devices' own conversion may cut off (the evaluator's does). */
import { expect, it } from "vitest";
import { lower } from "../../src/shader/lower-memory.ts";
import { operation } from "../../src/shader/operations.ts";
import { simplify } from "../../src/shader/simplify.ts";
import { build, run, words } from "./support.ts";

/** Numbers and their halves, by IEEE 754. */
const cases: readonly (readonly [number, number])[] = [
  [0, 0], [-0, 0x8000], [1, 0x3c00], [-2, 0xc000], [65504, 0x7bff], [65519.99, 0x7bff], [65520, 0x7c00], [-65520, 0xfc00], [70000, 0x7c00],
  [1e30, 0x7c00], [Infinity, 0x7c00], [-Infinity, 0xfc00], [1 + 2 ** -11, 0x3c00], [1 + 3 * 2 ** -11, 0x3c02], [1 + 2 ** -11 + 2 ** -20, 0x3c01],
  [2 ** -14, 0x0400], [2 ** -14 - 2 ** -26, 0x0400], [2 ** -24, 0x0001], [2 ** -25, 0x0000], [2 ** -25 * 1.5, 0x0001], [3 * 2 ** -25, 0x0002],
  [-(2 ** -24) * 1023, 0x83ff], [-20.640625, 0xcd29], [1e-20, 0],
]; // prettier-ignore

it("rounds as IEEE 754 does", () => {
  const shader = build({ x: "f32", out: "f16" }, {}, 2 * cases.length, (s) => s.buffers.out.store(s.local, s.buffers.x.load(s.local)));
  for (const form of [shader, simplify(lower(simplify(shader)))]) {
    const out = new Uint32Array(cases.length / 2 + 1);
    run(form, {
      buffers: { x: words([...cases.map(([x]) => x), NaN]), out },
      uniforms: { "x.size": cases.length + 1, "out.size": cases.length + 1 },
    });
    const halves = [...new Uint16Array(out.buffer)];
    expect(halves.slice(0, cases.length)).toEqual(cases.map(([, half]) => half));
    expect(halves[cases.length]! & 0x7fff).toBe(0x7e00);
  }
  expect(operation("f32.to.half").apply(-20.65, 0, 0)).toBe(0xcd29);
});
