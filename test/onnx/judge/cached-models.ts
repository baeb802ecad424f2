/** Language models whose keys and values are inputs and outputs: a prompt over an empty cache, then token by token. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesOf } from "../../../bench/model-list.ts";
import { textModelFile } from "../../../bench/text-model-file.ts";
import { cacheFolder } from "../../../scripts/tools/project.ts";
import * as dx from "../../../src/index.ts";
import { exportedWithCache, passes, smallLlama } from "./cache-passes.ts";
import { judge } from "./onnxruntime.ts";

async function agree(model: dx.models.Llama, batches: readonly number[], tolerance: number): Promise<void> {
  const file = await exportedWithCache(model);
  for (const batch of batches) {
    const text = dx.randint(0, model.causal.vocabulary, [batch, 12], { dtype: "int64" });
    await judge(file, passes(model, text, [7, 1, 1, 1, 2]), tolerance);
  }
}

/** SmolLM2-135M of a package, where that is in the cache. */
async function smolLm2(bytes: Uint8Array): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-judge-"));
  try {
    const file = join(folder, "model.gguf");
    writeFileSync(file, bytes);
    const model = await dx.models.fromPretrained(file, { family: "llama", dequantize: true });
    await agree(model, [1], 1e-4);
    model.dispose();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** say: told what cannot be judged here. */
export function cachedModels(say: (text: string) => void): { readonly name: string; readonly run: () => Promise<void> }[] {
  const isThere = existsSync(cacheFolder("models", textModelFile.wheel));
  if (!isThere) say(`not judged: SmolLM2 with a cache, since ${textModelFile.wheel} is not in ${cacheFolder("models")}`);
  return [
    { name: "Llama with a cache", run: async () => agree(await dx.models.fromConfig(smallLlama, { family: "llama" }), [2, 1], 1e-5) },
    ...(isThere ? [{ name: "SmolLM2 with a cache", run: () => smolLm2(bytesOf(textModelFile)!) }] : []),
  ];
}
