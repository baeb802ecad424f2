/** Builds the sample of examples/native-backend as its users do, and the backend in C that fails on demand. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { findTools, hasAll } from "../../../scripts/lib/toolchain.ts";

const sources = resolve("examples", "native-backend");
const tools = process.platform === "win32" ? null : findTools();

/** Whether this machine compiles C++. */
export const canBuild = tools !== null && hasAll(tools) && existsSync(join(sources, "CMakeLists.txt"));

/** The compiler itself runs without a sanitizer that this process was started with. */
const env = { LD_PRELOAD: "" };

/** A new folder in build/; the caller removes it. */
export function newFolder(): string {
  mkdirSync("build", { recursive: true });
  return mkdtempSync(resolve("build", "native-backend-"));
}

/** The sample's library, built by its CMakeLists.txt. CXXFLAGS count, as always with CMake. */
export async function buildSample(folder: string): Promise<string> {
  const build = join(folder, "cmake");
  await execa("cmake", ["-S", sources, "-B", build, "-DCMAKE_BUILD_TYPE=Release"], { env });
  await execa("cmake", ["--build", build, "--config", "Release"], { env });
  return join(
    build,
    readdirSync(build).find((name) => /^sample\.(so|dll|dylib)$/.test(name))!,
  );
}

/** The sample's library by the compiler alone, without optimization: a quarter of the time. */
export async function compileSample(folder: string): Promise<string> {
  const file = join(folder, "sample.so");
  const args = ["-std=c++17", "-O0", "-shared", "-fPIC", "-I", resolve("native", "include"), join(sources, "backend.cpp"), "-o", file];
  await execa((tools as { compiler: { command: string } }).compiler.command, args, { env });
  return file;
}

/** A library of faulty.c with these definitions. */
export async function buildFaulty(folder: string, name: string, definitions: readonly string[]): Promise<string> {
  const file = join(folder, `${name}.so`);
  const flags = (process.env.CXXFLAGS ?? "").split(" ").filter((flag) => flag !== "");
  const own = ["-x", "c", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I", resolve("native", "include")];
  const args = [
    ...flags,
    ...own,
    ...definitions.map((d) => `-D${d}`),
    resolve("test", "runtime", "library-backend", "faulty.c"),
    "-o",
    file,
  ];
  await execa((tools as { compiler: { command: string } }).compiler.command, args, { env });
  return file;
}
