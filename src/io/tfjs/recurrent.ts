/** Keras's recurrent layers, in one direction or both. */
import type { Attributes, Value, Weight } from "./graph-builder.ts";
import { transposed } from "./graph-builder.ts";
import type { Json } from "./json.ts";
import type { LayerCall } from "./keras-layers.ts";

interface Kind {
  readonly operator: "LSTM" | "GRU" | "RNN";
  /** For each gate of ONNX's order, its number in Keras's. */
  readonly gates: readonly number[];
  readonly isGru: boolean;
}

const KINDS: Readonly<Record<string, Kind>> = {
  LSTM: { operator: "LSTM", gates: [0, 3, 1, 2], isGru: false },
  GRU: { operator: "GRU", gates: [0, 1, 2], isGru: true },
  SimpleRNN: { operator: "RNN", gates: [0], isGru: false },
};

/** ONNX's names of Keras's activations. */
const ACTIVATIONS: Readonly<Record<string, string>> = { sigmoid: "Sigmoid", hardsigmoid: "HardSigmoid", tanh: "Tanh", relu: "Relu", linear: "Affine", softsign: "Softsign", softplus: "Softplus", elu: "Elu" }; // prettier-ignore

/** Parts of rows in another order: [gates * units, …]. */
function reordered(weight: Weight, gates: readonly number[]): Uint8Array {
  const part = weight.bytes.length / gates.length;
  return Buffer.concat(gates.map((gate) => weight.bytes.subarray(gate * part, (gate + 1) * part)));
}

/** One weight of all directions: [directions, …]. */
const stacked = (name: string, parts: readonly Uint8Array[], shape: readonly number[]): Weight => ({
  name,
  dtype: "float32",
  shape: [parts.length, ...shape],
  bytes: new Uint8Array(Buffer.concat(parts)),
});

/** The biases of a direction, for the input and for the state: [2 * gates * units]. */
function biasOf(c: LayerCall, { gates }: Kind, units: number, resetsAfter: boolean): Uint8Array {
  const size = gates.length * units * 4;
  const zeros = new Uint8Array(size);
  if (c.config["use_bias"] === false) return Buffer.concat([zeros, zeros]);
  const bias = c.weight("bias");
  const half = (at: number): Uint8Array => reordered({ ...bias, bytes: bias.bytes.subarray(at, at + size) }, gates);
  return Buffer.concat([half(0), resetsAfter ? half(size) : zeros]);
}

