/** Layers, models and what they are made of. */
export * from "./activation.ts";
export * from "./adaptive-softmax.ts";
export * from "./attention.ts";
export { checkpointSequential, type ChainPart } from "./checkpoint-sequential.ts";
export * from "./containers.ts";
export * from "./conv.ts";
export { DataParallel, dataParallel, type DataParallelOptions } from "./device-parallel.ts";
export type { DeviceStep, DeviceStepOptions, StepOptimizer } from "./device-step.ts";
export * from "./dropout.ts";
export * from "./embedding.ts";
export { functionalCall } from "./functional-call.ts";
export type { ForwardHook, ForwardHookOptions, ForwardPreHook, HookGradients, HookOptions, RemovableHandle } from "./hooks.ts";
export * from "./instance-norm.ts";
export * from "./lazy-layers.ts";
export * from "./lazy-norms.ts";
export * from "./linear.ts";
export * from "./lists.ts";
export { lora, loraOf, type Lora, type LoraOptions, type LoraTarget } from "./lora.ts";
export * from "./loss.ts";
export * from "./margin-loss.ts";
export { Module, type Layer } from "./module.ts";
export * from "./norm.ts";
export * from "./pad.ts";
export { Parameter } from "./parameter.ts";
export * from "./pipeline.ts";
export * from "./planes.ts";
export * from "./pool.ts";
export {
  quantize,
  QuantizedEmbedding,
  QuantizedLinear,
  QuantizedModule,
  type QuantizedEmbeddingOptions,
  type QuantizedLinearOptions,
  type QuantizedWeight,
  type QuantizeModuleOptions,
} from "./quantized.ts";
export * from "./recurrent.ts";
export type { StateDict } from "./module-state.ts";
export { summary, type ModuleSummary, type SummaryColumn, type SummaryInputSpec, type SummaryOptions, type SummaryRow } from "./summary.ts";
export type { LayerOptions } from "./options.ts";
export * as functional from "./functional.generated.ts";
export * as init from "./init.ts";
export * as utils from "./utils.ts";
