/** Programs of more slots than a task holds in place, through run() and execute(). */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import type { ProgramDescription } from "../../src/native/binding.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";

const SIZE = 16;
const INPUTS = 15;

/** One output, which holds all inputs in order. */
const joining: ProgramDescription = {
  name: "joining",
  inputs: Array.from({ length: INPUTS }, () => SIZE),
  outputs: [INPUTS * SIZE],
  scratch: 64,
  dispatchables: [],
  steps: Array.from({ length: INPUTS }, (_, i) => ({
    group: 0,
    copy: [
      [i, 0, SIZE],
      [INPUTS, i * SIZE, SIZE],
    ],
  })),
};

it("a program of many inputs", () => {
  const { binding, id } = nativeDevice(dx.device("cpu"));
  const program = binding.createProgram(id, joining);
  const inputs = Array.from({ length: INPUTS }, (_, i) => binding.upload(id, Uint32Array.of(i, i + 1, i + 2, i + 3), {}));
  const want = Array.from({ length: INPUTS }, (_, i) => [i, i + 1, i + 2, i + 3]).flat();
  const read = (handle: number): number[] => [...new Uint32Array(binding.readSync(handle, 0, INPUTS * SIZE))];
  for (let call = 0; call < 3; call++) {
    expect(read(binding.run(program, {}, ...inputs))).toEqual(want);
    const slots = Float64Array.from([...inputs, 0, 0].flatMap((handle) => [handle, 0]));
    binding.execute(program, slots, [{}]);
    expect(read(slots[2 * INPUTS]!)).toEqual(want);
  }
  expect(() => binding.run(program, {}, ...inputs.slice(1))).toThrow(/needs 15 inputs, received 14/);
  expect(() => binding.run(program, 1 as unknown as object, ...inputs)).toThrow(/owner of a buffer must be an object/);
  expect(() => binding.run(program, {}, ...inputs.slice(1), binding.allocate(id, 0, {}) + 1)).toThrow(/is not there/);
  expect(() => binding.run(program, {}, ...inputs, ...inputs)).toThrow(/use execute for more/);
  binding.releaseProgram(program);
  dx.closeDevice("cpu");
});
