// Which engine a name means, by Docker's own rules. Pure but for reading the context files.
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { EngineError } from "./errors.ts";

export type Address =
  | { readonly kind: "socket"; readonly path: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly certificates: string | null }
  | { readonly kind: "ssh"; readonly destination: string; readonly port: number | null; readonly socket: string };

export interface EngineEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
  /** ~/.docker, or DOCKER_CONFIG. */
  readonly folder: string;
}

export const engineEnvironment = (): EngineEnvironment => ({
  env: process.env,
  platform: process.platform,
  folder: process.env["DOCKER_CONFIG"] || join(homedir(), ".docker"),
});

/** unix:///run/docker.sock, npipe:////./pipe/docker_engine, tcp://host:2376, ssh://user@host:22/path/of/socket */
export function parseAddress(text: string, certificates: string | null): Address {
  if (text.startsWith("unix://")) return { kind: "socket", path: text.slice("unix://".length) };
  if (text.startsWith("npipe://")) return { kind: "socket", path: text.slice("npipe://".length) };
  if (!/^(ssh|tcp|https?):\/\/[^/]/.test(text))
    throw new EngineError(
      "ENGINE_ADDRESS",
      `"${text}" is no address of an engine`,
      "Known are unix://, npipe://, tcp:// and ssh:// addresses.",
    );
  const url = new URL(text.replace(/^tcp:/, "http:"));
  if (url.protocol === "ssh:") {
    const user = url.username === "" ? "" : `${decodeURIComponent(url.username)}@`;
    const socket = url.pathname === "" || url.pathname === "/" ? "/var/run/docker.sock" : url.pathname;
    return { kind: "ssh", destination: `${user}${url.hostname}`, port: url.port === "" ? null : Number(url.port), socket };
  }
  return {
    kind: "tcp",
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (certificates === null ? 2375 : 2376) : Number(url.port),
    certificates,
  };
}

function readJson(file: string): Record<string, unknown> {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  } catch (error) {
    throw new EngineError("ENGINE_ADDRESS", `${file} can't be read: ${(error as Error).message}`);
  }
}

function contextAddress(name: string, { folder }: EngineEnvironment): Address {
  const id = createHash("sha256").update(name).digest("hex");
  const file = join(folder, "contexts", "meta", id, "meta.json");
  if (!existsSync(file)) throw new EngineError("ENGINE_ADDRESS", `there is no Docker context "${name}"`, "docker context ls lists them.");
  const { Endpoints } = readJson(file) as { Endpoints?: { docker?: { Host?: string } } };
  const host = Endpoints?.docker?.Host;
  if (host === undefined) throw new EngineError("ENGINE_ADDRESS", `the Docker context "${name}" names no engine (${file})`);
  const tls = join(folder, "contexts", "tls", id, "docker");
  return parseAddress(host, existsSync(tls) ? tls : null);
}

/** The engine that `docker` would talk to: DOCKER_HOST, DOCKER_CONTEXT, the chosen context, the usual socket. */
export function defaultAddress(around: EngineEnvironment): { readonly name: string; readonly address: Address; readonly isNamed: boolean } {
  const { env, platform, folder } = around;
  const certificates = env["DOCKER_TLS_VERIFY"] ? env["DOCKER_CERT_PATH"] || folder : null;
  if (env["DOCKER_HOST"]) return { name: env["DOCKER_HOST"], address: parseAddress(env["DOCKER_HOST"], certificates), isNamed: true };
  const config = join(folder, "config.json");
  const chosen = env["DOCKER_CONTEXT"] || (existsSync(config) ? (readJson(config)["currentContext"] as string | undefined) : undefined);
  if (chosen !== undefined && chosen !== "" && chosen !== "default")
    return { name: `context ${chosen}`, address: contextAddress(chosen, around), isNamed: true };
  const path = platform === "win32" ? "//./pipe/docker_engine" : "/var/run/docker.sock";
  return { name: "local", address: { kind: "socket", path }, isNamed: false };
}

/** --engine's value: an address, or a context's name. */
export function namedAddress(value: string, around: EngineEnvironment): { readonly name: string; readonly address: Address } {
  if (value.includes("://")) return { name: value, address: parseAddress(value, around.env["DOCKER_CERT_PATH"] ?? null) };
  return { name: `context ${value}`, address: contextAddress(value, around) };
}
