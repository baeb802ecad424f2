// Whether the package of dx.distributed's engines works where it is installed from its tarball.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { emulator, foreign } from "./release-arm64.ts";
import { checkScripts, ensureNode, installed } from "./release-checks.ts";
import { ensureEngineSystem, triplets } from "./sysroot.ts";

/** A rank of two. Its argument: a folder for the store; without, what the launcher set counts. */
const program = `import { distributed as d, tensor } from "dxtensor";
const [folder] = process.argv.slice(2);
const { rank } = await d.initProcessGroup({ timeoutMs: 60000, ...(folder === undefined ? {} : { store: d.fileStore(folder) }) });
const all = tensor([1 + rank, 2, -rank]), ints = tensor(Int32Array.of(rank, 9 - rank)), one = tensor([5 + rank, 7]), sent = tensor([rank + 3, 4]);
await d.allReduce(all);
await d.allReduce(ints, { op: "max" });
await d.broadcast(one, { src: 1 });
const gathered = await d.allGather(tensor([rank, rank + 10]));
if (rank === 0) await d.send(sent, { dst: 1 });
else await d.recv(sent, { src: 0 });
const lists = [all, ints, one, ...gathered, sent].map((x) => x.toArraySync().join());
console.log(d.engineInfo().backend, ...lists);
await d.destroyProcessGroup();
`;
/** What both ranks of the program say. */
const said = "gloo 3,4,-1 1,9 6,7 0,10 1,11 3,4";

/** A rank of two by the addon alone, on memory of the host: its file, the rank, and a folder where the ranks find each other. */
const engineProgram = `const { existsSync, readFileSync, renameSync, writeFileSync } = require("node:fs");
const { setTimeout: sleep } = require("node:timers/promises");
const [file, own, folder] = process.argv.slice(1);
const rank = Number(own), other = 1 - rank, addon = { exports: {} };
process.dlopen(addon, file);
const { createGroup, start, close, version } = addon.exports;
const { group, addresses } = createGroup({ rank, size: 2, host: "127.0.0.1", interface: "", channels: 0, timeoutMs: 60000, ranks: [0, 1], world: null });
const [ALL_REDUCE, BROADCAST, ALL_GATHER, BARRIER, CONNECT, SEND, RECV] = [0, 2, 3, 8, 9, 10, 11], FLOAT32 = 0, INT64 = 7, SUM = 0, MAX = 3;
const bytesOf = (x) => x && new Uint8Array(x.buffer);
let tag = 0;
const call = (kind, input, output, { root = 0, dtype = FLOAT32, reduction = SUM, others = null } = {}) => new Promise((done, failed) => {
  const numbers = { kind, tag: ++tag, sequence: tag, dtype, reduction, isMean: 0, root, timeoutMs: 60000, description: "" };
  start(group, { ...numbers, input: bytesOf(input), output: bytesOf(output), addresses: others }, (problem) =>
    problem === null ? done(output) : failed(new Error(problem.message)));
});
(async () => {
  writeFileSync(folder + "/" + rank + ".new", addresses[other]);
  renameSync(folder + "/" + rank + ".new", folder + "/" + rank);
  const end = Date.now() + 60000;
  while (!existsSync(folder + "/" + other)) {
    if (Date.now() > end) throw new Error("rank " + other + " was not there after 60 s");
    await sleep(20);
  }
  const theirs = readFileSync(folder + "/" + other);
  await call(CONNECT, null, null, { others: rank === 0 ? [new Uint8Array(0), theirs] : [theirs, new Uint8Array(0)] });
  const small = Float32Array.of(1 + rank, 2, -rank), ints = BigInt64Array.of(BigInt(rank), 9n - BigInt(rank)), one = Float32Array.of(5 + rank, 7);
  const large = Float32Array.from({ length: 2 ** 18 }, (_, i) => (i % 1000) * (rank + 1));
  await call(ALL_REDUCE, small, small);
  await call(ALL_REDUCE, ints, ints, { dtype: INT64, reduction: MAX });
  await call(ALL_REDUCE, large, large);
  await call(BROADCAST, one, one, { root: 1 });
  const gathered = await call(ALL_GATHER, Float32Array.of(rank, rank + 10), new Float32Array(4));
  const sent = Float32Array.of(rank + 3, 4);
  await (rank === 0 ? call(SEND, sent, null, { root: 1 }) : call(RECV, null, sent, { root: 0 }));
  await call(BARRIER, null, null);
  close(group, true);
  console.log(process.arch, /^\\d+\\.\\d+\\.\\d+$/.test(version), small.join(), ints.join(), large.findIndex((x, i) => x !== (i % 1000) * 3), one.join(), gathered.join(), sent.join());
})().catch((error) => { console.error(error.message); process.exit(1); });
`;

