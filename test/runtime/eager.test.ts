import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { holdQueue } from "../../src/runtime/device-statistics.ts";
import { devices } from "../device.ts";

describe.each(devices)("eager calls on %s", (device) => {
  it("record one dispatch for each call of a dependent chain", async () => {
    const one = dx.ones([16], { device });
    let x = dx.zeros([16], { device });
    await dx.synchronize(device);
    const before = dx.counters(device);
    for (let i = 0; i < 500; i++) {
      const next = dx.add(x, one);
      x.dispose();
      x = next;
    }
    expect(Array.from((await x.data()) as Float32Array)).toEqual(new Array(16).fill(500));
    const after = dx.counters(device);
    expect(after.dispatchesRecorded - before.dispatchesRecorded).toBe(500);
    expect(after.operatorsCompiled - before.operatorsCompiled).toBeLessThanOrEqual(1);
    // Buffers that come back again and again are bound already.
    expect(after.tablesBound - before.tablesBound).toBeLessThan(50);
  });

  it("leave JavaScript running while the queue is held", async () => {
    const x = dx.ones([4], { device });
    await x.data();
    holdQueue(device, true);
    let done = false;
    const reading = x
      .mul(3)
      .data()
      .then((v) => {
        done = true;
        return v;
      });
    for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(done).toBe(false);
    holdQueue(device, false);
    expect(Array.from((await reading) as Float32Array)).toEqual([3, 3, 3, 3]);
  });

  it("compile a program once for equal shapes, and again for others", async () => {
    const run = (n: number): Promise<unknown> => dx.full([n], 2, { device, dtype: "float32" }).pow(3).data();
    await run(11);
    const before = dx.counters(device);
    await run(11);
    expect(dx.counters(device).operatorsCompiled).toBe(before.operatorsCompiled);
    await run(13);
    expect(dx.counters(device).operatorsCompiled).toBeGreaterThan(before.operatorsCompiled);
  });

  it("read views at odd offsets, and write them", async () => {
    const x = dx.tensor(
      Float32Array.from({ length: 40 }, (_, i) => i),
      { device },
    );
    for (const offset of [1, 2, 3, 4, 5, 7, 13]) {
      const view = x.slice(0, offset, offset + 9);
      expect(Array.from((await view.mul(2).data()) as Float32Array)).toEqual(Array.from({ length: 9 }, (_, i) => 2 * (offset + i)));
    }
    const bytes = dx.tensor(
      Uint8Array.from({ length: 37 }, (_, i) => i),
      { device },
    );
    bytes.slice(0, 5, 9).fill_(200);
    expect(Array.from((await bytes.data()) as Uint8Array)).toEqual(Array.from({ length: 37 }, (_, i) => (i >= 5 && i < 9 ? 200 : i)));
  });
});

describe("importing the package", () => {
  const script = `const t = performance.now(); const dx = await import(${JSON.stringify(new URL("../../dist/index.js", import.meta.url).href)}); const ms = performance.now() - t;
    const maps = process.platform === "linux" ? (await import("node:fs")).readFileSync("/proc/self/maps", "utf8") : "";
    const t2 = performance.now(); const sum = await dx.tensor([1, 2]).add(1).data(); console.log(JSON.stringify({ ms, loaded: /libdirectml|libd3d12|libdxcore|dxtensor_software|dxtensor\\.node/.test(maps), first: performance.now() - t2, sum: [...sum] }));`;

  it("loads no DirectX library; the first operation does", () => {
    const out = execFileSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      env: { ...process.env, DXTENSOR_DEVICE: "cpu" },
    });
    const facts = JSON.parse(out) as { loaded: boolean; sum: number[] };
    expect(facts.loaded).toBe(false);
    expect(facts.sum).toEqual([2, 3]);
  });

  it("needs no package at run time", () => {
    const { dependencies } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { dependencies?: object };
    expect(Object.keys(dependencies ?? {})).toEqual([]);
  });
});
