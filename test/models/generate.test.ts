/** Generation: greedy tokens against transformers' (recorded/llama.py), sampling, batches, caches, ends, and a draft model. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devices } from "../device.ts";
import { fill } from "./recorded/fill.ts";

const { prompts, cases } = JSON.parse(readFileSync(new URL("recorded/llama.json", import.meta.url), "utf8")) as {
  readonly prompts: readonly (readonly number[])[];
  readonly cases: Readonly<Record<string, { readonly config: dx.models.ModelConfig; readonly greedy: readonly (readonly number[])[] }>>;
};
const { config, greedy } = cases["llama"]!;
const { generate, stream } = dx.models;
const tokensOf = (texts: readonly dx.models.GeneratedText[]): number[][] => texts.map(({ tokens }) => [...tokens]);
/** Tokens as letters; 10 is half a character. */
const tokenizer = {
  decode: (ids: readonly number[]): string => ids.map((id) => (id === 10 ? "\uFFFD" : String.fromCharCode(65 + id))).join(""),
};

describe.each(devices)("%s", (device) => {
  let model: dx.models.Llama;
  beforeAll(async () => {
    model = await dx.models.fromConfig(config, { family: "llama", device });
    fill(model);
  });
  afterAll(async () => {
    await dx.models.releaseGeneration(model);
    model.dispose();
  });

  it("greedy tokens are transformers', alone and in a batch of two lengths", async () => {
    expect(tokensOf(await generate(model, prompts[0]!, { maxNewTokens: 20 }))).toEqual([greedy[0]]);
    expect(tokensOf(await generate(model, prompts, { maxNewTokens: 20 }))).toEqual(greedy);
    const padded = dx.tensor([[...prompts[0]!], [0, 0, 0, 0, 0, ...prompts[1]!]], { dtype: "int32", device });
    const attentionMask = dx.tensor([[1, 1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1, 1, 1]], { dtype: "int32", device }); // prettier-ignore
    expect(tokensOf(await generate(model, padded, { maxNewTokens: 20, attentionMask }))).toEqual(greedy);
  });

  it("a longer text continues from the cache, and changed weights empty it", async () => {
    const long = [...prompts[0]!, ...greedy[0]!.slice(0, 9)];
    expect(tokensOf(await generate(model, long, { maxNewTokens: 5 }))).toEqual([greedy[0]!.slice(9, 14)]);
    const [first] = await generate(model, prompts[0]!, { maxNewTokens: 3 });
    const weight = model.model.layers[0]!.mlp.down_proj.parameters()[0]!;
    dx.noGrad(() => weight.mul_(-1));
    const [other] = await generate(model, prompts[0]!, { maxNewTokens: 3 });
    const [repeated] = await generate(model, prompts[0]!, { maxNewTokens: 3, reuse: false });
    expect([...other!.tokens]).toEqual([...repeated!.tokens]);
    dx.noGrad(() => weight.mul_(-1));
    expect(tokensOf(await generate(model, prompts[0]!, { maxNewTokens: 3 }))).toEqual([[...first!.tokens]]);
  });

  it("formats no stack for each operation that is recorded", async () => {
    await dx.models.releaseGeneration(model);
    const { prepareStackTrace } = Error;
    let stacks = 0;
    Error.prepareStackTrace = (error) => {
      stacks++;
      return String(error);
    };
    try {
      expect(tokensOf(await generate(model, prompts[0]!, { maxNewTokens: 20 }))).toEqual([greedy[0]]);
    } finally {
      Error.prepareStackTrace = prepareStackTrace!;
    }
    expect(stacks).toBeLessThan(10);
  });

  it("ends at stop tokens, strings, lengths and a signal", async () => {
    const text = tokenizer.decode(greedy[0]!);
    const token = greedy[0]![4]!;
    const at = greedy[0]!.indexOf(token);
    const [stopped] = await generate(model, prompts[0]!, { stopTokens: [token], tokenizer });
    expect(stopped).toEqual({ tokens: Int32Array.from(greedy[0]!.slice(0, at + 1)), text: text.slice(0, at), end: "stop" });
    const stop = text.slice(5, 8);
    const [cut] = await generate(model, prompts[0]!, { stopStrings: [stop], tokenizer, maxNewTokens: 20 });
    expect(cut!.text).toBe(text.slice(0, text.indexOf(stop)));
    expect(cut!.end).toBe("stop");
    const [all] = await generate(model, prompts[0]!, { maxNewTokens: 200 });
    expect(all!.tokens).toHaveLength(64 - prompts[0]!.length);
    expect(all!.end).toBe("length");
    const controller = new AbortController();
    const seen: number[] = [];
    const run = async (): Promise<void> => {
      for await (const made of stream(model, prompts[0]!, { signal: controller.signal })) {
        seen.push(made.token);
        if (seen.length === 3) controller.abort(new Error("enough"));
      }
    };
    await expect(run()).rejects.toThrow("enough");
    expect(seen).toEqual(greedy[0]!.slice(0, 3));
    for await (const { token: one } of stream(model, prompts[0]!)) {
      expect(one).toBe(greedy[0]![0]);
      break;
    }
  });

  it("a call that failed leaves nothing for later ones", async () => {
    const text = [5, 2, 30, 7, 12, 9];
    const tokenizerThatFails = {
      decode: (): string => {
        throw new Error("no text");
      },
    };
    const wanted = tokensOf(await generate(model, [...text, 1], { maxNewTokens: 8, reuse: false }));
    await dx.models.releaseGeneration(model);
    const { embed_tokens } = model.model;
    let calls = 0;
    const hook = embed_tokens.registerForwardHook(() => {
      if (calls++ === 0) throw new Error("no embedding");
    });
    await expect(generate(model, text, { maxNewTokens: 3 })).rejects.toThrow("no embedding");
    hook.remove();
    expect(tokensOf(await generate(model, [...text, 1], { maxNewTokens: 8 }))).toEqual(wanted);
    await expect(generate(model, text, { tokenizer: tokenizerThatFails })).rejects.toThrow("no text");
    expect(tokensOf(await generate(model, [...text, 1], { maxNewTokens: 8 }))).toEqual(wanted);
  });

  it("makes texts inside autocast(), and none of a disposed model", async () => {
    const [made] = await dx.autocast("float16", () => generate(model, prompts[0]!, { maxNewTokens: 4, reuse: false }));
    expect(made!.tokens).toHaveLength(4);
    const other = await dx.models.fromConfig(config, { family: "llama", device });
    await generate(other, prompts[0]!, { maxNewTokens: 2 });
    other.dispose();
    await expect(generate(other, prompts[0]!, { maxNewTokens: 2 })).rejects.toThrow(dx.DisposedError);
    await dx.models.releaseGeneration(other);
  });

  it("a draft changes no greedy token", async () => {
    const draft = await dx.models.fromConfig({ ...config, num_hidden_layers: 1 }, { family: "llama", device });
    fill(draft);
    expect(tokensOf(await generate(model, prompts[0]!, { maxNewTokens: 20, draft }))).toEqual([greedy[0]]);
    const drawn = await generate(model, prompts[0]!, { maxNewTokens: 12, draft, temperature: 1, topK: 5, seed: 3 });
    expect(drawn[0]!.tokens).toHaveLength(12);
    await dx.models.releaseGeneration(draft);
    draft.dispose();
  });

  it("equal seeds draw equal tokens, and limits of one token are greedy", async () => {
    const options = { temperature: 1.5, seed: 7, maxNewTokens: 8 };
    const [a, b] = [await generate(model, prompts, options), await generate(model, prompts, options)];
    expect(tokensOf(a)).toEqual(tokensOf(b));
    expect(tokensOf(await generate(model, prompts, { ...options, seed: 8 }))).not.toEqual(tokensOf(a));
    for (const limit of [{ topK: 1 }, { topP: 1e-6 }, { minP: 1 }])
      expect(tokensOf(await generate(model, prompts[0]!, { temperature: 1, maxNewTokens: 8, ...limit }))).toEqual([greedy[0]!.slice(0, 8)]);
  });
});

