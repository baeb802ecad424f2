/** Operators whose elements come from other indices, or from none: constants, sequences, slices, joined tensors, one-hot rows. */
import type { OperatorName } from "../../dml/operators.generated.ts";
import type { Scalar } from "../../graph/emitter.ts";
import type { Int, Uint } from "../numbers.ts";
import { floatOfHalf, halfOfFloat } from "../operations.ts";
import { ALL, choose, literal, NUMBERS, type Attributes, type Constants, type Indexed, type Reading } from "./code.ts";

/** The coordinates of an index, outermost first; axes of length 1 have none. */
function coordinatesOf(s: Constants, index: Uint, sizes: readonly number[]): (Uint | null)[] {
  const result: (Uint | null)[] = [];
  let rest = index;
  const outermost = sizes.findIndex((d) => d !== 1);
  for (let i = sizes.length - 1; i >= 0; i--) {
    const d = sizes[i]!;
    result[i] = d === 1 ? null : i === outermost ? rest : rest.mod(d);
    if (d !== 1) rest = rest.div(d);
  }
  return result.length === 0 ? [s.u32(0)] : result;
}

const sum = (s: Constants, terms: readonly (Uint | null)[], offset = 0): Uint =>
  terms.reduce<Uint>((total, x) => (x === null ? total : total.add(x)), s.u32(offset));

/** out[c] = in[first + step * c]; steps below 0 begin at the window's end. */
function sliced(s: Constants, { index, load }: Indexed, node: Attributes): ReturnType<Indexed["load"]> {
  const [input, output] = [node.inputs[0]!, node.outputs[0]!];
  const { first, steps } = windowOf(node);
  const start = first.reduce((n, at, i) => n + at * input.strides[i]!, 0);
  const terms = coordinatesOf(s, index, output.sizes).map((c, i) => c?.mul((steps[i]! * input.strides[i]!) >>> 0) ?? null);
  return load(0, sum(s, terms, start));
}

function windowOf({ attributes }: Attributes): { readonly first: readonly number[]; readonly steps: readonly number[] } {
  const [offsets, sizes, steps] = ["inputWindowOffsets", "inputWindowSizes", "inputWindowStrides"].map(
    (name) => attributes[name] as readonly number[],
  ) as [readonly number[], readonly number[], readonly number[]];
  return { first: offsets.map((at, i) => (steps[i]! < 0 ? at + sizes[i]! - 1 : at)), steps };
}

/** Tensors of a JOIN: each element loads one of each. */
const MAX_JOINED = 4;
/** Elements of its result: larger ones are copied by an operator at the memory's speed. */
const MAX_JOINED_ELEMENTS = 2 ** 16;

/** An element of the tensor that contains the index. The others are loaded at their nearest index, and that element is not selected. */
function joined(s: Constants, { index, load }: Indexed, { attributes, inputs, outputs }: Attributes): ReturnType<Indexed["load"]> {
  const axis = Number(attributes["axis"]);
  const coordinates = coordinatesOf(s, index, outputs[0]!.sizes);
  const at = coordinates[axis] ?? s.u32(0);
  let end = 0;
  const parts = inputs.map((input, i) => {
    const start = end;
    end += input!.sizes[axis]!;
    const own = at.sub(start).min(input!.sizes[axis]! - 1);
    const nearest = i === 0 ? at.min(end - 1) : at.lt(start).select(s.u32(0), own);
    return { end, value: load(i, sum(s, coordinates.map((c, k) => (k === axis ? nearest : c)?.mul(input!.strides[k]!) ?? null))) };
  });
  return parts.reduceRight<ReturnType<Indexed["load"]> | null>((rest, part) => (rest === null ? part.value : choose(at.lt(part.end), part.value, rest)), null)!;
} // prettier-ignore

/** Of few tensors that are strided in the result. Contiguous ones are written into it by their own launches. */
function joinsFew({ attributes, inputs, outputs }: Attributes): boolean {
  const { sizes } = outputs[0]!;
  const axis = Number(attributes["axis"]);
  const isStrided = sizes.some((d, i) => i < axis && d !== 1);
  return isStrided && inputs.length <= MAX_JOINED && sizes.reduce((a, b) => a * b) <= MAX_JOINED_ELEMENTS && inputs.every((x) => x!.sizes[axis]! > 0); // prettier-ignore
}

const scalarOf = ({ attributes }: Attributes, name: string): number => Number((attributes[name] as Scalar).value);

function filled({ attributes, outputs }: Attributes): number | null {
  const { dtype, value } = attributes["value"] as Scalar;
  if (dtype !== outputs[0]!.dtype || typeof value === "bigint") return null;
  return dtype === "float16" ? floatOfHalf(halfOfFloat(Number(value))) : Number(value);
}

export const INDEXED: { readonly [K in OperatorName]?: Reading } = {
  FILL_VALUE_CONSTANT: {
    dtypes: ALL,
    code: { indexed: (s, _, node) => literal(s, node.outputs[0]!.dtype, filled(node) ?? 0) },
    constant: filled,
  },
  FILL_VALUE_SEQUENCE: {
    dtypes: NUMBERS,
    code: {
      indexed: (s, { index }, node) => {
        const { dtype } = node.outputs[0]!;
        const [start, delta] = [scalarOf(node, "valueStart"), scalarOf(node, "valueDelta")];
        if (dtype === "uint32") return index.mul(delta >>> 0).add(start >>> 0);
        if (dtype === "int32") return index.toInt().mul(delta).add(start);
        return index.toFloat().mul(delta).add(start);
      },
    },
  },
  SLICE1: { dtypes: ALL, code: { indexed: sliced } },
  JOIN: { dtypes: ALL, code: { indexed: joined }, accepts: joinsFew },
  ONE_HOT: {
    dtypes: ALL,
    code: {
      indexed: (s, { index, load }, node) => {
        const [indices, values, output] = [node.inputs[0]!, node.inputs[1]!, node.outputs[0]!];
        const axis = node.attributes["axis"] as number;
        const size = output.sizes[axis]!;
        const coordinates = coordinatesOf(s, index, output.sizes);
        const terms = coordinates.map((c, i) => (i === axis || c === null ? null : c.mul(indices.strides[i]!)));
        const found = load(0, sum(s, terms));
        // An index below 0 counts from the end; one outside is no column.
        const column = indices.dtype === "int32" ? fromEnd(found as Int, size) : (found as Uint);
        const last = values.sizes.findLastIndex((d) => d > 1);
        const on = last < 0 ? 0 : values.strides[last]!;
        return choose(column.eq(coordinates[axis] ?? 0), load(1, s.u32(on)), load(1, s.u32(0)));
      },
    },
    accepts: ({ inputs, outputs }) =>
      (inputs[0]!.dtype === "int32" || inputs[0]!.dtype === "uint32") && inputs[0]!.sizes.length === outputs[0]!.sizes.length,
  },
};

const fromEnd = (index: Int, size: number): Uint => index.lt(0).select(index.add(size), index).bits();
