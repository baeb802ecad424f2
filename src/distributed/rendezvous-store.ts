/** Stores: keys and texts that all ranks of a run share, by which they find each other. */
import { mkdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DistributedError, ValueError } from "../core/errors.ts";

/** Keys and texts that all ranks share. Reference: torch.distributed.Store. */
export interface Store {
  /** Sets a key. */
  set(key: string, value: string): Promise<void>;
  /** The value of a key; waits for it. Rejects with DistributedError when it is not set in time. */
  get(key: string, timeoutMs: number): Promise<string>;
  /** Adds to the integer of a key, which begins with 0, and gives the sum. */
  add(key: string, amount: number): Promise<number>;
  /** Frees what this process holds of it. */
  close(): Promise<void>;
  /** The address of this machine in the network in which the store is; null where the store does not know. */
  readonly localAddress: string | null;
}

/** @internal The error of a key that nobody set. */
export const notSet = (key: string, timeoutMs: number, where: string): DistributedError =>
  new DistributedError(
    "store.get",
    { reason: "rendezvous", rank: -1, peer: null, group: "world", sequence: 0 },
    `"${key}" was not set in ${where} within ${timeoutMs} ms. Do all ranks run, with the same world size and the same store?`,
  );

/** @internal Throws ValueError for what is no key. */
export function requireKey(operation: string, key: string): string {
  if (typeof key !== "string" || key === "") throw new ValueError(operation, "key", "a text that is not empty", key);
  return key;
}

const POLL_MS = 5;
const later = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

class FileStore implements Store {
  readonly localAddress = null;
  readonly #folder: string;

  constructor(folder: string) {
    if (typeof folder !== "string" || folder === "") throw new ValueError("fileStore", "folder", "the path of a folder", folder);
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  #file(key: string): string {
    return join(this.#folder, `${encodeURIComponent(key).replaceAll("*", "%2A")}.key`);
  }

  #read(key: string): string | null {
    try {
      return readFileSync(this.#file(key), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
      throw error;
    }
  }

  async set(key: string, value: string): Promise<void> {
    const file = this.#file(requireKey("store.set", key));
    // Who reads meanwhile finds the old text or the new one.
    const made = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
    writeFileSync(made, value);
    renameSync(made, file);
  }

  async get(key: string, timeoutMs: number): Promise<string> {
    requireKey("store.get", key);
    const end = performance.now() + timeoutMs;
    for (;;) {
      const found = this.#read(key);
      if (found !== null) return found;
      if (performance.now() >= end) throw notSet(key, timeoutMs, this.#folder);
      await later(POLL_MS);
    }
  }

  async add(key: string, amount: number): Promise<number> {
    const lock = `${this.#file(requireKey("store.add", key))}.lock`;
    const end = performance.now() + 30_000;
    for (;;) {
      try {
        mkdirSync(lock);
        break;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
        if (performance.now() >= end) throw notSet(key, 30_000, `${this.#folder}, since ${lock} is there`);
        await later(POLL_MS);
      }
    }
    try {
      const sum = Number(this.#read(key) ?? "0") + amount;
      await this.set(key, String(sum));
      return sum;
    } finally {
      rmdirSync(lock);
    }
  }

  async close(): Promise<void> {
    // Files stay: other ranks may read them.
  }
}

/**
 * A store in a folder that all ranks see, such as one of this machine or of a network file system. Each run needs an empty folder of its own; who started
 * the run removes it. Throws ValueError for what is no path. Reference: torch.distributed.FileStore.
 */
export const fileStore = (folder: string): Store => new FileStore(folder);
