/**
 * A program: milliseconds to load a model and to call it for the first time, with the import of the library before it. Arguments: dxtensor or
 * onnxruntime, the model's name, the device, the number of threads.
 */
import { inputsOf, modelFiles, sessionOptions } from "./model-list.ts";
import { loadOrt } from "./onnxruntime/runtime.ts";
import { packageModel } from "./package-model.ts";

const [library, name, device = "cpu", threads = "2"] = process.argv.slice(2);
const file = modelFiles.find((f) => f.name === name)!;
const source = packageModel(file)!;

async function ours(): Promise<number> {
  const dx = await import("dxtensor");
  const start = performance.now();
  const model = await source.load(dx, dx.device(device));
  const outputs = Object.values(model.call(inputsOf(file, ({ dtype, data, shape }) => dx.tensor(data, { dtype, shape, device: dx.device(device) })))); // prettier-ignore
  await Promise.all(outputs.map((t) => t.data()));
  return performance.now() - start;
}

async function theirs(): Promise<number> {
  const ort = loadOrt();
  const bytes = await source.onnx(() => import("dxtensor"));
  const start = performance.now();
  const session = await ort.InferenceSession.create(bytes, sessionOptions(Number(threads)));
  await session.run(inputsOf(file, ({ dtype, data, shape }) => new ort.Tensor(dtype, data, shape)));
  return performance.now() - start;
}

console.log(library === "dxtensor" ? await ours() : await theirs());
