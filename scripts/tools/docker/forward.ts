// An engine behind ssh, as a socket of this machine. One connection carries everything, ssh's own configuration applies and the host's key is
// checked; the client library's ssh does neither.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { onExit } from "signal-exit";
import { startProgram } from "../program.ts";
import type { Address } from "./address.ts";
import { EngineError } from "./errors.ts";

/** By which what a dead process has left is found. */
export interface Mark {
  /** Begins the names of its folders. */
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Forward {
  readonly socket: string;
  close(): Promise<void>;
}

export const sshArguments = (address: Extract<Address, { kind: "ssh" }>, socket: string): string[] => [
  "-nNT",
  ...["BatchMode=yes", "ExitOnForwardFailure=yes", "ServerAliveInterval=15"].flatMap((option) => ["-o", option]),
  ...(address.port === null ? [] : ["-p", String(address.port)]),
  "-L",
  `${socket}:${address.socket}`,
  "--",
  address.destination,
];

export async function forward(address: Extract<Address, { kind: "ssh" }>, mark: Mark = {}, timeoutMs = 30_000): Promise<Forward> {
  // A socket's path has 107 characters at most.
  const folder = mkdtempSync(join(tmpdir(), mark.folder ?? "dxtensor-engine-"));
  const socket = join(folder, "s");
  const running = startProgram("ssh", sshArguments(address, socket), {
    stdout: "ignore",
    ...(mark.env === undefined ? {} : { env: mark.env }),
    keep: 2000,
  });
  const ended = running.done.then((end) => end.error ?? (end.text.trim().split("\n").at(-1) || `ssh ended with status ${end.code}`));
  const drop = (): void => rmSync(folder, { recursive: true, force: true });
  const forget = onExit(drop);
  const close = async (): Promise<void> => {
    running.end();
    await ended;
    drop();
    forget();
  };
  for (const end = Date.now() + timeoutMs; !existsSync(socket);) {
    const problem = await Promise.race([ended, delay(50)]);
    if (problem === undefined && Date.now() < end) continue;
    await close();
    throw new EngineError(
      "NO_ENGINE",
      `no way to the engine on ${address.destination}: ${problem ?? `ssh made no connection within ${timeoutMs / 1000} s`}`,
    );
  }
  return { socket, close };
}
