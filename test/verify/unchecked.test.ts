/** Descriptions that DirectML reads past its memory for: each gives an error of ours, and the process and the device live on. */
import { expect, it } from "vitest";
import { Side } from "../../src/verify/side.ts";
import { inputsFor } from "../../src/verify/input-values.ts";
import { Random } from "../../src/verify/values/seeded-random.ts";
import { description, parse, withCounts, type Described } from "../../src/verify/values/operator-text.ts";
import type { FieldValue, ProgramStep } from "../../src/native/binding.ts";
import { eachDevice } from "../device.ts";

type Dispatch = Extract<ProgramStep, { dispatch: number }>;

const changed = (text: string, field: string, value: FieldValue): Described => {
  const { row, fields } = parse(text);
  return {
    row,
    fields: withCounts(
      row,
      fields.map((old, i) => (row.fields[i]!.name === field ? value : old)),
    ),
  };
};

const quantize = "ELEMENT_WISE_QUANTIZE_LINEAR input=f32[1,2,3,4] scale=f32[1,2,3,4] zeroPoint=u8[1,2,3,4] output=u8[1,2,3,4]";
const convolution =
  "CONVOLUTION input=f32[2,4,5] filter=f32[6,4,3] output=f32[2,6,3] mode=CROSS_CORRELATION direction=FORWARD strides=[1] dilations=[1] " +
  "startPadding=[0] endPadding=[0] outputPadding=[0] groupCount=1";
const slice = "SLICE_GRAD inputGradient=f32[7] outputGradient=f32[20] inputWindowOffsets=[1] inputWindowSizes=[19] inputWindowStrides=[3]";

const faults: readonly (readonly [string, Described, RegExp])[] = [
  ["a required tensor that is null", changed(quantize, "scale", null), /ScaleTensor is null/],
  ["JOIN without an output", changed("JOIN inputs=[f32[5],f32[3]] output=f32[8] axis=0", "output", null), /OutputTensor is null/],
  ["SPLIT without an input", changed("SPLIT input=f32[9] outputs=[f32[4],f32[5]] axis=0", "input", null), /InputTensor is null/],
  ["a fused activation that has tensors", parse(`${convolution} fusedActivation={ACTIVATION_PARAMETERIZED_RELU}`), /cannot be fused/],
  [
    "more index dimensions than axes before them",
    parse("GATHER input=f32[1,2,5,6] indices=u32[1,1,1,3] output=f32[1,2,3,6] axis=2 indexDimensions=4"),
    /IndexDimensions/,
  ],
  [
    "coordinates longer than the tensor's rank",
    parse(
      "SCATTER_ND input=f32[1,4,5,6] indices=u32[1,1,3,4] updates=f32[1,1,3,6] output=f32[1,4,5,6] inputDimensionCount=3 indicesDimensionCount=2",
    ),
    /InputDimensionCount/,
  ],
  [
    "attention without heads",
    parse("MULTIHEAD_ATTENTION stackedQueryKeyValue=f32[2,3,4,3,2] output=f32[2,3,8] scale=1 headCount=0 maskType=NONE"),
    /HeadCount is 0/,
  ],
  [
    "lengths of what is past of attention",
    parse(
      "MULTIHEAD_ATTENTION1 query=f32[2,3,8] key=f32[2,3,8] value=f32[2,3,8] pastKey=f32[2,4,6,2] pastValue=f32[2,4,6,2] " +
        "pastSequenceLengths=i32[2] output=f32[2,3,8] scale=1 queryHeadCount=4 keyValueHeadCount=4 maskType=NONE",
    ),
    /PastSequenceLengthsTensor is not null/,
  ],
  [
    "arrays shorter than the tensor's rank",
    parse("PADDING input=f32[2,3] output=f32[2,3] paddingMode=CONSTANT startPadding=[0] endPadding=[0]"),
    /DimensionCount is 1, not 2/,
  ],
  [
    "a scale with more dimensions than what is scaled",
    parse("DEQUANTIZE input=u8[4,6] quantizationType=SCALE quantizations=[f32[1,1,2,3]] output=f32[4,6]"),
    /more dimensions than InputTensor/,
  ],
  ["strides of 0", changed(convolution, "strides", [0]), /Strides is 0/],
  ["a gradient written outside its tensor", changed(slice, "inputWindowOffsets", [5]), /outside the tensor/],
];

eachDevice("what DirectML does not check", (device) => {
  it.each(faults)("%s", (_, fault, message) => {
    const side = new Side(device);
    const refusal = side.createOperator(description(fault));
    expect(refusal?.message).toMatch(message);
    expect(refusal?.kind).toBe("invalid");
    const good = parse("ELEMENT_WISE_ADD a=f32[4] b=f32[4] output=f32[4]");
    expect(side.run(good, inputsFor(good, new Random(1)))).toHaveProperty("outputs");
  });
});

/** ADD of 64 elements, bound in some way. */
function bound(
  device: string,
  slots: { readonly inputs: number[]; readonly outputs: number[] },
  ranges: Pick<Dispatch, "inputs" | "outputs">,
): string {
  const { binding, id } = new Side(device).native;
  const add = description(parse("ELEMENT_WISE_ADD a=f32[64] b=f32[64] output=f32[64]"));
  const step = { group: 0, dispatch: 0, ...ranges };
  try {
    binding.releaseProgram(binding.createProgram(id, { name: "add", ...slots, scratch: 0, dispatchables: [add], steps: [step] }));
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

eachDevice("bindings", (device) => {
  const a = [0, 0, 256] as const;
  const b = [1, 0, 256] as const;
  const whole = { inputs: [512, 256], outputs: [256] };
  it("may be in place, on the same range", () => {
    expect(bound(device, whole, { inputs: [a, b], outputs: [[2, 0, 256]] })).toBe("");
    expect(bound(device, whole, { inputs: [a, b], outputs: [a] })).toBe("");
  });
  it.each([
    ["too few", { inputs: [a], outputs: [[2, 0, 256]] }, /1 inputs are bound, 2 are needed/],
    ["not there", { inputs: [a, null], outputs: [[2, 0, 256]] }, /input 1 is not bound/],
    ["too small", { inputs: [a, [1, 0, 16]], outputs: [[2, 0, 256]] }, /input 1 is bound to 16 bytes, 256 are needed/],
    ["without a result", { inputs: [a, b], outputs: [null] }, /output 0 is not bound/],
    ["partly over an input", { inputs: [a, b], outputs: [[0, 16, 256]] }, /output 0 lies over input 0/],
  ] as const)("are refused when they are %s", (_, ranges, message) => {
    expect(bound(device, whole, ranges)).toMatch(message);
  });
});
