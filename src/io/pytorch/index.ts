/** PyTorch's files: reads the output of torch.save() without running code. */
import { defaultDevice, device as deviceOf, type DeviceLike } from "../../core/device.ts";
import { pathOf, type FilePath } from "../../host/source.ts";
import type { TransferOptions } from "../parts.ts";

/** Options of pytorch.load(). */
export interface PytorchLoadOptions extends TransferOptions {
  /** Where the tensors go; "meta" reads shapes and dtypes alone. Default: the default device. */
  readonly device?: DeviceLike | undefined;
}

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
export async function load<
  // oxlint-disable-next-line typescript/no-explicit-any -- what a file holds is known to the user alone, who may say so by T
  T = any,
>(path: FilePath, options: PytorchLoadOptions = {}): Promise<T> {
  options.signal?.throwIfAborted();
  const source = pathOf("pytorch.load", "path", path);
  const device = options.device === undefined ? defaultDevice() : deviceOf(options.device);
  const { loadFile } = await import("./load.ts");
  return (await loadFile(source, device, options)) as T;
}
