/**
 * Compiled shaders in the user's cache folder: one file for each, named by a digest of what its code depends on. What cannot be read, or is no whole
 * file of this user's own, is made again; what cannot be written is made again by the next process.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { closeSync, fstatSync, futimesSync, mkdirSync, openSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"; // prettier-ignore
import { basename, dirname, join } from "node:path";
import { threadId } from "node:worker_threads";
import { ownFile, ownFolder } from "../../core/home.ts";
import { isSwitchedOn } from "../../host/environment.ts";
import { hostEnvironment, packageVersion } from "../../native/load-addon.ts";
import { cacheFolder } from "../../native/paths.ts";
import type { CompiledShader } from "./emit.ts";
import type { Uniform } from "../ir.ts";

const MAGIC = Buffer.from("DXTSHDR1");
const DIGEST_BYTES = 32;
const START = MAGIC.length + 4;
/** A shader has 1 to 100 KB. */
const MAX_FILE = 2 ** 22;
/** Of all files. Where there is more, those that were used least recently are removed until three quarters are left. */
export const MAX_BYTES = 2 ** 26;
/** Written bytes after which a process looks at the size of the folder again. */
const LOOK_AFTER = 2 ** 22;
/** A file's time says when it was used last, to a day. */
const DAY = 86_400_000;

const digest = (...parts: readonly (string | Uint8Array)[]): Buffer => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** DXTENSOR_SHADER_CACHE, which is on by default. */
const isOn = (): boolean => (process.env.DXTENSOR_SHADER_CACHE ?? "") === "" || isSwitchedOn("DXTENSOR_SHADER_CACHE");

/** Whether a container of the cache is compared with one that is made again: DXTENSOR_VERIFY. */
export const isVerified = (): boolean => isSwitchedOn("DXTENSOR_VERIFY");

const stamp = (file: string): string => {
  const { size, mtimeMs } = statSync(file);
  return `${basename(file)} ${size} ${mtimeMs}`;
};

let own: string | null | undefined;

/** The version of the code that makes shaders: of a bundle its file, of sources all files that take part. Null: it cannot be told. */
function emitter(): string | null {
  if (own !== undefined) return own;
  const file = ownFile();
  const folder = ownFolder();
  if (file === null || folder === null) return (own = null);
  try {
    const isBundle = dirname(file) === folder;
    const files = isBundle
      ? [file]
      : ["shader", "graph"].flatMap((part) =>
          (readdirSync(join(folder, part), { recursive: true }) as string[])
            .filter((f) => /\.[jt]s$/.test(f))
            .map((f) => join(folder, part, f)),
        );
    return (own = [packageVersion(), ...files.map(stamp).toSorted()].join("\n"));
  } catch {
    return (own = null);
  }
}

/** The folder of the files. */
export const containerFolder = (): string => join(cacheFolder(hostEnvironment()), "shader-code");

/** The file of a shader; null: there is no cache. code: all that its code depends on, in addition to the library's version. */
function pathOf(code: string): { readonly path: string; readonly name: string } | null {
  if (!isOn()) return null;
  const version = emitter();
  if (version === null) return null;
  const name = digest(version, "\n", code).toString("hex");
  return { path: join(containerFolder(), `${name}.bin`), name };
}

interface Head {
  readonly name: string;
  readonly views: readonly number[];
  readonly uniforms: readonly Uniform[];
  readonly instructions: number;
  readonly registers: number;
}

function encode(name: string, { bytes, views, uniforms, instructions, registers }: CompiledShader): Buffer {
  const head: Head = { name, views: [...views], uniforms, instructions, registers };
  const text = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  const parts = [MAGIC, length, text, bytes];
  return Buffer.concat([...parts, digest(...parts)]);
}

/** Null for what encode() did not make of this shader. */
function decode(name: string, content: Buffer): CompiledShader | null {
  const end = content.length - DIGEST_BYTES;
  if (end < START || !content.subarray(0, MAGIC.length).equals(MAGIC)) return null;
  if (!timingSafeEqual(digest(content.subarray(0, end)), content.subarray(end))) return null;
  const from = START + content.readUInt32LE(MAGIC.length);
  if (from > end) return null;
  const head = JSON.parse(content.toString("utf8", START, from)) as Head;
  if (head.name !== name) return null;
  const { views, uniforms, instructions, registers } = head;
  return { bytes: Uint8Array.from(content.subarray(from, end)), views: Uint8Array.from(views), uniforms, instructions, registers };
}

/** The shader that an earlier process made of the same code; null: none did. */
export function readContainer(code: string): CompiledShader | null {
  const at = pathOf(code);
  if (at === null) return null;
  let file: number;
  try {
    file = openSync(at.path, "r");
  } catch {
    return null;
  }
  try {
    const { uid, mode, size, mtimeMs } = fstatSync(file);
    // A device runs what is in it.
    if (process.getuid !== undefined && (uid !== process.getuid() || (mode & 0o022) !== 0)) return null;
    if (size > MAX_FILE) return null;
    const found = decode(at.name, readFileSync(file));
    const now = Date.now();
    if (found !== null && Math.abs(now - mtimeMs) > DAY) touch(file, now);
    return found;
  } catch {
    return null;
  } finally {
    closeSync(file);
  }
}

function touch(file: number, now: number): void {
  try {
    futimesSync(file, now / 1000, now / 1000);
  } catch {
    // A folder that is read only: nothing is removed from it either.
  }
}

/** Folders that could not be written to. */
const refused = new Set<string>();
let written = LOOK_AFTER;

/** Keeps a shader for later processes, whole or not at all: others may read or write the same file. */
export function writeContainer(code: string, shader: CompiledShader): void {
  const at = pathOf(code);
  if (at === null) return;
  const folder = dirname(at.path);
  if (refused.has(folder)) return;
  const part = `${at.path}.${process.pid}.${threadId}.part`;
  try {
    const content = encode(at.name, shader);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(part, content, { mode: 0o600 });
    renameSync(part, at.path);
    written += content.length;
    if (written < LOOK_AFTER) return;
    written = 0;
    shrink(folder);
  } catch {
    // A full disk, a read-only home: not tried again for each shader.
    refused.add(folder);
    remove(part);
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Another process has it open, or the folder may not be written to.
  }
}

/** Removes the files that were used least recently, and what interrupted processes left, where the folder has more than `limit` bytes. */
export function shrink(folder: string, limit = MAX_BYTES): void {
  const now = Date.now();
  const files = readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    const found = statSync(path, { throwIfNoEntry: false });
    return found?.isFile() === true ? [{ path, name, size: found.size, time: found.mtimeMs }] : [];
  });
  for (const { path, name, time } of files) if (name.endsWith(".part") && now - time > DAY) remove(path);
  const own = files.filter(({ name }) => name.endsWith(".bin")).toSorted((a, b) => a.time - b.time);
  let total = own.reduce((n, { size }) => n + size, 0);
  if (total <= limit) return;
  for (const { path, size } of own) {
    if (total <= 0.75 * limit) return;
    remove(path);
    total -= size;
  }
}
