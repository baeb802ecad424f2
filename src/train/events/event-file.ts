/** A file of events that records are appended to, in the order of the calls. */
import { closeSync, ftruncate, mkdirSync, openSync, write } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ValueError } from "../../core/errors.ts";

/** Makes a record's bytes, once the values are there. */
export type MakeRecord = () => Promise<Uint8Array>;

interface Waiting {
  readonly sizeInBytes: number;
  readonly make: MakeRecord;
}

/** Bytes that one write takes, but for a larger record. */
const WRITE_BYTES = 2 ** 20;

/** Files of this thread. */
let files = 0;

/** A new file in a folder, which is made where it is not there. */
function createFile(folder: string, suffix: string): { readonly path: string; readonly fd: number } {
  mkdirSync(folder, { recursive: true });
  for (;;) {
    const seconds = String(Math.floor(Date.now() / 1000)).padStart(10, "0");
    const path = join(folder, `events.out.tfevents.${seconds}.${hostname()}.${process.pid}.${files++}${suffix}`);
    try {
      return { path, fd: openSync(path, "ax") };
    } catch (error) {
      // Another thread of the process has the same number.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

function unwritable(operation: string, argument: string, expected: string, cause: unknown): ValueError {
  const error = new ValueError(operation, argument, expected, cause instanceof Error ? cause.message : String(cause));
  error.cause = cause;
  return error;
}

export class EventFile {
  readonly path: string;
  readonly #fd: number;
  #isOpen = true;
  /** Of whole records. */
  #length = 0;
  #queue: Waiting[] = [];
  #running: Promise<void> | null = null;
  /** Records and bytes that are not in the file yet. */
  waiting = 0;
  waitingBytes = 0;
  /** Why the file cannot be written any more. */
  #failure: unknown = null;
  /** Of records that could not be made, until somebody is told. */
  #errors: unknown[] = [];

  constructor(operation: string, folder: string, suffix: string) {
    try {
      const { path, fd } = createFile(folder, suffix);
      this.path = path;
      this.#fd = fd;
    } catch (error) {
      throw unwritable(operation, "folder", "a folder that can be written", error);
    }
  }

  /** Throws ValueError where nothing can be written any more. */
  requireWritable(operation: string): void {
    if (this.#failure !== null) throw unwritable(operation, this.path, "a file that can be written", this.#failure);
  }

  append(sizeInBytes: number, make: MakeRecord): void {
    this.#queue.push({ sizeInBytes, make });
    this.waiting++;
    this.waitingBytes += sizeInBytes;
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const parts: Uint8Array[] = [];
      let [taken, takenBytes, bytes] = [0, 0, 0];
      for (; taken < this.#queue.length && bytes < WRITE_BYTES; taken++) {
        const { sizeInBytes, make } = this.#queue[taken]!;
        takenBytes += sizeInBytes;
        try {
          const part = await make();
          bytes += part.byteLength;
          parts.push(part);
        } catch (error) {
          this.#errors.push(error);
        }
      }
      if (this.#failure === null && bytes > 0) await this.#write(parts);
      this.#queue.splice(0, taken);
      this.waiting -= taken;
      this.waitingBytes -= takenBytes;
    }
    this.#running = null;
  }

  async #write(records: readonly Uint8Array[]): Promise<void> {
    const bytes = Buffer.concat(records);
    let done = 0;
    try {
      while (done < bytes.byteLength) done += (await promisify(write)(this.#fd, bytes, done, bytes.byteLength - done, null)).bytesWritten;
      this.#length += done;
    } catch (error) {
      this.#failure = error;
      // Those that the disk has completely stay; a part of one would be damage to readers.
      let whole = 0;
      for (const record of records) {
        if (whole + record.byteLength > done) break;
        whole += record.byteLength;
      }
      await promisify(ftruncate)(this.#fd, this.#length + whole).catch(() => {});
    }
  }

  /** Waits until the records of now are in the file. Throws for those that could not be made, once, and where the file cannot be written. */
  async flush(operation: string): Promise<void> {
    while (this.#running !== null) await this.#running;
    const [first, ...others] = this.#errors;
    this.#errors = [];
    if (others.length > 0) throw new AggregateError([first, ...others], `${operation}: ${others.length + 1} records could not be made`);
    if (first !== undefined) throw first;
    this.requireWritable(operation);
  }

  async close(operation: string): Promise<void> {
    try {
      await this.flush(operation);
    } finally {
      if (this.#isOpen) closeSync(this.#fd);
      this.#isOpen = false;
    }
  }
}
