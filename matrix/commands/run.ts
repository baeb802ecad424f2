/** `matrix`: plans, runs and reports. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quote } from "../cell/arguments.ts";
import { loadConfig } from "../config/load.ts";
import type { Config } from "../config/schema.ts";
import { connect } from "../docker/connect.ts";
import { MatrixError, messageOf } from "../errors.ts";
import { probeHost } from "../host/probe.ts";
import { computeLowerings } from "../lowerings/compute.ts";
import { makePlan, type Lowerings, type PlanOptions } from "../plan/plan.ts";
import type { Host } from "../plan/host.ts";
import { printPlan } from "../plan/print.ts";
import { cellResults, evidenceText, exitStatus, summarize } from "../report/results.ts";
import { writeReports } from "../report/write.ts";
import { at, root } from "../root.ts";
import { execute } from "../run/execute.ts";
import { folderName, newOwner } from "../run/owner.ts";
import { makeProgress } from "../run/progress.ts";
import { readSources } from "../run/sources.ts";
import { Store } from "../run/store.ts";

export interface RunOptions {
  readonly quick?: true;
  readonly suite?: string;
  readonly platform?: string[];
  readonly node?: string[];
  readonly gpu?: string[];
  readonly parallel?: number;
  readonly timeout?: number;
  /** false: --no-engine */
  readonly engine: string[] | boolean;
  /** false: --no-start */
  readonly start: boolean;
  readonly commit?: string;
  readonly resume?: string | true;
  readonly dryRun?: true;
  readonly json?: true;
  readonly config: string;
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);

function planOptions(options: RunOptions, config: Config, host: Host): PlanOptions {
  const { quick } = config;
  const chosen = options.quick === true ? quick : null;
  const platform =
    options.platform ??
    (chosen === null ? undefined : host.engines.length > 0 ? quick.platform : [...quick.platform, ...quick.withoutEngine]);
  const node = options.node ?? chosen?.node;
  const gpu = options.gpu ?? chosen?.gpu;
  const suite = options.suite ?? chosen?.suite ?? Object.keys(config.suites)[0]!;
  if (!(suite in config.suites))
    throw new MatrixError(`there is no suite "${suite}"`, `Known are: ${Object.keys(config.suites).join(", ")}.`);
  return {
    suite,
    ...(platform === undefined ? {} : { platform }),
    ...(node === undefined ? {} : { node }),
    ...(gpu === undefined ? {} : { gpu }),
  };
}

/** Asked for only where simulated cells are planned; without the library on this machine every profile runs for itself. */
async function findLowerings(config: Config, host: Host, options: PlanOptions, signal: AbortSignal): Promise<Lowerings> {
  const { cells } = makePlan(config, host, new Map(), options);
  const wanted = new Set(cells.filter(({ run, evidence }) => run !== null && evidence === "simulated").map(({ platform }) => platform));
  const levels = [...new Set(config.platforms.filter(({ id }) => wanted.has(id)).map(({ directml }) => directml))];
  if (levels.length === 0) return new Map();
  try {
    return await computeLowerings(config, levels, signal);
  } catch (error) {
    signal.throwIfAborted();
    say(`matrix: profiles are not grouped by their lowerings: ${messageOf(error)}`);
    return new Map();
  }
}

/** The first Ctrl-C ends the cells and writes the report; a second ends this process, and `matrix clean` does the rest. */
function interruptible(): { readonly signal: AbortSignal; readonly dispose: () => void } {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(130);
    say("matrix: interrupted, ending the cells (once more: at once)");
    controller.abort(new MatrixError("interrupted"));
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, stop);
  return { signal: controller.signal, dispose: () => signals.forEach((signal) => process.off(signal, stop)) };
}

/** As a shell takes it. */
const callOf = (args: readonly string[]): string =>
  ["npm run matrix", ...(args.length === 0 ? [] : ["--", ...args.map((text) => (/^[\w./:=@-]+$/.test(text) ? text : quote(text)))])].join(
    " ",
  );

export async function runMatrix(options: RunOptions): Promise<number> {
  const config = loadConfig(options.config);
  const owner = newOwner();
  const { signal, dispose } = interruptible();
  // A run that is not there is told before anything is asked or lowered.
  const resumed = options.resume === undefined ? null : Store.open(options.resume === true ? "latest" : options.resume);
  const work = mkdtempSync(join(tmpdir(), folderName(owner)));
  let close = async (): Promise<void> => undefined;
  try {
    const names = Array.isArray(options.engine) ? options.engine : [];
    const { engines, problem } =
      options.engine === false
        ? { engines: [], problem: "none was wanted (--no-engine)" }
        : await connect(names, options.start && options.dryRun !== true, owner);
    close = async () => {
      for (const engine of engines) await engine.close();
    };
    if (problem !== null) say(`matrix: no Docker engine: ${problem}. What needs one is not run.`);
    const host = await probeHost(config.node, { names: engines.map(({ name }) => name), problem });
    const chosen = planOptions(options, config, host);
    const plan = makePlan(config, host, await findLowerings(config, host, chosen, signal), chosen);
    if (options.dryRun === true) {
      process.stdout.write(`${options.json === true ? JSON.stringify(plan, null, 2) : printPlan(plan)}\n`);
      return 0;
    }
    const sources = await readSources(root, work, options.commit);
    const store = resumed ?? Store.create({ owner, call: callOf(process.argv.slice(2)), sources, plan, results: [] });
    if (resumed !== null) {
      if (store.record.sources.hash !== sources.hash)
        throw new MatrixError(
          `the sources are others than those of run ${store.record.owner.run}`,
          "A run is resumed on what it began with; start another one.",
        );
      // Without a choice of its own a resumed run is what it was.
      const same = options.quick === undefined && options.platform === undefined && options.node === undefined && options.gpu === undefined;
      store.takeOver(owner, same ? store.record.plan : plan);
    }
    const total = store.record.plan;
    say(
      `matrix: run ${store.record.owner.run}, ${total.runs.length - store.record.results.length} of ${total.runs.length} runs to do, ${store.folder}`,
    );
    const progress = makeProgress(process.stderr);
    try {
      await execute({
        config,
        store,
        host,
        engines,
        sources,
        parallel: options.parallel ?? config.limits.parallel,
        cellMinutes: options.timeout,
        signal,
        progress,
      });
    } finally {
      progress.close();
    }
    return finish(store, config, options, signal);
  } finally {
    await close();
    rmSync(work, { recursive: true, force: true });
    dispose();
  }
}

function finish(store: Store, config: Config, options: RunOptions, signal: AbortSignal): number {
  const written = writeReports(store, config);
  const cells = cellResults(store.record);
  const summary = summarize(cells);
  if (options.json === true) {
    const list = cells.map((entry) => ({
      id: entry.cell.id,
      status: entry.status,
      evidence: evidenceText(entry),
      reason: entry.reason,
      mustPass: entry.cell.mustPass,
    }));
    process.stdout.write(`${JSON.stringify({ run: store.record.owner.run, summary, cells: list, reports: written })}\n`);
  }
  for (const id of summary.fatal) say(`matrix: ${id} failed: ${cells.find(({ cell }) => cell.id === id)?.reason ?? ""}`);
  say(`matrix: report ${written.html}`);
  if (signal.aborted) say(`matrix: interrupted; resume with --resume ${store.record.owner.run}`);
  const line = `${summary.notRun} cells not run\n${summary.passed} passed, ${summary.failed} failed\n`;
  if (options.json !== true) process.stdout.write(line);
  return signal.aborted ? 130 : exitStatus(summary);
}

export const defaultConfig = at("matrix", "matrix.yaml");