/** dxtensor and the engines in an empty folder: two ranks by the command `launch`, and what doctor says. Gives the problems. */
export async function checkEngine(tarballs: readonly string[]): Promise<readonly string[]> {
  const app = await installed(tarballs);
  try {
    writeFileSync(join(app, "ranks.mjs"), program);
    const command = join(app, "node_modules", ".bin", "dxtensor");
    const options = { cwd: app, reject: false, stdin: "ignore", timeout: 120_000, env: { DXTENSOR_DEVICE: "cpu" } } as const;
    const ranks = await execa(command, ["launch", "-n", "2", "ranks.mjs"], options);
    const lines = ranks.stdout.trim().split("\n").toSorted().join("\n");
    const doctor = await execa(command, ["doctor"], options);
    return [
      ...checkScripts(app),
      ...(lines === `[0] ${said}\n[1] ${said}` ? [] : [`two ranks said ${JSON.stringify(lines)} and ${ranks.stderr.trim().slice(-500)}`]),
      ...(/^gloo +Gloo \d/m.test(doctor.stdout) ? [] : [`doctor does not name the engine: ${doctor.stdout.slice(-500)}`]),
    ];
  } finally {
    rmSync(app, { recursive: true });
  }
}

/** Two ranks for arm64 under emulation, at once: what both must say. argumentsOf: of a rank. Gives the problems. */
async function checkEmulatedRanks(
  expected: string,
  {
    cwd,
    environment,
    argumentsOf,
  }: { cwd: string; environment: Readonly<Record<string, string>>; argumentsOf: (rank: string) => string[] },
): Promise<string[]> {
  const system = await ensureEngineSystem("arm64");
  const node = await ensureNode(20, "arm64");
  const libraries = [join(system, "lib", triplets.arm64), join(system, "usr", "lib", triplets.arm64)].join(":");
  const run = async (rank: string): Promise<string[]> => {
    const variables = { LD_LIBRARY_PATH: libraries, RANK: rank, WORLD_SIZE: "2", ...environment };
    const settings = Object.entries(variables).flatMap(([name, value]) => ["-E", `${name}=${value}`]);
    const done = await execa(emulator, ["-L", system, ...settings, node, ...argumentsOf(rank)], {
      cwd,
      reject: false,
      stdin: "ignore",
      timeout: 180_000,
    });
    if (!done.failed && done.stdout.trim() === expected) return [];
    const why = done.timedOut ? "did not end within 180 s, and " : "";
    return [
      `arm64, rank ${rank} of 2 ${why}said ${JSON.stringify(done.stdout.trim())} in place of ${JSON.stringify(expected)}: ${(done.stderr || done.shortMessage || "").slice(-500)}`,
    ];
  };
  return (await Promise.all(["0", "1"].map(run))).flat();
}

/** The engines for arm64, from their tarball: two ranks by their addon alone, under emulation. Gives the problems. */
export async function checkEngineEmulated(tarball: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-engine-"));
  try {
    await execa("tar", ["-xzf", tarball, "-C", folder]);
    const addon = join(folder, "package", "distributed.node");
    return await checkEmulatedRanks("arm64 true 3,4,-1 1,9 -1 6,7 0,10,1,11 3,4", {
      cwd: folder,
      environment: {},
      argumentsOf: (rank) => ["-e", engineProgram, addon, rank, folder],
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The same by dx.distributed, on `cpu`. tarballs: of the main package, of linux-arm64 and of its engines. */
export async function checkRanksEmulated(tarballs: readonly string[]): Promise<readonly string[]> {
  const app = await installed(tarballs, foreign);
  try {
    writeFileSync(join(app, "ranks.mjs"), program);
    return await checkEmulatedRanks(said, {
      cwd: app,
      environment: { DXTENSOR_DEVICE: "cpu", DXTENSOR_THREADS: "1" },
      argumentsOf: () => ["ranks.mjs", join(app, "store")],
    });
  } finally {
    rmSync(app, { recursive: true });
  }
}
