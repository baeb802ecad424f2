/**
 * The operations that have shaders (shader/choice.ts): with shaders on the tested device, with DirectML's operators on the reference.
 * The last family: the device is opened again for it, since programs are kept.
 */
import type { Case } from "../case.ts";
import { loweringCases } from "./lowering-cases.ts";
import { trainingCases } from "./training.ts";

/** Names of samples, and of networks whose layers and optimizers are made of such. */
const HAVE =
  /^(lowering\/(arithmetic with broadcasts|bfloat16|conv1d|conv2d|convTranspose|crossEntropy|embedding|gelu|layerNorm|linear|logSoftmax|matmul|promotion of|relu|rmsNorm|scaledDotProductAttention|softmax|swiglu)|training\/)/;

export function* shaderCases(quick: boolean): Generator<Case> {
  for (const { id, run } of [...loweringCases(quick), ...trainingCases(quick)])
    if (HAVE.test(id)) yield { id: `shader/${id}`, run: (context) => run({ ...context, byShaders: true }) };
}
