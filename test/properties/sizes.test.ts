/**
 * No public function ends the process or runs forever for any size: each function, layer, optimizer, schedule, dataset and reader of the generated
 * tables is called with 0, 2^31 - 1, 2^31, 2^32 and 2^53 as every argument that takes a number, alone, in lists and in options; its result is used.
 * Each call gives a result or a typed error, soon.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { isWhole } from "../share.ts";

/** Of one call, on a machine that does much else; most take less than a millisecond. */
const SOON_MS = 60_000;
const MAX_KIB = 3 * 2 ** 20;
/** Every nth call, unless all are asked for; no multiple of the five sizes, so that each is met everywhere. */
const STEP = isWhole ? 1 : 29;

interface Line {
  readonly n?: number;
  readonly name?: string;
  readonly shown?: string;
  readonly untyped?: string;
  readonly done?: number;
}

/** Resident memory, where the system tells it. */
function residentKib(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

it("answers every size soon", { timeout: 1_200_000 }, async () => {
  const program = fileURLToPath(new URL("./sizes-child.mjs", import.meta.url));
  const dist = new URL("../../dist/", import.meta.url).href;
  const child = spawn(process.execPath, ["--max-old-space-size=1024", program, dist, "0", String(STEP)], {
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  let [told, last, ended] = ["", {} as Line, null as string | null];
  let at = performance.now();
  child.stderr!.on("data", (data: Buffer) => (told = (told + data.toString()).slice(-2000)));
  const watch = setInterval(() => {
    if (performance.now() - at > SOON_MS) ended = `took more than ${SOON_MS} ms`;
    else if (residentKib(child.pid!) > MAX_KIB) ended = `took more than ${MAX_KIB} KiB`;
    if (ended !== null) child.kill("SIGKILL");
  }, 100);
  const untyped: string[] = [];
  const names = new Set<string>();
  let done: number | null = null;
  try {
    for await (const text of createInterface({ input: child.stdio[3] as Readable })) {
      const line = JSON.parse(text) as Line;
      at = performance.now();
      if (line.untyped !== undefined) untyped.push(`${last.name}(${last.shown}): ${line.untyped}`);
      else if (line.done !== undefined) done = line.done;
      else {
        last = line;
        names.add(line.name!);
      }
    }
  } finally {
    clearInterval(watch);
  }
  expect(untyped, "errors without a type").toEqual([]);
  expect(done, `${last.name}(${last.shown}) ${ended ?? "ended the process"}: ${told}`).not.toBeNull();
  // Fewer would mean that the tables are no longer read.
  expect(names.size).toBeGreaterThan(550);
  const namespaces = new Set([...names].map((name) => name.split(".")[0]));
  expect([...namespaces]).toEqual(expect.arrayContaining(["nn", "optim", "lr-scheduler", "data", "onnx", "safetensors"]));
  expect(done!).toBeGreaterThan(45_000);
});
