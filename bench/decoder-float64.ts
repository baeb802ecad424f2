/** A decoder of the Llama family in float64, in plain loops: what the logits of packed weights are compared with. */
import type * as dx from "dxtensor";

type Weights = Readonly<Record<string, Float32Array>>;

/** y[r] = the sum over k of w[r, k] x[k]. */
function product(w: Float32Array, x: Float64Array): Float64Array {
  const k = x.length;
  return Float64Array.from({ length: w.length / k }, (_, row) => {
    let sum = 0;
    for (let i = 0, at = row * k; i < k; i++) sum += w[at + i]! * x[i]!;
    return sum;
  });
}

function normed(x: Float64Array, weight: Float32Array, eps: number): Float64Array {
  let squares = 0;
  for (const v of x) squares += v * v;
  const scale = 1 / Math.sqrt(squares / x.length + eps);
  return x.map((v, i) => v * scale * weight[i]!);
}

/** Rotates the halves of each head. */
function rotated(x: Float64Array, size: number, position: number, theta: number): Float64Array {
  const half = size / 2;
  return x.map((v, i) => {
    const at = i % size;
    const angle = position * theta ** (-(at % half) / half);
    return v * Math.cos(angle) + (at < half ? -x[i + half]! : x[i - half]!) * Math.sin(angle);
  });
}

export interface DecoderSizes {
  readonly layers: number;
  readonly heads: number;
  readonly keyHeads: number;
  readonly eps: number;
  readonly theta: number;
}

/** Of the tied decoder's weights by transformers' names: the logits of the last token. */
export function logitsOf(weights: Weights, tokens: readonly number[], { layers, heads, keyHeads, eps, theta }: DecoderSizes): Float64Array {
  const table = weights["model.embed_tokens.weight"]!;
  const width = weights["model.norm.weight"]!.length;
  const size = width / heads;
  const caches = Array.from({ length: layers }, () => ({ keys: [] as Float64Array[], values: [] as Float64Array[] }));
  let x = new Float64Array(0);
  for (const [position, token] of tokens.entries()) {
    x = Float64Array.from(table.subarray(token * width, (token + 1) * width));
    for (let layer = 0; layer < layers; layer++) {
      const of = (name: string): Float32Array => weights[`model.layers.${layer}.${name}.weight`]!;
      const h = normed(x, of("input_layernorm"), eps);
      const q = rotated(product(of("self_attn.q_proj"), h), size, position, theta);
      const { keys, values } = caches[layer]!;
      keys.push(rotated(product(of("self_attn.k_proj"), h), size, position, theta));
      values.push(product(of("self_attn.v_proj"), h));
      const attended = new Float64Array(width);
      for (let head = 0; head < heads; head++) {
        const from = Math.floor(head / (heads / keyHeads)) * size;
        const scores = keys.map((key) => {
          let sum = 0;
          for (let i = 0; i < size; i++) sum += q[head * size + i]! * key[from + i]!;
          return sum / Math.sqrt(size);
        });
        const largest = Math.max(...scores);
        const shares = scores.map((s) => Math.exp(s - largest));
        const total = shares.reduce((a, b) => a + b, 0);
        values.forEach((value, t) => {
          for (let i = 0; i < size; i++) attended[head * size + i]! += (shares[t]! / total) * value[from + i]!;
        });
      }
      const added = product(of("self_attn.o_proj"), attended);
      x = x.map((v, i) => v + added[i]!);
      const inner = normed(x, of("post_attention_layernorm"), eps);
      const [gate, up] = [product(of("mlp.gate_proj"), inner), product(of("mlp.up_proj"), inner)];
      const down = product(
        of("mlp.down_proj"),
        gate.map((g, i) => (g / (1 + Math.exp(-g))) * up[i]!),
      );
      x = x.map((v, i) => v + down[i]!);
    }
  }
  return product(table, normed(x, weights["model.norm.weight"]!, eps));
}

/** A model's floating weights by name. */
export async function floatsOf(model: dx.nn.Module): Promise<Weights> {
  const made: Record<string, Float32Array> = {};
  for (const [name, t] of Object.entries(model.stateDict())) made[name] = (await t.data()) as Float32Array;
  return made;
}
