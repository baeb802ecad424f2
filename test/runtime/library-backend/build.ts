/**
 * The sample of examples/native-backend, built as its users do, and the backend in C that fails on demand. Where Windows' node.exe runs the tests
 * under Wine, there is no compiler: verify:windows has compiled them.
 */
import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { faultArguments, type Fault } from "./faults.ts";

const sources = resolve("examples", "native-backend");
const include = resolve("native", "include");
const own = resolve("test", "runtime", "library-backend");
const compiled = join(own, "compiled");

/** The compiler itself runs without a sanitizer that this process was started with. */
const env = { ...process.env, LD_PRELOAD: "" };
const compiler = process.env.CXX ?? "c++";
const runs = (command: string): boolean => spawnSync(command, ["--version"], { env, stdio: "ignore" }).status === 0;
const run = (command: string, args: readonly string[]): Promise<unknown> => promisify(execFile)(command, args, { env });

const isCompiled = existsSync(compiled);
const isWindows = process.platform === "win32";

/** Whether there are libraries, or what makes them. */
export const canBuild = isCompiled || (!isWindows && existsSync(join(sources, "CMakeLists.txt")) && runs(compiler) && runs("cmake"));

/** The ending of a library's file. */
export const ending = isWindows ? "dll" : "so";

/** A new folder in build/; the caller removes it. */
export function newFolder(): string {
  mkdirSync("build", { recursive: true });
  return mkdtempSync(resolve("build", "native-backend-"));
}

/** The sample's library, built by its CMakeLists.txt. CXXFLAGS count, as always with CMake. */
export async function buildSample(folder: string): Promise<string> {
  if (isCompiled) return join(compiled, `sample.${ending}`);
  const build = join(folder, "cmake");
  await run("cmake", ["-S", sources, "-B", build, "-DCMAKE_BUILD_TYPE=Release"]);
  await run("cmake", ["--build", build, "--config", "Release"]);
  return join(
    build,
    readdirSync(build).find((name) => /^sample\.(so|dylib)$/.test(name))!,
  );
}

/** The sample's library by the compiler alone, without optimization: a quarter of the time. */
export async function compileSample(folder: string): Promise<string> {
  const file = join(folder, "sample.so");
  await run(compiler, ["-std=c++17", "-O0", "-shared", "-fPIC", "-I", include, join(sources, "backend.cpp"), "-o", file]);
  return file;
}

/** A library of faulty.c. */
export async function buildFaulty(folder: string, fault: Fault): Promise<string> {
  if (isCompiled) return join(compiled, `${fault}.${ending}`);
  const output = join(folder, `${fault}.${ending}`);
  const flags = (process.env.CXXFLAGS ?? "").split(" ").filter((flag) => flag !== "");
  await run(compiler, [...flags, "-fPIC", ...faultArguments(fault, { source: join(own, "faulty.c"), include, output })]);
  return output;
}
