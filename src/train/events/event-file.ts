/** A file of events that records are appended to, in the order of the calls. */
import { close, closeSync, ftruncate, mkdirSync, openSync, write } from "node:fs";
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
/** Records that are complete wait no longer for others of the same write. */
const WRITE_MS = 100;
/** Errors of records that are kept until flush(); more are counted. */
const MAX_ERRORS = 8;

/** Files of this thread. */
let files = 0;

/** Closes the files of writers that were dropped without close(). */
const dropped = new FinalizationRegistry<number>((fd) => close(fd));

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
  #isRunning = false;
  /** Of the batch that is being written. */
  #batch: Promise<void> = Promise.resolve();
  /** Records of all calls, and those of them that are in the file or failed. */
  #appended = 0;
  #done = 0;
  /** Bytes of the records that wait. */
  waitingBytes = 0;
  /** Why the file cannot be written any more. */
  #failure: unknown = null;
  /** Of records that could not be made, until somebody is told. */
  #errors: unknown[] = [];
  #errorCount = 0;

  constructor(operation: string, folder: string, suffix: string) {
    try {
      const { path, fd } = createFile(folder, suffix);
      this.path = path;
      this.#fd = fd;
      dropped.register(this, fd, this);
    } catch (error) {
      throw unwritable(operation, "folder", "a folder that can be written", error);
    }
  }

  /** Throws ValueError where nothing can be written any more. */
  requireWritable(operation: string): void {
    if (this.#failure !== null) throw unwritable(operation, this.path, "a file that can be written", this.#failure);
  }

  /** Records that are not in the file yet. */
  get waiting(): number {
    return this.#appended - this.#done;
  }

  append(sizeInBytes: number, make: MakeRecord): void {
    this.#queue.push({ sizeInBytes, make });
    this.#appended++;
    this.waitingBytes += sizeInBytes;
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#queue.length > 0) await (this.#batch = this.#writeBatch());
    this.#isRunning = false;
  }

  /** Takes records from the queue and writes them. Does not reject. */
  async #writeBatch(): Promise<void> {
    const start = performance.now();
    const parts: Uint8Array[] = [];
    let [taken, takenBytes, bytes] = [0, 0, 0];
    while (taken < this.#queue.length && bytes < WRITE_BYTES && (taken === 0 || performance.now() - start < WRITE_MS)) {
      const { sizeInBytes, make } = this.#queue[taken++]!;
      takenBytes += sizeInBytes;
      try {
        const part = await make();
        bytes += part.byteLength;
        parts.push(part);
      } catch (error) {
        this.#errorCount++;
        if (this.#errors.length < MAX_ERRORS) this.#errors.push(error);
      }
    }
    if (this.#failure === null && bytes > 0) await this.#write(parts);
    this.#queue.splice(0, taken);
    this.#done += taken;
    this.waitingBytes -= takenBytes;
  }

  async #write(records: readonly Uint8Array[]): Promise<void> {
    let done = 0;
    try {
      const bytes = Buffer.concat(records);
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
    const last = this.#appended;
    while (this.#done < last) await this.#batch;
    const [errors, count] = [this.#errors, this.#errorCount];
    [this.#errors, this.#errorCount] = [[], 0];
    if (count > 1) throw new AggregateError(errors, `${operation}: ${count} records could not be made`);
    if (count === 1) throw errors[0];
    this.requireWritable(operation);
  }

  async close(operation: string): Promise<void> {
    try {
      await this.flush(operation);
    } finally {
      if (this.#isOpen) {
        this.#isOpen = false;
        dropped.unregister(this);
        closeSync(this.#fd);
      }
    }
  }
}

/** No file: on the ranks that leave records out. */
export class NoEvents implements Pick<EventFile, "append" | "waiting" | "waitingBytes" | "requireWritable" | "flush" | "close"> {
  readonly waiting = 0;
  readonly waitingBytes = 0;

  append(): void {}

  requireWritable(): void {}

  async flush(): Promise<void> {}

  async close(): Promise<void> {}
}
