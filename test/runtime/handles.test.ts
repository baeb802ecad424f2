/** A released handle is recognised, however often its slot was used again. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import type { ProgramDescription } from "../../src/native/binding.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";

const REUSES = 200_000;

const copying: ProgramDescription = {
  name: "copying",
  inputs: [16],
  outputs: [16],
  scratch: 0,
  dispatchables: [],
  steps: [
    {
      group: 0,
      copy: [
        [0, 0, 16],
        [1, 0, 16],
      ],
    },
  ],
};

const open = (): { binding: ReturnType<typeof nativeDevice>["binding"]; id: number } => nativeDevice(dx.device("cpu"));

it("a buffer's number is given once", () => {
  const { binding, id } = open();
  const owner = {};
  const first = binding.allocate(id, 16, owner);
  binding.release(first);
  const held: number[] = [];
  let last = first;
  for (let i = 0; i < REUSES; i++) {
    const handle = binding.allocate(id, 16, owner);
    expect(handle > last, "numbers that rise").toBe(true);
    last = handle;
    // Some live on, so that the table grows and their slots are skipped.
    if (i % 500 === 0) held.push(handle);
    else binding.release(handle);
  }
  for (const stale of [first, first + 1, last - 1, last + 1, 0, -1, 2 ** 40, 2 ** 52, Number.NaN])
    if (!held.includes(stale)) expect(() => binding.readSync(stale, 0, 16), `handle ${stale}`).toThrow(/is not there|expected/);
  for (const handle of held) {
    expect(binding.readSync(handle, 0, 16).byteLength).toBe(16);
    binding.release(handle);
    expect(() => binding.release(handle)).toThrow(/is not there/);
  }
});

it("a program's and a recording's number, too", () => {
  const { binding, id } = open();
  const owner = {};
  const [a, b] = [binding.upload(id, Uint32Array.of(1, 2, 3, 4), owner), binding.allocate(id, 16, owner)];
  const slots = Float64Array.of(a, 0, b, 0, 0, 0);
  const program = binding.createProgram(id, copying);
  const recording = binding.record(program, slots, 1);
  binding.releaseRecording(recording);
  binding.releaseProgram(program);
  const none = new Float64Array(0);
  for (let i = 0; i < 300; i++) {
    const again = binding.createProgram(id, copying);
    const recorded = binding.record(again, slots, 1);
    expect(() => binding.run(program, owner, a)).toThrow(/is not there/);
    expect(() => binding.programInfo(program)).toThrow(/is not there/);
    expect(() => binding.replay(recording, none, none, [], none)).toThrow(/is not there/);
    binding.replay(recorded, none, none, [], none);
    const out = binding.run(again, owner, a);
    expect([...new Uint32Array(binding.readSync(out, 0, 16))]).toEqual([1, 2, 3, 4]);
    binding.release(out);
    binding.releaseRecording(recorded);
    binding.releaseProgram(again);
  }
  for (const handle of [a, b]) binding.release(handle);
});
