/** Ranks that are killed at any moment: `npm run distributed`, few of them; with DXTENSOR_TESTS=all a hundred. */
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resumed, start, STEPS } from "./resumed-training.ts";
import { hasEngine } from "./ranks.ts";

const isAll = process.env.DXTENSOR_TESTS === "all";
const RANKS = 3;
const index = pathToFileURL(resolve("dist/bundle/dxtensor.js")).href;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-kills-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const freePort = (): Promise<number> =>
  new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { readonly port: number };
      server.close(() => done(port));
    });
  });

/** Numbers in [0, 1), the same for one seed (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const endless = `import * as dx from ${JSON.stringify(index)};
const d = dx.distributed;
try {
  await d.initProcessGroup({ timeoutMs: 4000 });
  const ddp = d.distributedDataParallel(dx.nn.sequential(dx.nn.linear(64, 64), dx.nn.relu(), dx.nn.linear(64, 8)));
  const optimizer = dx.optim.sgd(ddp.parameters(), { lr: 0.01 });
  for (;;) { ddp.forward(dx.ones([8, 64])).sum().backward(); optimizer.step(); optimizer.zeroGrad(); await d.barrier(); }
} catch (e) {
  console.log(JSON.stringify({ name: e.name, reason: e.reason, peer: e.peer, message: e.message }));
  await d.destroyProcessGroup();
}
`;

const later = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

/** Processes whose command has a text. */
const running = (text: string): string[] =>
  readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text);
    } catch {
      return false;
    }
  });

describe.skipIf(!hasEngine)("over Gloo (npm run distributed)", () => {
  const kills = isAll ? 100 : 3;
  it(`${kills} kills at random moments: the others name the rank, and leave nothing`, { timeout: 1_200_000 }, async () => {
    const file = join(folder, "endless.mjs");
    writeFileSync(file, endless);
    const next = random(37);
    const reasons = new Set<string>();
    // One port for all: it must be free again each time.
    const port = await freePort();
    for (let round = 0; round < kills; round++) {
      const victim = Math.floor(next() * RANKS);
      const afterMs = next() * 2500;
      const env = { WORLD_SIZE: String(RANKS), MASTER_ADDR: "127.0.0.1", MASTER_PORT: String(port) };
      const ranks = Array.from({ length: RANKS }, (_, rank) => start([process.execPath, file], { ...env, RANK: String(rank) }));
      await later(afterMs);
      ranks[victim]!.child.kill("SIGKILL");
      const killed = performance.now();
      const ends = await Promise.all(ranks.map(({ end }) => end));
      const context = `round ${round}: rank ${victim} after ${afterMs.toFixed(0)} ms`;
      expect([context, ends[victim]!.signal]).toEqual([context, "SIGKILL"]);
      expect([context, performance.now() - killed < 15_000]).toEqual([context, true]);
      for (const [rank, { status, stdout, stderr }] of ends.entries()) {
        if (rank === victim) continue;
        expect([context, rank, status, stderr]).toEqual([context, rank, 0, ""]);
        const told = JSON.parse(stdout) as {
          readonly name: string;
          readonly reason: string;
          readonly peer: number;
          readonly message: string;
        };
        expect([context, rank, told.name]).toEqual([context, rank, "DistributedError"]);
        // Before all have joined, rank 0 may give up first, and the store goes with it.
        const named = told.reason === "rendezvous" ? [victim, 0] : [victim];
        expect([context, rank, told.message, told.peer, named.includes(told.peer)]).toEqual([context, rank, told.message, told.peer, true]);
        reasons.add(told.reason);
      }
      expect(running(file)).toEqual([]);
    }
    expect([...reasons].filter((reason) => reason !== "rendezvous" && reason !== "connection")).toEqual([]);
    if (isAll) expect(reasons.size).toBe(2);
  });

  const restarts = isAll ? 20 : 1;
  it.each([
    ["", false],
    ["sharded ", true],
  ] as const)(
    `${restarts} %sruns with a kill and --max-restarts end in the losses of a run without`,
    { timeout: 1_200_000 },
    async (kind, isSharded) => {
      const file = (name: string): string => {
        const to = join(folder, name);
        writeFileSync(`${to}.mjs`, resumed(to, 20_000, 0, isSharded));
        return `${to}.mjs`;
      };
      const launch = (name: string) =>
        start([process.execPath, resolve("dist/bundle/cli.js"), "launch", "-n", "2", "--max-restarts", "3", "--grace", "1", name], {});
      const losses = (name: string): readonly number[] => JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")) as number[];
      expect((await launch(file(`${kind}undisturbed`)).end).status).toBe(0);
      const expected = losses(`${kind}undisturbed`);
      expect([expected.length, expected.at(-1)! < expected[0]!]).toEqual([STEPS, true]);
      const next = random(73);
      for (let run = 0; run < restarts; run++) {
        const name = `${kind}killed-${run}`;
        const script = file(name);
        const { end } = launch(script);
        // Not before a checkpoint is there, which makes the moment one of the training.
        while (!existsSync(join(folder, name)) || readdirSync(join(folder, name)).length === 0) await later(5);
        await later(next() * 150);
        // The launcher's own command has the script, too.
        const ranks = running(script).filter((pid) => !readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("launch"));
        const victim = ranks[Math.floor(next() * ranks.length)];
        if (victim !== undefined) process.kill(Number(victim), "SIGKILL");
        const { status, stderr } = await end;
        expect([name, status, stderr]).toEqual([name, 0, expect.stringContaining(victim === undefined ? "" : "Restart 1 of 3")]);
        expect(losses(name)).toEqual(expected);
        expect(running(script)).toEqual([]);
      }
    },
  );
});
