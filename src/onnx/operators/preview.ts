/** ai.onnx.preview. */
import { flexAttention } from "./attention.ts";
import { family } from "./operator.ts";

export const preview = family({ FlexAttention: flexAttention }, { isPure: false });
