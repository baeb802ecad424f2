/** Event files on the disk: errors, the end of the process, and what the Python package tensorboard reads (check.py). */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eventsOf, recordsOf } from "./events.ts";

const { summaryWriter } = dx.train;

let root: string;
let runs = 0;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "dxtensor-event-files-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));
const newFolder = (): string => join(root, `run-${runs++}`);

describe("files", () => {
  test("folders and options that are wrong", () => {
    const file = join(root, "file");
    writeFileSync(file, "");
    expect(() => summaryWriter(join(file, "run"))).toThrow(/^summaryWriter: folder must be a folder that can be written; received ENOTDIR/);
    expect(() => summaryWriter(file)).toThrow(dx.ValueError);
    expect(() => summaryWriter("")).toThrow(dx.ValueError);
    expect(() => summaryWriter(7 as unknown as string)).toThrow(dx.DTypeError);
    expect(() => summaryWriter(newFolder(), { maxQueue: 0 })).toThrow(dx.ValueError);
    expect(() => summaryWriter(newFolder(), { purgeStep: 0.5 })).toThrow(dx.ValueError);
    expect(() => summaryWriter(newFolder(), { filenameSuffix: "/../x" })).toThrow(dx.ValueError);
    expect(() => summaryWriter(newFolder(), { folder: 1 } as object)).toThrow(dx.DxError);
  });

  test("a run of scalars() that cannot be made is an error, and no other is lost", async () => {
    const folder = newFolder();
    mkdirSync(folder);
    writeFileSync(join(folder, "a_b"), "");
    const writer = summaryWriter(folder);
    expect(() => writer.scalars("a", { b: 1 }, 1)).toThrow(dx.ValueError);
    writer.scalar("x", 1, 1);
    await writer.close();
    expect(eventsOf(folder).length).toBe(1);
  });

  test("flush waits for the records of its call alone, while others follow", async () => {
    const folder = newFolder();
    const writer = summaryWriter(folder);
    let hasFlushed = false;
    const producer = (async () => {
      for (let i = 0; !hasFlushed; i++) {
        writer.scalar("x", i, i);
        await setImmediate();
      }
    })();
    await writer.flush();
    hasFlushed = true;
    await producer;
    const closing = writer.close();
    await writer.close();
    expect(eventsOf(folder).length).toBeGreaterThan(0);
    await closing;
  });

  test("many records that could not be made are counted, and told once", async () => {
    const folder = newFolder();
    const writer = summaryWriter(folder);
    for (let step = 0; step < 20; step++) writer.histogram("h", dx.full([2], NaN), step);
    writer.scalar("x", 1, 1);
    const error = (await writer.flush().catch((e: unknown) => e)) as AggregateError;
    expect(error.message).toBe("SummaryWriter.flush: 20 records could not be made");
    expect(error.errors.every((e) => e instanceof dx.ValueError)).toBe(true);
    await writer.flush();
    await writer.close();
    expect(eventsOf(folder).length).toBe(1);
  });

  test.skipIf(process.platform !== "linux")(
    "files are closed by close(), and with writers that were dropped (Linux lists open files)",
    async () => {
      const folder = newFolder();
      const open = (): number =>
        readdirSync("/proc/self/fd").filter((fd) => {
          try {
            return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
          } catch {
            return false;
          }
        }).length;
      const writer = summaryWriter(folder);
      writer.scalars("a", { b: 1, c: 2 }, 0);
      await (() => summaryWriter(folder).flush())();
      expect(open()).toBe(4);
      await writer.close();
      for (let i = 0; i < 100 && open() > 0; i++) {
        globalThis.gc!();
        await setImmediate();
      }
      expect(open()).toBe(0);
    },
  );

  const index = pathToFileURL(join(process.cwd(), "dist", "index.js")).href;
  const run = (code: string, shell: string): string => {
    const file = join(root, `main-${runs++}.mjs`);
    writeFileSync(file, `import * as dx from ${JSON.stringify(index)};\n${code}`);
    const { stdout, stderr } = spawnSync("sh", ["-c", `${shell} "$0" "$1"`, process.execPath, file], { encoding: "utf8" });
    return stdout + stderr;
  };

  test("writers of several threads have files of their own in one folder", async () => {
    const folder = newFolder();
    const code = `import(${JSON.stringify(index)}).then(async ({ train }) => {
  const w = train.summaryWriter(${JSON.stringify(folder)});
  for (let i = 0; i < 50; i++) w.scalar("x", i, i);
  await w.close();
})`;
    await Promise.all([0, 1].map(async () => once(new Worker(code, { eval: true }), "exit")));
    const files = readdirSync(folder).map((name) => recordsOf(readFileSync(join(folder, name))).length);
    expect(files).toEqual([51, 51]);
  });

  test.skipIf(process.platform === "win32")("a full disk: typed errors, and whole records alone (Windows has no limit to set)", () => {
    const folder = newFolder();
    const code = `const w = dx.train.summaryWriter(${JSON.stringify(folder)});
for (let i = 0; i < 50; i++) w.text("x", "y".repeat(1000), i);
await w.flush().catch((e) => console.log(e.name, e.message.includes("EFBIG"), e.cause.code));
try { w.scalar("x", 1, 1); } catch (e) { console.log(e.name); }
await w.close().catch((e) => console.log(e.name));`;
    expect(run(code, "ulimit -f 8;")).toBe("ValueError true EFBIG\nValueError\nValueError\n");
    const steps = eventsOf(folder).map((e) => e.step);
    expect(steps.length).toBeGreaterThan(1);
    expect(steps).toEqual(Array.from({ length: steps.length }, (_, i) => i));
  });

  test.skipIf(process.platform === "win32")(
    "the end of the process keeps what was flushed, and what waited if it ends by itself (no sh on Windows)",
    () => {
      const [killed, ended] = [newFolder(), newFolder()];
      const code = `const w = dx.train.summaryWriter(${JSON.stringify(ended)});
for (let i = 0; i < 100; i++) w.scalar("x", i, i);
const k = dx.train.summaryWriter(${JSON.stringify(killed)});
k.scalar("x", 1, 1);
await k.flush();
if (process.env.KILL === "1") process.kill(process.pid, "SIGKILL");`;
      run(code, "KILL=1");
      expect(eventsOf(killed).length).toBe(1);
      rmSync(ended, { recursive: true });
      rmSync(killed, { recursive: true });
      expect(run(code, "")).toBe("");
      expect(eventsOf(ended).length).toBe(100);
    },
  );
});

