/**
 * Runs a CommonJS file by the bytecode that V8 made of it in an earlier process. Parsing the library takes most of the time of its import;
 * Node 20 has no cache of its own for that (module.enableCompileCache, which would hold the program's other modules too).
 */
import { isAscii } from "node:buffer";
import { createHash } from "node:crypto";
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { Module, createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Script } from "node:vm";
import { homeFolder } from "../core/home.ts";
import { cacheFolder } from "./paths.ts";

/** What a cached file begins with: the SHA-256 of the rest. V8 itself compares no more than the lengths of text and bytecode. */
const DIGEST_BYTES = 32;
/** One for each version of Node and set of its options; older ones are removed. */
const MAX_FILES = 6;

const sha256 = (data: string | Uint8Array) => createHash("sha256").update(data).digest();

/** The bytecode in a file of this user's own that nobody else may write; null where there is none, or it is not whole. */
function readCache(path: string): Buffer | null {
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
    const code = content.subarray(DIGEST_BYTES);
    return code.length > 0 && sha256(code).equals(content.subarray(0, DIGEST_BYTES)) ? code : null;
  } finally {
    closeSync(file);
  }
}

/** Whole or not at all: another process may read or write the same file. */
function writeCache(path: string, code: Uint8Array): void {
  const folder = dirname(path);
  const part = `${path}.${process.pid}.part`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(part, Buffer.concat([sha256(code), code]), { mode: 0o600, flag: "wx" });
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
  /** Where its bytecode is to be written; null where it is there. */
  readonly missing: string | null;
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
  const made = [digest, file, size, mtimeMs, process.version, process.arch, process.execArgv, process.env.NODE_OPTIONS];
  const path = join(folder, "code", `${sha256(JSON.stringify(made)).toString("hex").slice(0, 32)}.bin`);
  const cachedData = readCache(path);
  const bytes = readFileSync(file);
  // V8 keeps one byte for a character of ASCII, and need not decode it.
  const source = bytes.toString(isAscii(bytes) ? "latin1" : "utf8");
  const text = `(function (exports, require, module, __filename, __dirname) {${source}\n})`;
  // Its text has no import(): the one of a script made of bytecode always fails.
  const script = new Script(text, { filename: file, ...(cachedData === null ? {} : { cachedData }) });
  const isUsed = cachedData !== null && script.cachedDataRejected === false;
  return { run: script.runInThisContext() as Wrapper, script, missing: isUsed ? null : path };
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
  if (compiled.missing !== null)
    try {
      writeCache(compiled.missing, compiled.script.createCachedData());
    } catch {
      // A full disk, a read-only home: the next process compiles again.
    }
  return module.exports;
}
