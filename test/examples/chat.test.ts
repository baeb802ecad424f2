/** The example "chat" on a small model of random weights: questions in a row, lines of a terminal, and the page's server. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { raw, run, start } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "dxtensor-chat-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, "small.gguf");

const TEMPLATE =
  "{% for m in messages %}<|begin|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor %}{% if add_generation_prompt %}<|begin|>assistant\n{% endif %}";

/** A decoder of one layer with packed weights, and a tokenizer of the recorded ones. */
async function writeModel(path: string, template: string | null): Promise<void> {
  const recorded = JSON.parse(readFileSync(new URL("../peers/text/gguf.json", import.meta.url), "utf8")) as {
    readonly name: string;
    readonly metadata: Record<string, string | number | string[] | number[]>;
  }[];
  const { metadata } = recorded.find(({ name }) => name === "smollm")!;
  const vocabulary = (metadata["tokenizer.ggml.tokens"] as string[]).length;
  const [width, inner, heads] = [64, 96, 2];
  const generator = new dx.Generator(5);
  const matrix = (rows: number, columns: number): dx.Tensor => dx.randn([rows, columns], { generator, device: "cpu" });
  const ones = (): dx.Tensor => dx.ones([width], { device: "cpu" });
  await dx.io.gguf.save(path, {
    tensors: {
      "token_embd.weight": matrix(vocabulary, width),
      "output_norm.weight": ones(),
      "blk.0.attn_norm.weight": ones(),
      "blk.0.ffn_norm.weight": ones(),
      "blk.0.attn_q.weight": matrix(width, width),
      "blk.0.attn_k.weight": matrix(width, width),
      "blk.0.attn_v.weight": matrix(width, width),
      "blk.0.attn_output.weight": matrix(width, width),
      "blk.0.ffn_gate.weight": matrix(inner, width),
      "blk.0.ffn_up.weight": matrix(inner, width),
      "blk.0.ffn_down.weight": matrix(width, inner),
    },
    quantize: "Q4_0",
    metadata: {
      "general.architecture": "llama",
      "llama.embedding_length": width,
      "llama.feed_forward_length": inner,
      "llama.block_count": 1,
      "llama.attention.head_count": heads,
      "llama.context_length": 512,
      "llama.attention.layer_norm_rms_epsilon": 1e-5,
      ...(metadata as Record<string, dx.io.gguf.GgufValue>),
      "tokenizer.ggml.token_type": Int32Array.from(metadata["tokenizer.ggml.token_type"] as number[]),
      ...(template === null ? {} : { "tokenizer.chat_template": template }),
    },
  });
}
beforeAll(() => writeModel(file, TEMPLATE));

interface Talk {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}
const short = ["--model", file, "--max-tokens", "6"];

it("answers questions in a row, the same for a seed, and drawn ones differ by it", async () => {
  const asked = [...short, "--system", "Be brief.", "--ask", "The cat?", "--ask", "And 12?", "--temperature", "3"];
  const [{ messages }, again, drawn] = await Promise.all([asked, asked, [...asked, "--seed", "9"]].map((args) => run<Talk>("chat", args))) as [Talk, Talk, Talk]; // prettier-ignore
  expect(messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user", "assistant"]);
  expect(messages[2]!.content.length + messages[4]!.content.length).toBeGreaterThan(0);
  expect(again).toEqual({ messages });
  expect(drawn).not.toEqual({ messages });
});

it("answers lines of the terminal", async () => {
  const input = "The cat?\n\n/new\nThe cat?\nAnd 12?\n";
  const program = "build/examples/chat/main.js";
  const [{ exitCode, stdout }, { messages }] = await Promise.all([
    execa(process.execPath, [program, "--device", "cpu", ...short, "--temperature", "0"], { input }),
    run<Talk>("chat", [...short, "--temperature", "0", "--ask", "The cat?", "--ask", "And 12?"]),
  ]);
  const [first, second] = [messages[1]!.content, messages[3]!.content];
  expect([exitCode, stdout]).toEqual([0, `${first}\n${first}\n${second}\n`.replace(/\n$/, "")]);
});

it("serves a page, answers piece by piece, and stops where the page goes away", async () => {
  const { child, line } = start("chat", ["--model", file, "--max-tokens", "200", "--temperature", "0", "--page", "--port", "0"]);
  try {
    const { address } = (await line()) as { address: string };
    const page = await fetch(address);
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(await page.text()).toContain("<title>small.gguf</title>");
    const ask = async (body: string, signal?: AbortSignal): Promise<Response> =>
      fetch(`${address}/chat`, { method: "POST", body, ...(signal && { signal }) });
    const body = JSON.stringify({ messages: [{ role: "user", content: "The cat?" }] });
    const stop = new AbortController();
    const stopped = await ask(body, stop.signal);
    const pieces = stopped.body!.getReader();
    const first = new TextDecoder().decode((await pieces.read()).value);
    stop.abort();
    await expect(pieces.read()).rejects.toThrow("aborted");
    // The answer that nobody reads any more is ended, so that the next one begins at once.
    const whole = await (await ask(body)).text();
    expect(whole.startsWith(first)).toBe(true);
    for (const [wrong, status] of [
      ["{", 400],
      ['{"messages": []}', 400],
      ['{"messages": [{"role": "system", "content": "x"}]}', 400],
      [`"${"x".repeat(1 << 21)}"`, 413],
    ] as const)
      expect((await ask(wrong)).status).toBe(status);
    expect((await fetch(`${address}/nothing`)).status).toBe(404);
    child.kill("SIGTERM");
    expect((await child).exitCode).toBe(0);
  } finally {
    child.kill("SIGKILL");
  }
});

it("names what is wrong", async () => {
  const plain = join(folder, "plain.gguf");
  await writeModel(plain, null);
  const asked = (...args: string[]) => raw("chat", ["--device", "cpu", ...args]);
  const [untrained, lost, other, none] = await Promise.all([asked("--model", plain, "--ask", "a"), asked("--model", join(folder, "lost.gguf"), "--ask", "a"), asked("--model", "a.onnx", "--ask", "a"), asked()]); // prettier-ignore
  expect([untrained.exitCode, untrained.stderr]).toEqual([1, expect.stringContaining("plain.gguf has no template for conversations")]);
  expect([lost.exitCode, lost.stderr]).toEqual([1, expect.stringMatching(/^The model .*lost\.gguf can't be read: there is no such file/)]);
  expect([other.exitCode, other.stderr]).toEqual([1, expect.stringContaining("--model takes a GGUF file or a folder")]);
  expect(none.exitCode).toBe(2);
});
