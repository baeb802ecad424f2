/** Fine-tunes a decoder on a small text with LoRA, and writes the adapters as PEFT's files. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as dx from "dxtensor";
import { loadTokenizer } from "dxtensor/text";
import { ExampleError, exampleCommand, isMain, real, runExample, saying, whole, type CommonOptions } from "../shared/command.ts";
import { progress } from "../shared/progress.ts";
import { bytes, smallDecoder } from "./letters.ts";

interface Options extends CommonOptions {
  readonly model?: string;
  readonly tokenizer?: string;
  readonly text: string;
  readonly pretrain: number;
  readonly steps: number;
  readonly batch: number;
  readonly window: number;
  readonly rank: number;
  readonly rate: number;
  readonly prompt: string;
  readonly length: number;
  readonly out: string;
}

// Compiled, this file lies in build/examples/finetune-lora, the texts in examples.
const examples = join(fileURLToPath(import.meta.url), "../../../../examples");
const ownText = join(examples, "finetune-lora/reports.txt");
const sonnets = join(examples, "character-transformer/text.txt");

const command = exampleCommand("finetune-lora", "Fine-tunes a decoder on a small text with LoRA, and writes the adapters as PEFT's files.")
  .option("--model <path>", "a folder of Hugging Face's, or a GGUF file (default: a small decoder that learns sonnets first)")
  .option("--tokenizer <file>", "its tokenizer.json (default: the one in the folder, or what the GGUF file says)")
  .option("--text <file>", "what to learn (default: reports of a harbour)", ownText)
  .option("--pretrain <n>", "steps on sonnets of the small decoder", whole(0), 300)
  .option("--steps <n>", "steps of the adapters", whole(1), 200)
  .option("--batch <n>", "pieces of the text a step", whole(1), 8)
  .option("--window <n>", "tokens of a piece", whole(2), 64)
  .option("--rank <n>", "rank of the adapters", whole(1), 8)
  .option("--rate <lr>", "learning rate of the adapters", real(1e-6, 1), 5e-3)
  .option("--prompt <text>", "where the samples begin", "harbour report, ")
  .option("--length <n>", "tokens of a sample", whole(1), 80)
  .option("--out <folder>", "where the adapters go", "lora-adapters");

/** Text as tokens, and back. */
interface Tokens {
  encode(text: string): readonly number[];
  decode(tokens: readonly number[]): string;
}

async function modelOf(options: Options): Promise<{ model: dx.models.Llama | dx.models.Gpt2; tokens: Tokens; isOwn: boolean }> {
  if (options.model === undefined) return { model: await smallDecoder(), tokens: bytes, isOwn: true };
  const isFolder = (await stat(options.model).catch(() => null))?.isDirectory() === true;
  if (!isFolder && !options.model.endsWith(".gguf"))
    throw new ExampleError(
      `--model takes a GGUF file or a folder with config.json, safetensors and tokenizer.json; ${options.model} is neither.`,
    );
  const file = options.tokenizer ?? (isFolder ? join(options.model, "tokenizer.json") : options.model);
  const tokenizer = await saying("The tokenizer can't be read", loadTokenizer(file));
  const model = await saying("The model can't be read", dx.models.fromPretrained(options.model));
  if (!("lm_head" in model)) throw new ExampleError("--model must be a language model: the family llama or gpt2.");
  const encode = (text: string): readonly number[] => [...tokenizer.encode(text)];
  return { model, tokens: { encode, decode: (list) => tokenizer.decode(list) }, isOwn: false };
}

