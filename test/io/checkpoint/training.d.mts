import type * as Dxtensor from "../../../src/index.ts";

export interface Training {
  readonly model: Dxtensor.nn.Sequential;
  readonly optimizer: Dxtensor.optim.Adam;
  readonly schedule: Dxtensor.optim.lrScheduler.LRScheduler;
  readonly generator: Dxtensor.Generator;
  readonly loader: Dxtensor.data.DataLoader<readonly number[], Dxtensor.Tensor>;
}
export interface Step {
  readonly step: number;
  readonly loss: number;
  readonly hash: string;
}
export function begin(dx: typeof Dxtensor, seed: number): Training;
export function hashOf(dx: typeof Dxtensor, state: Training): Promise<string>;
export function resume(dx: typeof Dxtensor, state: Training, folder: string): Promise<number>;
export function train(
  dx: typeof Dxtensor,
  state: Training,
  folder: string | null,
  from: number,
  until: number,
  beforeSave?: (step: number) => void,
): AsyncGenerator<Step, void, undefined>;
