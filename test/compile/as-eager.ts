/** How far a compiled call may be from an eager one. */
import { expect } from "vitest";
import * as dx from "../../src/index.ts";
import { fuses } from "../../src/graph/passes/fuse/fuse.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { near, type Tolerance } from "../tolerance.ts";

/**
 * Whether small programs run the operators that eager calls run, to the bit. Fused ones sum float32 in another order, have e^x from the device's
 * powers of two, and round each float16 operator to nearest, which DirectML over Vulkan does not.
 */
export const isExact = (device: dx.DeviceLike = dx.defaultDevice()): boolean => !fuses(nativeDevice(dx.device(device)).capabilities);

/** Whether eager calls truncate float16 (DirectML over Vulkan) where compiled functions round it; compare with nearTruncated() then. */
export const truncatesHalves = (device: dx.DeviceLike): boolean => nativeDevice(dx.device(device)).runtime === "gpu" && !isExact(device);

const FUSED: Tolerance = { rtol: 1e-5, atol: 1e-6 };

function isNear(got: unknown, want: unknown, tolerance: Tolerance): boolean {
  if (typeof got === "number" && typeof want === "number") return near(got, want, tolerance);
  if (typeof got !== "object" || typeof want !== "object" || got === null || want === null) return Object.is(got, want);
  const [a, b] = [Object.entries(got), Object.entries(want)];
  return a.length === b.length && a.every(([key, x]) => key in want && isNear(x, (want as Record<string, unknown>)[key], tolerance));
}

/** Fails unless plain data are equal, where programs are fused within rounding. */
export function expectAsEager(compiled: unknown, eager: unknown, tolerance = FUSED): void {
  if (isExact() || !isNear(compiled, eager, tolerance)) expect(compiled).toEqual(eager);
}
