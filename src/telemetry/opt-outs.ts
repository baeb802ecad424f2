/** Settings that keep telemetry off despite a consent: variables, and Windows' policy for diagnostic data. */
import { release } from "node:os";
import { posix, win32 } from "node:path";
import { isSwitchedOn, type Environment } from "../host/environment.ts";
import type { HostEnvironment } from "../native/paths.ts";
import type { Reason } from "./consent.ts";

/** Anything but not set, empty, 0; for CI also false, which systems use to say that it is none. */
const isSet = (value: string | undefined, ...not: readonly string[]): boolean =>
  value !== undefined && !["", "0", ...not].includes(value.trim().toLowerCase());

function isSwitchedOff(environment: Environment): boolean {
  const value = environment.DXTENSOR_TELEMETRY;
  if (value === undefined || value === "") return false;
  try {
    return !isSwitchedOn("DXTENSOR_TELEMETRY", environment);
  } catch {
    return true;
  }
}

/** The variables that say no. */
export function environmentReasons(environment: Environment): Reason[] {
  const reasons: Reason[] = [];
  if (isSet(environment.DO_NOT_TRACK)) reasons.push({ code: "doNotTrack", text: `DO_NOT_TRACK is ${environment.DO_NOT_TRACK}` });
  if (isSwitchedOff(environment)) reasons.push({ code: "variable", text: `DXTENSOR_TELEMETRY is ${environment.DXTENSOR_TELEMETRY}` });
  if (isSet(environment.CI, "false")) reasons.push({ code: "ci", text: `CI is ${environment.CI}` });
  return reasons;
}

/** Where Windows keeps the policy, the administrator's first. */
const KEYS = [
  "HKLM\\SOFTWARE\\Policies\\Microsoft\\Windows\\DataCollection",
  "HKCU\\SOFTWARE\\Policies\\Microsoft\\Windows\\DataCollection",
  "HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Policies\\DataCollection",
];
const VALUE = "AllowTelemetry";
const MOST_MS = 5000;

/** What a query of the registry gave: its status (0: found, 1: not there; null: it did not run or did not end) and text. */
export interface Queried {
  readonly status: number | null;
  readonly stdout: string;
}
export type Query = (tool: string, args: readonly string[]) => Promise<Queried>;

/** Runs a program, no shell. Where it does not hold the process, that may end before the program has. */
export const queryWith =
  (holdsProcess: boolean): Query =>
  (tool, args) =>
    new Promise((resolve) => {
      const { clearTimeout, setTimeout } = process.getBuiltinModule("node:timers");
      const end = (status: number | null, stdout = ""): void => resolve({ status, stdout });
      try {
        const child = process
          .getBuiltinModule("node:child_process")
          .spawn(tool, args, { stdio: ["ignore", "pipe", "ignore"], windowsHide: true });
        const timer = setTimeout(() => child.kill("SIGKILL"), MOST_MS);
        let stdout = "";
        child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
        child
          .once("error", () => end(null))
          .once("close", (code) => {
            clearTimeout(timer);
            end(code, stdout);
          });
        if (holdsProcess) return;
        timer.unref();
        child.unref();
        (child.stdout as unknown as { unref?: () => void }).unref?.();
      } catch {
        // Node's permissions forbid it.
        end(null);
      }
    });

/** Windows' reg.exe, from within WSL too; null where there is no Windows. */
export function registryTool(
  { env, platform, exists }: Pick<HostEnvironment, "env" | "platform" | "exists">,
  kernel = release(),
): string | null {
  if (platform === "win32") return win32.join(env.SystemRoot || "C:\\Windows", "System32", "reg.exe");
  const tool = posix.join("/mnt/c", "Windows", "System32", "reg.exe");
  return platform === "linux" && /microsoft/i.test(kernel) && exists(tool) ? tool : null;
}

/** Whether Windows' policy forbids diagnostic data (AllowTelemetry is 0), or cannot be read; null where it says nothing. */
export async function policyReason(tool: string | null, query: Query): Promise<Reason | null> {
  if (tool === null) return null;
  const results = await Promise.all(KEYS.map((key) => query(tool, ["query", key, "/v", VALUE])));
  for (const [i, { status, stdout }] of results.entries()) {
    if (status !== 0 && status !== 1)
      return { code: "windowsPolicy", text: `Windows' policy for diagnostic data cannot be read by ${tool}` };
    const value = /\bAllowTelemetry\s+REG_DWORD\s+0x([0-9a-f]+)/i.exec(stdout)?.[1];
    if (status === 0 && value !== undefined && Number.parseInt(value, 16) === 0)
      return { code: "windowsPolicy", text: `Windows' policy for diagnostic data is off (${KEYS[i]}\\${VALUE} is 0)` };
  }
  return null;
}
