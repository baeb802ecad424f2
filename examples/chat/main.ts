/** A conversation with a language model, in the terminal or on a page of this machine. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { basename } from "node:path";
import type { ChatMessage } from "dxtensor/text";
import { exampleCommand, isMain, port, real, requireOptions, runExample, saying, whole, type CommonOptions } from "../shared/command.ts";
import { Speaker } from "./conversation.ts";
import { pageServer } from "./page-server.ts";
import { talk } from "./terminal.ts";

interface Options extends CommonOptions {
  readonly model: string;
  readonly tokenizer?: string;
  readonly system: string;
  readonly temperature: number;
  readonly topP: number;
  readonly maxTokens: number;
  readonly ask: readonly string[];
  readonly page: boolean;
  readonly port: number;
}

const command = exampleCommand(
  "chat",
  "A conversation with a language model. Needs the packages @huggingface/tokenizers and @huggingface/jinja.",
)
  .option("--model <path>", "a GGUF file of the Llama family, or a folder of Hugging Face's")
  .option("--tokenizer <file>", "a tokenizer.json, or a GGUF file; default: the model's")
  .option("--system <text>", "what the model is told first", "")
  .option("--temperature <t>", "0 takes the most probable token", real(0, 10), 0.7)
  .option("--top-p <p>", "draws among the most probable tokens of this sum", real(0.01, 1), 0.9)
  .option("--max-tokens <n>", "the most tokens of an answer", whole(1), 512)
  .option(
    "--ask <text>",
    "asks this and ends; repeatable",
    (text: string, list: readonly string[]) => [...list, text],
    [] as readonly string[],
  )
  .option("--page", "on a page instead of the terminal", false)
  .option("--port <n>", "the page's port on 127.0.0.1; 0 takes any", port, 8080);

/** Asks one question after the other. */
async function askAll(speaker: Speaker, { ask, system, json }: Options, say: (text: string) => void): Promise<void> {
  const messages: ChatMessage[] = system === "" ? [] : [{ role: "system", content: system }];
  for (const question of ask) {
    messages.push({ role: "user", content: question });
    let answer = "";
    for await (const piece of speaker.answer(messages, new AbortController().signal)) answer += piece;
    messages.push({ role: "assistant", content: answer });
    say(`> ${question}\n${answer}\n`);
  }
  if (json) console.log(JSON.stringify({ messages }));
}

async function serve(speaker: Speaker, options: Options, say: (text: string) => void): Promise<void> {
  const server = pageServer(speaker, basename(options.model), options.system);
  server.listen(options.port, "127.0.0.1");
  await saying(`No page at port ${options.port}`, once(server, "listening"));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  if (options.json) console.log(JSON.stringify({ address }));
  say(`${address}\nCtrl-C ends the server.`);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => resolve());
  });
  server.close();
  server.closeAllConnections();
}

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  requireOptions(command, options, ["model"]);
  const { temperature, topP, maxTokens, seed } = options;
  const speaker = await Speaker.load(options.model, options.tokenizer, { temperature, topP, maxTokens, seed }, options.device);
  try {
    if (options.page) await serve(speaker, options, say);
    else if (options.ask.length > 0) await askAll(speaker, options, say);
    else await talk(speaker, options.system, process.stdin, process.stdout);
  } finally {
    speaker[Symbol.dispose]();
  }
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
