// Both packages: compiles the addon (native/distributed), and puts it into a folder with Gloo, what Gloo needs, and the shims for MPI, which is the machine's own.
// Needs libgloo-dev, libopenmpi-dev, libmpich-dev (headers alone), CMake and a compiler; for another CPU the files of these packages, and a cross compiler.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const own = dirname(fileURLToPath(import.meta.url));
const repository = join(own, "..", "..");
const ask = (command, ...args) => execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
const triplets = { x64: "x86_64-linux-gnu", arm64: "aarch64-linux-gnu" };

/** Libraries of the system that every distribution has, or that Node itself loads. */
const everywhere = /^(linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so)/;

/** CMake's settings for another CPU, with the files of its packages in a folder. */
function crossSettings(arch, root) {
  const triplet = triplets[arch];
  const libraries = join(root, "usr", "lib", triplet);
  // What Gloo needs in turn is found when it is loaded.
  const linker = `-Wl,-rpath-link,${libraries}:${join(root, "lib", triplet)}`;
  return [
    "-DCMAKE_SYSTEM_NAME=Linux",
    `-DCMAKE_SYSTEM_PROCESSOR=${triplet.split("-")[0]}`,
    `-DCMAKE_CXX_COMPILER=${triplet}-g++`,
    `-DGLOO_HEADERS=${join(root, "usr", "include")}`,
    `-DGLOO_LIBRARY=${join(root, "usr", "lib", "libgloo.so")}`,
    `-DOPENMPI_HEADERS=${join(libraries, "openmpi", "include")}`,
    `-DMPICH_HEADERS=${join(root, "usr", "include", triplet, "mpich")}`,
    `-DCMAKE_SHARED_LINKER_FLAGS=${linker}`,
  ];
}

/** The libraries of the system that an addon loads, by name. */
function librariesOf(addon) {
  return new Map([...ask("ldd", addon).matchAll(/^\s*(\S+) => (\/\S+)/gm)].map(([, name, file]) => [name, file]));
}

/** The same for another CPU, whose files are in a folder. */
function librariesIn(root, arch, addon) {
  const triplet = triplets[arch];
  const folders = ["usr/lib", `usr/lib/${triplet}`, `lib/${triplet}`].map((folder) => join(root, folder));
  const found = new Map();
  const visit = (file) => {
    for (const [, name] of ask("readelf", "-d", file).matchAll(/\(NEEDED\).*\[(\S+)\]/g)) {
      if (everywhere.test(name) || found.has(name)) continue;
      const path = folders.map((folder) => join(folder, name)).find((candidate) => existsSync(candidate));
      if (path === undefined) throw new Error(`${basename(file)} needs ${name}, which is not below ${root}.`);
      found.set(name, path);
      visit(path);
    }
  };
  visit(addon);
  return found;
}

/** Debian's package of a library: on this machine dpkg knows it; elsewhere it has the library's name, as Debian's policy says. */
function packageOf(name, file, root) {
  // By its name: dpkg knows it below /lib or below /usr/lib.
  if (root === undefined) return ask("dpkg", "-S", `*/${basename(realpathSync(file))}`).split(":")[0];
  const [stem, version] = name.split(".so.");
  return /\d$/.test(stem) ? `${stem}-${version}` : `${stem}${version}`;
}

/** Builds the package for a CPU into a folder. root: where the files of another CPU's packages are. */
export function buildEngine(arch, folder = join(own, "..", `distributed-linux-${arch}`), root) {
  const target = resolve(folder);
  const build = join(repository, "build", root === undefined ? "distributed" : `distributed-${arch}`);
  if (process.platform !== "linux") throw new Error(`The package is for Linux, and this is ${process.platform}.`);
  if (root === undefined && process.arch !== arch)
    throw new Error(`The package for ${arch} is built on ${arch}, and this is ${process.arch}.`);
  ask("cmake", "-S", join(repository, "native", "distributed"), "-B", build, ...(root === undefined ? [] : crossSettings(arch, root)));
  ask("cmake", "--build", build, "--parallel", "2");
  mkdirSync(target, { recursive: true });
  const addon = join(target, "distributed.node");
  copyFileSync(join(build, "distributed.node"), addon);
  const shims = ["mpi-openmpi.so", "mpi-mpich.so"].map((name) => join(target, name));
  for (const shim of shims) {
    copyFileSync(join(build, basename(shim)), shim);
    chmodSync(shim, 0o644);
  }
  const libraries = root === undefined ? librariesOf(join(build, "distributed.node")) : librariesIn(root, arch, addon);
  for (const [name, file] of libraries) {
    if (everywhere.test(name)) continue;
    copyFileSync(realpathSync(file), join(target, name));
    chmodSync(join(target, name), 0o644);
    const owner = packageOf(name, file, root);
    const licence = join(root ?? "/", "usr", "share", "doc", owner, "copyright");
    if (!existsSync(licence)) throw new Error(`No licence of ${name}: there is no ${licence}.`);
    copyFileSync(licence, join(target, `LICENSE-${owner}`));
  }
  const files = [addon, ...shims, ...readdirSync(target).flatMap((name) => (name.includes(".so.") ? [join(target, name)] : []))];
  for (const file of files) ask(root === undefined ? "strip" : `${triplets[arch]}-strip`, "--strip-unneeded", file);
  if (!files.some((name) => basename(name).startsWith("libgloo.so"))) throw new Error("The addon does not link Gloo.");
}
