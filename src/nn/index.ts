/** Layers, models and what they are made of. */
export * from "./activation.ts";
export * from "./containers.ts";
export * from "./conv.ts";
export * from "./dropout.ts";
export * from "./embedding.ts";
export * from "./linear.ts";
export * from "./loss.ts";
export { Module, type Layer, type StateDict } from "./module.ts";
export * from "./norm.ts";
export { Parameter } from "./parameter.ts";
export * from "./pool.ts";
export type { LayerOptions } from "./options.ts";
export * as functional from "./functional.ts";
export * as init from "./init.ts";
