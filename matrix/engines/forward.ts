/**
 * An engine behind ssh, as a socket of this machine. One connection carries everything, ssh's own configuration holds and the host's
 * key is checked, none of which the engine library's own ssh does.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
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
  const child = spawn("ssh", sshArguments(address, socket), {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, [variable]: variableValue(owner) },
  });
  let said = "";
  child.stderr.on("data", (data: Buffer) => (said = (said + data.toString()).slice(-2000)));
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code) => resolve(said.trim().split("\n").at(-1) || `ssh ended with status ${code}`));
  });
  const close = async (): Promise<void> => {
    child.kill();
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
