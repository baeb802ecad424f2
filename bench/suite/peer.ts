/** A process that measures: asks it, one request at a time. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import type { Digest } from "./data.ts";
import type { Workload } from "./workloads.ts";

export interface Command {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

interface Answer {
  readonly digest?: Digest | null;
  readonly seconds?: number;
  readonly resident?: number;
  readonly lacks?: string;
}

/** A peer that stopped in the middle of a measurement. */
export class PeerError extends Error {
  override readonly name = "PeerError";
}

export class Peer {
  readonly name: string;
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #reader: Interface;
  #errors = "";

  constructor({ name, program, args, env }: Command) {
    this.name = name;
    this.#process = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...env } });
    this.#process.stderr!.setEncoding("utf8").on("data", (text: string) => (this.#errors = (this.#errors + text).slice(-2000)));
    this.#process.stdin!.on("error", () => {});
    this.#process.on("error", (error) => (this.#errors += error.message));
    this.#reader = createInterface({ input: this.#process.stdout! });
    this.#lines = this.#reader[Symbol.asyncIterator]();
  }

  async #ask(request: object): Promise<Answer> {
    this.#process.stdin!.write(`${JSON.stringify(request)}\n`);
    const { value, done } = await this.#lines.next();
    if (done === true) return { lacks: `it ended: ${this.#errors.trim().split("\n").at(-1) ?? "without a word"}` };
    return JSON.parse(value) as Answer;
  }

  /** Its result's digest, null where results cannot be compared; or why it does not run this. */
  async prepare(workload: Workload): Promise<Digest | null | string> {
    const { digest, lacks } = await this.#ask({ prepare: workload });
    return digest === undefined ? (lacks ?? "no answer") : digest;
  }

  /** Seconds of one execution. */
  async round(least: number): Promise<{ readonly seconds: number; readonly resident: number }> {
    const { seconds, resident, lacks } = await this.#ask({ round: least });
    if (seconds === undefined) throw new PeerError(`${this.name}: ${lacks}`);
    return { seconds, resident: resident ?? 0 };
  }

  async end(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.stdin!.end(`${JSON.stringify({ end: true })}\n`);
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), 5000);
    await ended;
    clearTimeout(timer);
    this.#reader.close();
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }
}
