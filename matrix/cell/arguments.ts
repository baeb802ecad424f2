/** The cell program's arguments, the same wherever it runs. Pure. */
import type { Platform } from "../config/schema.ts";
import type { Run } from "../types.ts";
import { formatDevice } from "./device.ts";

export function cellArguments(run: Run, platform: Platform, tests: readonly string[], out: string): string[] {
  if (run.device.kind === "emulated") throw new Error(`${run.id}: its platform's own command runs it`);
  const device = formatDevice(run.device, platform.directml);
  return ["build/matrix/cell/main.js", "--device", device, "--out", out, ...(run.native ? ["--native"] : []), ...tests];
}

/** One argument for a POSIX shell. */
export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
