/** Process groups: the ranks that call together, their engine, and the order of their calls. */
import { DistributedError, ValueError } from "../core/errors.ts";
import { integerOf } from "../host/environment.ts";
import type { DType } from "../core/dtype.ts";
import { Work } from "./distributed-work.ts";
import { startGloo, type Gloo, type GlooCall, type GlooFailure, type GlooGroup, type Kind } from "./gloo.ts";
import type { Store } from "./rendezvous-store.ts";

/** @internal What all groups of a run have in common. */
export interface World {
  readonly gloo: Gloo;
  readonly backend: "gloo" | "mpi";
  /** For errors: "Gloo 0.5.0 at 127.0.0.1", "Open MPI v4.1.4". */
  readonly engine: string;
  readonly version: string;
  /** By which the ranks of Gloo find each other; MPI has its own way. */
  readonly store: Store | null;
  readonly rank: number;
  readonly host: string;
  readonly interface: string;
  readonly isDebug: boolean;
  /** The engine of the group of all ranks, which notices ranks that end. */
  root: GlooGroup | null;
}

/** @internal A call, without what the group knows. */
export type Call = Pick<GlooCall, "kind" | "input" | "output"> &
  Partial<Pick<GlooCall, "tag" | "dtype" | "reduction" | "root">> & {
    /** What all ranks must call alike, but for the group and the call's number. */
    readonly what: string;
  };

const NO_BYTES = new Uint8Array(0);

/** 16 bits of a text (FNV-1a, folded). */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return ((hash >>> 16) ^ hash) & 0xffff;
}

/**
 * The number by which the engine matches the ranks' messages. It contains what is called: messages of calls that differ do not meet, since Gloo ends the
 * process when one is larger than the memory for it.
 */
const tagOf = (sequence: number, what: string): number => (sequence & 0x7fff) * 0x1_0000 + hashOf(what);

/**
 * Ranks that call together. Every member calls the same functions in the same order. Made by initProcessGroup() and newGroup().
 * Reference: torch.distributed.ProcessGroup.
 */
export class ProcessGroup {
  /** "world", or the name that newGroup() gave. */
  readonly name: string;
  /** The engine: "gloo" or "mpi". */
  readonly backend: "gloo" | "mpi";
  /** The members, as ranks of the world; a member's rank in the group is its position. */
  readonly ranks: readonly number[];
  /** This process's rank in the group. */
  readonly rank: number;
  /** @internal */
  readonly timeoutMs: number;
  readonly #world: World;
  /** One engine for the calls of users, and one for those that wait for the device at once: DistributedDataParallel's. */
  #engines: readonly [calls: GlooGroup, reducer: GlooGroup] | null = null;
  #sequence = 0;
  #transfers = 0;
  #reductions = 0;
  /** Calls are handed to the engine in their order, though each waits for its bytes. */
  #last: Promise<unknown> = Promise.resolve();

  /** @internal */
  constructor(world: World, name: string, ranks: readonly number[], timeoutMs: number) {
    this.#world = world;
    this.name = name;
    this.backend = world.backend;
    this.ranks = ranks;
    this.rank = ranks.indexOf(world.rank);
    this.timeoutMs = timeoutMs;
  }

  /** The number of members. */
  get size(): number {
    return this.ranks.length;
  }

  /** Whether it was destroyed. */
  get isDestroyed(): boolean {
    return this.#engines === null;
  }

