/** Search by meaning: the lines of a text file as vectors, and those nearest to a question. */
import { readFile } from "node:fs/promises";
import * as dx from "dxtensor";
import { progress } from "../shared/progress.ts";
import { ExampleError, exampleCommand, isMain, requireOptions, runExample, saying, whole, type CommonOptions } from "../shared/command.ts";
import { Embedder } from "./embedder.ts";

interface Options extends CommonOptions {
  readonly model: string;
  readonly tokenizer: string;
  readonly text: string;
  readonly query: readonly string[];
  readonly top: number;
  readonly batch: number;
}

const command = exampleCommand(
  "search",
  "Finds the lines of a text nearest in meaning to a question, by MiniLM. Needs the package @huggingface/tokenizers.",
)
  .option("--model <file>", "an ONNX model with BERT's inputs, such as MiniLM")
  .option("--tokenizer <file>", "its tokenizer.json")
  .option("--text <file>", "a text file; each line that is not empty is searched")
  .option("--query <text>", "a question; repeatable", (text: string, list: readonly string[]) => [...list, text], [] as readonly string[])
  .option("--top <n>", "lines to show", whole(1), 3)
  .option("--batch <n>", "lines at a time", whole(1), 16);

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  requireOptions(command, options, ["model", "tokenizer", "text", "query"]);
  const { query: queries, batch, json } = options;
  const text = await saying(`The text ${options.text} can't be read`, readFile(options.text, "utf8"));
  const lines = text.split(/\r?\n/).flatMap((line, i) => (line.trim() === "" ? [] : [{ line: line.trim(), number: i + 1 }]));
  if (lines.length === 0) throw new ExampleError(`${options.text} has no line to search.`);
  const embedder = await Embedder.load(options.model, options.tokenizer, batch, options.device);
  try {
    const begin = performance.now();
    const bar = progress(lines.length, json);
    const vectors = await embedder.embed(lines.map(({ line }) => line), (done) => bar.update(done, {})); // prettier-ignore
    bar.stop();
    say(`${lines.length} lines as vectors of ${vectors.shape[1]} numbers in ${((performance.now() - begin) / 1000).toFixed(2)} s.`);
    const wanted = await embedder.embed(queries);
    // Of unit vectors the product is the cosine.
    const [scores, indices] = dx.scope(() => {
      const best = wanted.matmul(vectors.transpose(0, 1)).topk(Math.min(options.top, lines.length), 1);
      return [best.values, best.indices] as const;
    });
    const found = (await scores.toArray()) as number[][];
    const at = (await indices.toArray()) as number[][];
    const results = queries.map((query, q) => ({
      query,
      hits: found[q]!.map((score, k) => ({ score, ...lines[Number(at[q]![k])]! })),
    }));
    for (const { query, hits } of results) {
      say(`\n${query}`);
      for (const { score, line, number } of hits) say(`  ${score.toFixed(3)}  ${number}: ${line}`);
    }
    if (json) console.log(JSON.stringify({ device: String(options.device), lines: lines.length, width: vectors.shape[1], results }));
    vectors.dispose();
    wanted.dispose();
  } finally {
    embedder[Symbol.dispose]();
  }
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
