/** A model of a package, as both libraries read it: ONNX as it is, TensorFlow.js's exported for ONNX Runtime. */
import type * as dx from "dxtensor";
import { bytesOf, type ModelFile } from "./model-list.ts";
import { artifactsOf } from "./tfjs-package.ts";

type Library = typeof dx;

export interface PackageModel {
  load(library: Library, device: dx.Device): Promise<dx.io.onnx.OnnxModel>;
  /** The bytes of an ONNX file. library: imports it, where that has to make them. */
  onnx(library: () => Promise<Library>): Promise<Uint8Array>;
}

/** null where the package is not in the cache. */
export function packageModel(file: ModelFile): PackageModel | null {
  const bytes = bytesOf(file);
  if (bytes === null) return null;
  if (file.format !== "tfjs") return { load: (library, device) => library.io.onnx.load(bytes, { device }), onnx: async () => bytes };
  const artifacts = artifactsOf(bytes, file.path);
  return {
    load: (library, device) => library.io.tfjs.load(artifacts, { device }),
    // Awaited: the model is disposed of when the file is made.
    onnx: async (library) => {
      const { io, tensor } = await library();
      using model = await io.tfjs.load(artifacts, { device: "cpu" });
      const [input] = Object.values(file.inputs);
      using example = tensor(input!.data, { dtype: input!.dtype, shape: input!.shape, device: "cpu" });
      return await io.onnx.serialize(model, [example], { opset: 18, names: { inputs: Object.keys(file.inputs) } });
    },
  };
}
