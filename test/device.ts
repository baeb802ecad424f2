/**
 * The devices that tests run on, and the ways in which a test's body runs. DXTENSOR_TEST_DEVICES ("cpu,dml:0") names them. Default: cpu, if the
 * software adapter's library exists, and every `dml` device (also the simulated ones of DXTENSOR_SIMULATE). At least one must exist.
 */
import { afterEach, beforeEach, describe, expect } from "vitest";
import * as dx from "../src/index.ts";
import { clearScalars } from "../src/runtime/constants.ts";
import { clearTables } from "../src/runtime/tables.ts";
import { reclaim } from "../src/runtime/buffers.ts";
import { values } from "../src/ops/data/conversion.ts";
import { nativeDevice } from "../src/runtime/devices.ts";
import { backend as openreg } from "../packages/openreg/src/backend.ts";
import { threeCalls } from "./three-calls.ts";
import type { Tolerance } from "./tolerance.ts";

/** What is kept between calls is no leak. */
function forget(): void {
  clearScalars();
  clearTables();
}

/** The storage that views share. */
export const storageOf = (t: dx.Tensor): object => t.storage;

/** A device that is not there is an error when it is named, else it is left out. */
function present(): string[] {
  const named = process.env.DXTENSOR_TEST_DEVICES;
  if (named !== undefined && named !== "") {
    // An installed package of the name is what is meant.
    if (named.includes(openreg.name) && dx.backend.list().every(({ name }) => name !== openreg.name)) dx.backend.register(openreg);
    return named.split(",");
  }
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

/** A way of running a function of tensors. */
export interface Mode {
  readonly name: "eager" | "compiled";
  /** Calls fn with the tensors, and gives what it returns; compiled, three times (three-calls.ts). */
  run<T>(fn: (...inputs: dx.Tensor[]) => T, ...inputs: dx.Tensor[]): T;
  /** The same, for results whose rounding errors add up: so far may a compiled call be from an eager one. */
  runWithin<T>(tolerance: Tolerance, fn: (...inputs: dx.Tensor[]) => T, ...inputs: dx.Tensor[]): T;
}

export const modes: readonly Mode[] = [
  { name: "eager", run: (fn, ...inputs) => fn(...inputs), runWithin: (_, fn, ...inputs) => fn(...inputs) },
  {
    name: "compiled",
    run: (fn, ...inputs) => threeCalls(fn, inputs),
    runWithin: (tolerance, fn, ...inputs) => threeCalls(fn, inputs, () => tolerance),
  },
];

/** Declares the tests of body for each device, which is the default one while they run. */
export function eachDevice(name: string, body: (device: string) => void): void {
  for (const device of devices)
    describe(`${name} on ${device}`, () => {
      let before: dx.Device | null = null;
      beforeEach(() => {
        before = dx.defaultDevice();
        dx.setDefaultDevice(device);
      });
      afterEach(() => {
        if (before !== null) dx.setDefaultDevice(before);
      });
      body(device);
    });
}

/** Declares the tests of body for each device, eagerly and inside compile. */
export function eachMode(name: string, body: (device: string, mode: Mode) => void): void {
  for (const mode of modes) eachDevice(`${name}, ${mode.name},`, (device) => body(device, mode));
}

/** False for a device of a backend from outside, which has kernels of its own. */
export const isDirectml = (device: string): boolean => nativeDevice(dx.device(device)).runtimeName === undefined;

/** True for Microsoft's DirectML (on a GPU, or on a processor that stands for one), false for our software adapter. */
export const isMicrosoft = (device: string): boolean => nativeDevice(dx.device(device)).runtime === "gpu";

/**
 * Why a product of int64 was refused, where that is no fault of the library: src/verify/known.ts lists the operator's refusal with its evidence.
 * Null for any other error, and on any other device.
 */
export function refusedProduct(error: unknown, device: string): string | null {
  const { runtime, capabilities } = nativeDevice(dx.device(device));
  const isRefusal = error instanceof dx.NativeError && error.hresultName === "E_NOTIMPL" && /^IDMLDevice1?::Compile/.test(error.call ?? "");
  const isThere = runtime === "gpu" && capabilities.featureLevel >= 0x6400 && capabilities.waveLanes >= 32;
  return isRefusal && isThere ? "libvkd3d cannot translate DirectML.dll's product of int64 for waves of 32 lanes" : null;
}

/** Indices are checked on every device from now on; gives what puts it back, as vitest's hooks take it. */
export function checkIndices(): () => void {
  const before = process.env.DXTENSOR_CHECK_INDICES;
  process.env.DXTENSOR_CHECK_INDICES = "1";
  return () => {
    if (before === undefined) delete process.env.DXTENSOR_CHECK_INDICES;
    else process.env.DXTENSOR_CHECK_INDICES = before;
  };
}

/** Buffers that live on a device. */
export const liveBuffers = (device: string): number =>
  nativeDevice(dx.device(device)).binding.memory(nativeDevice(dx.device(device)).id).liveBuffers;

/** The same once garbage is collected: what other tests of the worker have left is not freed between this count and the next. */
export function settledBuffers(device: string): number {
  reclaim(true);
  return liveBuffers(device);
}

/**
 * Runs fn with a device as the default and disposes of what it made; fails when a buffer outlives it that was not there before.
 * Tensors that fn wants to keep alive must be disposed of by it. collect: garbage is collected first, since what a compiled
 * function read from outside is freed by the collector only.
 */
export async function clean<T>(
  device: string,
  fn: () => T | Promise<T>,
  { collect = false }: { readonly collect?: boolean } = {},
): Promise<T> {
  forget();
  const before = liveBuffers(device);
  const result = await dx.withDevice(device, () => dx.scope(fn));
  forget();
  // Work in a queue holds what it reads; a collector needs some turns until everything unreachable is found.
  if (collect) await dx.synchronize(device);
  for (let i = 0; collect && i < 20 && liveBuffers(device) > before; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    reclaim(true);
  }
  expect(liveBuffers(device), "buffers left behind").toBeLessThanOrEqual(before);
  return result as T;
}

/** Everything of a tensor in row-major order, as numbers. */
export const numbers = (t: dx.Tensor): number[] => values(t.dtype, t.dataSync()).map(Number);
