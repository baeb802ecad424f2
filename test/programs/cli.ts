/** npm run programs: a corpus in the requested modes, with a summary. scripts/programs.ts bundles and starts it. */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { outcomesOf, serve, type Job } from "./children.ts";
import { isFailure, readKnown, updated, type Known } from "./known.ts";
import { readCorpus, type Program } from "./language.ts";
import { programModes, type ProgramMode } from "./run.ts";
import { summaryOf, textOf } from "./summary.ts";

const help = `npm run programs [-- OPTIONS]

Runs PyTorch's recorded programs and compares (test/programs/README.md). The sources are taken as they are now.

  --mode MODE      eager, compiled, around or all (default)
  --corpus FILE    another corpus (.jsonl.gz)
  --ids A,B        only these programs; prints each outcome whole, and the program
  --limit N        only the first N
  --jobs N         processes at once (default 1)
  --json FILE      writes every outcome
  --update         writes test/programs/known.json: exactly what fails now, in the modes that ran
  --verbose        every sort of failure, not only the first 40
  --help           this text

Exit status 1 when a program fails that known.json does not have (with another corpus: when any fails).`;

const isOwn = (corpus: string): boolean => corpus === process.env.PROGRAMS_CORPUS;

const readOptions = () =>
  parseArgs({
    options: {
      mode: { type: "string", default: "all" },
      corpus: { type: "string", default: process.env.PROGRAMS_CORPUS! },
      ids: { type: "string" },
      limit: { type: "string", default: "Infinity" },
      jobs: { type: "string", default: "1" },
      json: { type: "string" },
      update: { type: "boolean", default: false },
      verbose: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  }).values;

function optionsOrNull(): ReturnType<typeof readOptions> | null {
  try {
    return readOptions();
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`);
    return null;
  }
}

async function main(): Promise<number> {
  const options = optionsOrNull();
  if (options === null) return 2;
  const modes = programModes.filter((mode) => options.mode === "all" || mode === options.mode);
  if (options.help || modes.length === 0) {
    console.log(help);
    return options.help ? 0 : 2;
  }
  const ids = options.ids?.split(",");
  const chosen = (p: Program): boolean => ids === undefined || ids.includes(p.id);
  const programs = readCorpus(options.corpus).filter(chosen).slice(0, Number(options.limit));
  const file = process.env.PROGRAMS_KNOWN!;
  const known: Known = isOwn(options.corpus) ? readKnown(file) : { eager: [], compiled: [], around: [] };
  const report: Record<string, unknown> = {};
  const lists: Record<ProgramMode, Known[ProgramMode]> = { ...known };
  let surprises = 0;
  for (const mode of modes) {
    const jobs = programs.map((program): Job => ({ mode, program }));
    const outcomes = await outcomesOf(jobs, Number(options.jobs));
    const summary = summaryOf(programs, outcomes);
    console.log(textOf(mode, summary, options.verbose ? Infinity : 40));
    if (ids !== undefined) for (const p of programs) console.log(JSON.stringify({ outcome: outcomes.get(p.id), program: p }, null, 1));
    report[mode] = { ...summary, outcomes: Object.fromEntries(outcomes) };
    const listed = new Set(known[mode].flatMap((group) => group.ids));
    surprises += [...outcomes].filter(([id, o]) => isFailure(o) !== listed.has(id)).length;
    lists[mode] = updated(known[mode], outcomes);
  }
  if (options.json !== undefined) writeFileSync(options.json, JSON.stringify({ corpus: options.corpus, ...report }, null, 1));
  if (!options.update) return surprises === 0 ? 0 : 1;
  writeFileSync(file, `${JSON.stringify(lists, null, 2)}\n`);
  return 0;
}

if (process.argv[2] === "--serve") serve();
else process.exitCode = await main();
