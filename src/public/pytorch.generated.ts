// Made by npm run generate from the families in src/ops.
import { guardedAsync } from "./kinds.generated.ts";
import * as $ioPytorchIndex from "../io/pytorch/index.ts";
export type { PytorchLoadOptions } from "../io/pytorch/index.ts";
/**
 * What torch.save() wrote: tensors (views of one storage share memory here too), parameters, numbers, texts, bytes, lists, tuples, dicts, sets,
 * torch.Size, torch.device and dtypes. Nothing in the file is run: any other class or function that it names is refused by its full name.
 *
 * A dict is an object where its keys are texts or integers, else a Map. Tuples are arrays, integers beyond 2^53 are BigInts, bytes are Uint8Arrays,
 * devices and dtypes are texts. Tensors of storages that are not compressed, as PyTorch writes them, go to the device in pieces.
 *
 * path: text or a file: URL. Throws FormatError for a damaged file, UnsupportedError for what it may hold and this library does not read: other
 * classes, dtypes that the library lacks, TorchScript, and PyTorch's forms before version 1.6. Reference: torch.load.
 */
export const load = guardedAsync($ioPytorchIndex.load, "pytorch.load", "path:anything options:PytorchLoadOptions?");
