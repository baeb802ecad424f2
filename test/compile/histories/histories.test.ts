/** Compiled functions whose arguments have a history: three calls agree with eager calls, some also with PyTorch's recorded results (record.py). */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";
import { difference, programOf, run, textOf, type Program, type Seen } from "./programs.ts";
import { isWhole } from "../../share.ts";

/** DXTENSOR_FUZZ_PROGRAMS: more of them, for a long run; DXTENSOR_FUZZ_SEED: the first one. */
const PROGRAMS = Number(process.env.DXTENSOR_FUZZ_PROGRAMS ?? (isWhole ? 200 : 50));
const FIRST = Number(process.env.DXTENSOR_FUZZ_SEED ?? 1);
const BATCH = 100;
/** Programs that once did something else compiled: nodes freed or retained that no pass of the function's own met, writes after a flow. */
const FOUND = [824, 7040, 10388, 20203, 20293, 21733, 22988, 23529, 25845, 33266, 35274, 40762];

const recorded = JSON.parse(readFileSync(new URL("recorded.json", import.meta.url), "utf8")) as { program: Program; seen: Seen[] }[];

/** Gradients that have not come yet are refused inside (docs/compile.md). */
const isLate = (seen: Seen): boolean => "refused" in seen && String(seen.refused).startsWith("TraceError");

/** Fails where a program does compiled what it does not eagerly. Gives whether it was compared to its end. */
function compare(program: Program, want: readonly Seen[], device: string): boolean {
  const got = dx.withDevice(device, () => dx.scope(() => run(program, true)));
  const late = got.findIndex(isLate);
  const found = difference(late < 0 ? want : want.slice(0, late), got);
  if (found !== null) expect.fail(`seed ${program.seed}: ${found}\n${textOf(program)}`);
  return late < 0;
}

eachDevice("functions of arguments with a history", (device) => {
  for (let from = FIRST; from < FIRST + PROGRAMS; from += BATCH) {
    const to = Math.min(from + BATCH, FIRST + PROGRAMS);
    it(`do compiled what they do eagerly, random programs ${from} to ${to - 1}`, () => {
      let whole = 0;
      for (let seed = from; seed < to; seed++) {
        const program = programOf(seed);
        const want = dx.withDevice(device, () => dx.scope(() => run(program, false)));
        if (compare(program, want, device)) whole++;
      }
      expect(whole).toBeGreaterThan((to - from) * 0.8);
    });
  }

  it.each(FOUND)("do compiled what they do eagerly where they once did not, program %i", (seed) => {
    const program = programOf(seed);
    const want = dx.withDevice(device, () => dx.scope(() => run(program, false)));
    compare(program, want, device);
  });

  it.each([true, false])("write a value in place or not, as a variable outside says, in place first: %s", (inPlaceFirst) => {
    const w = dx.tensor([1, 2, 3, 4], { requiresGrad: true, device });
    let inPlace = false;
    const f = dx.compile((x: dx.Tensor) => {
      const y = x.mul(w);
      const z = inPlace ? y.sin_() : y.sin();
      z.sum().backward();
      return z;
    });
    for (let call = 0; call < 4; call++) {
      inPlace = (call % 2 === 0) === inPlaceFirst;
      const data = [0.1, 0.2, 0.3, 0.4].map((v) => v * (call + 1));
      w.grad = null;
      const z = f(dx.tensor(data, { device }));
      expectClose(
        z,
        data.map((v, i) => Math.sin(v * (i + 1))),
      );
      expectClose(
        w.grad!,
        data.map((v, i) => v * Math.cos(v * (i + 1))),
      );
    }
    f.dispose();
  });

  it("do what PyTorch does, eagerly and compiled", () => {
    expect(recorded.length).toBe(40);
    for (const { program, seen } of recorded) {
      const found = difference(
        seen,
        dx.withDevice(device, () => dx.scope(() => run(program, false))),
      );
      expect(found, `seed ${program.seed}, eagerly`).toBeNull();
      compare(program, seen, device);
    }
  });
});
