/** Whisper compared with transformers (recorded/whisper.py): features of sounds, logits, and greedy tokens. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devices } from "../device.ts";
import { fillState, hashed } from "./recorded/fill.ts";

const recorded = JSON.parse(readFileSync(new URL("recorded/whisper.json", import.meta.url), "utf8")) as {
  readonly config: dx.models.ModelConfig;
  readonly names: readonly string[];
  readonly features: readonly number[];
  readonly encoded: readonly number[];
  readonly tokens: readonly (readonly number[])[];
  readonly logits: readonly number[];
  readonly greedy: readonly (readonly number[])[];
  readonly timed: readonly {
    readonly first: number | null;
    readonly scale: number;
    readonly sound: number;
    readonly tokens: readonly number[];
  }[];
};

const sounds = (): Float32Array[] => [hashed(5, 12000).map((x, i) => x * Math.sin(i / 900)), hashed(9, 20000).map((x) => x * 0.1)];

async function expectNear(t: dx.Tensor, want: readonly number[], every = 1, most = 3e-5): Promise<void> {
  const got = await dx.noGrad(() => t).data();
  expect(Math.ceil(got.length / every)).toBe(want.length);
  expect(want.reduce((worst, w, i) => Math.max(worst, Math.abs(Number(got[i * every]) - w)), 0)).toBeLessThan(most);
}

/** The weights of recorded/whisper.py. */
function fill(model: dx.models.Whisper): void {
  fillState(model);
  dx.noGrad(() => model.model.decoder.embed_positions.weight.mul_(5));
}

const textsOf = (texts: readonly dx.models.GeneratedText[]): readonly number[][] => texts.map(({ tokens }) => [...tokens]);

describe.each(devices)("%s", (device) => {
  it("features, logits and greedy tokens are transformers'", async () => {
    const { config, names, features, encoded, tokens, logits, greedy } = recorded;
    const model = await dx.models.fromConfig(config, { family: "whisper", device });
    expect(Object.keys(model.stateDict()).toSorted()).toEqual([...names].sort());
    fill(model);
    const heard = model.features(sounds());
    // float32 of logarithms: the quietest bands differ by rounding.
    await expectNear(heard, features, 7, 2e-4);
    await expectNear(model.features(dx.tensor(sounds()[0]!, { device })), features.slice(0, Math.ceil(8000 / 7)), 7, 2e-4);
    await expectNear(
      dx.noGrad(() => model.encode(heard)),
      encoded,
      3,
      2e-4,
    );
    await expectNear(
      dx.noGrad(() => model(heard, dx.tensor(tokens as number[][], { dtype: "int32", device }))),
      logits,
      1,
      5e-4,
    );
    const options = { prompt: [3, 8], maxNewTokens: 12 };
    expect(textsOf(await model.transcribe(heard, options))).toEqual(greedy);
    // One sound after the other, in the same tensors; and two calls at once.
    const one = (i: number) => model.transcribe(heard.narrow(0, i, 1), options);
    for (const i of [1, 0, 1]) expect(textsOf(await one(i))).toEqual([greedy[i]]);
    expect((await Promise.all([one(0), one(1)])).map(textsOf)).toEqual([[greedy[0]], [greedy[1]]]);
    // Other weights are seen.
    dx.noGrad(() => model.proj_out.parameters()[0]!.mul_(-1));
    expect(textsOf(await model.transcribe(heard, options))).not.toEqual(greedy);
    model.release();
    model.dispose();
  });

  it("timestamps follow transformers' rules", async () => {
    const model = await dx.models.fromConfig(
      { ...recorded.config, no_timestamps_token_id: 18, eos_token_id: 17 },
      { family: "whisper", device },
    );
    fill(model);
    const heard = model.features(sounds());
    const made = new Set<number>();
    for (const scale of [1, 3]) {
      if (scale > 1) {
        // Logits three times as large, by a head of its own.
        const head = dx.nn.linear(16, 29, { bias: false, device });
        dx.noGrad(() => head.weight.copy_(model.model.decoder.embed_tokens.weight.mul(scale)));
        model.proj_out = head;
      }
      for (const first of [null, 2]) {
        model.maxInitialTimestamp = first;
        const want = recorded.timed.filter((t) => t.first === first && t.scale === scale).map((t) => t.tokens);
        const texts = await model.transcribe(heard, { prompt: [3, 8], maxNewTokens: 17, timestamps: true });
        expect(textsOf(texts)).toEqual(want);
        for (const token of want.flat()) made.add(token);
        // By draws they come in pairs, too, and do not decrease.
        const [drawn] = await model.transcribe(heard.narrow(0, 0, 1), {
          prompt: [3, 8],
          maxNewTokens: 17,
          timestamps: true,
          temperature: 1,
          seed: 3,
        });
        const times = [...drawn!.tokens].flatMap((token) => model.secondsOf(token) ?? []);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
        expect(model.secondsOf(drawn!.tokens[0]!)).not.toBeNull();
      }
    }
    expect([...made].filter((token) => token > 18).length).toBeGreaterThan(1);
    expect(model.secondsOf(24)).toBeCloseTo(0.1, 9);
    expect(model.secondsOf(18)).toBeNull();
    model.noTimestampsToken = null;
    await expect(model.transcribe(heard, { timestamps: true })).rejects.toThrow(dx.ValueError);
    model.release();
    model.dispose();
  });

  it("learns: gradients reach encoder and decoder, but not the encoder's positions", async () => {
    const model = await dx.models.fromConfig(recorded.config, { family: "whisper", device, generator: new dx.Generator(1) });
    model.train();
    const logits = model(
      model.features(sounds()),
      dx.tensor(
        [
          [3, 1],
          [3, 4],
        ],
        { dtype: "int32", device },
      ),
    );
    dx.nn.functional.crossEntropy(logits.reshape([4, 29]), dx.tensor([1, 2, 4, 2], { dtype: "int32", device })).backward();
    const without = [...model.namedParameters()].flatMap(([name, p]) => (p.grad === null ? [name] : []));
    expect(without).toEqual(["model.encoder.embed_positions.weight"]);
    model.dispose();
  });
});

it("a folder gives the tokens that are never made", async () => {
  const folder = await mkdtemp(join(tmpdir(), "dxtensor-whisper-"));
  try {
    const { suppress_tokens: never, begin_suppress_tokens: notFirst, ...config } = recorded.config;
    const made = await dx.models.fromConfig(recorded.config, { family: "whisper", device: "cpu" });
    fill(made);
    const { "proj_out.weight": _, ...state } = made.stateDict();
    await dx.io.safetensors.save(join(folder, "model.safetensors"), state);
    await writeFile(join(folder, "config.json"), JSON.stringify(config));
    await writeFile(join(folder, "generation_config.json"), JSON.stringify({ suppress_tokens: never, begin_suppress_tokens: notFirst }));
    const model = await dx.models.fromPretrained(folder, { family: "whisper", device: "cpu" });
    expect(model.suppressTokens).toEqual([7, 11]);
    expect(textsOf(await model.transcribe(model.features(sounds()), { prompt: [3, 8], maxNewTokens: 12 }))).toEqual(recorded.greedy);
    expect(model.maxSamples).toBe(16000);
    await expect(model.transcribe(dx.zeros([1, 80, 99], { device: "cpu" }))).rejects.toThrow("features must be [B, 80, 100]");
    expect(() => model.features([])).toThrow(dx.ValueError);
    expect(() => model.features(dx.zeros([1, 2, 3], { device: "cpu" }))).toThrow(dx.ShapeError);
  } finally {
    await rm(folder, { recursive: true });
  }
});
