/** Devices that are removed or do not answer: the errors, and opening them again. On `cpu`, which has injected faults. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { injectFault } from "../../src/runtime/device-statistics.ts";

const run = promisify(execFile);
const dist = fileURLToPath(new URL("../../dist", import.meta.url));

const caught = (fn: () => unknown): unknown => {
  try {
    return fn();
  } catch (error) {
    return error;
  }
};

afterEach(() => {
  dx.setDeviceTimeout(undefined);
  dx.closeDevice("cpu");
});

describe("a removed device", () => {
  it("says why, and what ran", async () => {
    const x = dx.ones([16], { device: "cpu" });
    const step = dx.compile((t: dx.Tensor) => t.add(1), { name: "step" });
    step(x);
    await dx.synchronize("cpu");
    injectFault("cpu", "removeDevice");
    const error = caught(() => step(x).dataSync());
    expect(error).toBeInstanceOf(dx.DeviceRemovedError);
    expect(error).toMatchObject({
      kind: "removed",
      reason: "a fault was injected",
      isElsewhere: false,
      hresultName: "DXGI_ERROR_DEVICE_HUNG",
    });
    expect((error as dx.DeviceRemovedError).work).toMatch(/^step at .*removed\.test\.ts:\d+$/);
    // Told again in the same words, whatever is asked for.
    const again = [() => x.add(1), () => x.dataSync(), () => dx.ones([3], { device: "cpu" }), () => step(x)];
    for (const ask of again) expect(caught(ask)).toMatchObject({ kind: "removed", reason: "a fault was injected", isElsewhere: false });
  });

  it("names what ran whichever thread notices it first", async () => {
    for (let i = 0; i < 30; i++) {
      const x = dx.ones([16], { device: "cpu" });
      const step = dx.compile((t: dx.Tensor) => t.add(1), { name: "step" });
      step(x);
      await dx.synchronize("cpu");
      injectFault("cpu", "removeDevice");
      expect(caught(() => step(x).dataSync())).toMatchObject({
        work: expect.stringMatching(/^step at .*removed\.test\.ts:\d+$/) as string,
      });
      dx.closeDevice("cpu");
      x.dispose();
    }
  });

  it("rejects what was asked for before, and opens again as often as one likes", async () => {
    for (let i = 0; i < 20; i++) {
      const x = dx.ones([16], { device: "cpu" });
      expect(await x.add(1).data()).toHaveLength(16);
      injectFault("cpu", "removeDevice");
      const waiting = [x.add(1).data(), dx.synchronize("cpu")].map((p) => p.catch((e: unknown) => e));
      for (const result of await Promise.all(waiting))
        expect(result).toMatchObject({ name: "DeviceRemovedError", reason: "a fault was injected" });
      dx.closeDevice("cpu");
      x.dispose();
    }
  });

  it("lets go of what belonged to it in silence", () => {
    const make = (): dx.Tensor[] => Array.from({ length: 300 }, (_, i) => dx.full([4], i, { device: "cpu" }));
    const state = dx.zeros([4], { device: "cpu" });
    const count = dx.compile((t: dx.Tensor) => state.add_(t));
    const old = make();
    count(old[1]!);
    dx.closeDevice("cpu");
    const next = make();
    for (const t of [...old, state]) t.dispose();
    count.dispose();
    next.forEach((t, i) => expect(t.max().itemSync()).toBe(i));
    for (const t of next) t.dispose();
  });

  it("is told to other threads as theirs was caused elsewhere, and every thread opens a new one", async () => {
    const { stdout } = await run(process.execPath, [fileURLToPath(new URL("./removed.mjs", import.meta.url)), dist]);
    const story = JSON.parse(stdout) as [string, string, unknown][];
    const own = { name: "DeviceRemovedError", reason: "a fault was injected", isElsewhere: false };
    const others = { ...own, isElsewhere: true, message: expect.stringContaining("by the work of another thread") as unknown };
    const lost = (who: string): unknown[] => [
      [who, "use", expect.objectContaining(others)],
      [who, "close", "closed"],
      [who, "use", 2000],
    ];
    expect(story).toEqual([
      ...["main", "0", "1"].map((who) => [who, "use", 2000]),
      ["main", "remove", expect.objectContaining(own)],
      ["main", "use", expect.objectContaining(own)],
      ["main", "close", "closed"],
      ["main", "use", 2000],
      ...["0", "1"].flatMap((who) => [[who, "use", expect.objectContaining(others)], ...lost(who)]),
      ["0", "remove", expect.objectContaining(own)],
      ...lost("1"),
      ...lost("main"),
      ["0", "close", "closed"],
      ["0", "use", 2000],
      ...["main", "0", "1"].flatMap((who) => [
        [who, "dispose", "quiet"],
        [who, "close", "closed"],
      ]),
    ]);
  });
});

describe("a device that does not answer", () => {
  it("is a typed timeout for whoever waits, and opens again", async () => {
    dx.setDeviceTimeout(300);
    const x = dx.ones([16], { device: "cpu" });
    expect(x.sum().itemSync()).toBe(16);
    injectFault("cpu", "hang");
    const waiting = [x.add(1).data(), dx.synchronize("cpu")].map((p) => p.catch((e: unknown) => e));
    const timeout = { name: "DeviceTimeoutError", kind: "timeout", message: expect.stringContaining("300 ms") as unknown };
    expect(caught(() => x.dataSync())).toMatchObject(timeout);
    for (const result of await Promise.all(waiting)) expect(result).toMatchObject(timeout);
    // More work than the queue's ring holds does not block either.
    expect(caught(() => Array.from({ length: 20_000 }, () => x.add(1).dispose()))).toMatchObject(timeout);
    dx.closeDevice("cpu");
    expect(dx.ones([16], { device: "cpu" }).sum().itemSync()).toBe(16);
  });

  it.each(["process.exit()", "return", "worker.terminate()"])("does not keep the process: %s", async (how) => {
    const program = fileURLToPath(new URL("./hung.mjs", import.meta.url));
    const { code, stderr } = await run(process.execPath, [program, dist, how]).then(
      () => ({ code: 0, stderr: "" }),
      (e: { code: number; stderr: string }) => e,
    );
    expect({ code, stderr }).toEqual({ code: 3, stderr: "" });
  });
});
