/** Random shaders mean the same after each pass (DXTENSOR_FUZZ: how many). */
import { describe, expect, it } from "vitest";
import { emitShader } from "../../src/shader/dxbc/emit.ts";
import { evaluateShader } from "../../src/shader/evaluate.ts";
import type { Shader } from "../../src/shader/ir.ts";
import { lower } from "../../src/shader/lower-memory.ts";
import { simplify } from "../../src/shader/simplify.ts";
import { verifyShader } from "../../src/shader/validate.ts";
import { GROUPS, randomBuffers, randomShader, randomUniforms } from "./random.ts";

const COUNT = Number(process.env.DXTENSOR_FUZZ ?? 60);

function outputsOf(shader: Shader, seed: number): { buffers: { [name: string]: Uint32Array }; faults: readonly object[] } {
  const buffers = randomBuffers(seed);
  const { faults } = evaluateShader(shader, { groups: GROUPS, grid: 2, buffers, uniforms: randomUniforms(seed) });
  return { buffers, faults };
}

describe("random shaders", () => {
  for (let seed = 1; seed <= COUNT; seed++)
    it(`seed ${seed}`, () => {
      const source = randomShader(seed);
      verifyShader(source);
      const expected = outputsOf(source, seed);
      expect(expected.faults.filter((f) => (f as { kind: string }).kind !== "outside")).toEqual([]);
      const small = simplify(source);
      verifyShader(small);
      expect(outputsOf(small, seed).buffers).toEqual(expected.buffers);
      const lowered = simplify(lower(small));
      verifyShader(lowered);
      const words = outputsOf(lowered, seed);
      expect(words.buffers).toEqual(expected.buffers);
      expect(words.faults).toEqual([]);
      expect([false, true].map((seesTexels) => emitShader(source, { seesTexels, roundsHalf: seesTexels }).bytes.length % 4)).toEqual([
        0, 0,
      ]);
    });
});
