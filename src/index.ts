/** Tensors, autograd and training on any DirectX 12 GPU. Importing loads no DirectX library; the first use of a device does. */
import "./ops/index.ts";

export { Tensor } from "./tensor.ts";
export { Device, device, defaultDevice, setDefaultDevice, withDevice, type DeviceLike } from "./device.ts";
export { scope, keep } from "./scope.ts";
export type { DType, TypedArray } from "./dtype.ts";
export type { Shape } from "./shape.ts";
export * from "./errors.ts";
export { noGrad, enableGrad, isGradEnabled, setGradEnabled } from "./autograd/grad-mode.ts";
export { defineFunction, type CustomFunction, type FunctionContext } from "./autograd/function.ts";
export type { GradcheckOptions, GradgradcheckOptions } from "./autograd/gradcheck.ts";
export { setPrintOptions, type PrintOptions } from "./print.ts";
export type { BackwardOptions } from "./autograd/backward.ts";
export { fallbackStats, resetFallbackStats, setStrict, type FallbackRecord } from "./runtime/fallback.ts";
export { counters, memoryStatistics, synchronize } from "./runtime/statistics.ts";
export type { GradContext, TensorSpec } from "./definition.ts";
export { closeDevice, deviceInfo, setDeviceTimeout, setMemoryLimit, type DeviceInfo } from "./runtime/devices.ts";
export { compile, explain, type CompileOptions, type Compiled } from "./compile/compile.ts";
export type { Explanation } from "./compile/explain.ts";
export type { Profile, ProfiledDispatch } from "./compile/profile.ts";
export * from "./ops/index.ts";
// Some of these stand for the functions of real tensors alone.
export {
  abs,
  angle,
  backward,
  canCast,
  cat,
  complex,
  ComplexTensor,
  conj,
  conjPhysical,
  grad,
  gradcheck,
  gradgradcheck,
  imag,
  isComplex,
  polar,
  promoteTypes,
  real,
  resolveConj,
  resolveNeg,
  resultType,
  stack,
  viewAsComplex,
  viewAsReal,
  where,
  type ComplexBackwardOptions,
  type ComplexDType,
  type ComplexNumber,
  type ComplexOperand,
  type NestedPairs,
} from "./complex/index.ts";
export * as fft from "./fft/index.ts";
export { istft, stft, type IstftOptions, type StftOptions } from "./fft/stft.ts";
export * as dml from "./dml.ts";
export * as linalg from "./ops/linalg/index.ts";
export * as nn from "./nn/index.ts";
export * as optim from "./optim/index.ts";
export * as data from "./data/index.ts";
export * as io from "./io/index.ts";
