/** Random compiled functions that reduce, fused and not, compared with float64. */
import { describe, expect, it } from "vitest";
import * as dx from "../../../../src/index.ts";
import { devices } from "../../../device.ts";
import { GENERAL, SPECIAL } from "./programs.ts";
import { reducingProgram } from "./reducing-programs.ts";

const COUNT = Number(process.env.DXTENSOR_FUZZ ?? 12);

for (const device of devices)
  describe(`random reductions on ${device}`, () => {
    for (let seed = 1; seed <= COUNT; seed++)
      it(`seed ${seed}`, () => {
        const kind = seed % 4 === 0 ? SPECIAL : GENERAL;
        const program = reducingProgram(seed, kind, dx.device(device));
        const compiled = (["always", "off"] as const).map((fuse) => dx.compile(program.run, { fuse }));
        for (let call = 0; call < 2; call++) {
          const inputs = program.inputs();
          const expected = program.reference();
          const [fused, plain] = compiled.map((f) => f(...inputs));
          // DirectML over Vulkan takes NaN for a number in softmax.
          if (kind === GENERAL) plain!.forEach((t, i) => program.compare(t, expected[i]!, `not fused, result ${i}`));
          fused!.forEach((t, i) => program.compare(t, expected[i]!, `fused, result ${i}`));
        }
        expect(compiled[0]!.explain().fused.length).toBeGreaterThan(0);
        for (const f of compiled) f.dispose();
      });
  });
