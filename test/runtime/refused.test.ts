/**
 * A call that a device refuses is a typed error, and the process and the device stay usable: descriptions, bindings, memory. DirectML itself
 * ends the process or removes the device for some of these; they are refused before it is called.
 */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { OPERATORS } from "../../src/dml/operators.generated.ts";
import type { NativeFailure, OperatorDescription, ProgramDescription, TensorDescription } from "../../src/native/binding.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { eachDevice, numbers } from "../device.ts";

const tensor = (
  sizes: readonly number[],
  strides: readonly number[] | null = null,
  elements = sizes.reduce((a, b) => a * b, 1),
): TensorDescription => ({
  dataType: 1,
  sizes,
  strides,
  sizeInBytes: elements * 4,
});
const add = (a: TensorDescription, b: TensorDescription, out: TensorDescription): OperatorDescription => ({
  type: OPERATORS.ELEMENT_WISE_ADD.type,
  fields: [a, b, out],
});
const four = tensor([1, 1, 1, 4]);

/** out = a + b of four floats; what is changed is wrong. */
const program = (change: Partial<ProgramDescription> = {}): ProgramDescription => ({
  name: "refused",
  inputs: [16, 16],
  outputs: [16],
  scratch: 0,
  dispatchables: [add(four, four, four)],
  steps: [
    {
      group: 0,
      dispatch: 0,
      inputs: [
        [0, 0, 16],
        [1, 0, 16],
      ],
      outputs: [[2, 0, 16]],
    },
  ],
  ...change,
});

type Failed = NativeFailure & { readonly message: string };
function failureOf(fn: () => unknown): Failed {
  try {
    fn();
  } catch (error) {
    return error as Failed;
  }
  throw new Error("nothing was refused");
}

eachDevice("what is refused", (device) => {
  const open = () => nativeDevice(dx.device(device));
  /** The device works after the refusal. */
  const expectAlive = (): void => {
    const sum = dx.scope(() => numbers(dx.tensor([1, 2, 3], { device, dtype: "float32" }).add(1)));
    expect(sum).toEqual([2, 3, 4]);
  };
  /** Numbers in a buffer that the test owns. */
  const upload = (...values: number[]): number => open().binding.upload(open().id, Float32Array.from(values), {});

  const descriptions: readonly [name: string, description: OperatorDescription][] = [
    ["sizes that differ", add(four, tensor([1, 1, 1, 5]), four)],
    ["no dimensions", add(tensor([]), tensor([]), tensor([]))],
    [
      "nine dimensions",
      add(...(Array(3).fill(tensor([1, 1, 1, 1, 1, 1, 1, 1, 4])) as [TensorDescription, TensorDescription, TensorDescription])),
    ],
    ["a dimension of 0", add(...(Array(3).fill(tensor([1, 1, 0, 4])) as [TensorDescription, TensorDescription, TensorDescription]))],
    ["too few bytes", add({ ...four, sizeInBytes: 12 }, four, four)],
    ["an unknown data type", add({ ...four, dataType: 77 }, four, four)],
    ["strides beyond the bytes", add(tensor([1, 1, 1, 4], [1, 1, 1, 4096], 4), four, four)],
    ["an unknown operator", { type: 4242, fields: [four, four, four] }],
    ["a missing field", { type: OPERATORS.ELEMENT_WISE_ADD.type, fields: [four, four] }],
    ["a required tensor that is null", { type: OPERATORS.ELEMENT_WISE_ADD.type, fields: [four, null, four] }],
  ];
  it.each(descriptions)("a description with %s", (_name, description) => {
    const { binding, id } = open();
    const failed = failureOf(() => binding.createProgram(id, program({ dispatchables: [description] })));
    expect(["invalid", "unsupported"]).toContain(failed.kind);
    expect(failed.message).not.toBe("");
    expectAlive();
  });

  const step = (
    inputs: readonly (readonly [number, number, number])[],
    outputs: readonly (readonly [number, number, number])[],
    dispatch = 0,
  ) => ({
    steps: [{ group: 0, dispatch, inputs, outputs }],
  });
  const whole = [0, 0, 16] as const;
  const second = [1, 0, 16] as const;
  const result = [2, 0, 16] as const;
  const programs: readonly [name: string, change: Partial<ProgramDescription>][] = [
    ["too few inputs", step([whole], [result])],
    ["no output", step([whole, second], [])],
    ["a range past its slot", step([whole, [1, 16, 16]], [result])],
    ["a range of too few bytes", step([whole, [1, 0, 8]], [result])],
    ["an offset that is no multiple of 16", { ...step([whole, [1, 4, 16]], [result]), inputs: [16, 32] }],
    ["a slot that is not there", step([whole, [7, 0, 16]], [result])],
    ["a dispatchable that is not there", step([whole, second], [result], 3)],
  ];
  it.each(programs)("a program with %s", (_name, change) => {
    const { binding, id } = open();
    const failed = failureOf(() => {
      const made = binding.createProgram(id, program(change));
      // What is not found when it is made must be found when it is run.
      try {
        binding.run(made, {}, upload(1, 2, 3, 4), upload(1, 2, 3, 4));
        binding.synchronizeSync(id);
      } finally {
        binding.releaseProgram(made);
      }
    });
    expect(failed.kind).toBe("invalid");
    expectAlive();
  });

  it("buffers that are too small, released, too few, or nobody's", () => {
    const { binding, id } = open();
    const made = binding.createProgram(id, program());
    const [a, b, gone] = [upload(1, 2, 3, 4), upload(5, 6, 7, 8), upload(0, 0, 0, 0)];
    binding.release(gone);
    const out = binding.run(made, {}, a, b);
    expect(Array.from(new Float32Array(binding.readSync(out, 0, 16)))).toEqual([6, 8, 10, 12]);
    const small = upload(1);
    for (const wrong of [
      () => binding.run(made, {}, a, gone),
      () => binding.run(made, {}, a),
      () => binding.run(made, {}, a, 123456),
      () => binding.run(99999, {}, a, b),
    ])
      expect(failureOf(wrong).kind).toBe("invalid");
    expect(failureOf(() => binding.execute(made, Float64Array.from([a, 0, small, 4096, 0, 0, 0, 0]), [{}])).kind).toBe("invalid");
    for (const handle of [a, b, small, out]) binding.release(handle);
    binding.releaseProgram(made);
    expectAlive();
  });

  it("ranges outside a buffer, to read, write and copy", () => {
    const { binding } = open();
    const [a, b] = [upload(1, 2, 3, 4), upload(5, 6, 7, 8)];
    for (const wrong of [
      () => binding.readSync(a, 0, 1 << 30),
      () => binding.readSync(a, -4, 8),
      () => binding.write(a, 2 ** 40, new Uint8Array(4)),
      () => binding.copy(a, 0, b, 2 ** 33, 16),
      () => binding.copy(a, 0, b, 0, 2 ** 33),
      () => binding.copy(a, Number.NaN, b, 0, 16),
    ])
      expect(failureOf(wrong).kind).toBe("invalid");
    expect(Array.from(new Float32Array(binding.readSync(b, 0, 16)))).toEqual([5, 6, 7, 8]);
    for (const handle of [a, b]) binding.release(handle);
    expectAlive();
  });

  it("more memory than there is", () => {
    const { binding, id } = open();
    for (const size of [2 ** 46, 2 ** 52]) expect(failureOf(() => binding.allocate(id, size, {})).kind).toBe("outOfMemory");
    expect(() => dx.zeros([1 << 20, 1 << 20, 16], { device })).toThrow(dx.DxError);
    expectAlive();
  });
});
