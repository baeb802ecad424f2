/** What several processes cost, as ratios of one run: rows of `npm run bench -- --filter distributed`. */
import type { Answer } from "./rank.ts";
import { glooSeconds, measured } from "./runs.ts";

/** A figure and what it is compared with. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly reference: { readonly name: string; readonly value: number } | undefined;
}

const BYTES = 64 * 2 ** 20;
const BATCH = 512;
/** Of the step that is divided: the reduction is the same for each. */
const BATCHES = [512, 2048];

const best = (values: readonly number[]): number => Math.max(...values);

/** A step of one rank on one core, and of two ranks on two cores with half of the batch each. */
async function divided(batch: number): Promise<Figure[]> {
  const steps = { one: [] as number[], two: [] as number[], oneProcessor: [] as number[], twoProcessor: [] as number[] };
  // In turn, so that a slower minute of the machine meets both.
  for (let round = 0; round < 3; round++) {
    const [one] = await measured(0, { kind: "train", batch, steps: 12, isParallel: false }, true);
    const two = await measured(2, { kind: "train", batch: batch / 2, steps: 24, isParallel: true }, true);
    steps.one.push(batch / one!.wall[0]!);
    steps.two.push(batch / Math.max(...two.map(({ wall }) => wall[0]!)));
    steps.oneProcessor.push(batch / one!.processor[0]!);
    steps.twoProcessor.push(batch / Math.max(...two.map(({ processor }) => processor[0]!)));
  }
  const rows = [
    ["samples/s", steps.two, steps.one],
    ["samples a second of each rank's processor time", steps.twoProcessor, steps.oneProcessor],
  ] as const;
  return rows.map(([unit, two, one]) => ({
    name: `distributed, two ranks on two cores with half of a batch of ${batch} each`,
    value: best(two),
    unit,
    reference: { name: "one rank on one core", value: best(one) },
  }));
}

/** Needs `@dxtensor/distributed-*`, or `npm run distributed -- --build`. */
export async function distributedFigures(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const isCompiled of [false, true]) {
    const [alone] = await measured(1, { kind: "overhead", batch: BATCH, rounds: 41, isCompiled });
    for (const [what, times] of [
      ["", alone!.wall],
      [" of processor time", alone!.processor],
    ] as const)
      figures.push({
        name: `distributed, a${isCompiled ? " compiled" : ""} step of one rank under DDP`,
        value: times[1]! * 1e3,
        unit: `ms${what}`,
        reference: { name: "without", value: times[0]! * 1e3 },
      });
  }
  for (const batch of BATCHES) figures.push(...(await divided(batch)));
  // In turn, and the best of three: another program's work lengthens a median, and shortens none.
  const rates: Record<"engine" | "tensors" | "gloo", { wall: number[]; processor: number[] }> = {
    engine: { wall: [], processor: [] },
    tensors: { wall: [], processor: [] },
    gloo: { wall: [], processor: [] },
  };
  for (let round = 0; round < 3; round++) {
    const add = (who: keyof typeof rates, answers: readonly Answer[]): void => {
      for (const of of ["wall", "processor"] as const) rates[who][of].push(BYTES / Math.max(...answers.map((rank) => rank[of][0]!)) / 1e9);
    };
    const gloo = await glooSeconds(2, [BYTES], 11);
    if (gloo !== null) add("gloo", [gloo]);
    add("engine", await measured(2, { kind: "engine", sizes: [BYTES], repeats: 11 }));
    add("tensors", await measured(2, { kind: "allReduce", sizes: [BYTES], repeats: 11 }));
  }
  for (const [who, name] of [
    ["engine", "all-reduce of 64 MB of host memory by two ranks"],
    ["tensors", "all-reduce of a tensor of 64 MB by two ranks"],
  ] as const)
    for (const [unit, of] of [
      ["GB/s", "wall"],
      ["GB a second of processor time", "processor"],
    ] as const)
      figures.push({
        name: `distributed, ${name}`,
        value: best(rates[who][of]),
        unit,
        reference: rates.gloo[of].length === 0 ? undefined : { name: "Gloo alone", value: best(rates.gloo[of]) },
      });
  return figures;
}
