/** Learning rate schedulers, as in torch.optim.lr_scheduler. Each changes the rates of its optimizer's groups. */
export { LRScheduler, type PerGroup, type ScheduleOptions, type ScheduleState } from "./scheduler.ts";
export { ExponentialLR, MultiStepLR, StepLR, type ExponentialLROptions, type MultiStepLROptions, type StepLROptions } from "./step.ts";
export { ConstantLR, LinearLR, PolynomialLR, type ConstantLROptions, type LinearLROptions, type PolynomialLROptions } from "./ramp.ts";
export { LambdaLR, MultiplicativeLR, type LambdaLROptions, type RateFunction } from "./lambda.ts";
export {
  CosineAnnealingLR,
  CosineAnnealingWarmRestarts,
  type CosineAnnealingLROptions,
  type CosineAnnealingWarmRestartsOptions,
} from "./cosine.ts";
export { OneCycleLR, type OneCycleLROptions } from "./one-cycle.ts";
export { CyclicLR, type CyclicLROptions, type CyclicMode } from "./cyclic.ts";
export { ReduceLROnPlateau, type ReduceLROnPlateauOptions } from "./plateau.ts";
export { ChainedScheduler, SequentialLR, type ChainedSchedulerOptions, type SequentialLROptions } from "./composed.ts";
