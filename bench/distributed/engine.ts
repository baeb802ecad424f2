/** The engine alone, on memory of the host, as Gloo's own program has it: no tensor, no device. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as dx from "dxtensor";

/** What of the addon is called; src/distributed/gloo.ts has all. */
interface Addon {
  createGroup(options: object): { readonly group: object; readonly addresses: readonly Uint8Array[] };
  start(group: object, call: object, ended: (failure: { readonly message: string } | null) => void): object;
  close(group: object, isClean: boolean): void;
}

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
/** Positions in the addon's lists: allReduce, barrier, connect; float32; sum. */
const [ALL_REDUCE, BARRIER, CONNECT] = [0, 8, 9];

/** A function that reduces memory in place, another that waits for all ranks, and the end. */
export async function engineAlone(rank: number, size: number) {
  const file = process.env["DXTENSOR_DISTRIBUTED"] ?? join(root, "build", "distributed", "distributed.node");
  const addon = createRequire(import.meta.url)(file) as Addon;
  const store = await dx.distributed.tcpStore({ port: Number(process.env["MASTER_PORT"]), isMaster: rank === 0 });
  const ranks = Array.from({ length: size }, (_, i) => i);
  const { group, addresses } = addon.createGroup({
    rank,
    size,
    host: "127.0.0.1",
    interface: "",
    channels: 1,
    timeoutMs: 60_000,
    ranks,
    world: null,
  });
  await store.set(`engine/${rank}`, JSON.stringify(addresses.map((address) => Buffer.from(address).toString("base64"))));
  const theirs = [];
  for (const i of ranks)
    theirs.push(
      i === rank ? new Uint8Array(0) : Buffer.from((JSON.parse(await store.get(`engine/${i}`, 60_000)) as string[])[rank]!, "base64"),
    );
  let tag = 0;
  const run = (kind: number, bytes: Uint8Array | null, others: readonly Uint8Array[] | null): Promise<void> =>
    new Promise((done, failed) => {
      const numbers = { kind, tag: ++tag, sequence: tag, dtype: 0, reduction: 0, isMean: 0, root: 0, timeoutMs: 60_000 };
      const call = { ...numbers, input: bytes, output: bytes, description: "", addresses: others };
      addon.start(group, call, (failure) => (failure === null ? done() : failed(new Error(failure.message))));
    });
  await run(CONNECT!, null, theirs);
  return {
    allReduce: (bytes: Uint8Array): Promise<void> => run(ALL_REDUCE!, bytes, null),
    barrier: (): Promise<void> => run(BARRIER!, null, null),
    close: async (): Promise<void> => {
      await run(BARRIER!, null, null);
      addon.close(group, true);
      await store.close();
    },
  };
}
