// An engine that answers. The files of this folder are the only ones that know the client library.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type Docker from "dockerode";
import { causeOf } from "../cause.ts";
import { defaultAddress, engineEnvironment, type Address } from "./address.ts";
import { EngineError, engineError } from "./errors.ts";
import { forward, type Mark } from "./forward.ts";

export interface Engine {
  /** "local", "context lab", "ssh://user@host" */
  readonly name: string;
  readonly version: string;
  /** The one that the `docker` program of this machine talks to. */
  readonly isDefault: boolean;
  /** For the files of this folder. */
  readonly client: Docker;
  /** Ends what was started to reach it. */
  close(): Promise<void>;
}

async function limited<T>(call: () => Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${limitMs / 1000} s`)), limitMs);
  });
  try {
    return await Promise.race([call(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A request with an answer that comes soon; `what` completes "could not". */
export async function ask<T>(engine: string, what: string, call: () => Promise<T>, limitMs = 60_000): Promise<T> {
  try {
    return await limited(call, limitMs);
  } catch (error) {
    throw engineError(engine, what, error);
  }
}

/** What the library would take from DOCKER_HOST and its like, whatever it is told, has been resolved before. */
const settled = { host: undefined, port: undefined, protocol: "http", ca: undefined, cert: undefined, key: undefined, timeout: undefined };

async function clientOf(address: Address, mark: Mark): Promise<{ options: object; close(): Promise<void> }> {
  const close = async (): Promise<void> => undefined;
  if (address.kind === "socket") return { options: { ...settled, socketPath: address.path }, close };
  if (address.kind === "tcp") {
    const { host, port, certificates } = address;
    const file = (which: string): Buffer | undefined => {
      const path = certificates === null ? "" : join(certificates, `${which}.pem`);
      return path !== "" && existsSync(path) ? readFileSync(path) : undefined;
    };
    const protocol = certificates === null ? "http" : "https";
    return { options: { ...settled, host, port, protocol, ca: file("ca"), cert: file("cert"), key: file("key") }, close };
  }
  const way = await forward(address, mark);
  return { options: { ...settled, socketPath: way.socket }, close: way.close };
}

/** The engine at an address; throws NO_ENGINE where none answers within ten seconds. */
export async function openEngine(name: string, address: Address, mark: Mark = {}, isDefault = false): Promise<Engine> {
  // Half a second to import, for calls that reach no engine.
  const { default: Client } = await import("dockerode");
  const { options, close } = await clientOf(address, mark);
  try {
    const client = new Client(options as Docker.DockerOptions);
    const { Version: version } = await limited(() => client.version(), 10_000);
    return { name, version, isDefault, client, close };
  } catch (error) {
    await close();
    throw new EngineError(
      "NO_ENGINE",
      `${name} does not answer (${causeOf(error)})`,
      "Start one: node scripts/run.mjs docker-engine; or name one in DOCKER_HOST.",
    );
  }
}

/** The engine that the `docker` program would talk to. */
export async function openDefaultEngine(mark?: Mark): Promise<Engine> {
  const { name, address } = defaultAddress(engineEnvironment());
  return openEngine(name, address, mark, true);
}

/** The default engine while body runs. */
export async function withEngine<T>(body: (engine: Engine) => Promise<T>): Promise<T> {
  const engine = await openDefaultEngine();
  try {
    return await body(engine);
  } finally {
    await engine.close();
  }
}

export interface Found {
  /** Null where none answers. */
  readonly version: string | null;
  readonly host: string;
  readonly problem?: string;
}

/** The engine that the `docker` program would talk to, looked at. */
export async function findEngine(): Promise<Found> {
  const { name, address } = defaultAddress(engineEnvironment());
  const host = address.kind === "socket" && name === "local" ? address.path : name;
  try {
    const engine = await openEngine(name, address);
    await engine.close();
    return { version: engine.version, host };
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return { version: null, host, problem: error.problem };
  }
}

/** Labels as the engine's lists take them. */
export const labelFilter = (labels: Readonly<Record<string, string>>): { label: string[] } => ({
  label: Object.entries(labels).map(([name, value]) => `${name}=${value}`),
});
