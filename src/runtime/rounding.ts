/** How a device's shaders convert float32 to float16. */
import { describeShader } from "../graph/describe.ts";
import type { NativeDevice } from "./devices.ts";
import { announcingContainers, ShaderProgram } from "../shader/dxbc/shader-program.ts";
import { Scope } from "../shader/language.ts";
import { Uint } from "../shader/numbers.ts";
import { bitsOfFloat, halfOfFloat } from "../shader/operations.ts";

/** Ties to even and to odd, both sides of ties, the smallest numbers, both ends of the range, NaN. */
const QUESTIONS = [
  1, 1.0004882, 1.0004883, 1.0004884, 1.0014648, 1.0014649, 1.0014647, -20.6484375, -20.65, 62.390625, 62.40625, 1 / 3, -2 / 3, 6.1035156e-5,
  6.1005354e-5, 6.1e-5, 5.9604645e-8, 2.9802322e-8, 2.9802325e-8, 8.940697e-8, 1.4901161e-7, -1e-9, 0, -0, 65504, 65519.996, 65520, -65536, 1e30,
  Infinity, -Infinity, NaN,
].map(Math.fround); // prettier-ignore

let program: ShaderProgram | null = null;

/** The device's own conversion, of which the language says nothing. */
function question(): ShaderProgram {
  if (program !== null) return program;
  const s = new Scope(
    "rounding",
    QUESTIONS.length,
    { x: { element: "f32", isWritable: false }, y: { element: "u32", isWritable: true } },
    {},
    false,
  );
  const x = s.buffers["x"]!.load(s.thread);
  s.buffers["y"]!.store(s.thread, new Uint(x.context, x.context.builder.operate("f32.to.half", x.value)));
  return (program = new ShaderProgram(s.finish()));
}

const ignore = (): void => {};

/** Whether it rounds all of them to the nearest. */
export function roundsHalf({ id, binding, capabilities: { seesTexels } }: NativeDevice): boolean {
  const size = 4 * QUESTIONS.length;
  const shape = [QUESTIONS.length];
  const call = question().call({ seesTexels, roundsHalf: false }, 1, { shapes: { x: shape, y: shape }, params: {} });
  // Nothing is told of it: a program that takes a pipeline which was begun waits for all that were.
  const dispatch = announcingContainers(ignore, () => describeShader(call, 1));
  const made = binding.createProgram(id, {
    name: "rounding",
    inputs: [size],
    outputs: [size],
    scratch: 0,
    dispatchables: [dispatch],
    steps: [{ group: 0, dispatch: 0, inputs: [[0, 0, size]], outputs: [[1, 0, size]] }],
  });
  const input = binding.upload(id, Uint32Array.from(QUESTIONS, bitsOfFloat), {});
  const answer = binding.run(made, {}, input);
  const answers = new Uint32Array(binding.readSync(answer, 0, size));
  for (const handle of [input, answer]) binding.release(handle);
  binding.releaseProgram(made);
  return QUESTIONS.every((x, i) => (Number.isNaN(x) ? (answers[i]! & 0x7fff) > 0x7c00 : answers[i] === halfOfFloat(x)));
}