  /** @internal Connects the engines of all members. The number is the same on all ranks, and no other group's. */
  async connect(number: number): Promise<void> {
    const engines: GlooGroup[] = [];
    const { gloo, backend } = this.#world;
    try {
      for (const part of ["calls", "reducer"] as const) {
        const { group, addresses } =
          backend === "mpi" ? this.#createMpi(2 * number + engines.length) : await this.#createGloo(part, (made) => engines.push(made));
        if (backend === "mpi") engines.push(group);
        this.#world.root ??= group;
        const call = { ...this.#filled({ kind: "connect", what: "", input: null, output: null }, 0, false), addresses };
        await this.#ended("initProcessGroup", 0, (ended) => startGloo(gloo, group, call, ended));
      }
      // Rank 0 serves the store: it must not block in a call while others still ask for addresses.
      if (backend === "gloo" && this.size > 1) {
        const barrier = this.#filled({ kind: "barrier", what: "initProcessGroup", input: null, output: null }, 0, false);
        await this.#ended("initProcessGroup", 0, (ended) => startGloo(gloo, engines[0]!, barrier, ended));
      }
    } catch (error) {
      for (const engine of engines) gloo.close(engine, false);
      if (error instanceof DistributedError && (error.reason === "connection" || (error.reason === "timeout" && backend === "mpi")))
        throw new DistributedError(
          "initProcessGroup",
          { reason: "rendezvous", rank: this.#world.rank, peer: error.peer, group: this.name, sequence: 0 },
          `the ranks did not connect: ${error.received ?? error.message}`,
          { cause: error },
        );
      if (error instanceof DistributedError || error instanceof ValueError) throw error;
      const message = error instanceof Error ? error.message : String(error);
      throw this.#error("initProcessGroup", 0, { reason: "engine", message, peer: -1, other: "" });
    }
    this.#engines = [engines[0]!, engines[1]!];
    if (this.#world.root === engines[0]) gloo.watch(engines[0]);
  }

  #createMpi(number: number): { readonly group: GlooGroup; readonly addresses: null } {
    return { group: this.#world.gloo.createMpiGroup({ number, ranks: this.ranks, world: this.#world.root }), addresses: null };
  }

  /** Each member says in the store where the others reach it. */
  async #createGloo(
    part: string,
    made: (group: GlooGroup) => void,
  ): Promise<{ readonly group: GlooGroup; readonly addresses: readonly Uint8Array[] }> {
    const { gloo, store, host, interface: name } = this.#world;
    const { group, addresses } = gloo.createGroup({
      rank: this.rank,
      size: this.size,
      host,
      interface: name,
      channels: integerOf("DXTENSOR_DISTRIBUTED_CHANNELS") ?? 0,
      timeoutMs: this.timeoutMs,
      ranks: this.ranks,
      world: this.#world.root,
    });
    made(group);
    const key = (rank: number): string => `${this.name}/${part}/${rank}`;
    await store!.set(key(this.rank), JSON.stringify(addresses.map((address) => Buffer.from(address).toString("base64"))));
    const theirs: Uint8Array[] = [];
    for (let i = 0; i < this.size; i++) {
      theirs.push(
        i === this.rank ? NO_BYTES : Buffer.from((JSON.parse(await this.#addressesOf(i, key(i))) as string[])[this.rank]!, "base64"),
      );
    }
    return { group, addresses: theirs };
  }

  async #addressesOf(peer: number, key: string): Promise<string> {
    try {
      return await this.#world.store!.get(key, this.timeoutMs);
    } catch (error) {
      if (!(error instanceof DistributedError) || error.peer !== null) throw error;
      // It has not come as far as this, or has ended before.
      const data = { reason: error.reason, rank: this.#world.rank, peer: this.ranks[peer]!, group: this.name, sequence: 0 };
      throw new DistributedError("initProcessGroup", data, `rank ${this.ranks[peer]} did not join: ${error.received ?? error.message}`, {
        cause: error,
      });
    }
  }

  #filled(call: Call, sequence: number, isCompared: boolean): GlooCall {
    const { kind, input, output, dtype = "uint8", reduction = "sum", root = 0, what, tag = tagOf(sequence, what) } = call;
    const description = isCompared ? `${what} as call ${sequence}` : "";
    const timeoutMs = this.timeoutMs;
    return { kind, tag, sequence: sequence & 0x7fffffff, dtype, reduction, root, timeoutMs, input, output, description, addresses: null };
  }

  #error(operation: string, sequence: number, { reason, message, peer, other }: GlooFailure): DistributedError {
    const rank = peer < 0 ? null : this.ranks[peer]!;
    const texts = {
      timeout: `not all ranks took part within ${this.timeoutMs} ms, or they called different things, which debug: true tells`,
      connection:
        rank === null ? "the connection to another rank was closed" : `rank ${rank} has ended, or closed its connections after an error`,
      mismatch: `rank ${rank} called ${other}`,
      closed: "the group was destroyed meanwhile",
      engine: "the engine refused the call",
    };
    const engine = reason === "mismatch" || reason === "closed" ? "" : ` (${this.#world.engine}: ${message})`;
    const data = { reason, rank: this.#world.rank, peer: rank, group: this.name, sequence };
    return new DistributedError(operation, data, `${texts[reason]}${engine}.`);
  }

  #ended(operation: string, sequence: number, start: (ended: (failure: GlooFailure | null) => void) => void): Promise<void> {
    return new Promise((done, failed) => {
      start((failure) => {
        if (failure === null) done();
        else failed(this.#error(operation, sequence, failure));
      });
    });
  }

  #engine(operation: string, sequence: number): readonly [calls: GlooGroup, reducer: GlooGroup] {
    if (this.#engines === null) throw this.#error(operation, sequence, { reason: "closed", message: "", peer: -1, other: "" });
    return this.#engines;
  }

  /** @internal A call: its bytes are ready when `prepared` is; `finish` makes its result. */
  call<T>(operation: string, prepared: () => Promise<Call>, finish: () => T): Work<T> {
    const sequence = ++this.#sequence;
    return this.#begin(operation, sequence, prepared, finish, true);
  }

  /** @internal A send or a receive. */
  transfer<T>(operation: string, prepared: () => Promise<Call>, finish: () => T): Work<T> {
    const sequence = ++this.#transfers;
    return this.#begin(operation, sequence, prepared, finish, false);
  }

  #begin<T>(operation: string, sequence: number, prepared: () => Promise<Call>, finish: () => T, isCollective: boolean): Work<T> {
    this.#engine(operation, sequence);
    const { gloo, isDebug } = this.#world;
    const reading = prepared();
    const before = this.#last;
    let started: () => void = () => {};
    this.#last = new Promise<void>((done) => void (started = done));
    const run = async (): Promise<T> => {
      let result: Promise<void>;
      try {
        const [call] = await Promise.all([reading, before]);
        result = this.#ended(operation, sequence, (ended) =>
          startGloo(gloo, this.#engine(operation, sequence)[0], this.#filled(call, sequence, isDebug && isCollective), ended),
        );
      } finally {
        started();
      }
      await result;
      return finish();
    };
    return new Work(operation, sequence, run());
  }

  /** @internal Starts a call of the reducer at once. What it gives blocks until the call has ended. */
  reduceNow(operation: string, call: Call): () => void {
    const sequence = ++this.#reductions;
    const { gloo, isDebug } = this.#world;
    const work = startGloo(gloo, this.#engine(operation, sequence)[1], this.#filled(call, sequence, isDebug), () => {});
    return () => {
      const failure = gloo.wait(work);
      if (failure !== null) throw this.#error(operation, sequence, failure);
    };
  }

  /** @internal Closes the engines: ends what runs. */
  close(isClean: boolean): void {
    const engines = this.#engines;
    this.#engines = null;
    for (const engine of engines ?? []) this.#world.gloo.close(engine, isClean);
  }

  /** @internal The rank in the group of a rank of the world. Throws ValueError for one that is no member. */
  rankOf(operation: string, argument: string, rank: number): number {
    const found = this.ranks.indexOf(rank);
    if (found < 0) throw new ValueError(operation, argument, `a rank of group "${this.name}" (${this.ranks.join(", ")})`, rank);
    return found;
  }
}

/** @internal "allReduce(sum) of float32[2, 3]". */
export const described = (kind: Kind, details: string, dtype: DType, shape: readonly number[]): string =>
  `${kind}(${details}) of ${dtype}[${shape.join(", ")}]`;
