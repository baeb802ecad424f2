/** ONNX Runtime as the judge of exported files. DXTENSOR_ONNXRUNTIME is the folder whose node_modules have onnxruntime-node. */
import { createRequire } from "node:module";
import { join } from "node:path";
import type * as dx from "../../../src/index.ts";
import { Tensor } from "../../../src/index.ts";

type Data = Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array;
interface OrtTensor {
  readonly data: ArrayLike<number | bigint>;
  readonly dims: readonly number[];
}
interface Ort {
  readonly Tensor: new (type: string, data: Data, shape: readonly number[]) => OrtTensor;
  readonly InferenceSession: {
    create(
      model: Uint8Array,
      options: object,
    ): Promise<{
      readonly inputNames: readonly string[];
      readonly outputNames: readonly string[];
      run(feeds: Readonly<Record<string, OrtTensor>>): Promise<Readonly<Record<string, OrtTensor>>>;
      release(): Promise<void>;
    }>;
  };
}

let loaded: Ort | null = null;
const load = (): Ort =>
  (loaded ??= createRequire(join(process.env["DXTENSOR_ONNXRUNTIME"] ?? process.cwd(), "package.json"))("onnxruntime-node") as Ort);

/** What differs between the numbers, or null. tolerance: relative to the largest finite one. */
async function difference(got: OrtTensor, wanted: dx.Tensor, tolerance: number): Promise<string | null> {
  if (got.dims.join() !== wanted.shape.join()) return `shape [${got.dims.join()}] instead of [${wanted.shape.join()}]`;
  const numbers = Array.from(await wanted.to(wanted.dtype === "int64" ? "int64" : "float32").data(), Number);
  const largest = numbers.reduce((m, v) => (Number.isFinite(v) ? Math.max(m, Math.abs(v)) : m), 0);
  for (const [i, v] of numbers.entries()) {
    const found = Number(got.data[i]);
    const isSame = Object.is(found, v) || found === v || (Number.isNaN(found) && Number.isNaN(v));
    if (!isSame && !(Math.abs(found - v) <= tolerance * Math.max(1, largest) && Number.isFinite(v)))
      return `[${i}]: ${found} instead of ${v}`;
  }
  return null;
}

/** Runs a file for each list of arguments, and compares with what the library computed. Throws with what differs. */
export async function judge(
  file: Uint8Array,
  runs: readonly { readonly args: readonly dx.Tensor[]; readonly wanted: dx.Tensor | readonly dx.Tensor[] }[],
  tolerance: number,
): Promise<void> {
  const ort = load();
  const session = await ort.InferenceSession.create(file, { logSeverityLevel: 4, intraOpNumThreads: 2 });
  try {
    for (const { args, wanted } of runs) {
      const feeds: Record<string, OrtTensor> = {};
      for (const [i, x] of args.entries()) feeds[session.inputNames[i]!] = new ort.Tensor(x.dtype, (await x.data()) as Data, x.shape);
      const results = await session.run(feeds);
      const list = wanted instanceof Tensor ? [wanted] : (wanted as readonly dx.Tensor[]);
      for (const [i, name] of session.outputNames.entries()) {
        const found = await difference(results[name]!, list[i]!, tolerance);
        if (found !== null) throw new Error(`${name} of ${args.map((x) => x.describe()).join()}: ${found}`);
      }
    }
  } finally {
    await session.release();
  }
}
