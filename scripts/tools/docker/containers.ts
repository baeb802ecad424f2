// Containers of an engine: each is removed by who made it, however its run ended.
import { isAbsolute } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import * as tar from "tar";
import { interruptible } from "../interrupt.ts";
import { ask, labelFilter, type Engine } from "./engine.ts";
import { engineError, isGone, orNull } from "./errors.ts";
import { splitName } from "./images.ts";
import { Output, type OutputOptions } from "./output.ts";

type Labels = Readonly<Record<string, string>>;

export interface ContainerSetup {
  readonly image: string;
  readonly labels?: Labels;
  /** Target → a volume's name, or an absolute path of the engine's machine; read-only but for those in `writable`. */
  readonly mounts?: Readonly<Record<string, string>>;
  readonly writable?: readonly string[];
}

export interface ContainerRequest extends ContainerSetup, Partial<OutputOptions> {
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Where the command begins; without, where the image says. */
  readonly folder?: string;
  readonly network?: "none" | "host";
  readonly memoryInBytes?: number;
  /** Archives that are unpacked before the start: [folder that is there, tar]. */
  readonly archives?: readonly (readonly [string, Buffer])[];
  readonly limitMs: number;
  /** Ends it, and rejects with the signal's reason. Without, it ends with this process: Ctrl-C leaves nothing behind. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the stopped container, before it is removed. */
  after?(container: Container, end: ContainerEnd): Promise<void>;
}

/** How a container ended. */
export interface ContainerEnd {
  readonly code: number;
  /** It was ended at its limit. */
  readonly isLate: boolean;
  /** It took more memory than it was given. Told only of those that `after` looks at. */
  readonly isOutOfMemory: boolean;
  readonly stdout: string;
  /** Both outputs as they came. */
  readonly text: string;
  readonly ms: number;
}

export interface ContainerInfo {
  readonly id: string;
  readonly labels: Labels;
}

export class Container {
  readonly #engine: Engine;
  readonly #container: Docker.Container;

  constructor(engine: Engine, container: Docker.Container) {
    this.#engine = engine;
    this.#container = container;
  }

