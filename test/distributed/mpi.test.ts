/** What is MPI's own: processes, errors, the end of a rank. `npm run distributed`. */
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { engines, hasEngine, runRanks, type Engine } from "./ranks.ts";

const mpis = engines.filter(({ command }) => command !== null);
const openMpi = (): Engine => mpis.find(({ name }) => name === "openmpi")!;

interface Told {
  readonly name: string;
  readonly reason: string;
  readonly peer: number | null;
  readonly message: string;
}

describe.each(mpis)("over $name (npm run distributed)", (engine) => {
  it("is chosen by its launcher, joins twice, and refuses another size", { timeout: 60_000 }, async () => {
    const ends = await runRanks(
      2,
      `tell(await error(() => d.initProcessGroup({ worldSize: 3 })));
const group = await d.initProcessGroup();
tell([group.backend, d.engineInfo(), group.rank === rank, group.size]);
await d.destroyProcessGroup();
await d.initProcessGroup({ backend: "mpi", worldSize: 2 });
tell(list(await d.allReduce(dx.tensor([rank + 1]))));
await d.destroyProcessGroup();`,
      { engine },
    );
    for (const { status, stderr, told } of ends) {
      expect([status, stderr]).toEqual([0, ""]);
      expect(told[0]).toMatchObject({ name: "ValueError", message: expect.stringContaining("worldSize must be 2, as ") as unknown });
      expect(told[1]).toEqual([
        "mpi",
        { backend: "mpi", version: expect.stringMatching(engine.version) as unknown, network: null },
        true,
        2,
      ]);
      expect(told[2]).toEqual([3]);
    }
  });

  it("ranks that disagree: debug mode says who did what, and the group continues", { timeout: 60_000 }, async () => {
    const ends = await runRanks(
      2,
      `await init({ debug: true });
tell(await error(() => d.allReduce(dx.ones([4 + (rank === 1)]))));
tell(await error(() => rank === 1 ? d.broadcast(dx.ones([4])) : d.allReduce(dx.ones([4]))));
tell(list(await d.allReduce(dx.ones([2]))));
await d.destroyProcessGroup();`,
      { engine },
    );
    ends.forEach(({ status, stderr, told }, rank) => {
      expect([status, stderr]).toEqual([0, ""]);
      const [shape, order, sum] = told as [Told, Told, unknown];
      for (const one of [shape, order]) expect(one).toMatchObject({ name: "DistributedError", reason: "mismatch", peer: 1 - rank });
      if (rank === 0) expect(shape.message).toContain("rank 1 called allReduce(sum) of float32[5] as call 1");
      if (rank === 0) expect(order.message).toContain("rank 1 called broadcast(from 0) of float32[4] as call 2");
      expect(sum).toEqual([2, 2]);
    });
  });

  it("a late rank is a timeout of the others, whose end is told to it; other groups continue", { timeout: 60_000 }, async () => {
    const ends = await runRanks(
      3,
      `await init();
const hasty = await d.newGroup([0, 1, 2], { timeoutMs: 700 });
if (rank === 2) await new Promise((done) => setTimeout(done, 2000));
const start = performance.now();
tell(await error(() => d.allGather(dx.ones([4]), { group: hasty })));
tell(performance.now() - start);
tell(await error(() => d.barrier({ group: hasty })));
tell(list(await d.allReduce(dx.ones([1]))));
tell(await error(() => d.newGroup([rank])));
await d.destroyProcessGroup();
process.exit(0);`,
      { engine },
    );
    ends.forEach(({ told }, rank) => {
      const [first, ms, next, sum, group] = told as [Told, number, Told, unknown, Told];
      const reasons = rank === 2 ? ["connection"] : ["timeout", "connection"];
      expect([first.name, reasons.includes(first.reason)]).toEqual(["DistributedError", true]);
      if (first.reason === "timeout") expect(first.message).toMatch(/within 700 ms.*(Open MPI v|MPICH )\d/);
      else expect([0, 1].includes(first.peer!)).toBe(true);
      expect(ms).toBeLessThan(3000);
      expect(next.name).toBe("DistributedError");
      expect(sum).toEqual([3]);
      // MPI may still write to the memory of the calls that were given up.
      expect(group).toMatchObject({ name: "DistributedError", reason: "engine" });
    });
  });

  it("a rank that is killed: MPI's launcher ends the others", { timeout: 60_000 }, async () => {
    const ends = await runRanks(
      3,
      `await init();
tell(process.pid);
for (let i = 0; ; i++) { if (rank === 1 && i === 5) process.kill(process.pid, "SIGKILL"); await d.allReduce(dx.ones([3000])); }`,
      { engine },
    );
    expect(ends[0]!.status).not.toBe(0);
    expect(ends[0]!.seconds).toBeLessThan(30);
    const isThere = (): boolean => ends.some(({ told }) => existsSync(`/proc/${String(told[0])}`));
    for (let i = 0; i < 100 && isThere(); i++) await new Promise((done) => setTimeout(done, 50));
    expect(isThere()).toBe(false);
  });

  it("messages with tags, one that is longer than its memory, and a tag that is too large", { timeout: 60_000 }, async () => {
    const ends = await runRanks(
      2,
      `await init();
const other = 1 - rank;
const sent = [5, 6].map((tag) => d.send(dx.tensor([tag + 10 * rank]), { dst: other, tag }));
const [six, five] = [d.recv(dx.zeros([1]), { src: other, tag: 6 }), d.recv(dx.zeros([1]), { src: other, tag: 5 })];
tell([list(await six), list(await five)]);
await Promise.all(sent);
tell(await error(() => d.send(dx.ones([1]), { dst: other, tag: 0xffffffff })));
tell(list(await d.allReduce(dx.ones([1]))));
tell(await error(() => rank === 0 ? d.send(dx.ones([8]), { dst: 1 }) : d.recv(dx.zeros([2]), { src: 0 })));
await d.destroyProcessGroup();
process.exit(0);`,
      { engine },
    );
    ends.forEach(({ told }, rank) => {
      expect(told[0]).toEqual([[16 - 10 * rank], [15 - 10 * rank]]);
      expect(told[1]).toMatchObject({
        name: "DistributedError",
        reason: "engine",
        message: expect.stringContaining("largest tag") as unknown,
      });
      expect(told[2]).toEqual([2]);
      if (rank === 1) expect(told[3]).toMatchObject({ name: "DistributedError", reason: "engine" });
    });
  });
});

describe.skipIf(!hasEngine)("the machine's MPI (npm run distributed)", () => {
  it("a library that is none, and one that is missing", { timeout: 60_000 }, async () => {
    const code = "tell(await error(() => d.initProcessGroup({ backend: 'mpi', timeoutMs: 5000 })));";
    const [missing] = await runRanks(1, code, { env: { DXTENSOR_MPI: "/nowhere/libmpi.so" } });
    expect(missing!.told[0]).toMatchObject({ name: "DistributedError", reason: "engine" });
    expect((missing!.told[0] as Told).message).toContain("/nowhere/libmpi.so");
    const [other] = await runRanks(1, code, { env: { DXTENSOR_MPI: "libc.so.6" } });
    expect((other!.told[0] as Told).message).toContain("is no MPI library");
  });

  it("MPI of another launcher is an error that says so", { timeout: 60_000 }, async () => {
    const code = "tell(await error(() => d.initProcessGroup({ timeoutMs: 5000 })));";
    const ends = await runRanks(2, code, { engine: openMpi(), env: { DXTENSOR_MPI: "libmpich.so.12" } });
    for (const { told } of ends)
      expect(told[0]).toMatchObject({ name: "ValueError", message: expect.stringContaining("MPICH") as unknown });
  });
});
