import { getHeapSpaceStatistics } from "node:v8";
import { expect, it } from "vitest";
import { device } from "../../src/core/device.ts";
import { NativeError, OutOfMemoryError } from "../../src/core/errors.ts";
import { allocate, readBytes, readBytesSync, reclaim, upload, withMemory } from "../../src/runtime/buffers.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import * as dx from "../../src/index.ts";

const native = nativeDevice(device("cpu"));

it("bytes come back as they were given, whole and in part", async () => {
  const storage = upload(native, Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8), "test");
  storage.retain();
  expect([...new Uint8Array(readBytesSync(native, storage.handle, 0, 8, "test"))]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect([...new Uint8Array(await readBytes(native, storage.handle, 4, 4, "test"))]).toEqual([5, 6, 7, 8]);
  storage.release();
  await expect(readBytes(native, 0 as never, 0, 4, "test")).rejects.toThrow(/test: buffer 0 is not there/);
  expect(() => readBytesSync(native, 0 as never, 0, 4, "test")).toThrow(/test: buffer 0 is not there/);
});

it("sizes are rounded up to 4, and what is empty has no buffer", () => {
  const [some, none] = [allocate(native, 5, "test"), allocate(native, 0, "test")];
  expect([some.sizeInBytes, some.handle !== 0, none.handle]).toEqual([8, true, 0]);
  some.retain();
  some.release();
  expect(some.handle).toBe(0);
});

it("buffers of storages that nobody refers to come back", () => {
  const before = dx.memoryStatistics("cpu").liveBuffers;
  (() => {
    for (let i = 0; i < 8; i++) allocate(native, 64, "test");
  })();
  reclaim(true);
  expect(dx.memoryStatistics("cpu").liveBuffers).toBeLessThanOrEqual(before);
});

it("a call that lacks memory is tried once more after a collection, another error is not", () => {
  const failing = (hresultName: string) => {
    let tries = 0;
    const call = (): never => {
      tries++;
      throw Object.assign(new Error(hresultName), {
        kind: hresultName === "E_OUTOFMEMORY" ? "outOfMemory" : "invalidArgument",
        hresultName,
      });
    };
    return { call, tries: () => tries };
  };
  const [lacking, wrong] = [failing("E_OUTOFMEMORY"), failing("E_INVALIDARG")];
  expect(() => withMemory("test", lacking.call)).toThrow(OutOfMemoryError);
  expect(() => withMemory("test", wrong.call)).toThrow(NativeError);
  expect([lacking.tries(), wrong.tries(), withMemory("test", () => 7)]).toEqual([2, 1, 7]);
});

it("a full collection gives the pages of V8's young generation back", () => {
  const young = (): number => getHeapSpaceStatistics().find((s) => s.space_name === "new_space")!.physical_space_size;
  let kept: object[] = [];
  for (let i = 0; i < 300_000; i++) kept.push({ i, list: [i] });
  const before = young();
  kept = [];
  reclaim(true);
  expect(kept).toEqual([]);
  if (process.platform === "linux") expect(young()).toBeLessThan(before / 2);
});