/** An LSTM, GRU or SimpleRNN; its results are those of `return_sequences` and `return_state`. isBoth: the layer is Bidirectional, around this one. */
export function recurrent(
  c: LayerCall,
  { className, config }: { readonly className: string; readonly config: Json },
  isBoth: boolean,
): Value | readonly Value[] {
  const kind = KINDS[className];
  if (kind === undefined) throw c.unsupported(`a layer of class ${className}`);
  const { b, label } = c;
  if (c.inputs.length > 1) throw c.unsupported("an initial state");
  if (config["stateful"] === true) throw c.unsupported("stateful");
  const units = Number(config["units"]);
  if (!Number.isSafeInteger(units) || units < 1) throw c.bad(`with units of ${label}`, JSON.stringify(config["units"] ?? null));
  const resetsAfter = kind.isGru && config["reset_after"] === true;
  const inner = String(config["name"] ?? label).replace(/^(?:forward|backward)_/, "");
  const directions = isBoth
    ? ["forward", "backward"].map((way) => c.with({ className, config }, c.inputs, `${way}_${inner}/`))
    : [c.with({ className, config })];
  const each = (suffix: string): { readonly parts: readonly Uint8Array[]; readonly inputs: number } => {
    const kernels = directions.map((d) => transposed(d.weight(suffix, 2, kind.gates.length * units), [1, 0]));
    return { parts: kernels.map((k) => reordered(k, kind.gates)), inputs: kernels[0]!.shape[1]! };
  };
  const rows = kind.gates.length * units;
  const kernel = each("kernel");
  const state = each("recurrent_kernel");
  const biases = directions.map((d) => biasOf(d, kind, units, resetsAfter));
  const activationOf = (name: string, otherwise: string): string => {
    const text = String(config[name] ?? otherwise);
    const found = ACTIVATIONS[text.replaceAll("_", "").toLowerCase()];
    if (found === undefined) throw c.unsupported(`activation ${text}`);
    return found;
  };
  const act = activationOf("activation", "tanh");
  const gate = kind.operator === "RNN" ? [] : [activationOf("recurrent_activation", "sigmoid")];
  const one = [...gate, act, ...(kind.operator === "LSTM" ? [act] : [])];
  const isReverse = config["go_backwards"] === true;
  const attributes: Attributes = {
    hidden_size: units,
    direction: isBoth ? "bidirectional" : isReverse ? "reverse" : "forward",
    activations: directions.flatMap(() => one),
    ...(kind.isGru ? { linear_before_reset: resetsAfter ? 1 : 0 } : {}),
  };
  const inputs = [
    b.node("Transpose", [b.last(c.x)], `${label}/steps-first`, { perm: [1, 0, 2] }),
    b.weight(stacked(`${label}/kernel`, kernel.parts, [rows, kernel.inputs])),
    b.weight(stacked(`${label}/recurrent_kernel`, state.parts, [rows, units])),
    b.weight(stacked(`${label}/bias`, biases, [2 * rows])),
  ];
  const outputs = ["all", "state", ...(kind.operator === "LSTM" ? ["c"] : [])].map((name) => b.unique(`${label}/${name}`));
  b.nodeOf(kind.operator, inputs, outputs, label, attributes);
  const isSequence = config["return_sequences"] === true;
  const withState = config["return_state"] === true;
  const mode = c.config["merge_mode"] === undefined ? "concat" : c.config["merge_mode"];
  if (isBoth && (withState || mode === null)) throw c.unsupported(withState ? "return_state of both directions" : "merge_mode null");
  const rank = isSequence ? 3 : 2;
  // [batch, (steps,) directions, units]
  const laid = isSequence
    ? b.node("Transpose", [outputs[0]!], `${label}/batch-first`, { perm: [2, 0, 1, 3] })
    : b.node("Transpose", [outputs[1]!], `${label}/batch-first`, { perm: [1, 0, 2] });
  if (isBoth && mode !== "concat") return b.plain(mergedOf(c, laid, String(mode), rank), rank, label);
  const shape = b.ints(isSequence ? [0, 0, units * directions.length] : [0, units * directions.length]);
  let y = b.node("Reshape", [laid, shape], label);
  // Keras gives the steps in the order in which they ran.
  if (isReverse && isSequence && !isBoth)
    y = b.node("Slice", [y, b.ints([-1]), b.ints([-(2 ** 31)]), b.ints([1]), b.ints([-1])], `${label}/reversed`);
  const result = b.plain(y, rank, label);
  if (!withState) return result;
  const states = outputs.slice(1).map((name, i) => b.plain(b.node("Squeeze", [name, b.ints([0])], `${label}/state${i}`), 2));
  return [result, ...states];
}

/** Both directions as one. */
function mergedOf(c: LayerCall, laid: string, mode: string, rank: number): string {
  const { b, label } = c;
  const axis = rank - 1;
  switch (mode) {
    case "sum":
      return b.node("ReduceSum", [laid, b.ints([axis])], label, { keepdims: 0 });
    case "ave":
      return b.node("ReduceMean", [laid, b.ints([axis])], label, { keepdims: 0 });
    case "mul":
      return b.node("ReduceProd", [laid, b.ints([axis])], label, { keepdims: 0 });
    default:
      throw c.unsupported(`merge_mode ${mode}`);
  }
}
