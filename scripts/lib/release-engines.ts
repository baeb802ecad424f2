// Whether the package of dx.distributed's engines works where it is installed from its tarball.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { emulator } from "./release-arm64.ts";
import { checkScripts, ensureNode, installed } from "./release-checks.ts";
import { ensureEngineSystem, triplets } from "./sysroot.ts";

const program = `import { distributed as d, ones } from "dxtensor";
await d.initProcessGroup({ timeoutMs: 60000 });
const sum = await d.allReduce(ones([2]));
console.log(sum.toArraySync().join(), d.engineInfo().backend);
await d.destroyProcessGroup();
`;

/** dxtensor and the engines in an empty folder: two ranks by the command `launch`, and what doctor says. Gives the problems. */
export async function checkEngine(tarballs: readonly string[]): Promise<readonly string[]> {
  const app = await installed(tarballs);
  try {
    writeFileSync(join(app, "ranks.mjs"), program);
    const command = join(app, "node_modules", ".bin", "dxtensor");
    const options = { cwd: app, reject: false, stdin: "ignore", timeout: 120_000, env: { DXTENSOR_DEVICE: "cpu" } } as const;
    const ranks = await execa(command, ["launch", "-n", "2", "ranks.mjs"], options);
    const said = ranks.stdout.trim().split("\n").toSorted().join("\n");
    const doctor = await execa(command, ["doctor"], options);
    return [
      ...checkScripts(app),
      ...(said === "[0] 2,2 gloo\n[1] 2,2 gloo" ? [] : [`two ranks said ${JSON.stringify(said)} and ${ranks.stderr.trim().slice(-500)}`]),
      ...(/^gloo +Gloo \d/m.test(doctor.stdout) ? [] : [`doctor does not name the engine: ${doctor.stdout.slice(-500)}`]),
    ];
  } finally {
    rmSync(app, { recursive: true });
  }
}

/** The engines for another CPU, from their tarball: their addon is loaded under emulation, and says which Gloo it has. Gives the problems. */
export async function checkEngineEmulated(tarball: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-engine-"));
  try {
    await execa("tar", ["-xzf", tarball, "-C", folder]);
    const system = await ensureEngineSystem("arm64");
    const libraries = [join(system, "lib", triplets.arm64), join(system, "usr", "lib", triplets.arm64)].join(":");
    const code = "const m = { exports: {} }; process.dlopen(m, process.argv[1]); console.log(process.arch, m.exports.version);";
    const node = await ensureNode(20, "arm64");
    const addon = join(folder, "package", "distributed.node");
    const done = await execa(emulator, ["-L", system, "-E", `LD_LIBRARY_PATH=${libraries}`, node, "-e", code, addon], {
      reject: false,
      stdin: "ignore",
      timeout: 120_000,
    });
    return /^arm64 \d+\.\d+\.\d+$/.test(done.stdout) ? [] : [`the engines for arm64 said ${(done.stdout + done.stderr).slice(-500)}`];
  } finally {
    rmSync(folder, { recursive: true });
  }
}
