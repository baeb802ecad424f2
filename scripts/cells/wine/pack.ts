// Packs the Wine cell for a machine with a GPU: its root folder, without files that no program here opens.
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { execa } from "execa";
import { ScriptError, say } from "../../tools/project.ts";
import { cellFolder, cellRoot, sources } from "./recipe.ts";

const lib = "usr/lib/x86_64-linux-gnu";
const wine = `${lib}/wine`;
const own = "opt/dxtensor";

/** Wine's modules that node.exe, the addon, DirectML.dll and the test programs open. */
const modules = `actxprxy.dll advapi32.dll apisetschema.dll bcrypt.dll bcryptprimitives.dll cfgmgr32.dll combase.dll coml2.dll concrt140.dll
crypt32.dll d3d12.dll d3d12core.dll dbghelp.dll dnsapi.dll dxcore.dll dxgi.dll explorer.exe gdi32.dll hidclass.sys hidparse.sys
imm32.dll iphlpapi.dll kernel32.dll kernelbase.dll mountmgr.sys msacm32.dll msvcp140.dll msvcp140_1.dll msvcp140_2.dll
msvcp140_atomic_wait.dll msvcrt.dll mswsock.dll ndis.sys nsi.dll nsiproxy.sys ntdll.dll ntoskrnl.exe ole32.dll oleaut32.dll opengl32.dll
plugplay.exe powrprof.dll psapi.dll rpcrt4.dll rpcss.exe rsaenh.dll sechost.dll services.exe setupapi.dll shcore.dll shell32.dll shlwapi.dll
svchost.exe tzres.dll ucrtbase.dll user32.dll userenv.dll uxtheme.dll vcruntime140.dll vcruntime140_1.dll version.dll wevtsvc.dll win32u.dll
wined3d.dll winebus.sys winebth.sys wineboot.exe winedevice.exe winehid.sys winmm.dll wineusb.sys ws2_32.dll zlib1.dll`.split(/\s+/);

/** Linux halves of modules above, and no others: those for sound, cameras, printers and displays are large. */
const unix =
  /^(bcrypt|crypt32|d3d12|dnsapi|mountmgr|nsiproxy|ntdll|opengl32|secur32|win32u|winebth|winebus|wineusb|winevulkan|ws2_32)\.so$/;

/** Libraries that Wine or a GPU's driver opens by name. */
const libraries =
  `libfreetype.so.6 libfontconfig.so.1 libvulkan.so.1 libudev.so.1 libunwind.so.8 libX11.so.6 libX11-xcb.so.1 libxcb-randr.so.0
libxcb-dri3.so.0 libxcb-present.so.0 libxcb-sync.so.1 libxcb-xfixes.so.0 libxcb-shm.so.0 libxshmfence.so.1 libwayland-client.so.0 libdrm.so.2
libstdc++.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libexpat.so.1 libnss_files.so.2`.split(/\s+/);

const tools = ["sh", "env", "mount", "mkdir", "cp", "cat", "ls"].map((name) => `usr/bin/${name}`);

/** Further libraries that NVIDIA's Vulkan library may name, and the program that lists devices. */
const graphics = ["libxext6", "libglvnd0", "libegl1", "libglx0", "libgl1", "libopengl0", "vulkan-tools"];

/** Of Wine's prefix, what no program here needs. */
const unusedInPrefix = ["winsxs", "*.msstyles", "spool", "Program Files", "Program Files (x86)", "twain_64", "Speech", "wbem", "Installer"];

const whole = [
  "etc/fonts",
  "etc/passwd",
  "etc/nsswitch.conf",
  "usr/lib/locale/C.utf8",
  "usr/share/wine/nls",
  "usr/share/wine/wine.inf",
].concat([
  "usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
  "usr/share/fontconfig",
  "usr/lib/wine",
  "usr/lib64",
  "bin",
  "sbin",
  "lib",
  "lib64",
]);

/** Debian's links of /lib and /bin into /usr, as a path has it inside the root. */
const merged = (path: string) => path.replace(/^\/+/, "").replace(/^(bin|sbin|lib|lib64)\//, "usr/$1/");

/** Copies a file with the links that lead to it. */
function copyChain(root: string, stage: string, path: string) {
  for (let at = merged(path); ;) {
    const from = join(root, at);
    const to = join(stage, at);
    mkdirSync(dirname(to), { recursive: true });
    if (lstatSync(to, { throwIfNoEntry: false }) === undefined) cpSync(from, to, { verbatimSymlinks: true });
    if (!lstatSync(from).isSymbolicLink()) return;
    const next = readlinkSync(from);
    at = merged(next.startsWith("/") ? next : posix.join(dirname(at), next));
  }
}

/** Every library that the files need, as paths inside the root. */
async function needed(root: string, files: readonly string[]) {
  const done = await execa("chroot", [root, "ldd", ...files.map((file: string) => `/${file}`)], { env: { LC_ALL: "C" }, reject: false });
  // Wine's own halves know each other by their folder.
  const missing = [...done.stdout.matchAll(/^\s*(\S+) => not found/gm)].filter(
    ([, name]) => !existsSync(join(root, wine, "x86_64-unix", name!)),
  );
  if (missing.length > 0)
    throw new ScriptError("LIBRARY_MISSING", `The Wine cell lacks ${missing[0]![1]}.`, "node scripts/run.mjs wine make --fresh");
  return [...done.stdout.matchAll(/^\s*(?:\S+ => )?(\/\S+) \(0x/gm)].map((match) => match[1]!);
}

/** Debian's packages for a GPU's driver, in the cache, next to the cell. */
async function graphicsPackages() {
  const folder = join(cellFolder(), "graphics");
  const found = () => (existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".deb")) : []);
  const isThere = () => graphics.every((name) => found().some((file) => file.startsWith(`${name}_`)));
  if (!isThere()) {
    say(`pack:gpu: ${graphics.join(", ")} from Debian's archive`);
    mkdirSync(folder, { recursive: true });
    const script = `/${own}/graphics.sh`;
    cpSync(join(sources, "root", "graphics.sh"), join(cellRoot(), script));
    const enter = join(sources, "root", "enter.sh");
    const done = await execa("sh", [enter, cellRoot(), folder, "sh", script, ...graphics], { reject: false, all: true, stdin: "ignore" });
    if (done.failed || !isThere()) throw new ScriptError("GRAPHICS", `Debian's packages for GPU drivers could not be fetched: ${done.all}`);
  }
  return found().map((file) => join(folder, file));
}

