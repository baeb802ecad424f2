/** What needs no engine: stores, arguments, and the error of the package that is missing. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import * as dx from "../../src/index.ts";

const d = dx.distributed;
const folder = mkdtempSync(join(tmpdir(), "dxtensor-stores-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const freePort = (): Promise<number> =>
  new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { readonly port: number };
      server.close(() => done(port));
    });
  });

/** Two views of one store. */
const kinds = {
  file: async () => [d.fileStore(join(folder, "store")), d.fileStore(join(folder, "store"))] as const,
  tcp: async () => {
    const port = await freePort();
    return await Promise.all([d.tcpStore({ port, isMaster: true }), d.tcpStore({ port })]);
  },
};

describe.each(Object.entries(kinds))("a store by %s", (_, make) => {
  it("gives what another rank sets, then or later, and adds up", async () => {
    const [a, b] = await make();
    await a.set("key/with*signs", "ä\n1");
    expect(await b.get("key/with*signs", 1000)).toBe("ä\n1");
    const later = b.get("later", 5000);
    await a.set("later", "x".repeat(100_000));
    expect((await later).length).toBe(100_000);
    await Promise.all(Array.from({ length: 20 }, (_i, i) => (i % 2 === 0 ? a : b).add("sum", i)));
    expect(await a.add("sum", 0)).toBe(190);
    await expect(a.get("never", 30)).rejects.toMatchObject({ name: "DistributedError", reason: "rendezvous" });
    await expect(a.set("", "1")).rejects.toThrow(dx.ValueError);
    await Promise.all([a.close(), b.close()]);
  });
});

it("a store over TCP that is not there, that is taken, that closes", async () => {
  const port = await freePort();
  await expect(d.tcpStore({ port, timeoutMs: 120 })).rejects.toMatchObject({ name: "DistributedError", reason: "rendezvous", peer: 0 });
  const master = await d.tcpStore({ port, isMaster: true });
  await expect(d.tcpStore({ port, isMaster: true })).rejects.toThrow("another program has the port");
  const other = await d.tcpStore({ port });
  const waiting = other.get("never", 10_000);
  waiting.catch(() => {});
  await master.close();
  await expect(waiting).rejects.toThrow("has closed the connection");
  await expect(master.get("never", 10)).rejects.toThrow("was closed here");
  await expect(other.set("a", "b")).rejects.toThrow("has closed the connection");
  await other.close();
  await expect(d.tcpStore({ port: 0 })).rejects.toThrow(dx.ValueError);
});

it("names the package that is missing, and WSL on Windows", async () => {
  vi.stubEnv("DXTENSOR_DISTRIBUTED", join(folder, "none.node"));
  expect(d.isAvailable()).toBe(false);
  const options = { rank: 0, worldSize: 1, store: d.fileStore(join(folder, "package")) };
  const { platform } = process;
  try {
    Object.defineProperty(process, "platform", { value: "linux" });
    await expect(d.initProcessGroup(options)).rejects.toMatchObject({
      name: "MissingPackageError",
      package: `@dxtensor/distributed-linux-${process.arch}`,
    });
    Object.defineProperty(process, "platform", { value: "win32" });
    await expect(d.initProcessGroup(options)).rejects.toThrow("WSL");
    expect(d.isAvailable()).toBe(false);
  } finally {
    Object.defineProperty(process, "platform", { value: platform });
    vi.unstubAllEnvs();
  }
});

it("says which arguments and variables are wrong", async () => {
  for (const name of ["RANK", "WORLD_SIZE", "MASTER_PORT"]) vi.stubEnv(name, undefined);
  await expect(d.initProcessGroup()).rejects.toThrow("WORLD_SIZE");
  await expect(d.initProcessGroup({ worldSize: 2 })).rejects.toThrow("npx dxtensor launch");
  await expect(d.initProcessGroup({ worldSize: 2, rank: 2 })).rejects.toThrow("in [0, 2)");
  await expect(d.initProcessGroup({ worldSize: 0, rank: 0 })).rejects.toThrow(dx.ValueError);
  await expect(d.initProcessGroup({ worldSize: 1, rank: 0, timeoutMs: 0 })).rejects.toThrow("timeoutMs");
  vi.stubEnv("RANK", "first");
  await expect(d.initProcessGroup({ worldSize: 2 })).rejects.toThrow("RANK must be an integer of at least 0; received first");
  vi.unstubAllEnvs();
  expect(d.isInitialized()).toBe(false);
  for (const call of [() => d.allReduce(dx.ones([1])), () => d.getRank(), () => d.barrier(), () => d.engineInfo()])
    expect(call).toThrow("initProcessGroup");
  await expect(d.newGroup([0])).rejects.toThrow("initProcessGroup");
  await d.destroyProcessGroup();
});