it("what does not fit is refused", async () => {
  const model = await dx.models.fromConfig(config, { family: "llama", device: "cpu" });
  const refused: readonly [dx.models.PromptTokens, dx.models.GenerateOptions, string][] = [
    [[], {}, "at least one token"],
    [[37], {}, "integers from 0 to 36"],
    [[1.5], {}, "integers from 0 to 36"],
    [Array.from({ length: 65 }, () => 1), {}, "at most 64"],
    [[1], { temperature: -1 }, "temperature"],
    [[1], { topP: 0 }, "topP"],
    [[1], { topK: 0.5 }, "topK"],
    [[1], { maxNewTokens: 0 }, "maxNewTokens"],
    [[1], { stopStrings: ["a"] }, "tokenizer"],
    [[1], { seed: -1 }, "seed"],
    [[[1], [2]], { draft: await dx.models.fromConfig(config, { family: "llama", device: "cpu" }) }, "one text"],
    [[1], { draft: model }, "another model"],
  ];
  for (const [tokens, options, text] of refused) await expect(generate(model, tokens, options)).rejects.toThrow(text);
  await expect(generate(dx.nn.linear(2, 2) as never, [1])).rejects.toThrow("a language model");
  await expect(stream(model, [40]).next()).rejects.toThrow(dx.IndexError);
  await expect(
    generate(
      model,
      Array.from({ length: 64 }, () => 1),
    ),
  ).resolves.toEqual([{ tokens: new Int32Array(), text: "", end: "length" }]);
});
