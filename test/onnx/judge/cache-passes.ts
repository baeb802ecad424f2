/** A language model as a file whose keys and values are inputs and outputs, and the passes over a text that such a file is asked for. */
import * as dx from "../../../src/index.ts";

/** Of three layers, with two heads of keys for four of queries. */
export const smallLlama = {
  model_type: "llama",
  vocab_size: 64,
  hidden_size: 32,
  intermediate_size: 48,
  num_hidden_layers: 3,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 128,
  tie_word_embeddings: true,
};

/** The file of a model, with texts of any number and any length, before and now. */
export async function exportedWithCache(model: dx.models.Llama): Promise<Uint8Array> {
  const { layers, keyHeads, headWidth } = model.causal;
  const keys = Array.from({ length: layers }, (_, i) => [`${i}.key`, `${i}.value`]).flat();
  const past = keys.map((name) => `past.${name}`);
  return dx.scope(() =>
    dx.io.onnx.serialize(
      (tokens: dx.Tensor, ...before: dx.Tensor[]) => model.withPast(tokens, before),
      [dx.zeros([2, 5], { dtype: "int64" }), ...past.map(() => dx.zeros([2, keyHeads, 3, headWidth]))],
      {
        opset: 18,
        names: { inputs: ["tokens", ...past], outputs: ["logits", ...keys.map((name) => `present.${name}`)] },
        dynamicAxes: { tokens: { 0: "batch", 1: "length" }, ...Object.fromEntries(past.map((name) => [name, { 0: "batch", 2: "past" }])) },
      },
    ),
  );
}

/** Arguments and results of a text that is read in parts of these lengths. */
export function passes(model: dx.models.Llama, text: dx.Tensor, lengths: readonly number[]): { args: dx.Tensor[]; wanted: dx.Tensor[] }[] {
  const { layers, keyHeads, headWidth } = model.causal;
  let past = Array.from({ length: 2 * layers }, () => dx.zeros([text.shape[0]!, keyHeads, 0, headWidth]));
  let at = 0;
  return lengths.map((length) => {
    const args = [dx.narrow(text, 1, at, length), ...past];
    const wanted = dx.noGrad(() => model.withPast(args[0]!, past));
    past = wanted.slice(1);
    at += length;
    return { args, wanted };
  });
}
