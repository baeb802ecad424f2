// npm run distributed: builds the engine of dx.distributed over Gloo, and runs its tests: ranks as processes of this machine.
import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { ScriptError, at, main, say } from "./tools/project.ts";
import { installPackages } from "./tools/apt.ts";
import { close } from "./tools/counts.ts";
import { withLock } from "./tools/lock.ts";
import { runStep } from "./tools/steps.ts";
import { runVitest } from "./tools/vitest.ts";
import { ensureBuilt } from "./lib/ensure.ts";

const help = `npm run distributed [-- OPTIONS]

Compiles the addon over Gloo and MPI (native/distributed, into build/distributed), where dx.distributed finds it, and runs the tests of test/distributed
with it, over Gloo and each MPI that is there. Debian's packages libgloo-dev, libopenmpi-dev, openmpi-bin, libmpich-dev and mpich, and for the tests
iptables, are installed by apt where they are missing. Linux only.

  --build  no tests
  --help   this text`;

/** What each of Debian's packages brings. */
const needs: readonly (readonly [name: string, file: string])[] = [
  ["libgloo-dev", "/usr/include/gloo/allreduce.h"],
  ["libopenmpi-dev", "/usr/lib/*-linux-gnu/openmpi/include/mpi.h"],
  ["openmpi-bin", "/usr/bin/mpirun.openmpi"],
  ["libmpich-dev", "/usr/include/*-linux-gnu/mpich/mpi.h"],
  ["mpich", "/usr/bin/mpiexec.mpich"],
];
const gnu = process.arch === "arm64" ? "aarch64" : "x86_64";
const missing = (): string[] => needs.filter(([, file]) => !existsSync(file.replace("*", gnu))).map(([name]) => name);

/** Compiles what is out of date. */
async function buildEngine(): Promise<void> {
  if (process.platform !== "linux") throw new ScriptError("PLATFORM", "NOT CHECKED: Gloo is built for Linux only.");
  if (missing().length > 0 && !(await installPackages("distributed", missing())))
    throw new ScriptError("GLOO", "NOT CHECKED: Gloo or MPI is not here.", `Run: sudo apt-get install -y ${missing().join(" ")}`);
  const folder = at("build", "distributed");
  await withLock(at("build", "distributed.lock"), async () => {
    await runStep("CMake", "cmake", ["-S", at("native", "distributed"), "-B", folder]);
    await runStep("The build of the engine", "cmake", ["--build", folder, "--parallel", "2"]);
  });
}

await main(async () => {
  const { values } = parseArgs({ options: { build: { type: "boolean", default: false } } });
  await ensureBuilt([]);
  await buildEngine();
  say(`distributed: ${at("build", "distributed", "distributed.node")} is built`);
  if (values.build) return;
  // Packets are lost by it where the kernel has no netem.
  if (!existsSync("/usr/sbin/iptables")) await installPackages("distributed", ["iptables"]);
  process.env.DXTENSOR_GLOO_TESTS = "1";
  return close([
    await runVitest("ctrf-distributed.json", ["test/distributed", "test/examples/train-ddp", "test/examples/distributed-jobs"]),
  ]);
}, help);
