/** The decoder that is fine-tuned where no model is named: small, over bytes, and trained on sonnets first. */
import * as dx from "dxtensor";

/** Bytes as tokens. */
export const bytes = {
  encode: (text: string): number[] => [...Buffer.from(text, "utf8")],
  decode: (tokens: readonly number[]): string => Buffer.from(tokens).toString("utf8"),
};

/** SmolLM2's kind of decoder, with few layers. */
export const smallDecoder = (): Promise<dx.models.Llama> =>
  dx.models.fromConfig(
    {
      model_type: "llama",
      vocab_size: 256,
      hidden_size: 64,
      intermediate_size: 160,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      max_position_embeddings: 256,
      tie_word_embeddings: true,
    },
    { family: "llama", generator: dx.defaultGenerator() },
  );
