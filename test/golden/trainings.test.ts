/**
 * 200 steps of six networks, compared with PyTorch: losses are as near to float64's as PyTorch's float32 losses, up to a small factor. npm test runs the first 20
 * steps; DXTENSOR_TESTS=all runs all.
 */
import { beforeAll, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, isDirectml, isMicrosoft } from "../device.ts";
import { isWhole } from "../share.ts";
import { readTrainings, trainingLosses } from "./trainings/trainings.ts";

/** How many times PyTorch's distance from float64, and two units of float32's last place, which a loss itself may be rounded by. */
const FACTOR = 4;
const FLOOR = 2 ** -22;
/** Other libraries' transcendental functions are good to some units of the last place (tolerance.ts), which training amplifies. */
const OTHERS = { factor: 64, floor: 1e-5 };
/** The same for bfloat16, whose rounding is of 2^-9; both runs err. */
const HALF_FACTOR = 4;
const STEPS = isWhole ? 200 : 10;

const { torch, window, runs } = readTrainings();
const relative = (got: number, want: number): number => Math.abs(got - want) / Math.abs(want);

test("the recording is of 200 steps of six networks that learn", () => {
  expect(torch).toMatch(/^2\.15\./);
  expect(Object.keys(runs)).toHaveLength(6);
  for (const { float64, noise } of Object.values(runs)) {
    expect([float64.length, noise.length]).toEqual([200, 200 / window]);
    expect(float64.at(-1)!).toBeLessThan(0.95 * float64[0]!);
    // A run whose rounding errors grow to this says nothing about ours.
    expect(Math.max(...noise)).toBeLessThan(1e-5);
  }
});

eachDevice("trainings compared with PyTorch", (device) => {
  const { factor, floor } = isMicrosoft(device) || !isDirectml(device) ? OTHERS : { factor: FACTOR, floor: FLOOR };
  // The default generator keeps its state.
  beforeAll(() => dx.withDevice(device, () => dx.randn([1]).dispose()));
  for (const isCompiled of [false, true]) {
    const way = isCompiled ? "compiled" : "eager";
    test.each(Object.keys(runs))(
      `%s, ${way}: ${STEPS} losses within ${factor} times PyTorch's own distance from float64`,
      { timeout: 300_000 },
      (name) =>
        clean(
          device,
          async () => {
            const run = runs[name]!;
            const losses = await trainingLosses(name, { steps: STEPS, isCompiled });
            expect(losses).toHaveLength(STEPS);
            const far = losses.flatMap((loss, i) => {
              const allowed = floor + factor * run.noise[Math.floor(i / window)]!;
              const distance = relative(loss, run.float64[i]!);
              return distance <= allowed ? [] : [`step ${i}: ${loss} for ${run.float64[i]}: ${distance} instead of ${allowed}`];
            });
            expect(far).toEqual([]);
          },
          { collect: true },
        ),
    );

    test.each(Object.keys(runs).filter((name) => runs[name]!.bfloat16 !== undefined))(
      `%s, ${way}, autocast to bfloat16: ${STEPS} losses within ${HALF_FACTOR} times PyTorch's distance from float64`,
      { timeout: 300_000 },
      (name) =>
        clean(
          device,
          async () => {
            const { float64, bfloat16 } = runs[name]!;
            const losses = await trainingLosses(name, { steps: STEPS, isCompiled, autocast: "bfloat16" });
            let noise = 0;
            const far = losses.filter((loss, i) => {
              noise = Math.max(noise, relative(bfloat16![i]!, float64[i]!));
              return relative(loss, bfloat16![i]!) > 2 ** -9 + HALF_FACTOR * noise;
            });
            expect(far).toEqual([]);
          },
          { collect: true },
        ),
    );
  }
});
