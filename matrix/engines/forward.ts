/**
 * An engine behind ssh, as a socket of this machine. One connection carries everything, ssh's own configuration holds and the host's
 * key is checked, none of which the engine library's own ssh does.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startProgram } from "../../scripts/tools/program.ts";
import { MatrixError } from "../errors.ts";
import { folderName, variable, variableValue, type Owner } from "../run/owner.ts";
import type { Address } from "./resolve.ts";

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

export async function forward(address: Extract<Address, { kind: "ssh" }>, owner: Owner, timeoutMs = 30_000): Promise<Forward> {
  // A socket's path has 107 characters at most.
  const folder = mkdtempSync(join(tmpdir(), folderName(owner)));
  const socket = join(folder, "s");
  const running = startProgram("ssh", sshArguments(address, socket), {
    stdout: "ignore",
    env: { [variable]: variableValue(owner) },
    keep: 2000,
  });
  const ended = running.done.then((end) => end.error ?? (end.text.trim().split("\n").at(-1) || `ssh ended with status ${end.code}`));
  const close = async (): Promise<void> => {
    running.end();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  for (const end = Date.now() + timeoutMs; !existsSync(socket);) {
    const problem = await Promise.race([ended, delay(50)]);
    if (problem === undefined && Date.now() < end) continue;
    await close();
    throw new MatrixError(
      `no way to the engine on ${address.destination}: ${problem ?? `ssh made no connection within ${timeoutMs / 1000} s`}`,
    );
  }
  return { socket, close };
}
