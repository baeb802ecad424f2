/** Optimizers: what turns gradients into better parameters. */
export { Optimizer, ParamGroup, type BaseOptions, type GroupInput, type OptimizerState, type ParametersInput } from "./optimizer.ts";
export { SGD, sgd, type SGDOptions } from "./sgd.ts";
export { Adam, AdamW, adam, adamW, type AdamOptions } from "./adam.ts";
