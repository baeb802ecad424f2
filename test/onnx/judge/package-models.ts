/** Models of packages, each pinned by its digest, as ONNX files: judged where the packages are in the cache. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { unzipSync } from "fflate";
import { bytesOf, modelFiles } from "../../../bench/model-list.ts";
import { sentenceModelFile } from "../../../bench/sentence-model-file.ts";
import { textModelFile } from "../../../bench/text-model-file.ts";
import { artifactsOf } from "../../../bench/tfjs-package.ts";
import { cacheFolder } from "../../../scripts/tools/project.ts";
import * as dx from "../../../src/index.ts";
import { exportedWithCache, passes } from "./cache-passes.ts";
import { judge } from "./onnxruntime.ts";

/** A prompt over an empty cache, then token by token. */
export async function judgeWithCache(model: dx.models.Llama, batches: readonly number[], tolerance: number): Promise<void> {
  const file = await exportedWithCache(model);
  for (const batch of batches) {
    const text = dx.randint(0, model.causal.vocabulary, [batch, 12], { dtype: "int64" });
    await judge(file, passes(model, text, [7, 1, 1, 1, 2]), tolerance);
  }
}

async function smolLm2(bytes: Uint8Array, folder: string): Promise<void> {
  const file = join(folder, "model.gguf");
  writeFileSync(file, bytes);
  const model = await dx.models.fromPretrained(file, { family: "llama", dequantize: true });
  await judgeWithCache(model, [1], 1e-4);
  model.dispose();
}

/** Hidden states and embeddings of texts of several lengths, with padding. */
async function miniLm(bytes: Uint8Array, folder: string): Promise<void> {
  for (const [name, content] of Object.entries(unzipSync(bytes)))
    if (!name.endsWith("/")) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), content);
    }
  const model = await dx.models.fromPretrained(folder, { family: "bert" });
  const source = (tokens: dx.Tensor, attentionMask: dx.Tensor): dx.Tensor[] => [
    model(tokens, { attentionMask }),
    model.embed(tokens, { attentionMask }),
  ];
  const args = (n: number, t: number): dx.Tensor[] => {
    const mask = dx.ones([n, t], { dtype: "int64" });
    if (n > 1) dx.narrow(dx.select(mask, 0, 1), 0, t - 2, 2).fill_(0);
    return [dx.randint(1000, 30000, [n, t], { dtype: "int64" }), mask];
  };
  const axes = { 0: "batch", 1: "length" };
  const file = await dx.io.onnx.serialize(source, args(2, 6), { opset: 18, dynamicAxes: { input0: axes, input1: axes } });
  const runs = [args(2, 6), args(1, 64), args(3, 17)].map((list) => ({ args: list, wanted: dx.noGrad(() => source(list[0]!, list[1]!)) }));
  await judge(file, runs, 2e-5);
  model.dispose();
}

/** A model of TensorFlow.js on two batches of pictures, eagerly and compiled. */
const tfjsModel =
  (path: string) =>
  async (bytes: Uint8Array): Promise<void> => {
    const model = await dx.io.tfjs.load(artifactsOf(bytes, path), { device: "cpu" });
    const pictures = (n: number): dx.Tensor => dx.rand([n, 224, 224, 3], { device: "cpu" });
    const file = await dx.io.onnx.serialize(model, [pictures(2)], { dynamicAxes: { input: { 0: "batch" } } });
    const [input] = model.inputs;
    const [output] = model.outputs;
    const runs = [1, 3].flatMap((n) => {
      const x = pictures(n);
      return [true, false].map((eager) => ({ args: [x], wanted: model.call({ [input!.name]: x }, { eager })[output!.name]! }));
    });
    await judge(file, runs, 2e-5);
    model.dispose();
  };

const packages = [
  { name: "SmolLM2 with a cache", file: textModelFile, run: smolLm2 },
  { name: "all-MiniLM-L6-v2", file: sentenceModelFile, run: miniLm },
  ...modelFiles.filter((f) => f.format === "tfjs").map((file) => ({ name: file.name, file, run: tfjsModel(file.path) })),
];

/** say: told what cannot be judged here. */
export const packageModels = (say: (text: string) => void): { readonly name: string; readonly run: () => Promise<void> }[] =>
  packages.flatMap(({ name, file, run }) => {
    const isThere = existsSync(cacheFolder("models", file.wheel));
    if (!isThere) say(`not judged: ${name}, since ${file.wheel} is not in ${cacheFolder("models")}`);
    const judged = async (): Promise<void> => {
      const folder = mkdtempSync(join(tmpdir(), "dxtensor-judge-"));
      try {
        await run(bytesOf(file)!, folder);
      } finally {
        rmSync(folder, { recursive: true });
      }
    };
    return isThere ? [{ name, run: judged }] : [];
  });