async function takeWine(root: string, stage: string) {
  for (const half of ["x86_64-windows", "x86_64-unix"]) mkdirSync(join(stage, wine, half), { recursive: true });
  const windows = [];
  for (const name of modules) {
    const from = join(root, wine, "x86_64-windows", name);
    if (!existsSync(from)) throw new ScriptError("MODULE_MISSING", `The Wine cell lacks ${name}.`);
    const to = join(stage, wine, "x86_64-windows", name);
    cpSync(from, to);
    // The bridge carries Wine's mark in bytes that strip would clear, and is small.
    if (name !== "d3d12.dll") windows.push(to);
  }
  // Debian's Wine carries its debug information: without it a fifth is left.
  await execa("x86_64-w64-mingw32-strip", ["--strip-debug", ...windows]);
  for (const name of readdirSync(join(root, wine, "x86_64-unix")).filter((file) => unix.test(file)))
    cpSync(join(root, wine, "x86_64-unix", name), join(stage, wine, "x86_64-unix", name));
  await execa("strip", ["--strip-unneeded", join(stage, wine, "x86_64-unix", "d3d12.so")]);
}

/** Links into Wine's modules that stayed behind; programs that Wine wrote into the prefix with their debug information. */
async function shrinkPrefix(stage: string) {
  const folder = join(stage, own, "prefix", "drive_c");
  const programs = [];
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) {
      const target = readlinkSync(file);
      if (target.startsWith(`/${wine}/`) && !existsSync(join(stage, target))) rmSync(file);
    } else if (entry.isFile() && /\.(exe|dll|sys|drv|cpl|ocx)$/i.test(entry.name)) programs.push(file);
  }
  await execa("x86_64-w64-mingw32-strip", ["--strip-debug", ...programs], { reject: false });
}

/** Makes the trimmed root in `stage`, with node.exe of one version. */
export async function packRoot(stage: string, node: number): Promise<{ files: number; debs: string[] }> {
  const root = cellRoot();
  const packages = await graphicsPackages();
  mkdirSync(stage, { recursive: true });
  const copied = (args: readonly string[]) =>
    execa("bash", ["-c", 'set -o pipefail; tar -C "$0" "${@:2}" | tar -C "$1" -x', root, stage, ...args], { stdio: ["ignore", 2, 2] });
  await copied(["-c", ...whole]);
  for (const name of ["dev", "proc", "sys", "tmp", "work", "root", "driver"]) mkdirSync(join(stage, name), { recursive: true });
  await takeWine(root, stage);

  const extra = join(stage, "extra");
  for (const file of packages) await execa("dpkg-deb", ["-x", file, extra]);
  for (const name of readdirSync(join(extra, lib)).filter((file) => file.includes(".so")))
    cpSync(join(extra, lib, name), join(stage, lib, name), { verbatimSymlinks: true });
  mkdirSync(join(stage, "usr/bin"), { recursive: true });
  cpSync(join(extra, "usr/bin/vulkaninfo"), join(stage, "usr/bin/vulkaninfo"));
  rmSync(extra, { recursive: true });

  const files = [...libraries.map((name) => `${lib}/${name}`), ...tools, "usr/lib/wine/wine64", "usr/lib/wine/wineserver64"];
  const halves = ["ntdll.so", "win32u.so", "d3d12.so"].map((name) => `${wine}/x86_64-unix/${name}`);
  for (const path of [...files, ...(await needed(root, [...files, ...halves]))]) copyChain(root, stage, path);

  const taken = ["run.sh", "throwaway.sh", "launch.exe", "versions", "bin", `node${node}`, "prefix"].map((name) => `${own}/${name}`);
  await copied([...unusedInPrefix.map((name) => `--exclude=*/${name}`), "-c", ...taken]);
  await shrinkPrefix(stage);
  mkdirSync(join(stage, own, "shader-cache"), { recursive: true });
  return { files: [...modules, ...libraries].length, debs: packages.map((file) => basename(file)) };
}
