// Descriptions of the fields of DirectML's operators, for the comments of the graph builder's options. Reference: DML_<OPERATOR>_OPERATOR_DESC.
import type { Field, Operator } from "./operator-table.ts";

const meanings: Readonly<Record<string, string>> = {
  ActivationDescs: "The activations of the gates, one after the other; twice as many for both directions.",
  AlignRegionsToCorners: "Whether regions end at the centres of corner elements, not at their outer edges.",
  Alpha: "The operator's first factor, alpha.",
  Antialiased: "Whether samples are averaged over their distance when the output is smaller.",
  Axes: "The axes it works along.",
  Axis: "The axis it works along, from 0.",
  AxisDirection: "From which end of the axis it counts; of equal values the first in this direction wins.",
  Beta: "The operator's second number, beta.",
  Beta1: "Decay of the first moment.",
  Beta2: "Decay of the second moment.",
  Bias: "Added to the product with the scale.",
  BlockSize: "Length of the blocks of space.",
  ClipThreshold: "The limit of a cell's input in both directions.",
  CoupleInputForget: "Whether the forget gate is 1 minus the input gate.",
  CrossChannel: "Whether mean and variance are taken over channels too.",
  DiagonalFillBegin: "The first diagonal that is kept.",
  DiagonalFillEnd: "The last diagonal that is kept.",
  Dilations: "Distance between the kernel's elements along each spatial axis, in elements.",
  Direction: "Which way it runs.",
  EndPadding: "Elements added behind the last one of each axis.",
  Epsilon: "Added to the variance, against a division by zero.",
  Exponent: "The power.",
  Function: "How elements are reduced.",
  FusedActivation: "An activation of the result, in the same pass; null for none.",
  Gamma: "The operator's number gamma.",
  GroupCount: "Groups into which channels are divided.",
  HasExclusiveProduct: "Whether an element's own value is left out of its product.",
  HasExclusiveSum: "Whether an element's own value is left out of its sum.",
  HeadCount: "Number of attention heads.",
  IncludePadding: "Whether padded elements count in the average.",
  IndexDimensions: "Leading axes that the indices address.",
  InfinityMode: "Infinities of which sign count.",
  InputPixelOffset: "Offset of an input sample's centre, in elements.",
  InputPixelOffsets: "Offset of an input sample's centre along each axis, in elements: 0.5 for centres of pixels.",
  InputWindowOffsets: "First element of the window along each axis.",
  InputWindowSizes: "Length of the window along each axis.",
  InputWindowStrides: "Step through the window along each axis; negative ones go backwards.",
  InterpolationMode: "Nearest element, or linear between elements.",
  K: "How many elements are kept.",
  KeyValueHeadCount: "Number of heads of keys and values.",
  LearningRate: "Factor of the update.",
  LinearBeforeReset: "Whether the reset gate comes after the product with the recurrent weights.",
  LocalSize: "Number of neighbours that are summed.",
  MaskFilterValue: "Replaces scores that are masked.",
  MaskType: "What the mask holds.",
  Max: "Upper limit.",
  MaximumSamplesPerOutput: "At most so many samples for each output element along an axis.",
  Min: "Lower limit.",
  MinMaxDataType: "The dtype of min and max.",
  MinimumSamplesPerOutput: "At least so many samples for each output element along an axis.",
  Mode: "CONVOLUTION turns the kernel around; CROSS_CORRELATION, what networks call a convolution, does not.",
  NormalizeVariance: "Whether it divides by the standard deviation.",
  Offset: "Which diagonal: 0 for the main one, above it if positive.",
  Offsets: "First element along each axis.",
  Order: "How blocks of space lie in the channels.",
  OutOfBoundsInputValue: "What lies outside of the input.",
  OutputPadding: "Elements added to the output's end along each spatial axis, of a transposed convolution.",
  OutputPixelOffset: "Offset of an output sample's centre, in elements.",
  OutputPixelOffsets: "Offset of an output sample's centre along each axis, in elements: -0.5 for centres of pixels.",
  P: "Order of the norm.",
  PaddingMode: "What padded elements are.",
  PaddingValue: "The value of padded elements.",
  PaddingValueDataType: "The dtype of the padding's value.",
  PooledSize: "Lengths of the output's spatial axes.",
  QuantizationType: "Whether there is a scale, or a scale and a zero point.",
  QueryHeadCount: "Number of heads of queries.",
  ReductionFunction: "How samples of a region become one element.",
  Repeats: "How often each axis is repeated.",
  RoundingDirection: "Whether output lengths round down or up.",
  RoundingMode: "Which way numbers round.",
  Scale: "Factor.",
  ScaleBias: "[scale, bias]: the operator computes of scale * x + bias. null for x itself.",
  ScaleSize: "Factors of width and height.",
  Scales: "Output length over input length, for each axis.",
  SigmoidInputScale: "Factor of the sigmoid's argument.",
  Sizes: "Length along each axis.",
  Spatial: "Whether statistics are shared by all positions of a channel.",
  SpatialScale: "From the regions' coordinates to the input's.",
  SpatialScaleX: "From the regions' x coordinates to the input's.",
  SpatialScaleY: "From the regions' y coordinates to the input's.",
  StartPadding: "Elements added before the first one of each axis.",
  Steepness: "Slope of the transition.",
  Strides: "Steps of the window along each axis, in elements.",
  Threshold: "The limit.",
  TransA: "Whether a is transposed.",
  TransB: "Whether b is transposed.",
  Type: "The algorithm of the random numbers.",
  UseClipThreshold: "Whether the clip threshold is in force.",
  UseMean: "Whether the mean is subtracted.",
  UseVariance: "Whether it divides by the standard deviation.",
  Value: "The value.",
  ValueDataType: "The dtype of the values.",
  ValueDelta: "Step from one value to the next.",
  ValueStart: "The first value.",
  WindowSize: "Length of the window along each axis.",
  WindowSizes: "Length of the window along each axis.",
  MaskTensor: "Which scores are masked.",
  BiasTensor: "Added to the result; null for none.",
  ScaleTensor: "Factors; null for none.",
};

/** "A zero point": the words of a field's name. */
const words = (name: string): string =>
  name
    .replace(/Tensors?$/, "")
    .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase();

/** The comment of an option of the builder's method. */
export function fieldText({ name: operator }: Operator, { name, kind, optional }: Field): string {
  const known = meanings[name];
  const about =
    known ??
    (kind === "output"
      ? `Sizes and dtype of the ${words(name)}, where they do not follow from the inputs.`
      : kind === "input"
        ? `The ${words(name)}${optional ? "; null for none" : ""}.`
        : `The ${words(name)}.`);
  return `${about} Reference: DML_${operator}_OPERATOR_DESC.${name}.`;
}
