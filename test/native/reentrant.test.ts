/** Getters and proxies that run inside a call of the addon and free its operands: an error or the right result, never a use of freed memory. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import type { ProgramDescription } from "../../src/native/binding.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";

const SIZE = 16;
const copying: ProgramDescription = {
  name: "copying",
  inputs: [SIZE],
  outputs: [SIZE, SIZE],
  scratch: 0,
  dispatchables: [],
  steps: [1, 2].map((slot) => ({
    group: 0,
    copy: [
      [0, 0, SIZE],
      [slot, 0, SIZE],
    ],
  })),
};

/** An array of owners whose element `at` does something first. */
function owners(at: number, act: () => void): object[] {
  const array: object[] = [{}, {}];
  Object.defineProperty(array, at, {
    get: () => {
      act();
      return {};
    },
  });
  return array;
}

interface Made {
  readonly binding: ReturnType<typeof nativeDevice>["binding"];
  readonly id: number;
  readonly input: number;
  readonly program: number;
  readonly recording: number;
  readonly slots: Float64Array;
  readonly outputs: Float64Array;
  readonly results: Float64Array;
}

function make(): Made {
  const { binding, id } = nativeDevice(dx.device("cpu"));
  const input = binding.upload(id, Uint32Array.of(1, 2, 3, 4), {});
  const program = binding.createProgram(id, copying);
  const made = [binding.allocate(id, SIZE, {}), binding.allocate(id, SIZE, {})];
  const recording = binding.record(program, Float64Array.of(input, 0, made[0]!, 0, made[1]!, 0, 0, 0), 1);
  const slots = Float64Array.of(input, 0, 0, 0, 0, 0, 0, 0);
  const outputs = Float64Array.of(made[0]!, 0, SIZE, made[1]!, 0, SIZE);
  return { binding, id, input, program, recording, slots, outputs, results: new Float64Array(2) };
}

const detach = (array: Float64Array): void => void structuredClone(array, { transfer: [array.buffer as ArrayBuffer] });
const none = new Float64Array(0);

const acts: readonly (readonly [string, (m: Made) => void, RegExp])[] = [
  ["closes the device", () => dx.closeDevice("cpu"), /is not there/],
  ["releases the program and the recording", (m) => (m.binding.releaseProgram(m.program), m.binding.releaseRecording(m.recording)), /is not there/],
  ["releases the buffers", (m) => (m.binding.release(m.input), m.binding.release(m.outputs[3]!)), /is not there/],
  ["detaches the numbers", (m) => (detach(m.slots), detach(m.outputs)), /numbers for its slots|3|5 numbers/],
  ["throws", () => expect.fail("an owner's own error"), /an owner's own error/],
];

it.each(acts)("an owner that %s", (_, act, message) => {
  for (const at of [0, 1]) {
    for (const call of [
      (m: Made, of: object[]) => m.binding.execute(m.program, m.slots, of),
      (m: Made, of: object[]) => m.binding.replay(m.recording, none, m.outputs, of, m.results),
    ]) {
      const made = make();
      let isDone = false;
      const once = (): void => {
        if (isDone) return;
        isDone = true;
        act(made);
      };
      expect(() => call(made, owners(at, once))).toThrow(message);
      expect(isDone).toBe(true);
      dx.closeDevice("cpu");
    }
  }
});

it("an owner that makes many programs, recordings and buffers meanwhile", () => {
  const made = make();
  const { binding, id, program, recording, slots, outputs, results } = made;
  const more = (): void => {
    for (let i = 0; i < 600; i++) {
      binding.allocate(id, SIZE, slots);
      const other = binding.createProgram(id, copying);
      if (i % 10 === 0) binding.record(other, Float64Array.of(made.input, 0, outputs[0]!, 0, outputs[3]!, 0, 0, 0), 1);
    }
  };
  binding.execute(program, slots, owners(1, more));
  binding.replay(recording, none, outputs, owners(1, more), results);
  for (const handle of [slots[2]!, slots[4]!, ...results]) expect([...new Uint32Array(binding.readSync(handle, 0, SIZE))]).toEqual([1, 2, 3, 4]);
  dx.closeDevice("cpu");
});

it("a description whose getter closes the device", () => {
  const { binding, id } = make();
  const description = Object.defineProperty({ ...copying }, "steps", {
    get: () => {
      dx.closeDevice("cpu");
      return copying.steps;
    },
  });
  expect(() => binding.createProgram(id, description)).toThrow(/is not there/);
});

it("setters of Object.prototype do not run", () => {
  const { binding, id, program } = make();
  const seen: string[] = [];
  const names = ["descriptors", "liveInBytes", "dispatchesRecorded"];
  const ancestor: Record<string, unknown> = Object.getPrototypeOf({});
  for (const name of names)
    Object.defineProperty(ancestor, name, {
      set: () => {
        seen.push(name);
        dx.closeDevice("cpu");
      },
      configurable: true,
    });
  try {
    expect(Object.keys(binding.programInfo(program))).toContain("descriptors");
    expect(Object.keys(binding.memory(id))).toContain("liveInBytes");
    expect(Object.keys(binding.counters(id))).toContain("dispatchesRecorded");
  } finally {
    for (const name of names) delete ancestor[name];
  }
  expect(seen).toEqual([]);
  dx.closeDevice("cpu");
});

it("a recording and a program released while the queue takes nothing more", () => {
  const { binding, id, program, recording, input, outputs } = make();
  binding.synchronizeSync(id);
  binding.hold(id, true);
  expect(() => {
    for (;;) binding.copy(input, 0, outputs[0]!, 0, SIZE);
  }).toThrow(/queue is full/);
  binding.releaseRecording(recording);
  binding.releaseProgram(program);
  binding.hold(id, false);
  for (const call of [() => binding.releaseRecording(recording), () => binding.releaseProgram(program)]) expect(call).toThrow(/is not there/);
  expect([...new Uint32Array(binding.readSync(outputs[0]!, 0, SIZE))]).toEqual([1, 2, 3, 4]);
  dx.closeDevice("cpu");
});
