// npm run programs: bundles the runner of recorded programs with the sources as they are, and runs it with the given arguments.
import { at, helpOf, main, root } from "./tools/project.ts";
import { takeOver } from "./tools/program.ts";
import { buildNativeParts } from "./build.ts";
import { bundleProgram } from "./bundle-tests.ts";

const body = async () => {
  await buildNativeParts({ isRuntimeOnly: true });
  const program = at("build", "programs", "cli.mjs");
  await bundleProgram(at("test", "programs", "cli.ts"), program);
  const folder = at("test", "programs");
  const env = { PROGRAMS_CORPUS: `${folder}/corpus.jsonl.gz`, PROGRAMS_KNOWN: `${folder}/known.json` };
  return takeOver(process.execPath, [program, ...process.argv.slice(2)], { cwd: process.env.INIT_CWD ?? root, env });
};

await main(body, helpOf("test", "programs", "cli.ts"));
