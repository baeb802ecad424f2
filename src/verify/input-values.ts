/** Input values of an operator, from a seeded generator: only values that are valid for it. */
import { ENUMS } from "../dml/operators.generated.ts";
import type { TensorDescription } from "../native/binding.ts";
import { tensorsOf } from "./operators/operators.ts";
import type { Random } from "./values/seeded-random.ts";
import { eachOffset, elementsOf } from "./values/layouts.ts";
import type { Described } from "./values/operator-text.ts";
import { typeOf, writeElement, type DataType, type Element } from "./values/types.ts";

/** An element's value from its index; used where elements depend on each other. */
type Values = (index: number) => Element;

interface FillContext {
  readonly described: Described;
  readonly operator: string;
  readonly field: string;
  readonly tensor: TensorDescription;
  readonly type: DataType;
  readonly random: Random;
}

const number = (d: Described, name: string): number => d.fields[d.row.fields.findIndex((f) => f.name === name)] as number;

const tensorsNamed = (d: Described, name: string): readonly TensorDescription[] =>
  tensorsOf(
    d,
    d.row.fields.findIndex((f) => f.name === name),
  );
const tensorNamed = (d: Described, name: string): TensorDescription => tensorsNamed(d, name)[0]!;

/** A permutation of 0 to n - 1. */
function shuffled(random: Random, n: number): number[] {
  const list = Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const k = random.between(0, i);
    [list[i], list[k]] = [list[k]!, list[i]!];
  }
  return list;
}

/** Eighths: every format represents them, and sums of their products are exact. */
const eighths = ({ random }: FillContext, low: number, high: number): Values => {
  return () => random.between(low, high) / 8;
};
const integersBetween = ({ random }: FillContext, low: number, high: number): Values => {
  return () => random.between(low, high);
};

/** Distinct values, where equal ones would let the result depend on the order of the work. */
function distinct({ random, tensor, type }: FillContext): Values {
  const order = shuffled(random, elementsOf(tensor.sizes));
  const middle = order.length >> 1;
  if (type.kind === "float") return (i) => (order[i]! - middle) / (order.length > 500 ? 1 : 8);
  // Both halves of 64 bits matter.
  if (type.bits === 64) return (i) => (1n << 40n) + BigInt(order[i]! - (type.kind === "signed" ? middle : 0)) * (1n << 30n);
  const range = 2 ** Math.min(type.bits, 20);
  return (i) => (type.kind === "signed" ? order[i]! - middle : order[i]!) % range;
}

/** Indices along an axis: negative ones too where the type has them and the operator takes them. */
function indicesAlong(context: FillContext, size: number, takesNegative: boolean): Values {
  return integersBetween(context, context.type.kind === "signed" && takesNegative ? -size : 0, size - 1);
}

/** Indices along an axis that never repeat along it, so that no element is written twice. */
function uniqueAlong({ random, tensor }: FillContext, axis: number, size: number): Values {
  const rows = new Map<number, number[]>();
  const inner = elementsOf(tensor.sizes.slice(axis + 1));
  return (index) => {
    const row = Math.floor(index / (inner * tensor.sizes[axis]!)) * inner + (index % inner);
    if (!rows.has(row)) rows.set(row, shuffled(random, size));
    return rows.get(row)![Math.floor(index / inner) % tensor.sizes[axis]!]!;
  };
}

/** Coordinates of GATHER_ND and SCATTER_ND: one number for each of the input's leading dimensions. */
function coordinates({ described, random, tensor }: FillContext, unique: boolean): Values {
  const input = tensorNamed(described, "input");
  const rank = number(described, "inputDimensionCount");
  const index = described.row.fields.findIndex((f) => f.name === "batchDimensionCount");
  const batch = index < 0 ? 0 : (described.fields[index] as number);
  const sizes = input.sizes.slice(input.sizes.length - rank).slice(batch);
  const width = tensor.sizes.at(-1)!;
  const used = new Set<number>();
  let current: number[] = [];
  return (i) => {
    if (i % width === 0) {
      let key: number;
      do {
        current = Array.from({ length: width }, (_, d) => random.between(0, sizes[d]! - 1));
        key = current.reduce((k, c, d) => k * sizes[d]! + c, 0);
      } while (unique && used.has(key));
      used.add(key);
    }
    return current[i % width]!;
  };
}