/** A Python with the package tensorboard: the named one, or that of the system. Empty where none has it. */
const python =
  [process.env.DXTENSOR_TENSORBOARD_PYTHON ?? "", "python3", "python"].find(
    (name) => name !== "" && spawnSync(name, ["-c", "import tensorboard.backend.event_processing.event_accumulator"]).status === 0,
  ) ?? "";
if (python === "")
  console.warn(
    "NOT CHECKED: what the Python package tensorboard reads. npm run tensorboard installs it; DXTENSOR_TENSORBOARD_PYTHON names a Python that has it.",
  );
test("a Python that is named has the package tensorboard", () => {
  if (process.env.DXTENSOR_TENSORBOARD_PYTHON !== undefined) expect(python).toBe(process.env.DXTENSOR_TENSORBOARD_PYTHON);
});
test.skipIf(python === "")("the Python package tensorboard reads the same (NOT CHECKED where no Python has it)", async () => {
  const folder = newFolder();
  const writer = summaryWriter(folder);
  const edges = [-1, 0, 1];
  for (let step = 0; step < 3; step++) {
    writer.scalar("loss", step / 4, step, { wallTime: 1000 + step });
    writer.scalars("both", { a: step, b: -step }, step, { wallTime: 1 });
  }
  writer.scalar("nan", NaN, -2, { wallTime: 1 });
  writer.histogram("h", dx.tensor([-1, 0, 0.5, 1, NaN].slice(0, 4)), 5, { bins: edges });
  writer.image("i", dx.arange(0, 24).div(24).reshape([2, 3, 2, 2]), 6);
  writer.text("t", "größer", 7);
  writer.graph(dx.nn.linear(3, 2), [4, 3]);
  writer.hparams({ lr: 0.1, name: "sgd", isNesterov: true }, { "hparam/loss": 0.5 }, { wallTime: 1 });
  await writer.close();
  const { image } = eventsOf(folder).find((e) => e.image !== undefined)!;
  const script = fileURLToPath(new URL("check.py", import.meta.url));
  const { stdout, stderr, status } = spawnSync(python, [script, folder], { encoding: "utf8" });
  expect([status, stderr.includes("Traceback") ? stderr : ""]).toEqual([0, ""]);
  const run = (name: string): object => ({ both: [0, 1, 2].map((i) => [i, name === "a" || i === 0 ? `${i}.0` : `-${i}.0`, 1]) });
  const none = { histograms: {}, images: {}, texts: {}, hparams: {}, graph: [] };
  const read = JSON.parse(stdout) as Record<string, { scalars: { both?: unknown[][] } }>;
  // -0 prints with its sign.
  expect(read.both_b!.scalars.both!.shift()).toEqual([0, "-0.0", 1]);
  expect(read).toEqual({
    ".": {
      scalars: {
        loss: [0, 1, 2].map((i) => [i, i === 1 ? "0.25" : i === 2 ? "0.5" : "0.0", 1000 + i]),
        nan: [[-2, "nan", 1]],
        "hparam/loss": [[0, "0.5", 1]],
      },
      histograms: { h: [[5, -1, 1, 4, 0.5, [-1, 0, 1], [0, 1, 3]]] },
      images: { i: [[6, 4, 2, image!.png.toString("base64")]] },
      texts: { "t/text_summary": [[7, "größer"]] },
      hparams: { lr: 0.1, name: "sgd", isNesterov: true, metrics: ["hparam/loss"], status: 1 },
      graph: [
        ["input", "input", [], [[4, 3]], 1],
        ["Linear/weight", "parameter", [], [[2, 3]], 1],
        ["Linear/bias", "parameter", [], [[2]], 1],
        ["Linear/linear", "linear", ["input", "Linear/weight", "Linear/bias"], [[4, 2]], 1],
        ["output", "output", ["Linear/linear"], [[4, 2]], 1],
      ],
    },
    both_a: { ...none, scalars: run("a") },
    both_b: {
      ...none,
      scalars: {
        both: [
          [1, "-1.0", 1],
          [2, "-2.0", 1],
        ],
      },
    },
  });
});
