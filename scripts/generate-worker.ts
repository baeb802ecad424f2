// Writes src/data/worker/thread.generated.ts: the code of a loader's worker threads as one text. A worker is made of that text, so that it needs no
// file that a bundler would have to keep, and the same code runs from src, from dist and from a bundle.
import { writeGenerated } from "./lib/generated.ts";
import { at } from "./tools/project.ts";

export async function writeWorker(isCheck: boolean): Promise<void> {
  const { rolldown } = await import("rolldown");
  const build = await rolldown({
    input: at("src", "data", "worker", "thread.ts"),
    platform: "node",
    external: /^node:/,
    transform: { target: "es2023" },
    tsconfig: false,
  });
  const { output } = await build.generate({ format: "iife", comments: false, codeSplitting: false });
  await build.close();
  // Names of files are no part of what runs.
  const code = output[0].code.replaceAll(/^\/\/.*\n/gm, "").replaceAll(/\n{2,}/g, "\n");
  const text = `// Made by npm run generate from src/data/worker/thread.ts.\n/** The code of a loader's worker threads. */\nexport const threadCode: string = ${JSON.stringify(code)};\n`;
  writeGenerated([["src/data/worker/thread.generated.ts", text]], { isCheck });
}
