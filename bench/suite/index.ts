/** npm run bench -- --suite, --check BASE, --page: the peers' workloads, see the help text. */
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ask } from "../../scripts/tools/program.ts";
import { buildBase, BaseError } from "./base.ts";
import { ortVersion } from "../onnxruntime/runtime.ts";
import * as history from "./history.ts";
import { pageOf } from "./page.ts";
import { PeerError, type Command } from "./peer.ts";
import { measureAll, valueOf, type Result, type RoundsOptions } from "./rounds.ts";
import { verdictOf } from "./verdict.ts";
import { WORKLOADS } from "./workloads.ts";

const help = `npm run bench -- --suite | --check BASE | --page FILE [OPTIONS]

  --suite          the peers' workloads: dxtensor eager and compiled, PyTorch (if DXTENSOR_BENCH_PYTHON, or python3, has it)
                   and onnxruntime-node (if DXTENSOR_ONNXRUNTIME names a folder whose node_modules has it)
  --check BASE     builds the commit BASE too, and fails if this one is slower by more than the noise of interleaved rounds
  --page FILE      writes the history as a page
  --history FILE   the file to which runs of --suite are appended (default: build/bench-history.jsonl)
  --record         appends to docs/benchmarks/history.jsonl, of which the site makes its charts; of a committed state only
  --filter TEXT    only workloads whose group is TEXT, or whose name contains it
  --form FORM      of --check: eager or compiled (default: both)
  --device NAME    cpu, dml:0, … (default: cpu)
  --threads N      of the software adapter and of the peers (default: all)
  --rounds N       measured rounds of each process (default: 5; of --check 9)
  --seconds S      of a round (default: 0.25)
  --json           results as JSON on standard output
  --help           this text`;

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..", "..");
const sources = join(root, "bench");
const say = (text: string): void => void process.stderr.write(`${text}\n`);

const worker = (folder: string, name: string, form: string, device: string, threads: string): Command => ({
  name,
  program: process.execPath,
  args: ["--expose-gc", join(folder, "suite", "worker.js"), form, device],
  env: { DXTENSOR_THREADS: threads },
});

/** PyTorch as a peer; null where there is none. */
function torch(threads: string): Command | null {
  const python = process.env.DXTENSOR_BENCH_PYTHON ?? "python3";
  const found = ask(python, ["-c", "import torch; print(torch.__version__)"], { limitMs: 120_000 });
  if (found === null) {
    say(`no PyTorch to compare with: ${python} has none (DXTENSOR_BENCH_PYTHON names another)`);
    return null;
  }
  return {
    name: `PyTorch ${found.trim().replace(/\+.*/, "")}`,
    program: python,
    args: [join(sources, "suite", "pytorch.py"), threads],
  };
}

/** onnxruntime-node as a peer; null where there is none. */
function onnxRuntime(threads: string): Command | null {
  const version = ortVersion();
  if (version === null) {
    say("no ONNX Runtime to compare with: DXTENSOR_ONNXRUNTIME names a folder whose node_modules have onnxruntime-node");
    return null;
  }
  return {
    name: `ONNX Runtime ${version}`,
    program: process.execPath,
    args: [join(root, "build", "bench", "suite", "onnxruntime.js"), threads],
  };
}

function shown(result: Result): string {
  const row = history.rowOf(result);
  const values = Object.entries(row.values).map(([peer, v]) => `${peer} ${v}${row.disagreeing.includes(peer) ? " (another result)" : ""}`);
  const lacking = result.lacking.map(({ peer, why }) => `${peer}: ${why}`);
  const ratio = history.ratioOf(row);
  return `${row.name}, ${row.unit}: ${[...values, ...lacking].join(", ")}${ratio === null ? "" : `; ratio ${ratio.toFixed(2)}`}`;
}

