/** A process that measures: sends it one request at a time. */
import { EventEmitter, once } from "node:events";
import { problemOf, startProgram, type Running } from "../../scripts/tools/program.ts";
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
  readonly #program: Running;
  readonly #answers: string[] = [];
  readonly #arrival = new EventEmitter();
  /** Why there will be no more answers. */
  #end: string | null = null;

  constructor({ name, program, args, env }: Command) {
    this.name = name;
    let said = "";
    this.#program = startProgram(program, args, {
      env,
      input: "open",
      onText: (text, from) => {
        if (from === "stderr") said = (said + text).slice(-2000);
      },
      onLine: (line, from) => {
        if (from === "stdout") this.#arrive(line);
      },
    });
    void this.#watch(() => said);
  }

  async #watch(said: () => string): Promise<void> {
    const ended = await this.#program.done;
    this.#end = said().trim().split("\n").at(-1) || (ended.error ?? problemOf(ended) ?? "without a word");
    this.#arrival.emit("line");
  }

  #arrive(line: string): void {
    this.#answers.push(line);
    this.#arrival.emit("line");
  }

  async #ask(request: object): Promise<Answer> {
    this.#program.stdin?.write(`${JSON.stringify(request)}\n`);
    if (this.#answers.length === 0 && this.#end === null) await once(this.#arrival, "line");
    const line = this.#answers.shift();
    return line === undefined ? { lacks: `it ended: ${this.#end}` } : (JSON.parse(line) as Answer);
  }

  /** Its result's digest, null where results cannot be compared; or why it does not run this. */
  async prepare(workload: Workload): Promise<Digest | null | string> {
    const { digest, lacks } = await this.#ask({ prepare: workload });
    return digest === undefined ? (lacks ?? "no answer") : digest;
  }

  /** Seconds of one execution. */
  async round(minSeconds: number): Promise<{ readonly seconds: number; readonly resident: number }> {
    const { seconds, resident, lacks } = await this.#ask({ round: minSeconds });
    if (seconds === undefined) throw new PeerError(`${this.name}: ${lacks}`);
    return { seconds, resident: resident ?? 0 };
  }

  async end(): Promise<void> {
    this.#program.stdin?.end(`${JSON.stringify({ end: true })}\n`);
    const timer = setTimeout(() => this.kill(), 5000);
    await this.#program.done;
    clearTimeout(timer);
  }

  kill(): void {
    this.#program.end();
  }
}
