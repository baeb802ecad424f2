/** NumPy's archives: tensors by name, in a zip file of .npy files. */
import { defaultDevice, device as deviceOf, type Device } from "../../core/device.ts";
import type { Tensor } from "../../core/tensor.ts";
import { pathOf, type FilePath } from "../../host/source.ts";
import type { NpzLoadOptions, NpzOptions, NpzSaveOptions, NpzTensors, NpzWriteOptions } from "./options.ts";
import { PendingArchive } from "./write.ts";

export type { NpzLoadOptions, NpzOptions, NpzSaveOptions, NpzTensors, NpzWriteOptions } from "./options.ts";

const deviceFor = ({ device }: NpzOptions): Device => (device === undefined ? defaultDevice() : deviceOf(device));

/**
 * Reads the arrays of a file of numpy.savez() or numpy.savez_compressed(), in pieces: neither the file nor an array has to fit the host's memory. Dtypes
 * and strides are those of npy.load(). `names` limits what is read, and gives the result its type: `{ names: ["x", "y"] }` gives `{ x, y }`.
 *
 * path: text or a file: URL, of a file; a zip file cannot be read from a pipe. Throws FormatError for a damaged file (each array has a CRC), for two
 * arrays of one name, and for more than maxBytes; UnsupportedError for a dtype that the library lacks; ValueError for a name that is not there.
 * Reference: numpy.load.
 */
export async function load<const Name extends string = string>(
  path: FilePath,
  options: NpzLoadOptions<Name> = {},
): Promise<NpzTensors<Name>> {
  options.signal?.throwIfAborted();
  const source = pathOf("npz.load", "path", path);
  const device = deviceFor(options);
  const { loadFile } = await import("./read.ts");
  return (await loadFile("npz.load", source, device, options)) as NpzTensors<Name>;
}

/** The tensors in the bytes of a .npz file. Throws as load() does. */
export async function deserialize<const Name extends string = string>(
  bytes: Uint8Array,
  options: NpzOptions<Name> = {},
): Promise<NpzTensors<Name>> {
  const device = deviceFor(options);
  const { loadBytes } = await import("./read.ts");
  return (await loadBytes("npz.deserialize", bytes, device, options)) as NpzTensors<Name>;
}

/**
 * Writes tensors by name into a .npz file, which appears whole or not at all; numpy.load() reads it. The elements are those of now: a tensor that changes
 * before they were read is a ValueError. bfloat16 is refused, since NumPy lacks it.
 *
 * path: text or a file: URL. tensors: an object of them, for example a model's stateDict(). Throws ValueError where the file cannot be written.
 * Reference: numpy.savez, numpy.savez_compressed.
 */
export async function save(path: FilePath, tensors: { readonly [name: string]: Tensor }, options: NpzSaveOptions = {}): Promise<void> {
  options.signal?.throwIfAborted();
  const target = pathOf("npz.save", "path", path);
  await new PendingArchive("npz.save", tensors, options).write(target, options);
}

/** Tensors by name as the bytes of a .npz file. bfloat16 is refused, since NumPy lacks it. */
export async function serialize(tensors: { readonly [name: string]: Tensor }, options: NpzWriteOptions = {}): Promise<Uint8Array> {
  return new PendingArchive("npz.serialize", tensors, options).bytes();
}
