/** The inputs that `dxtensor run` gives a model: arrays of files, numbers, or elements of its own, in the shapes that the model and the options state. */
import { DTYPES, isFloat, type DType } from "../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { full, io, manualSeed, ones, rand, randint, zeros, type Tensor } from "../index.ts";
import type { OnnxModel, OnnxValue } from "../onnx/model.ts";
import type { ModelRunOptions } from "./options.ts";

const OPERATION = "run";

/** An input, and where its elements come from. */
export interface CallInput {
  readonly name: string;
  readonly tensor: Tensor;
  readonly from: string;
}

export interface CallInputs {
  readonly inputs: readonly CallInput[];
  /** Lengths that are 1 since nothing says them: names, and axes without a name. */
  readonly assumed: readonly string[];
}

const FILLS = ["random", "zeros", "ones"];

const isNumber = (text: string): boolean => text.trim() !== "" && !Number.isNaN(Number(text));

/** NAME=VALUE of an option by the names that there are; a name or a value may contain "=". */
function namedTexts(option: string, texts: readonly string[], names: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const text of texts) {
    const name = names.filter((n) => text.startsWith(`${n}=`)).toSorted((a, b) => b.length - a.length)[0];
    const [written] = text.split("=");
    if (name === undefined)
      throw new ValueError(
        OPERATION,
        option,
        names.length === 0 ? "left out, since the model has none" : `NAME=VALUE with a name of ${names.join(", ")}`,
        text.includes("=") ? written : text,
      );
    if (found.has(name)) throw new ValueError(OPERATION, option, "given once for each name", `${name} twice`);
    found.set(name, text.slice(name.length + 1));
  }
  return found;
}

function lengthOf(option: string, text: string): number {
  const length = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(length)) throw new ValueError(OPERATION, option, "an integer of at least 0", text);
  return length;
}

/** Names of lengths in the inputs' shapes. */
const dimensionsOf = (inputs: readonly OnnxValue[]): readonly string[] => [
  ...new Set(inputs.flatMap(({ shape }) => (shape ?? []).filter((d): d is string => typeof d === "string"))),
];

/** The lengths that names stand for: those of --dim, and those that shapes and arrays say. */
class Lengths {
  readonly #known: Map<string, number>;
  /** What is 1 since nothing says it. */
  readonly assumed = new Set<string>();

  constructor(inputs: readonly OnnxValue[], dims: readonly string[]) {
    const texts = namedTexts("--dim", dims, dimensionsOf(inputs));
    this.#known = new Map([...texts].map(([name, text]) => [name, lengthOf(`--dim ${name}`, text)]));
  }

  /** Takes over what the shape of one input says. */
  learn({ shape }: OnnxValue, actual: readonly number[]): void {
    if (shape?.length !== actual.length) return;
    shape.forEach((d, axis) => {
      if (typeof d === "string" && !this.#known.has(d)) this.#known.set(d, actual[axis]!);
    });
  }

  /** A length that nothing says is 1. */
  shapeOf({ name, shape }: OnnxValue): readonly number[] {
    if (shape === null)
      throw new ShapeError(OPERATION, `--shape ${name}`, "stated, since the model states no shape", "nothing", `Add --shape ${name}=1,3.`);
    return shape.map((d, axis) => {
      if (typeof d === "number") return d;
      const known = d === null ? undefined : this.#known.get(d);
      if (known === undefined) this.assumed.add(d ?? `axis ${axis} of ${name}`);
      return known ?? 1;
    });
  }
}

/** Elements of a kind. Random ones: floats from 0 to 1, integers and booleans 0 or 1, which are valid tokens and masks. */
function filled(kind: string, shape: readonly number[], dtype: DType): Tensor {
  const options = { dtype, device: "cpu" } as const;
  if (kind === "zeros") return zeros(shape, options);
  if (kind === "ones") return ones(shape, options);
  const made = isFloat(dtype) ? rand(shape, { device: "cpu" }) : randint(0, 2, shape, { dtype: "int32", device: "cpu" });
  return made.to(dtype);
}

/** A file's array in the input's dtype, where both are floats or both integers. */
async function arrayOf({ name, dtype }: OnnxValue, path: string): Promise<readonly [Tensor, string]> {
  const read = await io.npy.load(path, { device: "cpu" });
  if (dtype === null || read.dtype === dtype) return [read, path];
  if (isFloat(read.dtype) !== isFloat(dtype) || (read.dtype === "bool") !== (dtype === "bool"))
    throw new DTypeError(OPERATION, `--input ${name}`, `of dtype ${dtype}`, read.describe(), `Convert it in NumPy: x.astype("${dtype}").`);
  const integers = DTYPES[read.dtype].sizeInBytes > DTYPES[dtype].sizeInBytes && !isFloat(dtype);
  const made = read.to(dtype);
  if (integers && !(await made.to(read.dtype).eq(read).all().item()))
    throw new DTypeError(OPERATION, `--input ${name}`, `with elements in the range of ${dtype}`, read.describe());
  return [made, `${path}, of ${read.dtype}`];
}

/** All inputs of a model. Throws ValueError, ShapeError and DTypeError for options that do not fit it, FormatError for files that are no arrays. */
export async function inputsFor(model: OnnxModel, { input, dim, shape, fill, seed }: ModelRunOptions): Promise<CallInputs> {
  const names = model.inputs.map((i) => i.name);
  const values = namedTexts("--input", input, names);
  const shapes = namedTexts("--shape", shape, names);
  const lengths = new Lengths(model.inputs, dim);
  const actual = new Map<string, readonly number[]>();
  for (const [name, text] of shapes) actual.set(name, text === "" ? [] : text.split(",").map((d) => lengthOf(`--shape ${name}`, d.trim())));
  const read = new Map<string, readonly [Tensor, string]>();
  for (const i of model.inputs) {
    const text = values.get(i.name);
    if (text === undefined || FILLS.includes(text) || isNumber(text)) continue;
    if (!/\.npy$/i.test(text)) throw new ValueError(OPERATION, `--input ${i.name}`, "a .npy file, a number, random, zeros or ones", text);
    const made = await arrayOf(i, text);
    read.set(i.name, made);
    actual.set(i.name, made[0].shape);
  }
  for (const i of model.inputs) if (actual.has(i.name)) lengths.learn(i, actual.get(i.name)!);
  manualSeed(seed);
  const inputs = model.inputs.map((i): CallInput => {
    const { name, dtype } = i;
    const found = read.get(name);
    if (found !== undefined) return { name, tensor: found[0], from: found[1] };
    if (dtype === null) throw new DTypeError(OPERATION, `input ${name}`, "a tensor of numbers", "one of strings, or no tensor", "Call the model in a program."); // prettier-ignore
    const own = actual.get(name) ?? lengths.shapeOf(i);
    const text = values.get(name) ?? fill;
    if (!isNumber(text)) return { name, tensor: filled(text, own, dtype), from: text };
    if (!isFloat(dtype) && !Number.isInteger(Number(text))) throw new DTypeError(OPERATION, `--input ${name}`, `of dtype ${dtype}`, text);
    return { name, tensor: full(own, Number(text), { dtype, device: "cpu" }), from: text };
  });
  return { inputs, assumed: [...lengths.assumed] };
}
