// Writes the code that runs in a loader's worker threads as texts, in modules: thread.generated.ts of src/data/worker, and
// worker.generated.ts. A worker is made of such a text, so that it needs no file that a bundler would have to keep, and the same code runs from src,
// from dist and from a bundle.
import { writeGenerated } from "./lib/generated.ts";
import { at } from "./tools/project.ts";

/** [what it is made of, what it becomes, the text's name, what it is] */
const texts = [
  ["data/worker/thread.ts", "data/worker/thread.generated.ts", "threadCode", "The code of a loader's worker threads."],
  [
    "peers/images/worker.ts",
    "peers/images/worker.generated.ts",
    "workerCode",
    "The module that makes a data set of images, in any thread.",
  ],
] as const;

async function codeOf(input: string, format: "iife" | "esm"): Promise<string> {
  const { rolldown } = await import("rolldown");
  const build = await rolldown({
    input: at("src", input),
    platform: "node",
    external: /^node:/,
    transform: { target: "es2023" },
    tsconfig: false,
  });
  const { output } = await build.generate({ format, comments: false, codeSplitting: false });
  await build.close();
  // Names of files are no part of what runs.
  return output[0].code.replaceAll(/^\/\/.*\n/gm, "").replaceAll(/\n{2,}/g, "\n");
}

export async function writeWorker(isCheck: boolean): Promise<void> {
  for (const [from, to, name, about] of texts) {
    const code = await codeOf(from, name === "threadCode" ? "iife" : "esm");
    const text = `// Made by npm run generate from src/${from}.\n/** ${about} */\nexport const ${name}: string = ${JSON.stringify(code)};\n`;
    writeGenerated([[`src/${to}`, text]], { isCheck });
  }
}
