// npm run operators: docs/operators.json, docs/operators.md and the README's numbers.
import { mkdirSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { ScriptError, at, main, root, say } from "./tools/project.ts";
import { runProgram } from "./tools/program.ts";
import { bundleProgram } from "./bundle-tests.ts";
import { ensureSetup } from "./lib/ensure.ts";
import { buildNativeParts } from "./build.ts";
import { writeGenerated } from "./lib/generated.ts";
import { filesOf, readTable, sentenceOf, staleness, tableOf, withNames, type Recorded } from "./lib/operators-page.ts";

const help = `npm run operators [-- OPTIONS]

Runs PyTorch's recorded cases on the software adapter, and forward on simulated adapters of older feature levels, and writes the results of
each operation: docs/operators.json, docs/operators.md and the numbers in README.md. Takes a few minutes.

  --check  runs everything, writes nothing, and fails where a file is out of date
  --page   writes docs/operators.md and README.md from docs/operators.json, without running a case
  --help   this text`;

/** The facts, by a program of the tests. */
async function facts(): Promise<Recorded> {
  await ensureSetup();
  await buildNativeParts({ isRuntimeOnly: true });
  mkdirSync(at("build", "operators"), { recursive: true });
  const program = at("build", "operators", "main.js");
  const output = at("build", "operators", "facts.json");
  await bundleProgram(at("test", "golden", "operations-main.ts"), program);
  const done = await runProgram(process.execPath, ["--expose-gc", program, output], {
    cwd: root,
    stdout: 2,
    stderr: "ignore",
    env: { DXTENSOR_SIMULATE: "rtx-3070@5.0,rtx-3070@6.0,rtx-3070@6.2" },
  });
  if (done.code !== 0) throw new ScriptError("FAILED", "The recorded cases did not run.", `Run: node ${program} FILE`);
  return JSON.parse(readFileSync(output, "utf8"));
}

await main(async () => {
  const { values } = parseArgs({ options: { check: { type: "boolean", default: false }, page: { type: "boolean", default: false } } });
  const table = values.page ? withNames(readTable()) : tableOf(await facts());
  writeGenerated(filesOf(table), { isCheck: values.check, remedy: "npm run operators" });
  const stale = staleness();
  if (stale !== null) throw new ScriptError("OUT_OF_DATE", stale, "Run: npm run operators");
  say(sentenceOf(table));
  return 0;
}, help);
