/** Optimizers: what turns gradients into better parameters. */
export { Optimizer, ParamGroup, type BaseOptions, type GroupInput, type OptimizerState, type ParametersInput } from "./optimizer.ts";
export { SGD, sgd, type SGDOptions } from "./sgd.ts";
export { Adam, AdamW, adam, adamW, type AdamOptions } from "./adam.ts";
export { Adadelta, adadelta, type AdadeltaOptions } from "./adadelta.ts";
export { Adagrad, adagrad, type AdagradOptions } from "./adagrad.ts";
export { Adamax, adamax, type AdamaxOptions } from "./adamax.ts";
export { ASGD, asgd, type ASGDOptions } from "./asgd.ts";
export { GradScaler, gradScaler, unscale, type GradScalerOptions, type GradScalerState } from "./grad-scaler.ts";
export { LAMB, lamb, type LAMBOptions } from "./lamb.ts";
export { Lion, lion, type LionOptions } from "./lion.ts";
export { Lion8bit, lion8bit, type Lion8bitOptions } from "./lion-8bit.ts";
export { Adafactor, adafactor, type AdafactorOptions } from "./adafactor.ts";
export { Muon, muon, type AdjustLrFn, type MuonOptions } from "./muon.ts";
export { SparseAdam, sparseAdam, type SparseAdamOptions } from "./sparse-adam.ts";
export { Adam8bit, AdamW8bit, adam8bit, adamW8bit, type Adam8bitOptions } from "./adam-8bit.ts";
export { LBFGS, lbfgs, type Closure, type LBFGSOptions, type LBFGSState } from "./lbfgs.ts";
export { NAdam, nadam, type NAdamOptions } from "./nadam.ts";
export { RAdam, radam, type RAdamOptions } from "./radam.ts";
export { RMSprop, rmsprop, type RMSpropOptions } from "./rmsprop.ts";
export { Rprop, rprop, type RpropOptions } from "./rprop.ts";
export * as lrScheduler from "./schedules/index.ts";
export { Lookahead, lookahead, type LookaheadOptions, type LookaheadState } from "./lookahead.ts";
export {
  AveragedModel,
  averagedModel,
  getEmaAvgFn,
  getEmaMultiAvgFn,
  getSwaAvgFn,
  getSwaMultiAvgFn,
  updateBn,
  type AveragedModelOptions,
  type AvgFn,
  type MultiAvgFn,
} from "./averaged-model.ts";
