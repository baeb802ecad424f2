/** A peer that runs on Node: a process that reads a line of JSON for each workload and each round, and answers with one. */
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import type { Digest } from "./data.ts";
import type { Workload } from "./workloads.ts";

export interface Job {
  readonly digest: Digest;
  /** So many executions one after the other, until the last is done. */
  readonly run: (count: number) => Promise<void>;
  readonly free: () => unknown;
}

/** Seconds of one execution: as many as fill the time. */
async function round({ run }: Job, minSeconds: number): Promise<number> {
  for (let count = 1; ;) {
    const start = performance.now();
    await run(count);
    const seconds = (performance.now() - start) / 1000;
    if (seconds >= minSeconds) return seconds / count;
    count = Math.max(count + 1, Math.min(count * 20, Math.ceil((count * minSeconds * 1.1) / Math.max(seconds, 1e-6))));
  }
}

/** Answers until it is told to end. `prepare` gives null for what this peer does not have. */
export async function serve(prepare: (workload: Workload) => Promise<Job | null>): Promise<void> {
  let job: Job | null = null;
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line) as { prepare?: Workload; round?: number; end?: true };
    if (request.end === true) break;
    let answer: unknown;
    try {
      if (request.prepare !== undefined) {
        await job?.free();
        job = null;
        job = await prepare(request.prepare);
        answer = job === null ? { lacks: "not in this peer" } : { digest: job.digest };
      } else answer = { seconds: await round(job!, request.round!), resident: process.memoryUsage.rss() };
    } catch (error) {
      answer = { lacks: error instanceof Error ? error.message : String(error) };
    }
    console.log(JSON.stringify(answer));
  }
}