  /** Unpacks a tar in a folder that is there. */
  async copyIn(folder: string, archive: Buffer | Readable): Promise<void> {
    const what = `copy files to ${folder} of a container`;
    await ask(this.#engine.name, what, () => this.#container.putArchive(archive, { path: folder }), 10 * 60_000);
  }

  /** Unpacks what a folder of it holds into one of this machine; false where it has no such folder. */
  async copyOut(folder: string, into: string): Promise<boolean> {
    const what = `copy files from ${folder} of a container`;
    let archive: NodeJS.ReadableStream;
    try {
      archive = await ask(this.#engine.name, what, () => this.#container.getArchive({ path: folder }));
    } catch (error) {
      return orNull(error) ?? false;
    }
    try {
      await pipeline(archive, tar.x({ cwd: into, strip: 1 }) as unknown as NodeJS.WritableStream);
      return true;
    } catch (error) {
      throw engineError(this.#engine.name, what, error);
    }
  }

  async has(path: string): Promise<boolean> {
    try {
      await ask(this.#engine.name, `look for ${path} in a container`, () => this.#container.infoArchive({ path }));
      return true;
    } catch (error) {
      return orNull(error) ?? false;
    }
  }

  /** Keeps its files as an image; changes: lines of a Dockerfile. */
  async commit(image: string, changes: readonly string[]): Promise<void> {
    const [repo, tag = "latest"] = splitName(image);
    const options = { repo, tag, ...(changes.length > 0 ? { changes: changes.join("\n") } : {}) };
    await ask(this.#engine.name, `keep a container as ${image}`, () => this.#container.commit(options), 30 * 60_000);
  }
}

export async function listContainers(engine: Engine, labels: Labels): Promise<ContainerInfo[]> {
  const filters = labelFilter(labels);
  const found = await ask(engine.name, "list containers", () => engine.client.listContainers({ all: true, filters }));
  return found.map(({ Id: id, Labels: its }) => ({ id, labels: its }));
}

/** Ends and removes a container, with the volumes that have no name; one that is gone or going is no error. */
export const removeContainer = (engine: Engine, id: string): Promise<void> => remove(engine, engine.client.getContainer(id));

async function remove(engine: Engine, container: Docker.Container): Promise<void> {
  try {
    await ask(engine.name, "remove a container", () => container.remove({ force: true, v: true }));
  } catch (error) {
    if (!isGone(error)) throw error;
    // The engine removes it by itself: whoever looks afterwards must not find it.
    await ask(engine.name, "remove a container", () => container.wait({ condition: "removed" })).catch((second: unknown) => orNull(second));
  }
}

const create = (engine: Engine, setup: ContainerSetup, more: Docker.ContainerCreateOptions = {}): Promise<Docker.Container> =>
  ask(engine.name, `make a container of ${setup.image}`, () =>
    engine.client.createContainer({
      ...more,
      Image: setup.image,
      Labels: { ...setup.labels },
      HostConfig: {
        ...more.HostConfig,
        Mounts: Object.entries(setup.mounts ?? {}).map(([target, source]) => ({
          Type: isAbsolute(source) ? "bind" : "volume",
          Source: source,
          Target: target,
          ReadOnly: setup.writable?.includes(target) !== true,
        })),
      },
    }),
  );

/** Removes a container after what was done with it, whose own failure is the one that is told. */
async function during<T>(engine: Engine, container: Docker.Container, body: () => Promise<T>): Promise<T> {
  let result: T;
  try {
    result = await body();
  } catch (error) {
    await remove(engine, container).catch(() => undefined);
    throw error;
  }
  await remove(engine, container);
  return result;
}

/** A container that is never started: it only opens an image and volumes for archives. */
export async function withStill<T>(engine: Engine, setup: ContainerSetup, body: (container: Container) => Promise<T>): Promise<T> {
  const container = await create(engine, setup, { Cmd: ["true"] });
  return during(engine, container, () => body(new Container(engine, container)));
}

/** What is still on its way when a container has ended. */
const outputMs = 5000;
/** For an engine to end a container that it was told to end. */
const killMs = 30_000;

/** Runs a command in a container of its own, which is removed in every case. */
export function runContainer(engine: Engine, request: ContainerRequest): Promise<ContainerEnd> {
  const { signal } = request;
  return signal === undefined ? interruptible((own) => runUntil(engine, request, own)) : runUntil(engine, request, signal);
}

async function runUntil(engine: Engine, request: ContainerRequest, signal: AbortSignal): Promise<ContainerEnd> {
  signal.throwIfAborted();
  const container = await create(engine, request, {
    Cmd: [...request.command],
    Env: Object.entries(request.environment ?? {}).map(([name, value]) => `${name}=${value}`),
    ...(request.folder === undefined ? {} : { WorkingDir: request.folder }),
    HostConfig: {
      // So that the command is not process 1, which gets no signals and reaps no children.
      Init: true,
      // Its output is read here; the engine need not keep it too.
      LogConfig: { Type: "none", Config: {} },
      // When this process is killed, it goes when it ends.
      AutoRemove: request.after === undefined,
      ...(request.network === undefined ? {} : { NetworkMode: request.network }),
      ...(request.memoryInBytes === undefined ? {} : { Memory: request.memoryInBytes }),
    },
  });
  return during(engine, container, () => follow(engine, container, request, signal));
}

async function follow(engine: Engine, container: Docker.Container, request: ContainerRequest, signal: AbortSignal): Promise<ContainerEnd> {
  const { onLine, keep = 1 << 24, limitMs } = request;
  const what = `run ${request.command[0] ?? "a command"} in ${request.image}`;
  const made = new Container(engine, container);
  for (const [folder, archive] of request.archives ?? []) await made.copyIn(folder, archive);
  signal.throwIfAborted();
  const stream = (await ask(engine.name, what, () =>
    container.attach({ stream: true, stdout: true, stderr: true }),
  )) as unknown as Readable;
  const output = new Output({ onLine, keep });
  const start = performance.now();
  let isLate = false;
  let timer: NodeJS.Timeout | undefined;
  let kill = (): void => undefined;
  try {
    stream.on("data", (chunk: Buffer) => output.take(chunk));
    // The stream is no usual one: some ends show as "close" alone, and none after it was missed.
    const drained = new Promise<void>((resolve) => {
      for (const event of ["end", "close", "error"]) stream.on(event, () => resolve());
    });
    // Waiting begins before the start: an end in between would be missed.
    const ended = container.wait({ condition: "next-exit" }) as Promise<{ StatusCode: number }>;
    const stuck = new Promise<never>((_resolve, reject) => {
      kill = (): void => {
        clearTimeout(timer);
        timer = setTimeout(() => reject(new Error(`it did not end the container within ${killMs / 1000} s`)), killMs);
        // One that has just ended is no problem: its end is what is waited for. An engine that is lost shows in the waiting.
        container.kill({ signal: "SIGKILL" }).catch(() => undefined);
      };
    });
    // A container that can't be started is not waited for.
    for (const promise of [ended, stuck]) promise.catch(() => undefined);
    await ask(engine.name, what, () => container.start());
    signal.addEventListener("abort", kill, { once: true });
    timer = setTimeout(() => {
      isLate = true;
      kill();
    }, limitMs);
    if (signal.aborted) kill();
    let code: number;
    try {
      ({ StatusCode: code } = await Promise.race([ended, stuck]));
    } catch (error) {
      signal.throwIfAborted();
      throw engineError(engine.name, what, error);
    }
    clearTimeout(timer);
    // What is still on its way belongs to the log; an engine that never ends the stream must not hold the run.
    await Promise.race([drained, delay(outputMs, undefined, { ref: false })]);
    output.end();
    signal.throwIfAborted();
    const inspect = async (): Promise<boolean> => (await ask(engine.name, what, () => container.inspect())).State.OOMKilled;
    const isOutOfMemory = request.after === undefined ? false : await inspect();
    const end = { code, isLate, isOutOfMemory, stdout: output.stdout, text: output.text, ms: performance.now() - start };
    await request.after?.(made, end);
    return end;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", kill);
    // Its connection would keep this process alive.
    stream.destroy();
  }
}

/** How a container ended, in words; null when all was well. */
export function containerProblem(
  { code, isLate, isOutOfMemory }: ContainerEnd,
  { limitMs, memoryInBytes }: ContainerRequest,
): string | null {
  if (isLate) return `was not done after ${Math.round(limitMs / 1000)} s`;
  if (isOutOfMemory) return `took more than ${(memoryInBytes ?? 0) / 1024 ** 3} GiB of memory`;
  return code === 0 ? null : `ended with status ${code}`;
}
