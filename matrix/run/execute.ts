/** Carries a plan out: executors, preparation of platforms once each, logs, results into the store. */
import { createWriteStream, mkdirSync, readFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "../../scripts/tools/docker/engine.ts";
import { commandOf, type Config, type DockerPlatform, type Platform } from "../config/schema.ts";
import { preparationProblem, preparePlatform, runInDocker, type Prepared } from "../docker/runner.ts";
import { messageOf } from "../errors.ts";
import { readTests } from "../report/write.ts";
import { runCommand } from "../runners/command.ts";
import { runOnHost } from "../runners/host.ts";
import { failed, type Outcome, type RunContext } from "../runners/runner.ts";
import { runOnWindows } from "../runners/windows.ts";
import { runInWsl } from "../runners/wsl.ts";
import type { Host } from "../plan/host.ts";
import type { Facts, Run, RunResult } from "../types.ts";
import type { Progress } from "./progress.ts";
import { schedule, type Executor } from "./schedule.ts";
import type { Sources } from "./sources.ts";
import type { Store } from "./store.ts";

export interface Execution {
  readonly config: Config;
  readonly store: Store;
  readonly host: Host;
  readonly engines: readonly Engine[];
  readonly sources: Sources;
  readonly parallel: number;
  /** Limit of every cell; without, those of the configuration. */
  readonly cellMinutes: number | undefined;
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

interface EngineExecutor extends Executor {
  /** Null: this machine alone. */
  readonly engine: Engine | null;
}

/** Every engine takes as many cells at a time as the limit says; cells of this machine share the default engine's. */
function executorsOf({ engines, parallel, config }: Execution): EngineExecutor[] {
  const runnerOf = (run: Run): Platform["runner"] => config.platforms.find(({ id }) => id === run.platform)!.runner;
  const local = engines.find(({ isDefault }) => isDefault);
  const executors: EngineExecutor[] = engines.map((engine) => ({
    name: engine.name,
    limit: parallel,
    engine,
    accepts: (run) => runnerOf(run) === "docker" || engine === local,
  }));
  if (local === undefined)
    executors.push({ name: "this machine", limit: parallel, engine: null, accepts: (run) => runnerOf(run) !== "docker" });
  return executors;
}

/** A platform is made once on an engine, whoever asks first; its builds have a log of their own. */
class Preparation {
  readonly #made = new Map<string, Promise<Prepared>>();
  readonly #execution: Execution;

  constructor(execution: Execution) {
    this.#execution = execution;
  }

  get(engine: Engine, platform: DockerPlatform, context: RunContext): Promise<Prepared> {
    const key = `${engine.name}\0${platform.id}`;
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const folder = join(this.#execution.store.folder, "platforms");
    mkdirSync(folder, { recursive: true });
    const log = createWriteStream(join(folder, `${platform.id}-${engine.name.replace(/[^\w.-]+/g, "_")}.log`));
    const made = preparePlatform(engine, platform, {
      ...context,
      onLine: (line) => {
        log.write(`${line}\n`);
        context.onLine(line);
      },
    }).finally(() => log.end());
    this.#made.set(key, made);
    return made;
  }
}

/** The runner that a platform names. */
async function carryOut(context: RunContext, engine: Engine | null, host: Host, preparation: Preparation): Promise<Outcome> {
  const { platform } = context;
  switch (platform.runner) {
    case "docker": {
      const where = `docker: ${engine!.name}`;
      let prepared: Prepared;
      try {
        prepared = await preparation.get(engine!, platform, context);
      } catch (error) {
        context.signal.throwIfAborted();
        return failed(where, preparationProblem(error, platform));
      }
      return runInDocker(engine!, prepared, platform, context);
    }
    case "host":
      return runOnHost(context);
    case "wsl":
      return host.distribution === platform.distribution ? runOnHost(context) : runInWsl(context, platform.distribution);
    case "windows":
      return host.system === "win32" ? runOnHost(context) : runOnWindows(context);
    case "command":
      return runCommand(context, platform);
    case "none":
      return { status: "not run", reason: platform.reason, where: "" };
    default:
      return platform satisfies never;
  }
}

function readFacts(folder: string): Facts {
  const file = join(folder, "facts.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Facts) : {};
}

/** The cell's own report decides, together with its exit status. */
function judge(run: Run, outcome: Outcome, folder: string, startedAt: number): RunResult {
  const tests = readTests(folder);
  const count = (statuses: readonly string[]): number => tests.filter(({ status }) => statuses.includes(status)).length;
  const counts = { passed: count(["passed"]), failed: count(["failed"]), skipped: count(["skipped", "pending", "other"]) };
  let { status, reason } = outcome;
  if (status === "passed" && counts.failed + counts.passed === 0) [status, reason] = ["failed", "it reported no test"];
  if (counts.failed > 0) {
    const names = tests.filter((test) => test.status === "failed").map(({ name }) => name);
    const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
    [status, reason] = ["failed", `${names.slice(0, 3).join("; ")}${more} failed`];
  }
  return { id: run.id, status, reason, startedAt, endedAt: Date.now(), facts: readFacts(folder), counts, where: outcome.where };
}

/** Runs what is not done yet. Results are stored as they come; what was interrupted is left as not done. */
export async function execute(execution: Execution): Promise<void> {
  const { config, store, sources, host, signal, progress } = execution;
  const { plan, owner } = store.record;
  const preparation = new Preparation(execution);
  const todo = plan.runs.filter((run) => !store.record.results.some(({ id }) => id === run.id));
  const platformOf = (run: Run): Platform => config.platforms.find(({ id }) => id === run.platform)!;
  // Scripts on this machine work in the repository's folders.
  const exclusive = (run: Run): string | null => {
    const platform = platformOf(run);
    return platform.runner === "command" ? platform.command.script : null;
  };
  const carry = async (run: Run, executor: Executor): Promise<void> => {
    const platform = platformOf(run);
    const folder = store.cell(run.id);
    const log = createWriteStream(join(folder, "log.txt"));
    const onLine = (line: string): void => {
      log.write(`${line}\n`);
      progress.note(run.id, line);
    };
    const startedAt = Date.now();
    progress.begin(run.id);
    const context: RunContext = {
      run,
      platform,
      config,
      sources,
      tests: config.suites[plan.suite]!,
      out: folder,
      owner,
      signal,
      timeoutMs: (execution.cellMinutes ?? commandOf(platform)?.minutes ?? config.limits.cellMinutes) * 60_000,
      buildMs: config.limits.buildMinutes * 60_000,
      onLine,
    };
    try {
      let outcome: Outcome;
      try {
        outcome = await carryOut(context, (executor as EngineExecutor).engine, host, preparation);
      } catch (error) {
        if (signal.aborted) return;
        outcome = failed(executor.name, messageOf(error));
      }
      if (outcome.reason !== null) onLine(outcome.reason);
      const result = judge(run, outcome, folder, startedAt);
      store.add(result);
      progress.end(result, store.record.results.length, plan.runs.length);
    } finally {
      log.end();
    }
  };
  await schedule(todo, executorsOf(execution), signal, carry, exclusive);
}
