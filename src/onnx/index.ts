/** ONNX models as functions of tensors. */
import { closeSync, fstatSync, openSync, readSync, realpathSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { defaultDevice } from "../core/device.ts";
import { FormatError } from "../core/errors.ts";
import { pathOf, readWhole, type FilePath } from "../host/source.ts";
import type { OnnxModel, OnnxOptions } from "./model.ts";
import type { External } from "./format/tensor-message.ts";
import { unreadable } from "../host/unreadable.ts";

export {
  OnnxModel,
  type OnnxCallOptions,
  type OnnxConstant,
  type OnnxLayer,
  type OnnxNode,
  type OnnxOptions,
  type OnnxValue,
} from "./model.ts";
export type { ExportDynamicAxes, ExportExample, ExportNames, ExportOptions, ExportResult, ExportSource } from "./export/options.ts";
export { exportable, exportModel as export, serialize } from "./export/export-model.ts";
export { operatorNames as operators } from "./operators/names.ts";

/** Read and handed over at once. */
const PIECE = 16 * 2 ** 20;

/** Whether a path lies in a folder; both are real ones. */
function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** The real file of a name in the model's folder. Names, and links, that lead out of all folders of the model are refused. */
function pathOfData(folders: readonly string[], location: string): string {
  const outside = (received: string): FormatError => new FormatError("onnx.load", "external data", "in the model's folder", received);
  const path = join(folders[0]!, location);
  if (isAbsolute(location) || !isInside(folders[0]!, path)) throw outside(location);
  let real: string;
  try {
    real = realpathSync(path);
  } catch (error) {
    throw unreadable("onnx.load", path, error);
  }
  if (!folders.some((folder) => isInside(folder, real))) throw outside(`${location}, a link to ${real}`);
  return real;
}

/**
 * Data in files next to the model. folders: where it is, and where it really is when its name is a link, as in caches that keep files by their
 * digest and link to them.
 */
const externalData =
  (folders: readonly string[]): External =>
  (location, offset, size) => {
    const path = pathOfData(folders, location);
    const opened = (): number => {
      try {
        return openSync(path, "r");
      } catch (error) {
        throw unreadable("onnx.load", path, error);
      }
    };
    const requireThere = (file: number): void => {
      const stats = fstatSync(file);
      if (!stats.isFile()) throw new FormatError("onnx.load", `file ${location}`, "a regular file", "another kind");
      if (offset + size > stats.size)
        throw new FormatError("onnx.load", `file ${location}`, `of at least ${offset + size} bytes`, String(stats.size));
    };
    return (take) => {
      const file = opened();
      try {
        requireThere(file);
        const buffer = new Uint8Array(Math.min(PIECE, size));
        for (let at = 0; at < size;) {
          const count = readSync(file, buffer, 0, Math.min(buffer.length, size - at), offset + at);
          if (count === 0) throw new FormatError("onnx.load", `file ${location}`, "as long as it was when it was opened", `its end at ${offset + at}`); // prettier-ignore
          take(at, buffer.subarray(0, count));
          at += count;
        }
      } finally {
        closeSync(file);
      }
    };
  };

/** protobuf's own limit. */
const MAX_BYTES = 2 ** 31 - 1;

/**
 * An ONNX model from a file (a path or a file: URL) or from its bytes, on a device: `model.call({ name: tensor })` gives its outputs by name.
 * Operator sets 1 to 28, functions, graphs inside nodes; weights in files next to the model, of any size, when it is loaded by its path.
 * `dx.compile((x) => model.call(x).y)` compiles it. Its weights are on the device only, so the bytes may be freed.
 *
 * Throws FormatError for what is no model, or one that asks for more than it may (messages nested more than 100 deep, functions that make more than
 * a million nodes of it); UnsupportedError (when called) for operators and element types that are not known.
 */
export async function load(source: FilePath | Uint8Array, options: OnnxOptions = {}): Promise<OnnxModel> {
  // The default device is that of the call, not of the time when the file has been read.
  const own = { ...options, device: options.device ?? defaultDevice() };
  const { modelFrom } = await import("./read-model.ts");
  if (source instanceof Uint8Array) return modelFrom(source, own, null);
  const path = pathOf("onnx.load", "source", source, "a path, a file: URL or a Uint8Array");
  const bytes = await readWhole("onnx.load", path, MAX_BYTES);
  const real = await Promise.all([realpath(dirname(path)), realpath(path).then(dirname)]).catch(() => null);
  return modelFrom(bytes, own, real === null ? null : externalData(real), path);
}
