/** Shaders as parts of programs: eagerly, recorded together with operators of DirectML's, refused shaders, and the effect of a wrong one on its device. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import type { BindingRange, ProgramDescription, ShaderDescription } from "../../src/native/binding.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { bitsOfFloat, operation } from "../../src/shader/operations.ts";
import { eachDevice, isMicrosoft } from "../device.ts";
import { assemble, buffer, constant, fromBuffer, immediate, op, r, sync, threadId, to, toBuffer } from "./assemble.ts";

const THREADS = 64;
const N = 1000;
const SIZE = 4 * N;
const address = [op("imad", to(0), threadId, immediate(4), immediate(0))];
const guarded = (...body: readonly (readonly number[])[]) => [op("ult", to(1), threadId, constant(0)), op("if", r(1)), ...body, op("endif")];

/** u1[i] = max(u0[i], 0) for i < cb0[0] */
const relu = assemble(THREADS, 2, 1, guarded(...address, op("ld_raw", to(2), r(0), fromBuffer(0)), op("max", to(2), r(2), immediate(0)), op("store_raw", toBuffer(1), r(0), r(2)))); // prettier-ignore
/** u0[0] += 1 by each thread */
const count = assemble(THREADS, 1, 1, guarded(op("atomic_iadd", buffer(0), immediate(0), immediate(1))));

const shader = (bytes: Uint8Array, inputCount: number, constants: readonly number[] = [N]): ShaderDescription => ({
  shader: bytes,
  // All raw.
  views: Uint8Array.from(Array.from({ length: inputCount + 1 }, (_, i) => [i, 0]).flat()),
  constants: Uint32Array.from(constants),
  groups: [Math.ceil(N / THREADS), 1, 1],
  inputCount,
});
const whole = (slot: number, offset = 0, size = SIZE): BindingRange => [slot, offset, size];
const program = (made: ShaderDescription, inputs: BindingRange[], outputs: BindingRange[], scratch = 0): ProgramDescription => ({
  name: "shader",
  inputs: inputs.map(() => SIZE),
  outputs: outputs.map(() => SIZE),
  scratch,
  dispatchables: [made],
  steps: [{ group: 0, dispatch: 0, inputs, outputs }],
});
const data = Float32Array.from({ length: N }, (_, i) => (i % 7) - 3 + i / 1000);
const want = data.map((x) => Math.max(x, 0));

function floatsOf(device: string, handle: number): Float32Array {
  return new Float32Array(nativeDevice(dx.device(device)).binding.readSync(handle, 0, SIZE));
}

