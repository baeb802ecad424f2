/**
 * A runtime as a whole: enumeration, threads, exit with work pending, a removed device. On any machine; variables of the Wine cell
 * (scripts/cells/wine) enable the tests that only it can run.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { devices, isMicrosoft } from "../device.ts";

const inCell = process.platform === "win32" && process.env["DXTENSOR_CELL_NODE"] !== undefined;

interface Ended {
  readonly status: number | null;
  readonly answer: unknown;
}

/** Runs a program of child.mjs in a process of its own. */
function child(name: string, device: string, env: Readonly<Record<string, string>> = {}): Ended {
  const done = spawnSync(process.execPath, [fileURLToPath(new URL("child.mjs", import.meta.url)), name, device], {
    encoding: "utf8",
    env: { ...process.env, DXTENSOR_TEST_PACKAGE: new URL("../../dist/index.js", import.meta.url).href, ...env },
    timeout: 120_000,
  });
  if (done.stdout === "") throw new Error(`${name} ended with ${done.status ?? done.signal} and said nothing: ${done.stderr}`);
  return { status: done.status, answer: JSON.parse(done.stdout) as unknown };
}

describe.each(devices)("a process on %s", (device) => {
  it("ends at once with work pending", () => {
    expect(child("pending", device)).toEqual({ status: 0, answer: { queued: 500 } });
  });

  it("stays until a read that it started is there", () => {
    expect(child("waits", device)).toEqual({ status: 0, answer: { value: 50 } });
  });

  it("has devices of its own in each thread, and survives a thread that is terminated", () => {
    expect(child("threads", device)).toEqual({ status: 0, answer: { own: 40, theirs: [40, 40], lengths: [64, 64] } });
  });
});

describe.each(devices.filter(isMicrosoft))("Microsoft's library as %s", (device) => {
  const index = Number(device.slice("dml:".length));

  it("is found with a name and what it can do", () => {
    expect(dx.dml.deviceCount()).toBeGreaterThan(index);
    expect(dx.dml.deviceName(index)).not.toBe("");
    const { adapter, capabilities } = nativeDevice(dx.device(device));
    expect(adapter.isSimulated).toBe(false);
    expect(capabilities.featureLevel).toBeGreaterThanOrEqual(0x5000);
  });

  it("is refused by an index that is not there", () => {
    const count = dx.dml.deviceCount();
    expect(dx.dml.deviceName(count)).toBe("");
    expect(() => dx.dml.device(count)).toThrow(new RegExp(`device_id must be in range \\[0, ${count}\\)`));
  });

  it.runIf(inCell)("is taken from DXGI, since this Windows has no DXCore", () => {
    expect(dx.dml.deviceName(index)).toContain("WineD3D");
    expect(nativeDevice(dx.device(device)).capabilities.featureLevel).toBe(0x6400);
  });

  it.runIf(inCell)("tells of its removal in every way of using it, and leaves the process and cpu alive", () => {
    const { status, answer } = child("removed", device, { DXTENSOR_CELL_REMOVE_AFTER: "20" });
    const { seen, other } = answer as { seen: { name: string; type: string; message: string }[]; other: number[] };
    expect(status).toBe(0);
    expect(seen.map(({ name, type }) => `${name}: ${type}`)).toEqual(
      ["data", "dataSync", "operation", "synchronize"].map((name) => `${name}: DeviceRemovedError`),
    );
    for (const { message } of seen) expect(message).toContain("DXGI_ERROR_DEVICE_REMOVED");
    expect(other).toEqual([2, 2, 2]);
  });

  it.runIf(inCell)("is none on a machine without Direct3D 12: a typed error, and cpu works", () => {
    const { status, answer } = child("removed", device, { DXTENSOR_CELL_DEVICE_HR: "887a0004" });
    const { seen, other } = answer as { seen: { name: string; type: string; message: string }[]; other: number[] };
    expect(status).toBe(0);
    expect(seen.every(({ type }) => type === "NativeError")).toBe(true);
    expect(seen[0]?.message).toContain("DXGI_ERROR_UNSUPPORTED");
    expect(other).toEqual([2, 2, 2]);
  });
});
