/** Learning rate schedulers, as in torch.optim.lr_scheduler. Each changes the rates of its optimizer's groups. */
export { LRScheduler, type PerGroup, type ScheduleOptions, type ScheduleState } from "./scheduler.ts";
export {
  ExponentialLR,
  exponentialLR,
  MultiStepLR,
  multiStepLR,
  StepLR,
  stepLR,
  type ExponentialLROptions,
  type MultiStepLROptions,
  type StepLROptions,
} from "./step.ts";
export {
  ConstantLR,
  constantLR,
  LinearLR,
  linearLR,
  PolynomialLR,
  polynomialLR,
  type ConstantLROptions,
  type LinearLROptions,
  type PolynomialLROptions,
} from "./ramp.ts";
export { LambdaLR, lambdaLR, MultiplicativeLR, multiplicativeLR, type LambdaLROptions, type RateFunction } from "./lambda.ts";
export {
  CosineAnnealingLR,
  cosineAnnealingLR,
  CosineAnnealingWarmRestarts,
  cosineAnnealingWarmRestarts,
  type CosineAnnealingLROptions,
  type CosineAnnealingWarmRestartsOptions,
} from "./cosine.ts";
export { OneCycleLR, oneCycleLR, type OneCycleLROptions } from "./one-cycle.ts";
export { CyclicLR, cyclicLR, type CyclicLROptions, type CyclicMode } from "./cyclic.ts";
export { ReduceLROnPlateau, reduceLROnPlateau, type ReduceLROnPlateauOptions } from "./plateau.ts";
export {
  ChainedScheduler,
  chainedScheduler,
  SequentialLR,
  sequentialLR,
  type ChainedSchedulerOptions,
  type SequentialLROptions,
} from "./composed.ts";
export { SWALR, swaLR, type SWALROptions } from "./swa.ts";
