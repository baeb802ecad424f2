/** Buffers of a program: made once, written at offsets, released together. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { ProgramBuffers } from "../../src/compile/program-buffers.ts";
import { upload } from "../../src/runtime/buffers.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { liveBuffers, settledBuffers } from "../device.ts";

it("are made once for a slot, written at an offset, and released together", () => {
  const native = nativeDevice(dx.device("cpu"));
  const before = settledBuffers("cpu");
  const buffers = new ProgramBuffers(native, "test", 4);
  expect([buffers.slots, buffers.handle(0), buffers.handle(9)]).toEqual([4, 0, 0]);
  buffers.own(0, upload(native, new Float32Array([1, 2, 3, 4]), "test"));
  const own = buffers.handle(0);
  buffers.allocate(0, 64);
  expect(buffers.handle(0)).toBe(own);
  buffers.allocate(1, 0);
  expect(buffers.handle(1)).toBe(0);
  buffers.allocate(2, 16);
  expect(buffers.handle(2)).not.toBe(0);
  buffers.write(0, 8, new Float32Array([7]));
  expect([...new Float32Array(native.binding.readSync(own, 0, 16))]).toEqual([1, 2, 7, 4]);
  expect(liveBuffers("cpu")).toBe(before + 2);
  buffers.release();
  expect(liveBuffers("cpu")).toBe(before);
});
