// Made by npm run generate from the families in src/ops.
import { guardedAsync } from "./kinds.generated.ts";
import * as $ioPeftIndex from "../io/peft/index.ts";
export type { PeftLoadOptions } from "../io/peft/options.ts";
export type { PeftSaveOptions } from "../io/peft/options.ts";
/**
 * Writes the adapters of lora() into a folder, which is made where it is missing, as PEFT does: `adapter_model.safetensors` and `adapter_config.json`. PEFT's
 * `PeftModel.from_pretrained` and llama.cpp's converter read it. What is saved is the state of now.
 *
 * path: text or a file: URL. Throws ValueError where a file cannot be written. Reference: peft.PeftModel.save_pretrained.
 */
export const save = guardedAsync($ioPeftIndex.save, "peft.save", "path:anything adapters:lora options:PeftSaveOptions?");
/**
 * Gives a module the adapters of a folder that PEFT or save() wrote: layers, ranks and alphas are the file's. The module is the one that they were trained on, with
 * its names. All but the adapters is frozen, as after lora().
 *
 * path: a folder, text or a file: URL. Throws FormatError for damaged files and for other kinds of adapters, UnsupportedError for what the config asks for and the
 * library lacks (DoRA and other variants), ValueError for layers that the module lacks, ShapeError for layers of other sizes. The module is then as it was.
 * Reference: peft.PeftModel.from_pretrained.
 */
export const load = guardedAsync($ioPeftIndex.load, "peft.load", "module:module path:anything options:PeftLoadOptions?");
