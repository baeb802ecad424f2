/**
 * Runs a CommonJS file by the bytecode that V8 made of it in an earlier process. Parsing the library takes most of the time of its import;
 * Node 20 has no cache of its own for that (module.enableCompileCache, which would hold the program's other modules too).
 */
import { isAscii } from "node:buffer";
import { closeSync, fstatSync, fsyncSync, mkdirSync, openSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { Module, createRequire } from "node:module";
import { dirname, join } from "node:path";
import { getHeapCodeStatistics } from "node:v8";
import { Script } from "node:vm";
import { isMainThread } from "node:worker_threads";
import { homeFolder } from "../core/home.ts";
import { cacheFolder } from "./paths.ts";

/** One for each file of the package, version of Node and set of its options; older ones are removed. */
const MAX_FILES = 12;

/**
 * Bytecode is written when a file has run, and has then few functions. So many processes write it again when they end, with the functions that
 * they called.
 */
const MAX_REWRITES = 3;
/** A process that compiled fewer bytes of bytecode than that leaves the file as it is. */
const MIN_GROWTH = 64 * 2 ** 10;

/** What the bytecode depends on, as text, and the name of its file. */
interface Key {
  /** Without its end, the number of rewrites. */
  readonly text: string;
  readonly path: string;
}

/** Bytecode from a file, and how often it was written again. */
interface Cached {
  readonly code: Buffer;
  readonly rewrites: number;
}

const endOf = (rewrites: number): string => `,${rewrites}]`;

/** FNV-1a of 32 bits. Two keys with one name share a file, which holds the text of its key. */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (const character of text) value = Math.imul(value ^ character.codePointAt(0)!, 0x01000193);
  return (value >>> 0).toString(16).padStart(8, "0");
}

/**
 * The bytecode in a file of this user's own that nobody else may write; null where there is none, or it is not whole. V8 compares no more than
 * the lengths of text and bytecode. A file holds the bytecode twice, then its key: to compare two copies costs less than to load Node's module
 * of checksums.
 */
function readCache({ text, path }: Key): Cached | null {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return null;
  }
  try {
    const { uid, mode } = fstatSync(file);
    if (process.getuid !== undefined && (uid !== process.getuid() || (mode & 0o022) !== 0)) return null;
    const content = readFileSync(file);
    const end = content.length - Buffer.byteLength(text) - endOf(0).length;
    if (end <= 0 || end % 2 !== 0) return null;
    const found = content.toString("utf8", end);
    const rewrites = Number(found.at(-2));
    if (!(rewrites <= MAX_REWRITES) || found !== text + endOf(rewrites)) return null;
    const code = content.subarray(0, end / 2);
    return code.equals(content.subarray(end / 2, end)) ? { code, rewrites } : null;
  } finally {
    closeSync(file);
  }
}

/** Whole or not at all: another process may read or write the same file. */
function writeCache({ text, path }: Key, { code, rewrites }: Cached): void {
  const folder = dirname(path);
  const part = `${path}.${process.pid}.part`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    const file = openSync(part, "wx", 0o600);
    try {
      writeFileSync(file, Buffer.concat([code, code, Buffer.from(text + endOf(rewrites))]));
      // The name must not reach the disk before the content.
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(part, path);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
  const files = readdirSync(folder).map((name) => join(folder, name));
  const age = (name: string) => statSync(name, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  for (const old of files.toSorted((a, b) => age(b) - age(a)).slice(MAX_FILES)) rmSync(old, { force: true });
}

/** Whether the user, or what looks at the process, wants none of it. */
function isOff({ DXTENSOR_CODE_CACHE: own, NODE_DISABLE_COMPILE_CACHE: nodes, NODE_V8_COVERAGE: coverage }: NodeJS.ProcessEnv): boolean {
  const isSet = (value: string | undefined) => value !== undefined && value !== "";
  return ["0", "false", "no", "off"].includes(own?.trim().toLowerCase() ?? "") || isSet(nodes) || isSet(coverage);
}

type Wrapper = (exports: unknown, require: NodeJS.Require, module: NodeJS.Module, filename: string, dirname: string) => void;

interface Compiled {
  readonly run: Wrapper;
  readonly script: Script;
  readonly key: Key;
  /** What it was made of; null where it was compiled. */
  readonly cached: Cached | null;
}

/** The user's folder for all programs. */
function userFolder(file: string): string {
  const { env, platform, arch } = process;
  return cacheFolder({ env, platform, arch, cwd: null, root: dirname(file), home: homeFolder(), exists: () => false, packageFolder: () => null });
}

/** Compiles a module's text, with the cache where that has it. digest: of the file as it was published. */
function compile(file: string, digest: string, folder: string): Compiled {
  // A file that somebody changed has another time.
  const { size, mtimeMs } = statSync(file);
  const made = JSON.stringify([digest, file, size, mtimeMs, process.version, process.arch, process.execArgv, process.env.NODE_OPTIONS]);
  const key = { text: made.slice(0, -1), path: join(folder, "code", `${hash(made)}.bin`) };
  const cached = readCache(key);
  const bytes = readFileSync(file);
  // V8 keeps one byte for a character of ASCII, and need not decode it.
  const source = bytes.toString(isAscii(bytes) ? "latin1" : "utf8");
  const text = `(function (exports, require, module, __filename, __dirname) {${source}\n})`;
  // Its text has no import(): the one of a script made of bytecode always fails.
  const script = new Script(text, { filename: file, ...(cached === null ? {} : { cachedData: cached.code }) });
  const isUsed = cached !== null && script.cachedDataRejected === false;
  return { run: script.runInThisContext() as Wrapper, script, key, cached: isUsed ? cached : null };
}

const bytecodeSize = (): number => getHeapCodeStatistics().bytecode_and_metadata_size;

/** Writes the bytecode of a file that has run, if that is missing, and again when the process ends. */
function keepCode({ script, key, cached }: Compiled): void {
  let size = cached?.code.length ?? 0;
  const write = (rewrites: number): void => {
    try {
      const code = script.createCachedData();
      // V8 frees the bytecode of functions that were not called for long.
      if (code.length <= size) return;
      writeCache(key, { code, rewrites });
      size = code.length;
    } catch {
      // A full disk, a read-only home: the next process compiles again.
    }
  };
  if (cached === null) write(0);
  const rewrites = (cached?.rewrites ?? 0) + 1;
  if (size === 0 || rewrites > MAX_REWRITES || !isMainThread) return;
  const before = bytecodeSize();
  process.once("exit", () => {
    if (bytecodeSize() - before >= MIN_GROWTH) write(rewrites);
  });
}

/**
 * What a CommonJS file of this package exports; it is run once, as by require. `file` is absolute, without links; `plain` requires it, in
 * words that tools which copy what a program needs can read. folder: where the cache lies, instead of the user's.
 */
export function requireCached(file: string, digest: string, plain: () => unknown, folder?: string): unknown {
  const require = createRequire(file);
  if (require.cache[file] !== undefined || isOff(process.env)) return plain();
  let compiled: Compiled;
  try {
    compiled = compile(file, digest, folder ?? userFolder(file));
  } catch {
    // No home, no permission: as without a cache.
    return plain();
  }
  const module = new Module(file);
  module.filename = file;
  require.cache[file] = module;
  try {
    compiled.run.call(module.exports, module.exports, require, module, file, dirname(file));
  } catch (error) {
    delete require.cache[file];
    throw error;
  }
  module.loaded = true;
  keepCode(compiled);
  return module.exports;
}
