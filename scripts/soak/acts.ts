// The acts of the soak. Each computes a known result, and counts its requests, the right answers, and the expected errors.
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type * as Library from "../../src/index.ts";
import { takesTypeScript } from "../tools/project.ts";

/** Further fields of the library's own statistics. */
export interface Internals {
  injectFault(device: string, fault: string, after?: number, times?: number): number;
}

interface Run {
  /** The library's URL, for workers. */
  readonly module: string;
  readonly next: (below: number) => number;
  readonly counts: Record<string, number>;
}

interface Message {
  readonly right?: boolean;
  readonly what?: string;
  readonly done?: boolean;
}

/** mulberry32: integers below `below`. */
export function random(seed: number): (below: number) => number {
  return (below) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

/** The acts by name. `counts` has a number for everything that happens; asked and answered must end equal, wrong at 0. */
export function actsOf(dx: typeof Library, { injectFault }: Internals, { module, next, counts }: Run) {
  const count = (name: string, n = 1) => {
    counts[name] = (counts[name] ?? 0) + n;
  };
  const wrong = (what: string) => {
    count("wrong");
    process.stderr.write(`${new Date().toISOString()} wrong: ${what}\n`);
  };
  /** One result that was asked for, and whether it is right; what: the words for it, made when it is not. */
  const answer = (isRight: boolean, what: string | (() => string)) => {
    count("asked");
    count("answered");
    if (!isRight) wrong(typeof what === "function" ? what() : what);
  };
  /** The first element that is another than expected, in words; null when all are right. */
  const other = (elements: ArrayLike<number | bigint>, expected: number) => {
    const at = Array.from(elements).findIndex((v) => v !== expected);
    return at < 0 ? null : `element ${at} of ${elements.length} is ${elements[at]}, not ${expected}`;
  };
  const number = (value: number, device: string, shape: readonly number[] = []) => dx.full(shape, value, { device, dtype: "float32" });

  function network(device: string) {
    const generator = new dx.Generator(7);
    const make = (a: number, b: number) => dx.nn.linear(a, b, { generator });
    return dx.withDevice(device, () => dx.nn.sequential(make(8, 16), dx.nn.relu(), make(16, 1)));
  }
  /** The losses of some steps on the same data, eager or compiled. */
  function losses(isCompiled: boolean, steps: number): number[] {
    const model = network("cpu");
    const optimizer = new dx.optim.Adam(model.parameters(), { lr: 0.01 });
    const x = dx.tensor(
      Float32Array.from({ length: 32 * 8 }, (_, i) => Math.sin(i)),
      { device: "cpu", shape: [32, 8] },
    );
    const step = (input: Library.Tensor) => {
      optimizer.zeroGrad();
      const loss = dx.mean(model.forward(input).sub(1).square());
      loss.backward();
      optimizer.step();
      return loss;
    };
    const compiled = isCompiled ? dx.compile(step) : null;
    const run = compiled ?? step;
    const values = Array.from({ length: steps }, () => Number(dx.scope(() => run(x).itemSync())));
    compiled?.dispose();
    x.dispose();
    model.dispose();
    return values;
  }

  const kept = dx.compile((x: Library.Tensor) => x.mul(3).add(x.sum()), { lists: 3 });

  return {
    /** Training, compiled and eager: equal but for rounding. */
    train() {
      const [a, b] = [losses(true, 12), losses(false, 12)];
      count("steps", 24);
      answer(a.every((v, i) => Math.abs(v - b[i]!) <= 1e-4 * Math.max(1, Math.abs(b[i]!))) && a[11]! < a[0]!, `losses ${a} against ${b}`);
    },
    /** A compiled function over inputs of ever other sizes. */
    infer() {
      for (let i = 0; i < 20; i++) {
        const size = 1 + next(64);
        const x = number(2, "cpu", [size]);
        const y = kept(x);
        const fault = other(y.dataSync(), 6 + 2 * size);
        answer(fault === null, `infer of ${size}: ${fault}`);
        x.dispose();
        y.dispose();
      }
    },
    /** Tensors of any size, disposed of or left to the collector. */
    resize() {
      for (let i = 0; i < 40; i++) {
        const shape = [1 + next(40), 1 + next(next(50) === 0 ? 20_000 : 300)];
        const x = number(1 + (i % 3), "cpu", shape);
        const s = x.t().contiguous().add(1).sum();
        const [got, expected] = [s.itemSync(), shape[0]! * shape[1]! * (2 + (i % 3))];
        answer(got === expected, `resize to ${shape}: ${got}, not ${expected}`);
        if (i % 2 === 0) for (const t of [x, s]) t.dispose();
      }
    },
    /** Many reads at once, some of them large. */
    async read() {
      const size = next(4) === 0 ? 3 << 20 : 1 + next(5000);
      const reads = Array.from({ length: 16 }, async (_, i) => {
        count("asked");
        const x = number(i, "cpu", [size]);
        const bytes = await x.data();
        x.dispose();
        count("answered");
        const fault = bytes.length === size ? other(bytes, i) : `${bytes.length} elements`;
        if (fault !== null) wrong(`read ${i} of ${size}: ${fault}`);
      });
      await Promise.all(reads);
    },
    /** A file saved by two at once, and read. */
    async file() {
      const path = join(tmpdir(), `dxtensor-soak-${randomUUID()}.safetensors`);
      const tensors = { a: number(1, "cpu", [1 + next(1000)]), b: dx.tensor([1, 2, 3], { device: "cpu", dtype: "int64" }) };
      try {
        await Promise.all([dx.io.safetensors.save(path, tensors), dx.io.safetensors.save(path, tensors)]);
        const loaded = await dx.io.safetensors.load(path, { device: "cpu" });
        answer(loaded.tensors.a!.sum().itemSync() === tensors.a.size && loaded.tensors.b!.sum().itemSync() === 6, "a file");
        for (const t of Object.values(loaded.tensors)) t.dispose();
      } finally {
        await rm(path, { force: true });
        for (const t of Object.values(tensors)) t.dispose();
      }
    },
    /** Opens a simulated device, and closes it with work and reads under way: every read is answered or refused. */
    async devices() {
      const device = `dml:${next(2)}`;
      const waiting = Array.from({ length: 4 }, (_, i) =>
        number(i, device, [1 + next(2000)])
          .add(1)
          .data(),
      );
      count("opened");
      const isHasty = next(2) === 0;
      if (!isHasty) answer(number(5, device, [7]).sum().itemSync() === 35, `open ${device}`);
      dx.closeDevice(device);
      for (const [i, result] of (await Promise.allSettled(waiting)).entries()) {
        count("asked");
        count("answered");
        if (result.status === "fulfilled") {
          const fault = other(result.value, i + 1);
          if (fault !== null) wrong(`read ${i} of ${device}: ${fault}`);
        } else if (!(result.reason instanceof dx.DxError)) wrong(`read ${i} of ${device} gave ${result.reason}`);
        if (result.status === "rejected") count("refused");
      }
    },
    /** Memory that runs out on demand: an error, and the next call works. */
    outOfMemory() {
      const device = "dml:0";
      const x = number(1, device, [64]);
      x.add(1).dataSync();
      injectFault(device, "outOfMemory");
      count("outOfMemory");
      // The runtime collects garbage and tries once more: most of these succeed.
      try {
        answer(
          number(2, device, [1 + next(1 << 16)])
            .amax()
            .itemSync() === 2,
          "after out of memory",
        );
      } catch (error) {
        count("refused");
        answer(error instanceof dx.OutOfMemoryError, `out of memory gave ${error}`);
      }
      answer(x.add(1).sum().itemSync() === 128, "after out of memory");
      x.dispose();
    },
    /** Memory that runs out anywhere in a compiled function that changes state: the call that succeeds in the end is right. */
    exhausted() {
      const device = "dml:0";
      const x = number(3, device, [64]);
      const state = number(0, device, [9]);
      const run = dx.compile((t: Library.Tensor) => {
        state.add_(t.sum());
        return state.mul(2);
      });
      let total = 0;
      for (let i = 0; i < 6; i++) {
        injectFault(device, "outOfMemory", next(12), 1 + next(4));
        let y: Library.Tensor | null = null;
        for (let tries = 0; y === null && tries < 8; tries++) {
          try {
            y = run(x.mul(i));
          } catch (error) {
            if (!(error instanceof dx.OutOfMemoryError)) throw error;
            count("refused");
          }
        }
        count("faults", injectFault(device, "outOfMemory", 0, 0));
        total += 64 * 3 * i;
        const fault = y === null ? "no result" : other(y.dataSync(), 2 * total);
        answer(fault === null, `call ${i} after out of memory: ${fault}`);
        y?.dispose();
      }
      run.dispose();
      for (const t of [x, state]) t.dispose();
    },
    /** A removed device says so, and opens again. */
    async removal() {
      const device = "dml:1";
      const x = number(1, device, [64]);
      x.add(1).dataSync();
      injectFault(device, "removeDevice");
      count("removed");
      const waiting = await Promise.allSettled([x.add(1).data(), dx.synchronize(device)]);
      for (const result of waiting) {
        const reason: unknown = result.status === "rejected" ? result.reason : "a result";
        answer(reason instanceof dx.DeviceRemovedError, `removal gave ${reason}`);
      }
      dx.closeDevice(device);
      x.dispose();
      answer(number(3, device, [5]).sum().itemSync() === 15, "a device opened again");
      dx.closeDevice(device);
    },
    /** Workers that end by themselves, or are ended wherever they are. */
    async workers() {
      const isKilled = next(2) === 0;
      const rounds = 20 + next(100);
      const after = 1 + next(rounds);
      const worker = new Worker(new URL("./worker.ts", import.meta.url), {
        execArgv: takesTypeScript,
        workerData: { module, seed: next(1000), rounds },
      });
      count(isKilled ? "killed" : "finished");
      let results = 0;
      await new Promise((resolve, reject) => {
        worker.on("error", reject);
        worker.on("exit", resolve);
        worker.on("message", ({ right, what, done }: Message) => {
          if (done === true || right === undefined) return;
          results++;
          answer(right, `a worker's result: ${what}`);
          if (isKilled && results === after) void worker.terminate();
        });
      });
      if (!isKilled) answer(results === rounds, `a worker gave ${results} of ${rounds} results`);
    },
  };
}
