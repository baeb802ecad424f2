/** Programs whose loaders have workers: they end by themselves, from every form of module, and leave devices to the loader's thread. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";

const library = pathToFileURL(resolve("dist/bundle/dxtensor.js")).href;
const modules = new URL("./worker-modules/", import.meta.url);
let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-workers-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const head = `
  import * as dx from ${JSON.stringify(library)};
  dx.setDefaultDevice("cpu");
  const set = await dx.data.workerDataset(new URL("images.mjs", ${JSON.stringify(modules.href)}), { length: 12 });
  const loaderOf = (options) => dx.data.dataLoader(set, { batchSize: 2, numWorkers: 2, ...options });
`;

interface Ended {
  readonly out: string;
  readonly code: number | null;
  readonly signal: string | null;
}

/** Runs a program until it ends. onText: called with the process when it has written something. */
function run(
  name: string,
  source: string,
  args: readonly string[] = [],
  onText?: (kill: (signal: "SIGINT") => void) => void,
): Promise<Ended> {
  const file = join(folder, name);
  writeFileSync(file, source);
  const child = spawn(process.execPath, [...args, file], { stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  child.stderr.on("data", (text: Buffer) => (out += text.toString()));
  child.stdout.on("data", (text: Buffer) => {
    if (out === "") onText?.((signal) => child.kill(signal));
    out += text.toString();
  });
  return new Promise((done, fail) => {
    child.on("error", fail);
    child.on("close", (code, signal) => done({ out: out.trim(), code, signal }));
  });
}

it("a program ends when its loops have: finished, left, failed, abandoned, with workers that live on", async () => {
  const { out, code } = await run(
    "ends.mjs",
    `${head}
    let batches = 0;
    for await (const _ of loaderOf({})) batches++;
    for await (const _ of loaderOf({ persistentWorkers: true })) if (++batches === 8) break;
    try { for await (const _ of loaderOf({})) throw new Error("mine"); } catch (error) { batches += error.message === "mine" ? 100 : 0; }
    const abandoned = loaderOf({ persistentWorkers: true })[Symbol.asyncIterator]();
    await abandoned.next();
    console.log(batches);`,
  );
  expect([out, code]).toEqual(["108", 0]);
});

it("Ctrl-C ends a program whose worker hangs, and lets one that catches it end its loop", async () => {
  const hangs = `${head}
    const slow = await dx.data.workerDataset(new URL("images.mjs", ${JSON.stringify(modules.href)}), { length: 4, fail: { at: "hang", index: 2 } });
    for await (const _ of dx.data.dataLoader(slow, { numWorkers: 2, batchSize: 2 })) console.log("ready");`;
  const interrupt = (kill: (signal: "SIGINT") => void): void => kill("SIGINT");
  expect((await run("hangs.mjs", hangs, [], interrupt)).signal).toBe("SIGINT");
  const catches = `${head}
    let isOver = false;
    process.on("SIGINT", () => { isOver = true; });
    let passes = 0;
    while (!isOver) for await (const _ of loaderOf({})) { if (passes++ === 0) console.log("ready"); if (isOver) break; }
    console.log("ended");
    process.removeAllListeners("SIGINT");`;
  expect(await run("catches.mjs", catches, [], interrupt)).toEqual({ out: "ready\nended", code: 0, signal: null });
});

it("data sets of CommonJS and TypeScript, from programs of both", async () => {
  const typed = JSON.stringify(fileURLToPath(new URL("typed.ts", modules)));
  const program = `
    const dx = await import(${JSON.stringify(library)});
    dx.setDefaultDevice("cpu");
    const set = await dx.data.workerDataset(${typed}, { length: 3 });
    const all: unknown[] = [];
    for await (const { image, label } of dx.data.dataLoader(set, { numWorkers: 1, batchSize: 3 })) all.push(image.shape, await label.toArray());
    console.log(JSON.stringify(all));
    export {};`;
  const typescript = await run("main.ts", program, ["--import", pathToFileURL(resolve("scripts/typescript.mjs")).href]);
  expect(typescript.out).toContain("[[3,2,1],[0,1,2]]");
  const words = JSON.stringify(fileURLToPath(new URL("device.cjs", modules)));
  const common = `
    const { getBuiltinModule } = process;
    import(${JSON.stringify(library)}).then(async (dx) => {
      dx.setDefaultDevice("cpu");
      const set = await dx.data.workerDataset(require.resolve(${words}), { library: ${JSON.stringify(library)} });
      for await (const batch of dx.data.dataLoader(set, { batchSize: 2 })) console.log(await batch.toArray());
      try { for await (const _ of dx.data.dataLoader(set, { numWorkers: 1 })); } catch (error) { console.log(error.cause.name, error.message); }
    });`;
  const { out } = await run("main.cjs", common);
  expect(out).toMatch(/^\[ 0, 1 \]\n/);
  expect(out).toMatch(/DataLoader: worker 0, sample 0: .*cpu:?0? in a worker of a loader, which opens no device/);
});
