/** Programs in child processes, which are restarted when one dies or hangs: no program can end the run. */
import { fork, type ChildProcess } from "node:child_process";
import { messageOf, type Outcome } from "./judge.ts";
import type { Program } from "./language.ts";
import { runProgram, type ProgramMode } from "./run.ts";

export interface Job {
  readonly mode: ProgramMode;
  readonly program: Program;
}

const timeoutMs = 60_000;

/** The child's side. */
export function serve(): void {
  process.env.DXTENSOR_DEVICE ??= "cpu";
  process.on("message", ({ mode, program }: Job) => {
    let outcome: Outcome;
    try {
      outcome = runProgram(mode, program);
    } catch (error) {
      outcome = { result: "fail", what: "runner", message: messageOf(error) };
    }
    process.send!(outcome);
  });
}

class Child {
  readonly #process: ChildProcess = fork(process.argv[1]!, ["--serve"], {
    execArgv: ["--max-old-space-size=3000"],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });

  get isAlive(): boolean {
    return this.#process.connected;
  }

  run(job: Job): Promise<Outcome> {
    return new Promise((resolve) => {
      const child = this.#process;
      const finish = (outcome: Outcome): void => {
        clearTimeout(timer);
        child.removeAllListeners();
        resolve(outcome);
      };
      const timer = setTimeout(() => {
        this.end();
        finish({ result: "fail", what: "timeout" });
      }, timeoutMs);
      child.once("message", (outcome: Outcome) => {
        finish(outcome);
      });
      child.once("exit", (code, signal) => {
        finish({ result: "fail", what: "crash", message: `exit ${signal ?? code}` });
      });
      child.send(job);
    });
  }

  end(): void {
    if (this.isAlive) this.#process.disconnect();
    this.#process.kill("SIGKILL");
  }
}

const isRemoved = (o: Outcome): boolean => /device was removed/.test(o.message ?? o.what ?? "");

/** One process's share of the jobs. */
async function work(next: () => Job | undefined, outcomes: Map<string, Outcome>): Promise<void> {
  let child = new Child();
  for (let job = next(); job !== undefined; job = next()) {
    if (!child.isAlive) child = new Child();
    let outcome = await child.run(job);
    // A program before this one may have had the device removed: once more, in a process of its own.
    if (isRemoved(outcome)) {
      child.end();
      child = new Child();
      outcome = await child.run(job);
      if (isRemoved(outcome)) child.end();
    }
    outcomes.set(job.program.id, outcome);
  }
  child.end();
}

/** The outcome of each job, by the program's id, in the order of the jobs. */
export async function outcomesOf(jobs: readonly Job[], processes: number): Promise<Map<string, Outcome>> {
  const queue = jobs.values();
  const outcomes = new Map<string, Outcome>(jobs.map(({ program }) => [program.id, { result: "skipped" }]));
  await Promise.all(Array.from({ length: processes }, () => work(() => queue.next().value, outcomes)));
  return outcomes;
}
