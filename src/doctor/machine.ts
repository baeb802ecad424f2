/** The machine as the doctor reads it: files and commands behind an interface, so that a test can replace them by a tree of files. */
import { execFile } from "node:child_process";
import { accessSync, closeSync, constants, openSync, readFileSync, readSync, readdirSync, realpathSync, statSync } from "node:fs";
import { release } from "node:os";
import { hostEnvironment } from "../native/load-addon.ts";
import type { HostEnvironment } from "../native/paths.ts";

/** How a command ended; status is null when a signal or the time limit ended it. */
export interface Finished {
  readonly status: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly timeoutMs: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** No method throws: what can't be read or run is null, false or empty. */
export interface Host extends HostEnvironment {
  /** Of the operating system: "10.0.22631" on Windows. */
  readonly release: string;
  /** "v24.21.0" */
  readonly node: string;
  readonly napi: string;
  kind(path: string): "file" | "folder" | "device" | "other" | null;
  /** Device number as "major:minor", null for what is no device. */
  deviceNumber(path: string): string | null;
  bytes(path: string): Buffer | null;
  text(path: string): string | null;
  list(path: string): string[];
  real(path: string): string;
  /** May this user read and write it? */
  canUse(path: string): boolean;
  /** stdout and stderr are read as UTF-8, or UTF-16 where they are that. null: there is no such command. */
  run(command: string, args: readonly string[], options: RunOptions): Promise<Finished | null>;
}

/** wsl.exe writes UTF-16LE unless WSL_UTF8 is set, which old ones do not know. */
export function decode(bytes: Buffer): string {
  const isUtf16 = bytes.length >= 2 && ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[1] === 0 && bytes[0] !== 0));
  const text = isUtf16 ? bytes.toString("utf16le") : bytes.toString("utf8");
  return text
    .replace(/^\uFEFF/, "")
    .replaceAll("\0", "")
    .replaceAll("\r", "");
}

function attempt<T, U>(fallback: U, body: () => T): T | U {
  try {
    return body();
  } catch {
    return fallback;
  }
}

/** Runs a program, never a shell. */
export function runCommand(command: string, args: readonly string[], { timeoutMs, env, cwd }: RunOptions): Promise<Finished | null> {
  return new Promise((resolve) => {
    const options = {
      timeout: timeoutMs,
      killSignal: "SIGKILL",
      encoding: "buffer",
      windowsHide: true,
      maxBuffer: 16 * 1024 * 1024,
      env: { ...process.env, ...env },
      ...(cwd === undefined ? {} : { cwd }),
    } as const;
    const child = attempt(null, () =>
      execFile(command, [...args], options, (error, stdout, stderr) => {
        const code = error === null ? 0 : error.code;
        if (typeof code === "string" && code !== "ERR_CHILD_PROCESS_STDIO_MAXBUFFER") resolve(null);
        else
          resolve({
            status: typeof code === "number" ? code : null,
            signal: error?.signal ?? null,
            stdout: decode(stdout),
            stderr: decode(stderr),
          });
      }),
    );
    if (child === null) resolve(null);
  });
}

/** What the files answer below a folder that stands for "/"; "" is the machine itself. */
export function filesUnder(
  pathOf: (path: string) => string,
): Pick<Host, "kind" | "deviceNumber" | "bytes" | "text" | "list" | "real" | "canUse" | "exists"> {
  return {
    kind: (path) =>
      attempt(null, () => {
        const stat = statSync(pathOf(path));
        if (stat.isFile()) return "file";
        if (stat.isDirectory()) return "folder";
        return stat.isCharacterDevice() ? "device" : "other";
      }),
    deviceNumber: (path) =>
      attempt(null, () => {
        const stat = statSync(pathOf(path));
        // The kernel's encoding of a device number; both parts are small here.
        return stat.isCharacterDevice() ? `${(stat.rdev >> 8) & 0xfff}:${(stat.rdev & 0xff) | ((stat.rdev >> 12) & 0xfff00)}` : null;
      }),
    bytes: (path) => attempt(null, () => readFileSync(pathOf(path))),
    text: (path) =>
      attempt(null, () => {
        // Files of /proc have no size; a few thousand bytes are all that is asked for.
        const file = openSync(pathOf(path), "r");
        try {
          const buffer = Buffer.alloc(64 * 1024);
          return buffer.toString("utf8", 0, readSync(file, buffer, 0, buffer.length, 0));
        } finally {
          closeSync(file);
        }
      }),
    list: (path) => attempt([], () => readdirSync(pathOf(path)).sort()),
    real: (path) => attempt(path, () => realpathSync(pathOf(path))),
    canUse: (path) =>
      attempt(false, () => {
        accessSync(pathOf(path), constants.R_OK | constants.W_OK);
        return true;
      }),
    exists: (path) => attempt(false, () => statSync(pathOf(path)) !== undefined),
  };
}

/** This machine. */
export function thisHost(): Host {
  return {
    ...hostEnvironment(),
    ...filesUnder((path) => path),
    release: release(),
    node: process.version,
    napi: process.versions.napi ?? "0",
    run: runCommand,
  };
}
