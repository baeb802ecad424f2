/** Llama's config and names in files of llama.cpp. */
import { UnsupportedError } from "../core/errors.ts";
import { scope } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import type { GgufFile, GgufValue } from "../io/gguf/index.ts";
import { contiguous } from "../ops/data/conversion.ts";
import { reshape, transpose } from "../ops/shape/movement.ts";
import type { ModelConfig } from "./options.ts";

/** transformers' `model_type` of llama.cpp's architectures. */
const TYPES: Readonly<Record<string, string>> = { llama: "llama", qwen2: "qwen2", qwen3: "qwen3" };

const PARTS: Readonly<Record<string, string>> = {
  "self_attn.q_proj": "attn_q",
  "self_attn.k_proj": "attn_k",
  "self_attn.v_proj": "attn_v",
  "self_attn.o_proj": "attn_output",
  "self_attn.q_norm": "attn_q_norm",
  "self_attn.k_norm": "attn_k_norm",
  "mlp.gate_proj": "ffn_gate",
  "mlp.up_proj": "ffn_up",
  "mlp.down_proj": "ffn_down",
  input_layernorm: "attn_norm",
  post_attention_layernorm: "ffn_norm",
};
const OTHERS: Readonly<Record<string, string>> = {
  "model.embed_tokens.weight": "token_embd.weight",
  "model.norm.weight": "output_norm.weight",
  "lm_head.weight": "output.weight",
};

const architectureOf = (file: GgufFile): string => String(file.metadata["general.architecture"]);

/** A config as transformers has it. factors: by which the file divides the rotation's frequencies. Throws UnsupportedError for other architectures. */
export function configOf(operation: string, file: GgufFile, factors: Float32Array | null): ModelConfig {
  const architecture = architectureOf(file);
  const type = Object.hasOwn(TYPES, architecture) ? TYPES[architecture] : undefined;
  if (type === undefined)
    throw new UnsupportedError({
      operation,
      argument: "path",
      expected: `of a file of the architecture ${Object.keys(TYPES).join(", ")}`,
      received: architecture,
      hint: "io.gguf reads the tensors of any file.",
    });
  const get = (key: string): GgufValue | undefined => file.metadata[`${architecture}.${key}`];
  const heads = get("attention.head_count");
  const scaling = get("rope.scaling.type");
  const rope =
    factors !== null
      ? { rope_type: "factors", factors }
      : scaling === undefined || scaling === "none"
        ? undefined
        : {
            rope_type: scaling,
            factor: get("rope.scaling.factor"),
            original_max_position_embeddings: get("rope.scaling.original_context_length"),
          };
  return {
    model_type: type,
    vocab_size: file.tensors.get("token_embd.weight")?.shape[0],
    hidden_size: get("embedding_length"),
    intermediate_size: get("feed_forward_length"),
    num_hidden_layers: get("block_count"),
    num_attention_heads: heads,
    num_key_value_heads: get("attention.head_count_kv") ?? heads,
    head_dim: get("attention.key_length") ?? (type === "qwen3" ? undefined : get("rope.dimension_count")),
    max_position_embeddings: get("context_length"),
    rms_norm_eps: get("attention.layer_norm_rms_epsilon"),
    rope_theta: get("rope.freq_base"),
    rope_scaling: rope,
    attention_bias: type !== "qwen2" && file.tensors.has("blk.0.attn_q.bias"),
    mlp_bias: file.tensors.has("blk.0.ffn_up.bias"),
    tie_word_embeddings: !file.tensors.has("output.weight"),
    eos_token_id: file.metadata["tokenizer.ggml.eos_token_id"],
  };
}

/** The tensor of a name of the state; heads: those whose rows asHalves() brings into transformers' order, null where they are. */
export function tensorOf(file: GgufFile, name: string): { readonly name: string; readonly heads: number | null } | null {
  const own = Object.hasOwn(OTHERS, name) ? OTHERS[name]! : layerName(name);
  if (own === null || !file.tensors.has(own)) return null;
  const kind = /attn_(?<kind>q|k)\./.exec(own)?.groups?.["kind"];
  if (architectureOf(file) !== "llama" || kind === undefined) return { name: own, heads: null };
  const heads =
    file.metadata[kind === "k" ? "llama.attention.head_count_kv" : "llama.attention.head_count"] ??
    file.metadata["llama.attention.head_count"];
  return { name: own, heads: Number(heads) };
}

function layerName(name: string): string | null {
  const found = /^model\.layers\.(?<index>\d+)\.(?<part>.+)\.(?<kind>weight|bias)$/.exec(name)?.groups;
  const part = found === undefined ? undefined : PARTS[found["part"]!];
  return part === undefined ? null : `blk.${found!["index"]}.${part}.${found!["kind"]}`;
}

/** llama.cpp rotates neighbours of a head's elements, transformers those half a head apart: rows [heads, pairs, 2] as [heads, 2, pairs]. */
export function asHalves(t: Tensor, heads: number): Tensor {
  const [rows, ...rest] = t.shape as [number, ...number[]];
  const made = scope(() => reshape(contiguous(transpose(reshape(t, [heads, rows / heads / 2, 2, ...rest]), 1, 2)), t.shape));
  t.dispose();
  return made;
}