/** Lengths, ends and starts, or flags, as the type of an attention's mask asks. */
function maskOf(context: FillContext): Values {
  const { described, random, tensor } = context;
  const types = ENUMS.DML_MULTIHEAD_ATTENTION_MASK_TYPE;
  const length = (name: string): number => tensorsNamed(described, name)[0]?.sizes.at(-2) ?? 1;
  switch (number(described, "maskType")) {
    case types.BOOLEAN:
      return integersBetween(context, 0, 1);
    case types.KEY_SEQUENCE_END_START:
      return (i) => (i < tensor.sizes.at(-1)! ? random.between(3, 5) : random.between(0, 2));
    case types.KEY_QUERY_SEQUENCE_LENGTH_START_END: {
      const batch = (tensor.sizes.at(-1)! - 2) / 3;
      const [queries, keys] = [length("query"), length("key")];
      return (i) => {
        if (i < batch) return random.between(1, keys);
        const [at, size] = i <= 2 * batch ? [i - batch, queries] : [i - 2 * batch - 1, keys];
        return at * size + (at < batch ? random.between(0, 1) : 0);
      };
    }
    default:
      return integersBetween(context, 1, 5);
  }
}

/** Inputs that have a meaning of their own; null for plain data. */
function special(context: FillContext): Values | null {
  const { operator, field, described, tensor, random } = context;
  if (field === "indices") {
    if (operator === "SCATTER") {
      const axis = number(described, "axis");
      return uniqueAlong(context, axis, tensorNamed(described, "input").sizes[axis]!);
    }
    if (operator === "SCATTER_ND") return coordinates(context, true);
    if (operator.startsWith("GATHER_ND")) return coordinates(context, false);
    if (operator === "MAX_UNPOOLING") {
      const order = shuffled(random, elementsOf(tensorNamed(described, "output").sizes));
      return (i) => order[i]!;
    }
    const axis = number(described, "axis");
    const along = operator === "ONE_HOT" ? tensorNamed(described, "output") : tensorNamed(described, "input");
    return indicesAlong(context, along.sizes[axis]!, operator !== "ONE_HOT");
  }
  if (field === "sequenceLengths") {
    const input = tensorNamed(described, "input");
    return operator === "REVERSE_SUBSEQUENCES"
      ? integersBetween(context, 1, input.sizes[number(described, "axis")]!)
      : integersBetween(context, 1, input.sizes[1]!);
  }
  if (field === "condition") return integersBetween(context, 0, 1);
  if (field === "inputState") return () => random.bits();
  if (field === "trainingStep") return integersBetween(context, 1, 10);
  if (field === "batchIndices") {
    const image = tensorsNamed(described, "input")[0] ?? tensorNamed(described, "outputGradient");
    return integersBetween(context, 0, image.sizes[0]! - 1);
  }
  if (field === "quantizations" && context.type.kind === "float") return () => 2 ** -random.between(0, 2);
  if (operator === "DYNAMIC_QUANTIZE_LINEAR") {
    // A range of 255 eighths: quotients are exact, and so are their halves.
    const low = -random.between(8, 200);
    return (i) => (i === 0 ? low : i === 1 ? low + 255 : random.between(low, low + 255)) / 8;
  }
  if (field === "mask") return maskOf(context);
  if (field === "roi") {
    const last = tensor.sizes.at(-1)!;
    const batch = tensorsNamed(described, "input")[0]?.sizes[0] ?? 1;
    return (i) =>
      last === 5 && i % 5 === 0
        ? random.between(0, batch - 1)
        : (i % last) - (last - 4) < 2
          ? random.between(0, 8) / 8
          : random.between(16, 32) / 8;
  }
  if (/scale$/i.test(field) && /QUANTIZ|INTEGER/.test(operator)) return () => 2 ** -random.between(0, 2);
  if (field === "inputSecondMoment" || field === "variance") return eighths(context, 2, 32);
  return null;
}

/** Ranges in eighths for the arguments of functions with a smaller domain. */
const domains: readonly (readonly [operator: RegExp, field: RegExp, low: number, high: number])[] = [
  [/^ELEMENT_WISE_LOG$|SQRT|RECIP/, /^input$/, 1, 32],
  [/ACOSH/, /^input$/, 8, 40],
  [/ATANH/, /^input$/, -7, 7],
  [/ASIN$|ACOS$/, /^input$/, -8, 8],
  [/DIVIDE|MODULUS/, /^b$/, 4, 32],
  [/^ELEMENT_WISE_POW$/, /^input$/, 2, 16],
  [/CONSTANT_POW/, /^input$/, 4, 24],
  [/CAST/, /^input$/, -800, 800],
  // A network that does not amplify what its first steps rounded.
  [/^(RNN|LSTM|GRU)$/, /^(weight|recurrence)$/, -2, 2],
];

