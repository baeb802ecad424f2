/** The software adapter's executor agrees with the evaluator: random shaders, to the bit. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { ShaderProgram } from "../../src/shader/dxbc/shader-program.ts";
import { evaluateShader } from "../../src/shader/evaluate.ts";
import { eachDevice, isMicrosoft } from "../device.ts";
import { runKernel } from "./device.ts";
import { GROUPS, randomBuffers, randomShader, randomUniforms, SIZES } from "./random.ts";

const COUNT = Number(process.env.DXTENSOR_FUZZ ?? 60);

/** The tensors of the words; those of halves as their bits. */
function tensorOf(name: "x" | "h" | "i", words: Uint32Array): dx.Tensor {
  const size = SIZES[name];
  if (name === "x") return dx.tensor(new Float32Array(words.buffer, 0, size));
  if (name === "i") return dx.tensor(new Int32Array(words.buffer, 0, size));
  return dx.tensor(new Uint16Array(words.buffer, 0, size), { dtype: "float16" });
}

eachDevice("random shaders", (device) => {
  // A GPU may fuse a multiplication and an addition: then a comparison of two results may go the other way.
  it.skipIf(isMicrosoft(device))(`${COUNT} of them, without texels and with (our executor only: drivers use fused multiply-add)`, () => {
    for (const [seed, seesTexels] of Array.from({ length: COUNT }, (_, i) => [false, true].map((b) => [i + 1, b] as const)).flat()) {
      const source = randomShader(seed);
      const expected = randomBuffers(seed);
      const uniforms = randomUniforms(seed);
      evaluateShader(source, { groups: GROUPS, buffers: expected, uniforms });
      const buffers = randomBuffers(seed);
      const program = new ShaderProgram(source);
      const made = runKernel(
        { program, groups: () => GROUPS, inPlace: false, updates: false },
        {
          inputs: { x: tensorOf("x", buffers["x"]!), h: tensorOf("h", buffers["h"]!), i: tensorOf("i", buffers["i"]!) },
          outputs: { y: [SIZES.y], k: [SIZES.k], n: [SIZES.n] },
          params: { scale: uniforms["scale"]!, count: uniforms["count"]! },
          zeros: true,
          seesTexels,
        },
      );
      for (const name of ["y", "k", "n"] as const) {
        const { buffer, byteOffset, byteLength } = made[name]!.dataSync();
        const bytes = new Uint8Array(expected[name]!.buffer, 0, byteLength);
        expect(`seed ${seed} ${name} ${Buffer.from(buffer, byteOffset, byteLength).toString("hex")}`).toBe(
          `seed ${seed} ${name} ${Buffer.from(bytes).toString("hex")}`,
        );
        made[name]!.dispose();
      }
    }
  });
});
