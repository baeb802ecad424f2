/** Random compiled functions of elementwise operations, fused and not, compared with float64: views, broadcasts, dtypes, odd sizes and offsets. */
import { describe, expect, it } from "vitest";
import * as dx from "../../../../src/index.ts";
import { devices } from "../../../device.ts";
import { GENERAL, SPECIAL, randomProgram } from "./programs.ts";

const COUNT = Number(process.env.DXTENSOR_FUZZ ?? 24);

for (const device of devices)
  describe(`random regions on ${device}`, () => {
    for (let seed = 1; seed <= COUNT; seed++)
      it(`seed ${seed}`, () => {
        const program = randomProgram(seed, seed % 4 === 0 ? SPECIAL : GENERAL, dx.device(device));
        const regions = seed % 3 === 0 ? "none" : undefined;
        const compiled = (["always", "off"] as const).map((fuse) => dx.compile(program.run, { fuse, ...(regions === undefined ? {} : { regions }) })); // prettier-ignore
        for (let call = 0; call < 3; call++) {
          const inputs = program.inputs();
          const expected = program.reference();
          const [fused, plain] = compiled.map((f) => f(...inputs));
          fused!.forEach((t, i) => program.compare(t, expected[i]!, `fused, result ${i}`));
          plain!.forEach((t, i) => program.compare(t, expected[i]!, `not fused, result ${i}`));
        }
        const { fused } = compiled[0]!.explain();
        expect(compiled[1]!.explain().fused).toEqual([]);
        expect(fused.length).toBeGreaterThan(0);
        for (const f of compiled) f.dispose();
      });
  });
