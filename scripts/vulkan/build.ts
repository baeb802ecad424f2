// Builds libdxcore.so and libd3d12.so over Vulkan into build/vulkan, and their test programs.
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { ScriptError, at, headers, say } from "../tools/project.ts";
import { dropForeignCache } from "../lib/cmake-cache.ts";
import { headersProblem } from "../lib/headers.ts";
import { withLock } from "../tools/lock.ts";
import { runStep } from "../tools/steps.ts";
import { explainMissing, findTools, hasAll, missingTools, type AllTools } from "../lib/toolchain.ts";
import { ensureVkd3d, vkd3dLibraries } from "./vkd3d.ts";

/** Where the loader looks for the libraries, and where CMake works. */
export const vulkanFolder = at("build", "vulkan");
const names = ["libdxcore.so", "libd3d12.so"];
export const vulkanLibraries = names.map((name) => join(vulkanFolder, name));
export const vulkanProgram = (name: string) => join(vulkanFolder, "cmake", "test", name);

/** Writes only what changed, so that nothing is compiled again for nothing. */
function writeChanged(file: string, text: string) {
  if (existsSync(file) && readFileSync(file, "utf8") === text) return;
  writeFileSync(file, text);
}

/** libvkd3d implements the interfaces whose names its objects refer to; blobs it makes itself. */
async function writeInterfaces(vkd3d: string, file: string) {
  const symbols = await runStep("nm (of binutils)", "nm", ["-u", vkd3dLibraries(vkd3d)!.vkd3d], { isQuiet: true });
  const names = new Set(["ID3D10Blob", ...[...symbols.matchAll(/^ *U IID_(ID3D\w+)$/gm)].map((match) => match[1])]);
  writeChanged(file, `${[...names].sort().join("\n")}\n`);
  return file;
}

/** The generator is TypeScript: bundled into one file, it runs on every Node. */
export async function bundleGenerator(file: string) {
  const { rolldown } = await import("rolldown");
  const build = await rolldown({ input: at("scripts", "generate-vulkan.ts"), platform: "node", external: /^node:/, tsconfig: false });
  await build.write({ file, format: "esm" });
  await build.close();
}

async function generate(vkd3d: string, folder: string) {
  const generator = join(folder, "generate.mjs");
  const wrappers = join(folder, "wrappers.generated.c");
  await bundleGenerator(generator);
  const interfaces = await writeInterfaces(vkd3d, join(folder, "interfaces.txt"));
  const include = ["vkd3d_d3dcommon.h", "vkd3d_d3d12.h"].map((name) => join(vkd3d, "include", "vkd3d", name));
  await runStep("The generator", process.execPath, [generator, `${wrappers}.new`, interfaces, ...include], { isQuiet: true });
  writeChanged(wrappers, readFileSync(`${wrappers}.new`, "utf8"));
  return wrappers;
}

interface Compilation {
  readonly objects: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly tests: boolean;
}

async function compile(vkd3d: string, wrappers: string, tools: AllTools, { objects, settings, tests }: Compilation) {
  const generator = tools.builder === "ninja" ? ["-G", "Ninja"] : [];
  const options: Record<string, string> = {
    ...settings,
    DXTENSOR_HEADERS: headers,
    DXTENSOR_VKD3D: vkd3d,
    DXTENSOR_WRAPPERS: wrappers,
    DXTENSOR_VULKAN_TESTS: tests ? "ON" : "OFF",
  };
  const defines = Object.entries(options).map(([name, value]) => `-D${name}=${value}`);
  // The generator may only be named when the folder is new.
  const isNew = !existsSync(join(objects, "CMakeCache.txt"));
  const source = ["-S", at("native", "vulkan"), "-B", objects, "--log-level=WARNING"];
  await runStep("CMake", "cmake", [...source, ...(isNew ? generator : []), ...defines]);
  await runStep("The build", "cmake", ["--build", objects, "--parallel", String(availableParallelism())]);
}

/** Returns true when a library changed. */
function install(folder: string, objects: string) {
  let changed = false;
  for (const name of names) {
    const file = join(folder, name);
    const made = join(objects, "lib", name);
    if (existsSync(file) && readFileSync(file).equals(readFileSync(made))) continue;
    // Never written over in place: a process may have it loaded.
    copyFileSync(made, `${file}.new`);
    renameSync(`${file}.new`, file);
    changed = true;
  }
  return changed;
}

interface VulkanOptions {
  readonly vkd3dFolder?: string | undefined;
  readonly tests?: boolean | undefined;
  readonly folder?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * Builds what is out of date. vkd3dFolder: a folder with libvkd3d instead of Debian's packages; settings: CMake's, of another compiler; folder:
 * where the libraries go.
 */
export async function buildVulkan({
  vkd3dFolder = process.env.DXTENSOR_VKD3D,
  tests = false,
  folder = vulkanFolder,
  settings,
}: VulkanOptions = {}) {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new ScriptError("PLATFORM", `The Vulkan runtime is for Linux x64, and this is ${process.platform} ${process.arch}.`);
  const problem = headersProblem(headers);
  if (problem !== null) throw new ScriptError("HEADERS_MISSING", `No usable DirectX headers: ${problem}.`, "Run: npm run setup");
  const tools = findTools();
  if (!hasAll(tools)) throw new ScriptError("TOOLS_MISSING", explainMissing(missingTools(tools), tools.old));
  const compilers = settings ?? {
    CMAKE_C_COMPILER: tools.compiler.command.replace("clang++", "clang").replace("g++", "gcc").replace("c++", "cc"),
    CMAKE_CXX_COMPILER: tools.compiler.command,
  };
  const vkd3d = await ensureVkd3d(vkd3dFolder);
  return withLock(at("build", "vulkan.lock"), async () => {
    const objects = join(folder, "cmake");
    const dropped = dropForeignCache(objects, { source: at("native", "vulkan"), settings: compilers });
    if (dropped !== null) say(`build:vulkan: configures again: ${dropped}`);
    mkdirSync(objects, { recursive: true });
    await compile(vkd3d, await generate(vkd3d, objects), tools, { objects, settings: compilers, tests });
    const changed = install(folder, objects);
    if (changed) say(`build:vulkan: ${names.join(", ")} in ${folder}`);
    return { changed, vkd3d };
  });
}
