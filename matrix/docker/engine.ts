/** An engine that answers, and the containers of one run in it. With the other files of this folder the only one that knows dockerode. */
import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import { lineStream } from "../../scripts/tools/lines.ts";
import { MatrixError, messageOf } from "../errors.ts";
import { ownerLabels, type Owner } from "../run/owner.ts";

export interface Engine {
  /** "local", "context lab", "ssh://user@host" */
  readonly name: string;
  readonly docker: Docker;
  /** True for the engine that this machine's `docker` program talks to. */
  readonly isDefault: boolean;
  /** Ends what was started to reach it. */
  close(): Promise<void>;
}

export interface ContainerRequest {
  readonly image: string;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Named volumes: target → name; mounted read-only but for those in `writable`. */
  readonly volumes?: Readonly<Record<string, string>>;
  readonly writable?: readonly string[];
  /** Archives that are unpacked before the start: [folder that is there, tar]. */
  readonly archives?: readonly (readonly [string, Buffer])[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly owner: Owner;
  onLine(line: string): void;
  /** Called with the stopped container, before it is removed. */
  after?(container: Docker.Container): Promise<void>;
}

export interface ContainerEnd {
  readonly code: number;
  readonly timedOut: boolean;
  readonly outOfMemory: boolean;
}

const outputMs = 5000;
const memory = 8 * 1024 ** 3;

/** Removes a container; one that is gone or going is no error. */
export async function removeContainer(container: Docker.Container): Promise<void> {
  try {
    await container.remove({ force: true, v: true });
  } catch (error) {
    const { statusCode } = error as { statusCode?: number };
    if (statusCode !== 404 && statusCode !== 409) throw error;
  }
}

export const workFolder = "/srv/dxtensor";

/** Runs a command in a container of its own, which is removed in every case. */
export async function runContainer(engine: Engine, request: ContainerRequest): Promise<ContainerEnd> {
  const { signal, owner } = request;
  signal.throwIfAborted();
  const container = await engine.docker.createContainer({
    Image: request.image,
    Cmd: [...request.command],
    WorkingDir: workFolder,
    Env: Object.entries(request.environment ?? {}).map(([name, value]) => `${name}=${value}`),
    Labels: ownerLabels(owner),
    Tty: false,
    HostConfig: {
      // So that Node is not process 1, which gets no signals and reaps no children.
      Init: true,
      Memory: memory,
      Mounts: Object.entries(request.volumes ?? {}).map(([target, source]) => ({
        Type: "volume" as const,
        Source: source,
        Target: target,
        ReadOnly: request.writable?.includes(target) !== true,
      })),
    },
  });
  let timedOut = false;
  let timer: NodeJS.Timeout | undefined;
  let output: (NodeJS.ReadableStream & { destroy?(): void }) | undefined;
  const kill = (): void => {
    // A container that has just ended is no problem: its end is what is waited for.
    container.kill({ signal: "SIGKILL" }).catch((error: unknown) => request.onLine(`(kill: ${messageOf(error)})`));
  };
  try {
    for (const [folder, archive] of request.archives ?? []) await container.putArchive(archive, { path: folder });
    signal.throwIfAborted();
    const stream = await container.attach({ stream: true, stdout: true, stderr: true });
    output = stream;
    const [out, err] = [lineStream(request.onLine), lineStream(request.onLine)];
    engine.docker.modem.demuxStream(stream, out, err);
    // The stream is no usual one: some ends show as "close" alone, and none after it was missed.
    const drained = new Promise<void>((resolve) => {
      for (const event of ["end", "close", "error"]) stream.once(event, () => resolve());
    });
    // Waiting begins before the start: an end in between would be missed.
    const ended = container.wait({ condition: "next-exit" }) as Promise<{ StatusCode: number }>;
    await container.start();
    signal.addEventListener("abort", kill, { once: true });
    if (signal.aborted) kill();
    timer = setTimeout(() => {
      timedOut = true;
      kill();
    }, request.timeoutMs);
    const { StatusCode: code } = await ended;
    clearTimeout(timer);
    // What is still on its way belongs to the log; an engine that never ends the stream must not hold the run.
    await Promise.race([drained, delay(outputMs, undefined, { ref: false })]);
    out.end();
    err.end();
    signal.throwIfAborted();
    const { State } = await container.inspect();
    await request.after?.(container);
    return { code, timedOut, outOfMemory: State.OOMKilled };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", kill);
    await removeContainer(container);
    // Its connection would keep this process alive.
    output?.destroy?.();
  }
}

/** How a container ended, in words; null when all was well. */
export function problemOf(end: ContainerEnd, what: string, timeoutMs: number): string | null {
  if (end.timedOut) return `${what} was not done after ${Math.round(timeoutMs / 1000)} s`;
  if (end.outOfMemory) return `${what} took more than ${memory / 1024 ** 3} GiB of memory`;
  return end.code === 0 ? null : `${what} ended with status ${end.code}`;
}

/** Throws for an engine that does not answer within the time. */
export async function demandAnswer(docker: Docker, name: string, timeoutMs = 10_000): Promise<string> {
  const timeout = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new MatrixError(`the engine ${name} did not answer within ${timeoutMs / 1000} s`)), timeoutMs).unref();
  });
  const { Version } = await Promise.race([docker.version(), timeout]);
  return Version;
}
