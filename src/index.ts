/** Tensors, autograd and training on any DirectX 12 GPU. Importing loads no DirectX library; the first use of a device does. */
import "./ops/index.ts";

export { Tensor } from "./core/tensor.ts";
export {
  abs,
  angle,
  autocast,
  backward,
  canCast,
  cat,
  checkpoint,
  closeDevice,
  compile,
  complex,
  cond,
  counters,
  defineFunction,
  detectAnomaly,
  deviceInfo,
  enableGrad,
  grad,
  gradcheck,
  gradgradcheck,
  hessian,
  hvp,
  imag,
  istft,
  jacobian,
  jvp,
  latest,
  load,
  memoryStatistics,
  noGrad,
  inferenceMode,
  gradOf,
  gradAndValue,
  vmap,
  polar,
  profile,
  promoteTypes,
  real,
  save,
  savedTensorsHooks,
  saveOnHost,
  scan,
  scope,
  setDefaultDevice,
  setDetectAnomaly,
  setDeviceTimeout,
  setGradEnabled,
  setMemoryLimit,
  setPrintOptions,
  setStrict,
  stack,
  startProfile,
  stft,
  synchronize,
  viewAsComplex,
  vhp,
  viewAsReal,
  vjp,
  where,
  whileLoop,
  withDevice,
} from "./public/functions.generated.ts";
export type { ScanOptions } from "./control/scan.ts";
export { keep } from "./core/scope.ts";
export { Device, device, defaultDevice, type DeviceLike } from "./core/device.ts";
export type { ArrayOf, DType, TypedArray } from "./core/dtype.ts";
export type { Shape } from "./core/shape.ts";
export * from "./core/errors.ts";
export {
  autocastDType,
  clearAutocastCache,
  isAutocastCacheEnabled,
  isAutocastEnabled,
  type AutocastDType,
  type AutocastOptions,
} from "./core/autocast.ts";
export { isAnomalyEnabled } from "./autograd/anomaly.ts";
export { isGradModeEnabled as isGradEnabled, isInferenceModeEnabled, type InferenceModeOptions } from "./autograd/grad-mode.ts";
export type { GradOfOptions, GradientOf, PlainGradientOf } from "./func/grad-of.ts";
export type { Randomness } from "./func/level.ts";
export type { AxisTree } from "./func/trees.ts";
export type { VmapOptions } from "./func/vmap.ts";
export type { ArgumentsOf, FunctionalOptions, HessianOf, JacobianOf, Like, OneOrMore } from "./autograd/functional.ts";
export type { CustomFunction, FunctionContext } from "./autograd/function.ts";
export type { GradcheckOptions, GradgradcheckOptions } from "./autograd/gradcheck.ts";
export type { PrintOptions } from "./core/print.ts";
export type { BackwardOptions } from "./autograd/backward.ts";
export { fallbackStats, resetFallbackStats, type FallbackRecord } from "./runtime/fallback.ts";
export type { GradContext, TensorSpec } from "./core/definition.ts";
export type { Fault } from "./shader/evaluate.ts";
export type { BufferElements, Elements, ForOptions, Scope, SharedElements, Var } from "./shader/language.ts";
export type { Bool, Float, FloatLike, Int, IntLike, Uint, UintLike } from "./shader/numbers.ts";
export type { DeviceInfo } from "./runtime/devices.ts";
export { explain, type CompileOptions, type Compiled } from "./compile/compile.ts";
export type { TuneOptions, TuneProgress } from "./compile/tuner.ts";
export type { DevicePeak } from "./compile/device-peak.ts";
export type { ExplainedRegion, Explanation } from "./compile/explain.ts";
export type { ExplainedKernel } from "./compile/kernels.ts";
export type { FuseMode } from "./graph/passes/fuse/fuse.ts";
export type { Profile, ProfiledDispatch, ProfiledKernel } from "./compile/profile.ts";
export type { ProfileEvent, ProfileKind, ProfileMemory, ProfilePhase } from "./profile/event.ts";
export type { ProfileOptions, Profiled, ProfileSchedule, ProfileSession, ProfileSessionOptions } from "./profile/profile.ts";
export type { ProfiledDevice, ProfileReport } from "./profile/report.ts";
export type { ProfileGrouping, ProfileRow, ProfileSort, ProfileTable, ProfileTableOptions } from "./profile/event-table.ts";
export * from "./ops/index.ts";
// Some of these stand for the functions of real tensors alone.
export {
  ComplexTensor,
  conj,
  conjPhysical,
  isComplex,
  resolveConj,
  resolveNeg,
  resultType,
  type ComplexBackwardOptions,
  type GradOptions,
  type Gradients,
  type ComplexDType,
  type ComplexNumber,
  type ComplexOperand,
  type NestedPairs,
} from "./complex/index.ts";
export * as fft from "./public/fft.generated.ts";
export type { IstftOptions, StftOptions } from "./fft/stft.ts";
export * as backend from "./public/backend.ts";
export { devices, type ListedDevice } from "./runtime/device-list.ts";
export * as dml from "./public/dml.ts";
export * as linalg from "./public/linalg.generated.ts";
export * as foreach from "./public/foreach.generated.ts";
export * as masked from "./public/masked.generated.ts";
export * as nn from "./public/nn.generated.ts";
export * as optim from "./public/optim.generated.ts";
export * as metrics from "./public/metrics.generated.ts";
export * as data from "./public/data.generated.ts";
export * as train from "./public/train.generated.ts";
export * as distributed from "./public/distributed.generated.ts";
export * as models from "./public/models.generated.ts";
export * as io from "./public/io.generated.ts";
export type { Stateful } from "./io/checkpoint/encode.ts";
export type {
  CheckpointDevice,
  CheckpointIntoOptions,
  CheckpointLoadOptions,
  LoadedInto,
  SavedState,
  SavedTensorInfo,
} from "./io/checkpoint/load.ts";
export type { CheckpointSaveOptions } from "./io/checkpoint/save.ts";
