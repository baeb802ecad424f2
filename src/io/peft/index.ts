/** PEFT's files of LoRA adapters: adapter_model.safetensors and adapter_config.json. */
import { pathOf, type FilePath } from "../../host/source.ts";
import { Lora } from "../../nn/lora.ts";
import type { Module } from "../../nn/module.ts";
import { DTypeError } from "../../core/errors.ts";
import type { PeftLoadOptions, PeftSaveOptions } from "./options.ts";

export type { PeftLoadOptions, PeftSaveOptions } from "./options.ts";

/**
 * Writes the adapters of lora() into a folder, which is made where it is missing, as PEFT does: `adapter_model.safetensors` and `adapter_config.json`. PEFT's
 * `PeftModel.from_pretrained` and llama.cpp's converter read it. What is saved is the state of now.
 *
 * path: text or a file: URL. Throws ValueError where a file cannot be written. Reference: peft.PeftModel.save_pretrained.
 */
export async function save(path: FilePath, adapters: Lora, options: PeftSaveOptions = {}): Promise<void> {
  options.signal?.throwIfAborted();
  if (!(adapters instanceof Lora)) throw new DTypeError("peft.save", "adapters", "what lora() gives", adapters);
  const folder = pathOf("peft.save", "path", path);
  const { writeAdapters } = await import("./write.ts");
  await writeAdapters("peft.save", folder, adapters, options);
}

/**
 * Gives a module the adapters of a folder that PEFT or save() wrote: layers, ranks and alphas are the file's. The module is the one that they were trained on, with
 * its names. All but the adapters is frozen, as after lora().
 *
 * path: a folder, text or a file: URL. Throws FormatError for damaged files and for other kinds of adapters, UnsupportedError for what the config asks for and the
 * library lacks (DoRA and other variants), ValueError for layers that the module lacks, ShapeError for layers of other sizes. The module is then as it was.
 * Reference: peft.PeftModel.from_pretrained.
 */
export async function load(module: Module, path: FilePath, options: PeftLoadOptions = {}): Promise<Lora> {
  options.signal?.throwIfAborted();
  const folder = pathOf("peft.load", "path", path);
  const { readAdapters } = await import("./read.ts");
  return readAdapters("peft.load", module, folder, options);
}