function reals(context: FillContext): Values {
  const { operator, field, described, random } = context;
  if (/MAX_POOLING|TOP_K|ARGMAX|ARGMIN|HARDMAX/.test(operator) && field === "input") return distinct(context);
  if (operator === "ELEMENT_WISE_POW" && field === "exponent") return integersBetween(context, -2, 3);
  if (operator === "REDUCE" && number(described, "function") === ENUMS.DML_REDUCE_FUNCTION.LOG_SUM) return eighths(context, 1, 16);
  if (operator === "CUMULATIVE_PRODUCT") return () => random.pick([-1, 1, 0.5, 2, 1]);
  if (operator === "CAST") {
    const to = typeOf(tensorNamed(described, "output").dataType)!;
    return eighths(context, to.kind === "unsigned" ? 0 : -800, 800);
  }
  const domain = domains.find(([o, f]) => o.test(operator) && f.test(field));
  return eighths(context, domain?.[2] ?? -16, domain?.[3] ?? 16);
}

/** Integers over their whole range, where that has a meaning; the 64-bit ones odd and past 2^53. */
function anyInteger({ random, type }: FillContext): Values {
  if (type.bits === 64) {
    return () => {
      const large = (1n << 55n) + BigInt(random.bits()) * 2n + 1n;
      return type.kind === "signed" && random.between(0, 1) === 1 ? -large : large;
    };
  }
  const low = type.kind === "signed" ? -(2 ** (type.bits - 1)) : 0;
  return () => low + (random.bits() % 2 ** type.bits);
}

const wholeRange =
  /ADD|REDUCE|CUMULATIVE_SUM|SUBTRACT|MULTIPLY$|BIT_|MAX$|MIN$|_IF|SLICE|JOIN|SPLIT|PADDING|GATHER|TILE|ONE_HOT|SCATTER|SPACE|REVERSE|IDENTITY/;

function integers(context: FillContext): Values {
  const { operator, field, described, type, random } = context;
  const min = type.kind === "signed" ? -9 : 0;
  if (/MAX_POOLING|TOP_K|ARGMAX|ARGMIN/.test(operator) && field === "input") return distinct(context);
  if (/SHIFT/.test(operator) && field === "b") return integersBetween(context, 0, type.bits - 1);
  if (/DIVIDE|MODULUS/.test(operator)) return field === "b" ? integersBetween(context, 1, 9) : integersBetween(context, min * 10, 100);
  if (/POW/.test(operator))
    return field === "exponent" ? integersBetween(context, 0, 2) : integersBetween(context, type.kind === "signed" ? -5 : 0, 5);
  if (/LOGICAL_(AND|OR|XOR|NOT)|NONZERO/.test(operator)) return () => (random.between(0, 1) === 1 ? random.between(1, 100) : 0);
  if (/LOGICAL/.test(operator)) {
    // Equal ones are frequent; those of 64 bits differ in either half.
    const high = type.bits === 64 ? [0n, 1n << 62n, 1n << 31n] : [0n];
    return () => BigInt(random.between(0, 3)) + random.pick(high);
  }
  if (operator === "CAST") {
    const to = typeOf(tensorNamed(described, "output").dataType)!;
    if (type.bits === 64 && to.bits === 64 && to.kind !== "float") return () => (1n << 60n) + BigInt(random.bits());
    return integersBetween(context, type.kind === "signed" && to.kind !== "unsigned" ? -100 : 0, 100);
  }
  if (type.bits >= 8 && wholeRange.test(operator)) return anyInteger(context);
  return type.bits === 4 ? integersBetween(context, type.kind === "signed" ? -8 : 0, 7) : integersBetween(context, min, 9);
}

/** Bytes of every input in the order of the binding; null for an absent one. */
export function inputsFor(described: Described, random: Random): (Uint8Array | null)[] {
  const inputs: (Uint8Array | null)[] = [];
  described.row.fields.forEach((f, i) => {
    if (f.kind !== "input") return;
    const tensors = tensorsOf(described, i);
    if (tensors.length === 0 && f.type === "tensor") inputs.push(null);
    for (const tensor of tensors) {
      const type = typeOf(tensor.dataType)!;
      const context: FillContext = { described, operator: described.row.name, field: f.name, tensor, type, random };
      const values = special(context) ?? (type.kind === "float" ? reals(context) : integers(context));
      inputs.push(filled(tensor, values));
    }
  });
  return inputs;
}

/** A tensor's bytes. Where strides of 0 repeat an element, its first value counts. */
export function filled(tensor: TensorDescription, values: Values): Uint8Array {
  const bytes = new Uint8Array(tensor.sizeInBytes);
  const view = new DataView(bytes.buffer);
  const type = typeOf(tensor.dataType)!;
  const repeats = tensor.strides?.includes(0) === true;
  const written = new Set<number>();
  eachOffset(tensor, (offset, index) => {
    const value = values(index);
    if (repeats && written.has(offset)) return;
    if (repeats) written.add(offset);
    writeElement(view, type, offset, value);
  });
  return bytes;
}
