/** The weights that llama.py and the other files of this folder give their models. */
import { type nn, noGrad, tensor } from "../../../src/index.ts";

/** A hash of a start and a position, in ±1. */
function valueAt(start: number, n: number): number {
  const sum = (Math.imul(n + start, 2654435761) + Math.imul(start, 40503)) >>> 0;
  const bits = Math.imul(sum ^ (sum >>> 15), 2246822519) >>> 0;
  return (bits / 2 ** 32 - 0.5) * 2;
}

/** The hash of positions from a start. */
export const hashed = (start: number, count: number): Float32Array => Float32Array.from({ length: count }, (_, n) => valueAt(start, n));

/** A hash of the name and the position, in ±scale; around 1 for norms. */
export function fill(model: nn.Module, scale = 0.3): void {
  for (const [name, p] of model.namedParameters()) {
    let start = 0;
    for (let i = 0; i < name.length; i++) start += (i + 1) * name.charCodeAt(i);
    const one = name.endsWith("norm.weight") || name.includes("layernorm") || (name.includes("ln_") && name.endsWith("weight")) ? 1 : 0;
    const values = Float32Array.from({ length: p.size }, (_, n) => valueAt(start, n) * scale + one);
    noGrad(() => p.copy_(tensor(values, { shape: p.shape, device: p.device })));
  }
}

/** The state that encoders.py gives its models: matrices keep the size of what they get. */
export function fillState(model: nn.Module): void {
  const seen = new Set<object>();
  for (const [name, t] of Object.entries(model.stateDict())) {
    // What is shared has its first name.
    if (name.endsWith("num_batches_tracked") || seen.has(t.storage)) continue;
    seen.add(t.storage);
    let start = 0;
    for (let i = 0; i < name.length; i++) start += (i + 1) * name.charCodeAt(i);
    const isScale = name.endsWith("weight") || name.endsWith("running_var");
    const [scale, one] = t.rank > 1 ? [Math.sqrt((3 * t.shape[0]!) / t.size), 0] : isScale ? [0.3, 1] : [0.1, 0];
    const values = Float32Array.from({ length: t.size }, (_, n) => valueAt(start, n) * scale + one);
    noGrad(() => t.copy_(tensor(values, { shape: t.shape, device: t.device })));
  }
}
