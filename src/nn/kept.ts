/** Tensors among a loss's options. @package */
import { Tensor } from "../core/tensor.ts";
import type { Module } from "./module.ts";

/**
 * The options with their tensors registered as buffers of the module, under PyTorch's names: they move with it and are part of its state.
 * The module has tensors of its own over the same memory, so that what becomes of it leaves the caller's alone.
 */
export function kept<Options extends object>(module: Module, options: Options, names: { readonly [K in keyof Options]?: string }): Options {
  const result = { ...options };
  for (const [option, buffer] of Object.entries(names) as [keyof Options & string, string][]) {
    const value = options[option];
    if (!(value instanceof Tensor)) continue;
    module.registerBuffer(buffer, value.detach());
    Object.defineProperty(result, option, { enumerable: true, get: () => (module as unknown as Record<string, Tensor>)[buffer] });
  }
  return result;
}
