// The packages for Linux on arm64, installed and run on another CPU under qemu's emulation of a process.
import { rmSync } from "node:fs";
import { execa } from "execa";
import { ask } from "../tools/program.ts";
import { buildLinuxTest } from "./native-builds.ts";
import { answers, ensureNode, installed } from "./release-checks.ts";
import { programs } from "./release-programs.ts";
import { ensureRunLibraries, ensureSysroot } from "./sysroot.ts";

/** Runs a program for arm64. */
export const emulator = "qemu-aarch64-static";

/** Why these packages can't be run on this machine; null where they can. */
export const cannotEmulate = (): string | null =>
  ask(emulator, ["--version"]) !== null
    ? null
    : `${emulator} was not found: sudo apt-get install -y --no-install-recommends qemu-user-static`;

/** The program with its arguments, on glibc 2.31. */
async function emulated(
  program: string,
  args: string[],
  env: Record<string, string> = {},
  options: readonly string[] = [],
): Promise<[string, string[]]> {
  const variables = { LD_LIBRARY_PATH: await ensureRunLibraries("arm64"), ...env };
  const settings = Object.entries(variables).flatMap(([name, value]) => ["-E", `${name}=${value}`]);
  return [emulator, [...options, "-L", await ensureSysroot("arm64"), ...settings, program, ...args]];
}

/** Force: npm would not install for another CPU. */
export const foreign = ["--force"];

/** The programs on each version of Node. tarballs: of the main package and of linux-arm64. */
export async function checkArm64(tarballs: readonly string[], majors: readonly number[]): Promise<string[]> {
  const app = await installed(tarballs, foreign);
  const problems: (string | null)[] = [];
  try {
    for (const major of majors) {
      const node = await ensureNode(major, "arm64");
      for (const name of Object.keys(programs)) {
        const [command, args] = await emulated(node, [name]);
        problems.push(await answers(`arm64, Node ${major}, ${name}`, command, args, { cwd: app, timeout: 300_000 }));
      }
    }
  } finally {
    rmSync(app, { recursive: true });
  }
  return problems.filter((problem) => problem !== null);
}

/**
 * The fast kernels compared with the reference: those of NEON with and without dot products, and those that any processor runs; and which are chosen. rounds:
 * descriptions of each family.
 */
export async function checkKernels(rounds: number): Promise<string[]> {
  const program = await buildLinuxTest("arm64", "kernel_test");
  const problems: string[] = [];
  for (const isa of ["neondot", "neon", "portable"]) {
    const [command, args] = await emulated(program, ["--rounds", String(rounds)], { DXTENSOR_SOFTWARE_ISA: isa });
    const done = await execa(command, args, { reject: false, stdin: "ignore", timeout: 900_000 });
    if (done.failed || !done.stdout.includes(`instruction set: ${isa},`))
      problems.push(`arm64, kernel_test with ${isa}: ${(done.stdout || done.stderr || done.shortMessage || "").slice(-1500)}`);
  }
  // What runs without the variable, on processors with and without dot products.
  for (const [cpu, isa] of [
    ["max", "neondot"],
    ["cortex-a53", "neon"],
  ] as const) {
    const [command, args] = await emulated(program, ["--only", "instruction sets"], {}, ["-cpu", cpu]);
    const done = await execa(command, args, { reject: false, stdin: "ignore", timeout: 60_000 });
    if (done.failed || !done.stdout.includes(`instruction set: ${isa},`))
      problems.push(`arm64, ${cpu} has not chosen ${isa}: ${(done.stdout || done.stderr || done.shortMessage || "").slice(-500)}`);
  }
  return problems;
}
