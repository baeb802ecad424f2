/** ONNX models as functions of tensors. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { DTypeError, FormatError } from "../errors.ts";
import { modelFrom, type OnnxModel, type OnnxOptions } from "./model.ts";
import type { External } from "./tensor-message.ts";
import { unreadable } from "../unreadable.ts";

export { OnnxModel, type OnnxOptions, type OnnxValue } from "./model.ts";
export { operatorNames as operators } from "./operators/index.ts";

/** Data in files beside the model; a name that leads out of its folder is refused. */
const beside =
  (folder: string): External =>
  (location, offset, length) => {
    const name = normalize(location);
    if (isAbsolute(name) || name.startsWith("..")) throw new FormatError("onnx.load", "external data", "in the model's folder", location);
    const file = openSync(join(folder, name), "r");
    try {
      const wanted = length ?? fstatSync(file).size - offset;
      const bytes = new Uint8Array(Math.max(0, wanted));
      if (readSync(file, bytes, 0, bytes.length, offset) !== wanted)
        throw new FormatError("onnx.load", `file ${location}`, `of at least ${offset + wanted} bytes`, `${fstatSync(file).size}`);
      return bytes;
    } finally {
      closeSync(file);
    }
  };

/**
 * An ONNX model from a file or from its bytes, on a device: `model.call({ name: tensor })` gives its outputs by name. Operator sets 1 to 28,
 * functions, graphs inside nodes; weights in files beside the model when it is loaded by its path. `dx.compile((x) => model.call(x).y)` compiles it.
 *
 * Throws FormatError for what is no model, UnsupportedError (when called) for operators and element types that are not known.
 */
export async function load(source: string | URL | Uint8Array, options: OnnxOptions = {}): Promise<OnnxModel> {
  if (source instanceof Uint8Array) return modelFrom(source, options, null);
  if (typeof source !== "string" && !(source instanceof URL))
    throw new DTypeError("onnx.load", "source", "a path or a Uint8Array", typeof source);
  const path = source instanceof URL ? fileURLToPath(source) : source;
  const bytes = await readFile(path).catch((error: unknown) => {
    throw unreadable("onnx.load", path, error);
  });
  return modelFrom(bytes, options, beside(dirname(path)));
}
