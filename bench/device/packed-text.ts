/** Text of a model of SmolLM2-135M's shape, with random weights that are packed on the device: tokens a second, with shaders and without. */
import { performance } from "node:perf_hooks";
import * as dx from "dxtensor";
import type { Report } from "./quantised.ts";
import type { SteadyClock } from "./steady-clock.ts";

const config = (isSmall: boolean): dx.models.ModelConfig => ({
  model_type: "llama",
  vocab_size: isSmall ? 96 : 49152,
  hidden_size: isSmall ? 64 : 576,
  intermediate_size: isSmall ? 96 : 1536,
  num_hidden_layers: isSmall ? 2 : 30,
  num_attention_heads: isSmall ? 4 : 9,
  num_key_value_heads: isSmall ? 2 : 3,
  max_position_embeddings: 2048,
  rms_norm_eps: 1e-5,
  rope_theta: 100000,
  tie_word_embeddings: true,
});

const MODES = { operators: "off", chosen: "only-measured", shaders: "on" } as const;

export async function measureText(device: dx.Device, isSmall: boolean, clock: SteadyClock, report: Report): Promise<void> {
  const [short, long] = isSmall ? [4, 8] : [16, 112];
  const made = performance.now();
  dx.manualSeed(5);
  const model = await dx.models.fromConfig(config(isSmall), { family: "llama", device });
  dx.nn.quantize(model, { bits: 4, symmetric: false });
  const bytes = model.buffers().reduce((n, t) => n + (t.size * (t.dtype === "uint8" ? 1 : 4)), 0); // prettier-ignore
  await dx.synchronize(device);
  console.log(`a model of ${(bytes / 1e6).toFixed(0)} MB in ${((performance.now() - made) / 1000).toFixed(1)} s`);
  const prompt = [3, 1, 4, 1, 5];
  let expected: readonly number[] | null = null;
  for (const [form, mode] of Object.entries(MODES)) {
    if (!report.isWanted(`text ${form}`) || report.isLate()) continue;
    await report.attempt(`text ${form}`, async () => {
      process.env.DXTENSOR_SHADERS = mode;
      await dx.models.releaseGeneration(model);
      const run = async (count: number): Promise<{ readonly ms: number; readonly tokens: readonly number[] }> => {
        const start = performance.now();
        const [text] = await dx.models.generate(model, prompt, { maxNewTokens: count, reuse: false });
        return { ms: performance.now() - start, tokens: [...text!.tokens] };
      };
      const first = await run(short);
      await run(long);
      await clock.warm();
      const few = await run(short);
      await clock.warm();
      const many = await run(long);
      expected ??= many.tokens;
      const same = many.tokens.findIndex((t, i) => t !== expected![i]);
      const ms = (many.ms - few.ms) / (long - short);
      console.log(`text ${form}: first call ${(first.ms / 1000).toFixed(2)} s; ${same < 0 ? "the same tokens" : `other tokens from ${same} on`}`); // prettier-ignore
      report.add({ part: "text", name: "135M, 4 bits, one text", form, us: 1000 * ms, rate: 1000 / ms, unit: "tokens/s", share: null, difference: 0, isWrong: false, reference: 1 }); // prettier-ignore
      const logits = dx.scope(() => dx.noGrad(() => model(dx.tensor([prompt], { dtype: "int32", device })).dataSync() as Float32Array));
      if (logits.some((v) => Number.isNaN(v))) throw new Error("NaN among the logits");
    });
  }
  await dx.models.releaseGeneration(model);
  for (const t of [...model.parameters(), ...model.buffers()]) t.dispose();
}
