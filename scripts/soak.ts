// npm run soak: hours of everything at once, with faults on demand. See docs/soak.md.
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { startProgram } from "./tools/program.ts";
import { ScriptError, at, main, optionalFile, release, say, takesTypeScript } from "./tools/project.ts";
import { ensureBuilt } from "./lib/ensure.ts";
import { softwareName } from "./lib/native-files.ts";
import { verdictOf, type Exit, type Sample } from "./soak/verdict.ts";

const help = `npm run soak [-- OPTIONS]

  --minutes N    how long (default: 5)
  --seed N       seed of the order of actions (default: 1)
  --json [FILE]  write the result as JSON (default: standard output, and no progress)
  --help         this text

Trains, infers, resizes, reads, saves, opens and closes devices, ends workers, lets memory run out and devices be removed, on the
software adapter. Ends with status 1 when a result was wrong or lost, the process died, or memory grew. Ctrl-C ends it early,
with the result so far.`;

/** What is soaked is what was built when it began, whatever is built meanwhile. */
function snapshot() {
  const folder = at("build", `soak-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  cpSync(at("dist"), join(folder, "dist"), { recursive: true });
  const env: Record<string, string> = {};
  for (const [variable, name] of [
    ["DXTENSOR_NATIVE", "dxtensor.node"],
    ["DXTENSOR_SOFTWARE", softwareName()],
  ] as const) {
    const from = process.env[variable] ?? join(release, name);
    if (!existsSync(from)) continue;
    cpSync(from, join(folder, name));
    env[variable] = join(folder, name);
  }
  return { folder, env };
}

await main(async () => {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "5" },
      seed: { type: "string", default: "1" },
      json: { type: "string" },
      help: { type: "boolean" },
    },
    args: optionalFile(process.argv.slice(2)),
  });
  const minutes = Number(values.minutes);
  const seed = Number(values.seed);
  if (!(minutes > 0 && minutes < 1e5)) throw new ScriptError("USAGE", `--minutes must be a number above 0; received ${values.minutes}.`);
  if (!Number.isSafeInteger(seed)) throw new ScriptError("USAGE", `--seed must be an integer; received ${values.seed}.`);
  await ensureBuilt([]);
  const isQuiet = values.json === "-";
  const interval = Math.min(15, Math.max(0.5, (minutes * 60) / 40));
  const built = snapshot();
  process.once("exit", () => {
    rmSync(built.folder, { recursive: true, force: true });
  });
  const samples: Sample[] = [];
  const running = startProgram(
    process.execPath,
    [
      "--expose-gc",
      ...takesTypeScript,
      at("scripts", "soak", "work.ts"),
      `${pathToFileURL(built.folder).href}/`,
      String(minutes),
      String(seed),
      String(interval),
    ],
    {
      stderr: "inherit",
      env: { ...built.env, DXTENSOR_SIMULATE: "uhd-630@5.0,rtx-3070", DXTENSOR_DEVICE: "cpu" },
      keep: 0,
      onLine: (line) => {
        const sample = JSON.parse(line) as Sample;
        samples.push(sample);
        const { acts, asked, answered, wrong } = sample.counts;
        if (!isQuiet)
          say(
            `${String(sample.seconds).padStart(6)} s  ${acts} acts  ${answered} of ${asked} results, ${wrong} wrong  rss ${sample.rss} MiB  heap ${sample.heap} MiB  ${sample.liveBuffers} buffers`,
          );
      },
    },
  );
  // Ctrl-C comes to its group once, from here.
  let isAsked = false;
  const end = () => {
    if (isAsked) running.end();
    else running.send("SIGINT");
    isAsked = true;
  };
  process.on("SIGINT", end);
  const { code, signal, error } = await running.done;
  if (error !== null) throw new ScriptError("START", `The soak could not be started: ${error}`);
  const exit: Exit = { code, signal };
  process.off("SIGINT", end);
  const verdict = verdictOf(samples, exit);
  const result = {
    date: new Date().toISOString(),
    node: process.version,
    minutes,
    seed,
    exit,
    ...verdict,
    counts: samples.at(-1)?.counts ?? {},
    samples,
  };
  if (isQuiet) console.log(JSON.stringify(result, null, 2));
  else {
    if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(result, null, 2));
    for (const [name, n] of Object.entries(result.counts)) say(`  ${name}: ${n}`);
    const { rss } = verdict.growth;
    say(`  resident memory after the warm-up: ${rss.early} MiB, in the end ${rss.late}, ${rss.perHour} an hour`);
    if (verdict.unjudged.length > 0) say(`  too short to judge ${verdict.unjudged.join(", ")}`);
    for (const problem of verdict.problems) say(`  PROBLEM: ${problem}`);
  }
  if (!isQuiet) console.log(verdict.problems.length === 0 ? "soak: nothing wrong, nothing lost" : "soak: FAILED");
  return verdict.problems.length === 0 ? 0 : 1;
}, help);
