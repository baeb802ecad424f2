/** Writers at once, a disk that is full, and files that may not grow: there is always a complete checkpoint. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { isWhole } from "../../share.ts";

const program = fileURLToPath(new URL("./writer-child.mjs", import.meta.url));
const bundle = new URL("../../../dist/bundle/dxtensor.js", import.meta.url).href;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-disk-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Saved {
  readonly n: number;
  readonly arrays: Readonly<Record<string, Float64Array>>;
  readonly tensor: dx.Tensor;
}

/** The number that a checkpoint has everywhere. Fails for one that has two. */
async function numberOf(file: string): Promise<number> {
  const { n, arrays, tensor } = await dx.load<Saved>(file, { device: "cpu" });
  const values = new Set([n, ...Object.values(arrays).flatMap((array) => [...array]), ...(tensor.dataSync() as Float32Array)]);
  tensor.dispose();
  expect([...values]).toEqual([n]);
  return n;
}

interface Ended {
  readonly code: number | null;
  readonly lines: readonly { readonly saved?: number; readonly name?: string; readonly message?: string; readonly code?: string }[];
}

/** A process that saves. prefix: the shell's commands before. */
function save(file: string, writer: number, count: number, maxShardBytes: number, prefix = ""): Promise<Ended> {
  const args = [program, bundle, file, writer, count, maxShardBytes].map(String);
  const child =
    prefix === ""
      ? spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] })
      : spawn("bash", ["-c", `${prefix} "$@"`, "bash", process.execPath, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout!.on("data", (data: Buffer) => (text += data.toString()));
  return new Promise((resolve) => {
    child.once("close", (code) => {
      const lines = text.split("\n").filter((line) => line !== "");
      resolve({ code, lines: lines.map((line) => JSON.parse(line) as Ended["lines"][number]) });
    });
  });
}

test.each([
  ["one file", 1e9],
  ["shards", 500],
])(
  "two processes save under one name, as %s: a reader always sees one of them, complete",
  { timeout: 600_000 },
  async (name, maxShardBytes) => {
    const COUNT = isWhole ? 500 : 25;
    const own = join(folder, name.replace(" ", "-"));
    mkdirSync(own);
    const file = join(own, "last.safetensors");
    await dx.save(file, { n: 0, arrays: {}, tensor: dx.zeros([1], { device: "cpu" }) }, { maxShardBytes });
    const ended = Promise.all([save(file, 1, COUNT, maxShardBytes), save(file, 2, COUNT, maxShardBytes)]);
    let isOver = false;
    void ended.then(() => (isOver = true));
    const seen: number[] = [];
    while (!isOver) seen.push(await numberOf(file));
    for (const { code, lines } of await ended) expect([code, lines]).toEqual([0, [{ saved: COUNT }]]);
    // Of each writer later ones follow earlier ones.
    for (const writer of [1, 2]) {
      const mine = seen.filter((n) => Math.floor(n / 1000) === writer);
      expect(mine).toEqual([...mine].sort((a, b) => a - b));
    }
    expect(new Set(seen).size).toBeGreaterThan(2);
    expect([1000 + COUNT - 1, 2000 + COUNT - 1]).toContain(await numberOf(file));
    // What replaced manifests named goes with a later save, at the latest when the processes have ended.
    await dx.save(file, { n: 5 });
    expect(readdirSync(own)).toEqual(["last.safetensors"]);
  },
);

test("saves at once in one process, under one name and others", async () => {
  const own = join(folder, "at-once");
  mkdirSync(own);
  const state = (n: number): Saved => ({ n, arrays: { a: new Float64Array(100).fill(n) }, tensor: dx.full([100], n, { device: "cpu" }) });
  const files = Array.from({ length: 12 }, (_, i) => join(own, `step-${i % 3}.safetensors`));
  await Promise.all(files.map((file, i) => dx.save(file, state(i), { maxShardBytes: 300 })));
  for (let i = 0; i < 3; i++) expect((await numberOf(join(own, `step-${i}.safetensors`))) % 3).toBe(i);
  await Promise.all(files.map((file, i) => dx.save(file, state(i), { maxShardBytes: 300, keepLast: 1 })));
  const last = await dx.latest(own);
  expect(last).not.toBeNull();
  await numberOf(last!);
  await dx.save(join(own, "step-9.safetensors"), { n: 1 }, { keepLast: 1 });
  expect(readdirSync(own)).toEqual(["step-9.safetensors"]);
});

describe.skipIf(process.platform !== "linux")("no room (Linux)", () => {
  test("files that may not grow: the save is an error, and the checkpoint before stays", async () => {
    for (const maxShardBytes of [1e9, 500]) {
      const own = join(folder, `limit-${maxShardBytes}`);
      mkdirSync(own);
      const file = join(own, "last.safetensors");
      await save(file, 1, 1, maxShardBytes);
      const before = readdirSync(own).sort();
      // Blocks of 1024 bytes; what is written beyond is an error, if the signal is ignored.
      const { code, lines } = await save(file, 2, 2, maxShardBytes, "trap '' XFSZ; ulimit -f 1;");
      const failed = { name: "ValueError", argument: expect.stringContaining("last") as unknown, code: "EFBIG" };
      expect([code, lines]).toMatchObject([0, [failed, failed, { saved: 0 }]]);
      expect([await numberOf(file), readdirSync(own).sort()]).toEqual([1000, before]);
    }
  });

  const isMountable = process.getuid?.() === 0 && spawnSync("unshare", ["-m", "true"]).status === 0;
  test.skipIf(!isMountable)("a full disk, with any room that is left (only root may mount one)", { timeout: 600_000 }, async () => {
    const disk = join(folder, "full");
    mkdirSync(disk);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k,nr_inodes=200", "tmpfs", disk]);
    try {
      const file = join(disk, "step-1.safetensors");
      for (const maxShardBytes of [1e9, 500]) {
        await save(file, 1, 1, maxShardBytes);
        const before = readdirSync(disk).sort();
        const block = statfsSync(disk).bsize;
        let failures = 0;
        // From no room to enough of it.
        for (let free = 0; free <= 16; free += isWhole ? 1 : 5) {
          const room = statfsSync(disk).bavail - free;
          writeFileSync(join(disk, "filler"), Buffer.alloc(Math.max(0, room) * block));
          const { lines } = await save(file, 2 + free, 1, maxShardBytes);
          rmSync(join(disk, "filler"));
          const isSaved = lines.at(-1)!.saved === 1;
          if (!isSaved) {
            failures++;
            expect([free, lines]).toMatchObject([free, [{ name: "ValueError", code: "ENOSPC" }, { saved: 0 }]]);
            expect([free, readdirSync(disk).sort()]).toEqual([free, before]);
          }
          expect([free, await numberOf(file)]).toEqual([free, isSaved ? 1000 * (2 + free) : 1000]);
          if (isSaved) break;
        }
        expect(failures).toBeGreaterThan(0);
        rmSync(file);
      }
    } finally {
      execFileSync("umount", [disk]);
    }
  });
});
