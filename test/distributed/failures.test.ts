/** Ranks that end, disagree or are late, over Gloo: `npm run distributed`. */
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { hasEngine, runRanks } from "./ranks.ts";

interface Told {
  readonly name: string;
  readonly reason: string;
  readonly rank: number;
  readonly peer: number | null;
  readonly sequence: number;
  readonly message: string;
}

const freePort = (): Promise<number> =>
  new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { readonly port: number };
      server.close(() => done(port));
    });
  });

describe.skipIf(!hasEngine)("over Gloo (npm run distributed)", () => {
  it.each([
    [
      "in an all-reduce",
      "for (let i = 0; ; i++) { if (rank === 1 && i === 5) process.kill(process.pid, 'SIGKILL'); await d.allReduce(dx.ones([300_000])); }",
    ],
    [
      "while others wait in a barrier",
      "if (rank === 1) setTimeout(() => process.kill(process.pid, 'SIGKILL'), 200); await (rank === 1 ? new Promise(() => {}) : d.barrier());",
    ],
    [
      "while others receive",
      "if (rank === 1) setTimeout(() => process.kill(process.pid, 'SIGKILL'), 200); await (rank === 1 ? new Promise(() => {}) : d.recv(dx.ones([4]), { src: 1 }));",
    ],
    [
      "with an exit status, its own calls running",
      "if (rank === 1) { void d.allReduce(dx.ones([4])); setTimeout(() => process.exit(3), 200); await new Promise(() => {}); } await d.allReduce(dx.ones([4])); await d.allReduce(dx.ones([4]));",
    ],
  ])("a rank that ends %s: the others name it within seconds, and end", { timeout: 60_000 }, async (_, code) => {
    const ends = await runRanks(
      3,
      `await init();
const start = performance.now();
tell(await error(async () => { ${code} }));
tell(performance.now() - start);
tell(await error(() => d.allReduce(dx.ones([1]))));
await d.destroyProcessGroup();`,
    );
    for (const rank of [0, 2]) {
      const { status, stderr, told } = ends[rank]!;
      expect([status, stderr]).toEqual([0, ""]);
      const [first, ms, next] = told as [Told, number, Told];
      expect(first).toMatchObject({ name: "DistributedError", reason: "connection", rank, peer: 1 });
      expect(first.message).toContain("rank 1 has ended");
      expect(ms).toBeLessThan(10_000);
      expect(next).toMatchObject({ name: "DistributedError", reason: "connection" });
    }
  });

  it("a rank that was stopped while another one ended, and all others after it, names the first", { timeout: 60_000 }, async () => {
    for (const call of ["await d.allReduce(dx.ones([300_000]))", "ddp.forward(dx.ones([8, 4])).sum().backward()"]) {
      const ends = await runRanks(
        3,
        `import { readFileSync } from "node:fs";
await init();
const ddp = d.distributedDataParallel(dx.nn.linear(4, 4));
const pids = (await d.allGather(dx.tensor([process.pid], { dtype: "int32" }))).map((t) => t.itemSync());
const isStopped = () => readFileSync("/proc/" + pids[2] + "/stat", "utf8").split(") ")[1][0] === "T";
if (rank === 1) {
  while (!isStopped()) await new Promise((done) => setTimeout(done, 5));
  process.kill(process.pid, "SIGKILL");
}
if (rank === 2) process.kill(process.pid, "SIGSTOP");
tell(await error(async () => { for (;;) { ${call}; } }));
await d.destroyProcessGroup();
if (rank === 0) process.kill(pids[2], "SIGCONT");`,
      );
      for (const rank of [0, 2]) {
        const { status, stderr, told } = ends[rank]!;
        expect([call, rank, status, stderr]).toEqual([call, rank, 0, ""]);
        expect([call, told[0]]).toEqual([call, expect.objectContaining({ reason: "connection", rank, peer: 1 })]);
      }
    }
  });

  it.each([
    ["shape", "d.allReduce(dx.ones([4 + (rank === 1)]))", "allReduce(sum) of float32[5]"],
    ["dtype", 'd.allReduce(dx.ones([4]).to(rank === 1 ? "int8" : "float32"))', "allReduce(sum) of int8[4]"],
    ["reduction", 'd.allReduce(dx.ones([4]), { op: rank === 1 ? "max" : "sum" })', "allReduce(max) of float32[4]"],
    ["order", "rank === 1 ? d.broadcast(dx.ones([4])) : d.allReduce(dx.ones([4]))", "broadcast(from 0) of float32[4]"],
  ])("ranks that disagree in %s: debug mode says who did what; without, no process ends", { timeout: 60_000 }, async (_, call, other) => {
    const code = (options: string): string => `await init(${options});
tell(await error(() => ${call}));
tell(await error(() => d.barrier()));
await d.destroyProcessGroup();`;
    const [checked, unchecked] = await Promise.all([runRanks(3, code("{ debug: true }")), runRanks(3, code("{ timeoutMs: 3000 }"))]);
    checked.forEach(({ status, stderr, told }, rank) => {
      expect([status, stderr]).toEqual([0, ""]);
      const [first, next] = told as [Told, Told | null];
      // Each names the first rank that differs from itself.
      expect(first).toMatchObject({ name: "DistributedError", reason: "mismatch", rank, peer: rank === 1 ? 0 : 1, sequence: 1 });
      if (rank !== 1) expect(first.message).toContain(`rank 1 called ${other} as call 1`);
      expect(next).toBeNull();
    });
    for (const { status, stderr, told } of unchecked) {
      expect([status, stderr]).toEqual([0, ""]);
      expect(["timeout", "connection"]).toContain((told[0] as Told).reason);
    }
  });

  it("a late rank is a timeout of the others; ranks that do not find each other one of the rendezvous", { timeout: 60_000 }, async () => {
    const late = await runRanks(
      2,
      `await init({ timeoutMs: 700 });
if (rank === 1) await new Promise((done) => setTimeout(done, 2500));
tell(await error(() => d.allGather(dx.ones([4]))));
await d.destroyProcessGroup();`,
    );
    expect(late.map(({ status }) => status)).toEqual([0, 0]);
    expect(late[0]!.told[0]).toMatchObject({
      name: "DistributedError",
      reason: "timeout",
      operation: "allGather",
      sequence: 1,
    });
    expect((late[0]!.told[0] as Told).message).toContain("within 700 ms");
    expect(late[1]!.told[0]).toMatchObject({ name: "DistributedError", reason: "connection", peer: 0 });
    const alone = await runRanks(1, "tell(await error(() => init({ worldSize: 2, timeoutMs: 300 })));");
    expect(alone[0]!.told[0]).toMatchObject({ name: "DistributedError", reason: "rendezvous", rank: 0 });
    const env = { RANK: "", WORLD_SIZE: "", MASTER_ADDR: "", MASTER_PORT: "", SLURM_PROCID: "0", SLURM_STEP_NUM_TASKS: "2" };
    const slurm = await runRanks(1, "tell(await error(() => init()));", { env });
    expect(slurm[0]!.told[0]).toMatchObject({ name: "ValueError", message: expect.stringContaining("srun --mpi=pmix") });
  });

  it("rank 0, which serves the store, waits for slow ranks before it returns: its next call may block", { timeout: 60_000 }, async () => {
    // Which of two ranks opens the connection depends on their ports.
    for (let round = 0; round < 4; round++) {
      const ends = await runRanks(
        2,
        `const served = await d.tcpStore({ host: "127.0.0.1", port: ${await freePort()}, isMaster: rank === 0, timeoutMs: 5000 });
const slow = { set: (k, v) => served.set(k, v), add: (k, n) => served.add(k, n), close: () => served.close(), localAddress: served.localAddress,
  get: async (key, timeoutMs) => { await new Promise((done) => setTimeout(done, 100)); return served.get(key, timeoutMs); } };
await d.initProcessGroup({ store: rank === 0 ? served : slow, timeoutMs: 5000 });
const ddp = d.distributedDataParallel(dx.nn.linear(2, 2));
tell(list(ddp.parameters()[0]).flat().length);
await d.destroyProcessGroup();`,
      );
      const end = [0, "", [4]];
      expect([round, ...ends.map(({ status, stderr, told }) => [status, stderr, told])]).toEqual([round, end, end]);
    }
  });

  it("the port of a store over TCP is free again when its rank was killed", { timeout: 60_000 }, async () => {
    const port = await freePort();
    const code = `await d.initProcessGroup({ timeoutMs: 5000 });
tell(list(await d.allReduce(dx.ones([1]))));
if (process.env.KILLED && rank === 0) process.kill(process.pid, "SIGKILL");
tell(await error(() => d.barrier()));
await d.destroyProcessGroup();`;
    const env = { MASTER_ADDR: "127.0.0.1", MASTER_PORT: String(port) };
    const [first, second] = await runRanks(2, code, { env: { ...env, KILLED: "1" } });
    expect([first!.signal, second!.status]).toEqual(["SIGKILL", 0]);
    expect(second!.told[1]).toMatchObject({ reason: "connection", peer: 0 });
    for (const { status, told } of await runRanks(2, code, { env })) expect([status, told]).toEqual([0, [[2], null]]);
  });
});