/** Trains what the optimizer has on pieces of a text, and gives the losses. */
async function train(
  model: dx.models.LanguageModel,
  codes: readonly number[],
  optimizer: dx.optim.Optimizer,
  { steps, batch, window, json }: Pick<Options, "steps" | "batch" | "window" | "json">,
): Promise<number[]> {
  const step = dx.compile(
    (x: dx.Tensor, y: dx.Tensor) => {
      const loss = dx.nn.functional.crossEntropy(model.forward(x).flatten(0, 1), y.flatten());
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    },
    { name: "step" },
  );
  const order = dx.defaultGenerator();
  const bar = progress(steps, json);
  const losses: number[] = [];
  model.train();
  for (let i = 1; i <= steps; i++) {
    const starts = Array.from({ length: batch }, () => order.nextBelow(codes.length - window));
    const rows = (shift: number): dx.Tensor =>
      dx.tensor(
        starts.map((s) => codes.slice(s + shift, s + shift + window)),
        { dtype: "int32" },
      );
    const [x, y] = [rows(0), rows(1)];
    const loss = step(x, y);
    if (i % 10 === 0 || i === 1 || i === steps) {
      losses.push(await loss.item());
      bar.update(i, { loss: losses.at(-1)!.toFixed(3) });
    }
    for (const t of [loss, x, y]) t.dispose();
  }
  bar.stop();
  step.dispose();
  model.eval();
  return losses;
}

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  const { model, tokens, isOwn } = await modelOf(options);
  const codesOf = async (file: string): Promise<readonly number[]> => {
    const codes = tokens.encode(await saying("The text can't be read", readFile(file, "utf8")));
    if (codes.length <= options.window)
      throw new ExampleError(`${file} must have more than ${options.window} tokens; it has ${codes.length}.`);
    return codes;
  };
  const codes = await codesOf(options.text);
  const prompt = tokens.encode(options.prompt);
  if (prompt.length === 0) throw new ExampleError("--prompt must have at least one token.");
  if (isOwn && options.pretrain > 0) {
    const optimizer = dx.optim.adamW(model.parameters(), { lr: 3e-3 });
    const losses = await train(model, await codesOf(sonnets), optimizer, { ...options, steps: options.pretrain });
    say(`The small decoder has learned sonnets: loss ${losses[0]!.toFixed(2)} to ${losses.at(-1)!.toFixed(2)}.`);
  }
  const sample = async (): Promise<string> => {
    const [text] = await dx.models.generate(model, prompt, {
      maxNewTokens: options.length,
      tokenizer: { decode: (list) => tokens.decode(list) },
    });
    return text!.text;
  };
  const before = await sample();
  say(`\nBefore:\n${options.prompt}${before}\n`);

  const adapters = dx.nn.lora(model, { rank: options.rank, alpha: 2 * options.rank, generator: dx.defaultGenerator() });
  const count = (list: readonly dx.Tensor[]): number => list.reduce((n, p) => n + p.size, 0);
  const [learned, all] = [count(adapters.parameters()), count(model.parameters())];
  say(`${adapters.layers.length} layers have adapters: ${learned} of ${all} parameters learn, on ${String(options.device)}.`);
  const losses = await train(model, codes, dx.optim.adamW(adapters.parameters(), { lr: options.rate }), options);
  const after = await sample();
  say(`Loss ${losses[0]!.toFixed(3)} to ${losses.at(-1)!.toFixed(3)}.\n\nAfter:\n${options.prompt}${after}\n`);

  await dx.io.peft.save(options.out, adapters, {
    taskType: "CAUSAL_LM",
    ...(options.model === undefined ? {} : { baseModel: options.model }),
  });
  // What was written, read into the model as it was.
  const logitsOf = async (): Promise<dx.Tensor> => dx.noGrad(() => model.forward(dx.tensor([[...prompt]], { dtype: "int32" })));
  const trained = await logitsOf();
  adapters.remove();
  await dx.io.peft.load(model, options.out);
  const difference = Number(
    await dx
      .sub(await logitsOf(), trained)
      .abs()
      .max()
      .item(),
  );
  say(`The adapters are in ${options.out}. Read again, they give the same logits within ${difference.toExponential(1)}.`);
  if (options.json)
    console.log(
      JSON.stringify({
        device: String(options.device),
        steps: options.steps,
        layers: adapters.layers.length,
        learned,
        parameters: all,
        firstLoss: losses[0],
        lastLoss: losses.at(-1),
        before,
        after,
        out: options.out,
        difference,
      }),
    );
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
