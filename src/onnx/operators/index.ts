/** Every operator that the importer knows, by domain and name. A new operator belongs into its family and into names.ts. */
import { activation } from "./activation.ts";
import { arithmetic } from "./arithmetic.ts";
import { attention } from "./attention.ts";
import { channelBlocks } from "./blocked-channels.ts";
import { cast } from "./cast.ts";
import { control } from "./control.ts";
import { convolution } from "./convolution.ts";
import { creation, random } from "./creation.ts";
import { detection } from "./detection.ts";
import { withDoubles } from "./float64-host.ts";
import { indexing } from "./indexing.ts";
import { classLabels } from "./labels-of-classes.ts";
import { learning } from "./learning.ts";
import { linear } from "./linear.ts";
import { loss } from "./loss.ts";
import { microsoft } from "./microsoft.ts";
import { normalization, dropout } from "./normalization.ts";
import type { Family, Operator } from "./operator.ts";
import { pooling } from "./pooling.ts";
import { preview } from "./preview.ts";
import { quantization } from "./quantization.ts";
import { recurrent } from "./recurrent.ts";
import { reduction } from "./reduction.ts";
import { resampling } from "./resampling.ts";
import { sequences } from "./sequences.ts";
import { shapes } from "./shapes.ts";
import { signal } from "./signal.ts";
import { simplifiedNormalization } from "./skip-normalization.ts";
import { texts, withTexts } from "./texts.ts";
import { text } from "./token-sequences.ts";
import { training } from "./optimizers.ts";
import { unary } from "./unary.ts";

const domains: Readonly<Record<string, Family>> = {
  "": withDoubles(
    withTexts({
      ...unary,
      ...arithmetic,
      ...activation,
      ...reduction,
      ...shapes,
      ...indexing,
      ...creation,
      ...random,
      ...cast,
      ...linear,
      ...convolution,
      ...pooling,
      ...normalization,
      ...dropout,
      ...simplifiedNormalization,
      ...resampling,
      ...attention,
      ...recurrent,
      ...loss,
      ...quantization,
      ...signal,
      ...detection,
      ...control,
      ...sequences,
      ...text,
      ...texts,
    }),
  ),
  "ai.onnx.ml": withTexts({ ...learning, ...classLabels }),
  "ai.onnx.preview": preview,
  "ai.onnx.preview.training": training,
  "com.microsoft": microsoft,
  "com.microsoft.nchwc": channelBlocks,
};

export const operatorOf = (domain: string, name: string): Operator | null => {
  const table = domains[domain];
  return table !== undefined && Object.hasOwn(table, name) ? table[name]! : null;
};

/** Names by domain. names.ts lists the same names for programs that load no model. */
export const namesOfFamilies = (): Record<string, string[]> =>
  Object.fromEntries(Object.entries(domains).map(([domain, table]) => [domain, Object.keys(table).toSorted()]));
export type { Operator } from "./operator.ts";
