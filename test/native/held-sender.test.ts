/** The binding's waits for a device that receives from a held one: they end, as those for a held device do. */
import { beforeEach, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";

// Read when a device is first used, which is below: three profiles of the software adapter.
process.env.DXTENSOR_SIMULATE = "rtx-3070@6.4,rtx-3070@6.4,rtx-3070@6.4";

const MANY = 64 * 2 ** 20;
const HELD = /held: waiting for it would never end/;
const owner = {};
const names = [0, 1, 2].map((i) => `dml:${dx.dml.deviceCount() - 3 + i}`);
const open = () => names.map((name) => nativeDevice(dx.device(name)).id);
const { binding } = nativeDevice(dx.device(names[0]!));

/** Keeps a device's queue busy for a while, so that what follows is not begun when the device is held. */
function occupy(id: number): Promise<unknown> {
  const large = binding.allocate(id, MANY, owner, false);
  const reads = Promise.allSettled([1, 2, 3, 4].map(() => binding.read(large, 0, MANY)));
  binding.release(large);
  return reads;
}

const word = (id: number): number => binding.upload(id, Uint32Array.of(1, 2, 3, 4), owner);

beforeEach(() => () => names.forEach((name) => dx.closeDevice(name)));

test("waits for a device that receives from a held one through another one fail, until that is resumed", async () => {
  const [sender, relay, receiver] = open() as [number, number, number];
  const busy = occupy(sender);
  const bytes = binding.carry!(binding.carry!(word(sender), 0, 16, relay, owner, true), 0, 16, receiver, owner, true);
  const other = word(receiver);
  binding.hold(sender, true);
  try {
    expect(() => binding.synchronizeSync(receiver)).toThrow(HELD);
    expect(() => binding.readSync(bytes, 0, 16)).toThrow(HELD);
    expect(() => binding.readMade!(bytes, 0, new Uint8Array(16), 0, 0)).toThrow(HELD);
    expect(binding.doneWithin(receiver, 1)).toBe(false);
    expect(() => {
      for (let i = 0; i < 10_000; i++) binding.copy(bytes, 0, other, 0, 16);
    }).toThrow(HELD);
  } finally {
    binding.hold(sender, false);
  }
  expect([...new Uint32Array(binding.readSync(bytes, 0, 16))]).toEqual([1, 2, 3, 4]);
  await busy;
});

for (const kind of ["carry", "exchange"])
  test(`${kind}(): closing the device that receives ends`, async () => {
    const [sender, receiver] = open() as [number, number];
    const busy = occupy(sender);
    const from = word(sender);
    if (kind === "carry") binding.carry!(from, 0, 16, receiver, owner, true);
    else binding.exchange!(Float64Array.of(from, 0, word(receiver), 0, 16, 0, 0, 0));
    binding.hold(sender, true);
    dx.closeDevice(names[1]!);
    binding.hold(sender, false);
    expect([...new Uint32Array(binding.readSync(from, 0, 16))]).toEqual([1, 2, 3, 4]);
    await busy;
  });