eachDevice("shaders", (name) => {
  const native = () => nativeDevice(dx.device(name));
  const floats = (handle: number): Float32Array => floatsOf(name, handle);

  it("run eagerly, and are made once", () => {
    const { binding, id } = native();
    const before = binding.counters(id).shadersCompiled;
    const [first, second] = [0, 1].map(() => binding.createProgram(id, program(shader(relu, 1), [whole(0)], [whole(1)]))) as [number, number];
    expect(binding.counters(id).shadersCompiled - before).toBeLessThanOrEqual(1);
    for (let call = 0; call < 3; call++) {
      const x = binding.upload(id, data.map((v) => v + call), {});
      expect(floats(binding.run(call % 2 ? second : first, {}, x))).toEqual(data.map((v) => Math.max(Math.fround(v + call), 0)));
    }
    binding.releaseProgram(first);
    binding.releaseProgram(second);
  });

  it("take the pipelines that were begun before, once each, and say what is wrong with them when the program is made", () => {
    const { binding, id } = native();
    // Containers of this test alone.
    const own = Array.from({ length: 20 }, (_, i) => assemble(THREADS, 2, 1, guarded(...address, op("ld_raw", to(2), r(0), fromBuffer(0)), op("max", to(2), r(2), immediate(bitsOfFloat(i + 1))), op("store_raw", toBuffer(1), r(0), r(2))))); // prettier-ignore
    const before = binding.counters(id).shadersCompiled;
    for (let round = 0; round < 2; round++) for (const bytes of own) binding.preparePipeline!(id, bytes, 2, 1);
    const wrong = own[0]!.slice();
    wrong[wrong.length - 1]! ^= 1;
    binding.preparePipeline!(id, wrong, 2, 1);
    const x = binding.upload(id, new Float32Array(N), {});
    const programs = own.map((bytes) => binding.createProgram(id, program(shader(bytes, 1), [whole(0)], [whole(1)])));
    expect(binding.counters(id).shadersCompiled - before).toBeGreaterThanOrEqual(own.length);
    expect(binding.counters(id).shadersCompiled - before).toBeLessThanOrEqual(own.length + 1);
    programs.forEach((made, i) => {
      expect(floats(binding.run(made, {}, x))).toEqual(new Float32Array(N).fill(i + 1));
      binding.releaseProgram(made);
    });
    expect(() => binding.preparePipeline!(id, own[0]!, 65, 1)).toThrow("preparePipeline: views: expected at most 64");
    expect(() => binding.preparePipeline!(id, own[0]!, 2, 33)).toThrow("preparePipeline: constants: expected at most 32 words");
    expect(() => binding.preparePipeline!(id, [] as never, 2, 1)).toThrow("preparePipeline: shader: expected a view of an ArrayBuffer");
    expect(() => binding.preparePipeline!(1e9, own[0]!, 2, 1)).toThrow(/1000000000/);
  });

  it("run over parts of a buffer without touching neighbouring elements, and in place", () => {
    const { binding, id } = native();
    // All threads run past the end of the view; the shader's own bound is far away.
    const far = shader(relu, 1, [1 << 20]);
    const apart = binding.createProgram(id, program(far, [whole(0, 32, 64)], [whole(1, 128, 64)]));
    const same = binding.createProgram(id, { ...program(far, [], []), inputs: [SIZE], steps: [{ group: 0, dispatch: 0, inputs: [whole(0, 256, 48)], outputs: [whole(0, 256, 48)] }] }); // prettier-ignore
    const x = binding.upload(id, data, {});
    const y = binding.upload(id, new Float32Array(N).fill(-1), {});
    binding.execute(apart, Float64Array.of(x, 0, y, 0, 0, 0), [null]);
    expect(floats(y)).toEqual(Float32Array.from({ length: N }, (_, i) => (i >= 32 && i < 48 ? want[i - 24]! : -1)));
    binding.execute(same, Float64Array.of(x, 0, 0, 0), []);
    expect(floats(x)).toEqual(data.map((v, i) => (i >= 64 && i < 76 ? Math.max(v, 0) : v)));
    binding.releaseProgram(apart);
    binding.releaseProgram(same);
  });

  // Not every driver follows the rule.
  it.skipIf(isMicrosoft(name))("convert to float16 towards 0, as Direct3D's rules ask (our executor only)", () => {
    const { binding, id } = native();
    const cases: readonly (readonly [number, number])[] = [
      [0, 0], [-0, 0x8000], [1, 0x3c00], [1.0007, 0x3c00], [-20.65, 0xcd29], [65504, 0x7bff], [65519, 0x7bff], [1e30, 0x7bff], [-1e30, 0xfbff],
      [Infinity, 0x7c00], [-Infinity, 0xfc00], [NaN, 0x7e00], [2 ** -14, 0x0400], [2 ** -14 - 2 ** -26, 0x03ff], [2 ** -24 * 1.9, 1], [2 ** -25, 0],
    ]; // prettier-ignore
    const convert = assemble(THREADS, 2, 1, guarded(...address, op("ld_raw", to(2), r(0), fromBuffer(0)), op("f32tof16", to(2), r(2)), op("store_raw", toBuffer(1), r(0), r(2)))); // prettier-ignore
    const made = binding.createProgram(id, program(shader(convert, 1), [whole(0)], [whole(1)]));
    const input = Float32Array.from({ length: N }, (_, i) => cases[i % cases.length]![0]);
    const words = new Uint32Array(floats(binding.run(made, {}, binding.upload(id, input, {}))).buffer);
    expect([...words].map((w, i) => [input[i], w & 0xffff])).toEqual([...input].map((x, i) => [x, cases[i % cases.length]![1]]));
    for (const [x, half] of cases) expect(operation("f32.to.half").apply(Math.fround(x), 0, 0)).toBe(half);
    binding.releaseProgram(made);
  });

  it("count by atomics, with a barrier between two of them", () => {
    const { binding, id } = native();
    const twice: ProgramDescription = {
      name: "count",
      inputs: [],
      outputs: [16],
      scratch: 0,
      dispatchables: [shader(count, 0)],
      steps: [0, 1].map((group) => ({ group, dispatch: 0, inputs: [], outputs: [[0, 0, 16]] })),
    };
    const made = binding.createProgram(id, twice);
    const x = binding.upload(id, new Uint32Array(4), {});
    for (let call = 1; call <= 3; call++) {
      binding.execute(made, Float64Array.of(x, 0, 0, 0), [null]);
      expect(new Uint32Array(binding.readSync(x, 0, 16))).toEqual(Uint32Array.of(2 * N * call, 0, 0, 0));
    }
    binding.releaseProgram(made);
  });

  it("are recorded together with DirectML's operators, with barriers between them", () => {
    const { binding, id } = native();
    const tensor = { dataType: 1, sizes: [1, 1, 1, N], strides: null, sizeInBytes: SIZE };
    const IDENTITY = 1;
    const made = binding.createProgram(id, {
      name: "mixed",
      inputs: [SIZE],
      outputs: [SIZE],
      scratch: 2 * 4096,
      dispatchables: [shader(relu, 1), { type: IDENTITY, fields: [tensor, tensor, [2, 0]] }],
      steps: [
        { group: 0, dispatch: 1, inputs: [[0, 0, SIZE]], outputs: [[2, 0, SIZE]] },
        { group: 1, dispatch: 0, inputs: [[2, 0, SIZE]], outputs: [[2, 4096, SIZE]] },
        { group: 2, dispatch: 1, inputs: [[2, 4096, SIZE]], outputs: [[1, 0, SIZE]] },
      ],
    });
    const [x, y, arena] = [SIZE, SIZE, 2 * 4096].map((size) => binding.allocate(id, size, {}, true)) as [number, number, number];
    const recording = binding.record(made, Float64Array.of(x, 0, y, 0, arena, 0), 2);
    const results = new Float64Array(1);
    for (let call = 0; call < 5; call++) {
      const from = binding.upload(id, data.map((v) => v - call), {});
      binding.replay(recording, Float64Array.of(from, 0, x, 0, SIZE), Float64Array.of(y, 0, SIZE), [{}], results);
      expect(floats(results[0]!)).toEqual(data.map((v) => 4 * Math.max(Math.fround(v - call), 0)));
    }
    const { seconds } = binding.profile(recording);
    expect(seconds.length).toBe(3);
    expect(seconds.every((s) => s >= 0)).toBe(true);
    binding.releaseRecording(recording);
    binding.releaseProgram(made);
  });

  it("of a recording whose memory was given back are not timed", () => {
    const { binding, id } = native();
    const bytes = 96 * 2 ** 20;
    const step = { group: 0, dispatch: 0, inputs: [whole(0)], outputs: [whole(1)] };
    const made = binding.createProgram(id, { ...program(shader(relu, 1), [], []), inputs: [bytes], outputs: [bytes], steps: [step] });
    const [x, y] = [bytes, bytes].map((size) => binding.allocate(id, size, {}, true)) as [number, number];
    const recording = binding.record(made, Float64Array.of(x, 0, y, 0, 0, 0), 1);
    expect(binding.profile(recording).seconds.length).toBe(1);
    binding.release(x);
    binding.release(y);
    // The device asks for what is not used before it refuses.
    expect(() => binding.allocate(id, 2 ** 50, {}, true)).toThrow("out of memory");
    expect(() => binding.profile(recording)).toThrow("profile: memory of the recording was given back");
    binding.releaseRecording(recording);
    binding.releaseProgram(made);
  });

  it("are refused where they are not what they say", () => {
    const { binding, id } = native();
    const create = (made: ShaderDescription, inputs: BindingRange[], outputs: BindingRange[]) => () =>
      binding.createProgram(id, program(made, inputs, outputs));
    const good = shader(relu, 1);
    expect(create(good, [], [whole(0)])).toThrow(/0 inputs are bound, 1 are needed/);
    expect(create(good, [null], [whole(1)])).toThrow(/input 0 is not bound/);
    expect(create(good, [whole(0)], [whole(1, 8, 64)])).toThrow(/8 is no multiple of 16/);
    expect(create(good, [whole(0)], [whole(1, 0, 0)])).toThrow(/output 0 is bound to 0 bytes/);
    expect(create(good, [whole(0, 0, 64)], [whole(0, 32, 64)])).toThrow(/output 0 lies over input 0/);
    expect(create({ ...good, groups: [1, 0, 1] }, [whole(0)], [whole(1)])).toThrow(/0 groups along an axis/);
    expect(create({ ...good, groups: [1, 1, 65536] }, [whole(0)], [whole(1)])).toThrow(/65536 groups along an axis/);
    expect(create({ ...good, constants: new Uint32Array(33) }, [whole(0)], [whole(1)])).toThrow(/at most 32 words/);
    expect(create({ ...good, views: Uint8Array.of(0, 0, 1) }, [whole(0)], [whole(1)])).toThrow(/expected two bytes for each of at most 64/);
    expect(create({ ...good, views: Uint8Array.of(0, 0, 1, 12) }, [whole(0)], [whole(1)])).toThrow(/expected 0, 4, 8, 16 or 255/);
    expect(create({ ...good, views: Uint8Array.of(0, 0, 2, 0) }, [whole(0)], [whole(1)])).toThrow(/a shader's view is of a buffer that its step does not bind/);
    expect(create({ ...good, shader: "relu" as unknown as Uint8Array }, [whole(0)], [whole(1)])).toThrow(/expected a view/);
    expect(create({ ...good, groups: [1] as unknown as [1, 1, 1] }, [whole(0)], [whole(1)])).toThrow(/expected 3 numbers/);
    const changed = relu.slice();
    changed[60]! ^= 1;
    expect(create({ ...good, shader: changed }, [whole(0)], [whole(1)])).toThrow(/CreateComputePipelineState/);
  });
});

it("shaders are refused by name for what the software adapter has not", () => {
  const { binding, id } = nativeDevice(dx.device("cpu"));
  const create = (made: ShaderDescription) => () => binding.createProgram(id, program(made, [whole(0)], [whole(1)]));
  expect(create(shader(assemble(THREADS, 2, 1, [op("sample", to(0))]), 1))).toThrow(/sample is not part of the software adapter/);
  expect(create(shader(assemble(THREADS, 3, 1, []), 1))).toThrow(/the shader uses u2, which the root signature lacks/);
  expect(create(shader(assemble(THREADS, 2, 1, [op("mov", to(0), r(9))]), 1))).toThrow(/register r9 is not declared/);
  expect(create(shader(assemble(THREADS, 2, 1, [op("endif")]), 1))).toThrow(/endif without if/);
  expect(create(shader(assemble(THREADS, 2, 1, [op("loop")]), 1))).toThrow(/a loop is not closed/);
  expect(create(shader(Uint8Array.of(1, 2, 3), 1))).toThrow(/no DXBC container/);
});

it.each([
  ["threads that do not meet at a barrier", guarded(sync), /sync was not reached by all threads/],
  ["writing over an input", [op("store_raw", toBuffer(0), immediate(0), immediate(0))], /a UAV barrier is missing/],
])("%s remove the device, which can be opened again", (_, body, reason) => {
  const { binding, id } = nativeDevice(dx.device("cpu"));
  const wrong = assemble(THREADS, 2, 1, body);
  const two: ProgramDescription = {
    ...program(shader(wrong, 1), [whole(0)], [whole(1)]),
    steps: [whole(1, 0, 64), whole(1, 64, 64)].map((out) => ({ group: 0, dispatch: 0, inputs: [whole(0)], outputs: [out] })),
  };
  const made = binding.createProgram(id, two);
  const x = binding.upload(id, data, {});
  expect(() => floatsOf("cpu", binding.run(made, {}, x))).toThrow(reason);
  dx.closeDevice("cpu");
  const again = nativeDevice(dx.device("cpu"));
  const fine = again.binding.createProgram(again.id, program(shader(relu, 1), [whole(0)], [whole(1)]));
  expect(floatsOf("cpu", again.binding.run(fine, {}, again.binding.upload(again.id, data, {})))).toEqual(want);
  again.binding.releaseProgram(fine);
});
