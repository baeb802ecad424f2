/** Tokenizers in GGUF files: tokens as Python's tokenizers and sentencepiece packages make them, and conversations. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { loadTokenizer, type Tokenizer } from "../../src/peers/text/index.ts";

interface Recorded {
  readonly name: string;
  readonly metadata: Readonly<Record<string, string | number | string[] | number[]>>;
  readonly cases: readonly { readonly text: string; readonly ids: number[]; readonly decoded: string }[];
}
const recorded = JSON.parse(await readFile(new URL("text/gguf.json", import.meta.url), "utf8")) as Recorded[];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dxtensor-gguf-"));
});
afterAll(() => rm(folder, { recursive: true }));

type Metadata = Readonly<Record<string, dx.io.gguf.GgufValue>>;

async function tokenizerOf(recordedMetadata: Recorded["metadata"], more: Metadata = {}): Promise<Tokenizer> {
  const metadata: Record<string, dx.io.gguf.GgufValue> = { "general.architecture": "llama" };
  for (const [key, value] of Object.entries(recordedMetadata)) {
    if (key.endsWith("scores")) metadata[key] = Float32Array.from(value as number[]);
    else metadata[key] = key.endsWith("token_type") ? Int32Array.from(value as number[]) : (value as string | string[]);
  }
  const path = join(folder, "tokens.gguf");
  await dx.io.gguf.save(path, { tensors: { "blk.0.a": dx.zeros([1]) }, metadata: { ...metadata, ...more } });
  return loadTokenizer(path);
}

const plain = recorded.find(({ name }) => name === "smollm")!.metadata;

describe.each(recorded)("$name", ({ name, metadata, cases }) => {
  it("gives the tokens and the text", async () => {
    const tokenizer = await tokenizerOf(metadata);
    for (const { text, ids, decoded } of cases) {
      expect([text, [...tokenizer.encode(text, { specialTokens: false })]]).toEqual([text, ids]);
      expect(tokenizer.decode(ids)).toBe(decoded);
    }
    expect(tokenizer.padId).toBe(0);
    // Llama's files begin texts with a token unless they say otherwise.
    const begins = name === "llama-bpe" || name === "pieces";
    const { text, ids } = cases[1]!;
    expect([...tokenizer.encode(text)]).toEqual(begins ? [metadata["tokenizer.ggml.bos_token_id"], ...ids] : ids);
    const both = await tokenizerOf(metadata, { "tokenizer.ggml.add_bos_token": true, "tokenizer.ggml.add_eos_token": true });
    expect([...both.encode(text)]).toEqual([metadata["tokenizer.ggml.bos_token_id"], ...ids, metadata["tokenizer.ggml.eos_token_id"]]);
  });
});

describe("conversations", () => {
  const template =
    "{% for message in messages %}{{ '<|begin|>' + message['role'] + '\\n' + message.content | trim + eos_token }}\n{% endfor %}" +
    "{% if tools %}{{ tools | length }}{% endif %}{% if add_generation_prompt %}{{ '<|begin|>assistant\\n' }}{% endif %}";
  const messages = [
    { role: "system", content: "Be brief." },
    { role: "user", content: " The cat? " },
  ];

  it("are written by the file's template", async () => {
    const tokenizer = await tokenizerOf(plain, { "tokenizer.chat_template": template });
    expect(tokenizer.chatTemplate).toBe(template);
    const text = "<|begin|>system\nBe brief.<|end|>\n<|begin|>user\nThe cat?<|end|>\n";
    expect(await tokenizer.applyChatTemplate(messages)).toBe(text);
    const asked = await tokenizer.applyChatTemplate(messages, { addGenerationPrompt: true, variables: { tools: [1, 2] } });
    expect(asked).toBe(`${text}2<|begin|>assistant\n`);
    const ids = [...tokenizer.encode(asked, { specialTokens: false })];
    expect(ids.filter((id) => id === tokenizer.tokenId("<|begin|>"))).toHaveLength(3);
    expect(tokenizer.decode(ids, { skipSpecialTokens: false })).toBe(asked);
    expect(await tokenizer.applyChatTemplate(messages, { template: "{{ messages[1].content }}" })).toBe(" The cat? ");
  });

  it("are written by the template of a folder", async () => {
    const own = new URL("text/tokenizer.json", import.meta.url);
    await writeFile(join(folder, "tokenizer.json"), await readFile(own));
    await writeFile(join(folder, "chat_template.jinja"), "{{ messages | length }}");
    const tokenizer = await loadTokenizer(join(folder, "tokenizer.json"));
    expect(await tokenizer.applyChatTemplate(messages)).toBe("2");
    const several = [{ name: "tool_use", template: "t" }, { name: "default", template: "{{ bos_token }}!" }]; // prettier-ignore
    await writeFile(join(folder, "tokenizer_config.json"), JSON.stringify({ bos_token: { content: "[CLS]" }, chat_template: several }));
    expect(await (await loadTokenizer(join(folder, "tokenizer.json"))).applyChatTemplate(messages)).toBe("[CLS]!");
  });

  it("name what is wrong", async () => {
    const tokenizer = await tokenizerOf(plain);
    await expect(tokenizer.applyChatTemplate(messages)).rejects.toThrow(
      /template must be given, or one of the model; received .*tokens\.gguf/,
    );
    await expect(tokenizer.applyChatTemplate(["Hi"] as never, { template: "a" })).rejects.toThrow(dx.ValueError);
    await expect(tokenizer.applyChatTemplate(messages, { template: "{{ raise_exception('no system') }}" })).rejects.toThrow(/no system/);
    await expect(tokenizer.applyChatTemplate(messages, { template: "{% for %}" })).rejects.toThrow(dx.FormatError);
  });
});

it("files that have no such tokenizer are refused", async () => {
  await expect(tokenizerOf({})).rejects.toThrow(/tokenizer\.ggml\.tokens/);
  await expect(tokenizerOf({ ...plain, "tokenizer.ggml.model": "bert" })).rejects.toThrow(/gpt2 or llama.*bert/);
  await expect(tokenizerOf({ ...plain, "tokenizer.ggml.model": "llama" })).rejects.toThrow(/scores/);
  await expect(tokenizerOf({ ...plain, "tokenizer.ggml.pre": "of-tomorrow" })).rejects.toThrow(/one of gpt-2.*of-tomorrow/);
  await expect(tokenizerOf({ ...plain, "tokenizer.ggml.merges": ["ab"] })).rejects.toThrow(dx.FormatError);
});
