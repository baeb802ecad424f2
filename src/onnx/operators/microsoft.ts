/** com.microsoft: the operators of ONNX Runtime's optimizer and quantizer, and of its model builders. */
import { biasedActivation } from "./biased-activation.ts";
import { blockQuantized } from "./block-quantized.ts";
import { experts } from "./experts.ts";
import { fused } from "./fused.ts";
import { groupedQuery } from "./grouped-query.ts";
import { headAttention } from "./head-attention.ts";
import type { Family } from "./operator.ts";
import { quantizedLayers } from "./quantized-layers.ts";
import { simplifiedNormalization, skipNormalization } from "./skip-normalization.ts";
import { tensorExtensions } from "./tensor-extensions.ts";

export const microsoft: Family = {
  ...biasedActivation,
  ...blockQuantized,
  ...experts,
  ...fused,
  ...groupedQuery,
  ...headAttention,
  ...quantizedLayers,
  ...simplifiedNormalization,
  ...skipNormalization,
  ...tensorExtensions,
};
