// node build.mjs [FOLDER]: compiles the addon (native/distributed) for this machine, and puts it into FOLDER with Gloo, what Gloo needs, and the shims for
// MPI, which is the machine's own. Needs libgloo-dev, libopenmpi-dev, libmpich-dev (headers alone), CMake and a compiler. Of both packages: on arm64 that of arm64 is built.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const own = dirname(fileURLToPath(import.meta.url));
const repository = join(own, "..", "..");
const target = resolve(process.argv[2] ?? join(own, "..", `distributed-linux-${process.arch}`));
const build = join(repository, "build", "distributed");
const ask = (command, ...args) => execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

if (process.platform !== "linux") throw new Error(`The package is for Linux, and this is ${process.platform}.`);
ask("cmake", "-S", join(repository, "native", "distributed"), "-B", build);
ask("cmake", "--build", build);

/** Libraries of the system that every distribution has, or that Node itself loads. */
const everywhere = /^(linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so)/;
mkdirSync(target, { recursive: true });
const addon = join(target, "distributed.node");
copyFileSync(join(build, "distributed.node"), addon);
const shims = ["mpi-openmpi.so", "mpi-mpich.so"].map((name) => join(target, name));
for (const shim of shims) {
  copyFileSync(join(build, basename(shim)), shim);
  chmodSync(shim, 0o644);
}
for (const [, name, file] of ask("ldd", join(build, "distributed.node")).matchAll(/^\s*(\S+) => (\/\S+)/gm)) {
  if (everywhere.test(name)) continue;
  copyFileSync(realpathSync(file), join(target, name));
  chmodSync(join(target, name), 0o644);
  // By its name: dpkg knows it below /lib or below /usr/lib.
  const owner = ask("dpkg", "-S", `*/${basename(realpathSync(file))}`).split(":")[0];
  const licence = join("/usr/share/doc", owner, "copyright");
  if (!existsSync(licence)) throw new Error(`No licence of ${name}: there is no ${licence}.`);
  copyFileSync(licence, join(target, `LICENSE-${owner}`));
}
for (const file of [
  addon,
  ...shims,
  ...readdirSync(target)
    .filter((name) => name.includes(".so."))
    .map((name) => join(target, name)),
])
  ask("strip", "--strip-unneeded", file);
if (!readdirSync(target).some((name) => basename(name).startsWith("libgloo.so"))) throw new Error("The addon does not link Gloo.");