async function main(signal: AbortSignal): Promise<number> {
  const { values } = parseArgs({
    options: {
      suite: { type: "boolean" },
      check: { type: "string" },
      page: { type: "string" },
      history: { type: "string", default: join(root, "build", "bench-history.jsonl") },
      record: { type: "boolean" },
      filter: { type: "string", default: "" },
      form: { type: "string" },
      device: { type: "string", default: "cpu" },
      threads: { type: "string", default: String(availableParallelism()) },
      rounds: { type: "string" },
      seconds: { type: "string", default: "0.25" },
      json: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  const wanted = WORKLOADS.filter((w) => values.filter === "" || w.group === values.filter || w.name.includes(values.filter));
  const groups = [...new Set(WORKLOADS.map((w) => w.group))].join(", ");
  if (wanted.length === 0) throw new BaseError(`no workload has "${values.filter}" in its name; groups are ${groups}`);
  const number = (name: string, text: string, minSeconds: number): number => {
    const n = Number(text);
    if (!(n >= minSeconds) || !Number.isFinite(n))
      throw new BaseError(`--${name}: must be a number from ${minSeconds} on; received ${text}`);
    return n;
  };
  const options = (rounds: number, onResult: RoundsOptions["onResult"]): RoundsOptions => ({
    rounds: values.rounds === undefined ? rounds : number("rounds", values.rounds, 1),
    minSeconds: number("seconds", values.seconds, 0.001),
    signal,
    onResult,
  });

  if (values.record === true) {
    if (values.suite !== true) throw new BaseError("--record belongs to --suite");
    if (ask("git", ["status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/benchmarks"], { cwd: root }) !== "")
      throw new BaseError("--record names the commit that was measured; there are changes that are not committed");
  }
  const file = values.record === true ? join(root, "docs", "benchmarks", "history.jsonl") : values.history;

  let status = 0;
  if (values.suite === true) {
    const peers = [torch(values.threads), onnxRuntime(values.threads)].filter((peer) => peer !== null);
    const commands = [
      ...["eager", "compiled"].map((form) => worker(join(root, "build", "bench"), `dxtensor ${form}`, form, values.device, values.threads)),
      ...peers,
    ];
    const results = await measureAll(
      commands,
      wanted,
      options(5, (result, done, of) => say(`${done}/${of} ${shown(result)}`)),
    );
    const run: history.Run = {
      date: new Date().toISOString(),
      commit: ask("git", ["rev-parse", "HEAD"], { cwd: root }) ?? "unknown",
      machine: `${cpus()[0]?.model ?? "unknown"}, ${values.threads} threads, Node ${process.version}`,
      device: values.device,
      version: (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version,
      rows: results.map(history.rowOf),
    };
    history.append(file, run);
    if (values.json) console.log(JSON.stringify(run, null, 2));
    else
      console.table(
        run.rows.map((row) => ({ workload: row.name, unit: row.unit, ...row.values, ratio: history.ratioOf(row)?.toFixed(2) ?? "" })),
      );
    const wrong = run.rows.filter((row) => row.disagreeing.length > 0);
    for (const row of wrong) say(`${row.name}: ${row.disagreeing.join(", ")} computed something else`);
    if (wrong.length > 0) status = 1;
  }
  if (values.check !== undefined) {
    const base = await buildBase(root, values.check, say, signal);
    const now = join(root, "build", "bench");
    const slower: string[] = [];
    const report: object[] = [];
    for (const form of values.form === undefined ? ["eager", "compiled"] : [values.form]) {
      const commands = [
        worker(base, "base", form, values.device, values.threads),
        worker(now, "now", form, values.device, values.threads),
        worker(base, "base again", form, values.device, values.threads),
      ];
      await measureAll(
        commands,
        wanted,
        options(9, ({ workload, measured, lacking }, done, of) => {
          const [first, second, third] = ["base", "now", "base again"].map((name) => measured.find((m) => m.peer === name));
          if (first === undefined || second === undefined || third === undefined) {
            say(`${done}/${of} ${workload.name}, ${form}: ${lacking.map((l) => `${l.peer}: ${l.why}`).join("; ")}`);
            if (second === undefined) slower.push(`${workload.name}, ${form}: does not run`);
            return;
          }
          const verdict = verdictOf(first.seconds, second.seconds, third.seconds);
          if (verdict.isSlower) slower.push(`${workload.name}, ${form}: ${verdict.ratio.toFixed(2)} of the base's time`);
          report.push({
            workload: workload.name,
            form,
            unit: workload.unit,
            base: valueOf(workload, first.seconds),
            now: valueOf(workload, second.seconds),
            ...verdict,
          });
          say(
            `${done}/${of} ${workload.name}, ${form}: ${verdict.ratio.toFixed(3)} of the base's time (the base differs from itself by ${((verdict.noise - 1) * 100).toFixed(1)} %)${verdict.isSlower ? "  SLOWER" : ""}`,
          );
        }),
      );
    }
    if (values.json) console.log(JSON.stringify({ base: values.check, slower, report }, null, 2));
    else
      console.log(
        slower.length === 0 ? `nothing is slower than ${values.check}` : `slower than ${values.check}:\n  ${slower.join("\n  ")}`,
      );
    if (slower.length > 0) status = 1;
  }
  if (values.page !== undefined) {
    const runs = history.read(file);
    if (runs.length === 0) throw new BaseError(`--page: ${file} has no runs; npm run bench -- --suite adds one`);
    writeFileSync(values.page, pageOf(runs));
    say(`${values.page}: ${runs.length} runs`);
  }
  return status;
}

const abort = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => abort.abort());
try {
  process.exitCode = await main(abort.signal);
} catch (error) {
  const isOption = error instanceof Error && "code" in error && `${error.code}`.startsWith("ERR_PARSE_ARGS");
  if (abort.signal.aborted) process.exitCode = 130;
  else if (isOption || error instanceof BaseError || error instanceof PeerError) {
    say(`bench: ${error.message}${isOption ? " (--help lists the options)" : ""}`);
    process.exitCode = 1;
  } else throw error;
}
