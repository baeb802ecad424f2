/** Options of io.peft. */
import type { TransferOptions } from "../parts.ts";

/** Options of peft.save(). */
export interface PeftSaveOptions extends TransferOptions {
  /** What the config calls the model that was adapted: a path or a name of Hugging Face's. Default: none. */
  readonly baseModel?: string | undefined;
  /** PEFT's name of the task, such as "CAUSAL_LM". Default: none. */
  readonly taskType?: string | undefined;
}

/** Options of peft.load(). */
export interface PeftLoadOptions extends TransferOptions {
  /** The adapters' name in the module. Default: "default". */
  readonly name?: string | undefined;
}
