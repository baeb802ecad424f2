/**
 * The devices that tests run on, and the ways in which a test's body runs. DXTENSOR_TEST_DEVICES ("cpu,dml:0") names them;
 * without it: cpu, where the software adapter's library is there, and every `dml` device (simulated ones when
 * DXTENSOR_SIMULATE asks for them). At least one must be there.
 */
import { describe, expect } from "vitest";
import * as dx from "../src/index.ts";
import * as constants from "../src/runtime/constants.ts";
import { values } from "../src/ops/data.ts";
import { nativeDevice } from "../src/runtime/devices.ts";

/** Internal members are not part of the published types. */
const { clearScalars } = constants as unknown as { clearScalars(): void };

/** The storage that views share. */
export const storageOf = (t: dx.Tensor): object => (t as unknown as { storage: object }).storage;

/** A device that is not there is an error when it is named, else it is left out. */
function present(): string[] {
  const named = process.env.DXTENSOR_TEST_DEVICES;
  if (named !== undefined && named !== "") return named.split(",");
  const found: string[] = [];
  try {
    nativeDevice(dx.device("cpu"));
    found.push("cpu");
  } catch (error) {
    if (!(error instanceof dx.NativeLoadError)) throw error;
  }
  for (let i = 0; i < dx.dml.deviceCount(); i++) found.push(`dml:${i}`);
  if (found.length === 0) throw new Error("No device to test on: run `npm run build:native`, or name a runtime's libraries.");
  return found;
}

export const devices: readonly string[] = present();

/** A way of running a body: eagerly, or in another manner that gives the same results. */
export interface Mode {
  readonly name: string;
  /** Runs fn, which makes tensors, and gives what it returns. */
  run<T>(fn: () => T): T;
}

/** Eager first; whoever adds another way of running (compile) pushes it. */
export const modes: Mode[] = [{ name: "eager", run: (fn) => fn() }];

/** Declares the tests of body for each device. */
export function eachDevice(name: string, body: (device: string) => void): void {
  for (const device of devices) describe(`${name} on ${device}`, () => body(device));
}

/** Buffers that live on a device. */
export const liveBuffers = (device: string): number => nativeDevice(dx.device(device)).binding.memory(nativeDevice(dx.device(device)).id).liveBuffers;

/**
 * Runs fn with a device as the default and disposes of what it made; fails when a buffer outlives it that was not there before.
 * Tensors that fn wants to keep alive must be disposed of by it.
 */
export async function clean<T>(device: string, fn: () => T | Promise<T>): Promise<T> {
  clearScalars();
  const before = liveBuffers(device);
  const result = await dx.withDevice(device, () => dx.scope(fn));
  clearScalars();
  expect(liveBuffers(device), "buffers left behind").toBe(before);
  return result as T;
}

/** Everything of a tensor in row-major order, as numbers. */
export const numbers = (t: dx.Tensor): number[] => values(t.dtype, t.dataSync()).map(Number);
