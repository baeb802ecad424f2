/** ai.onnx.ml: labels, categories and maps. */
import { arrayClass } from "../../core/dtype.ts";
import { elements } from "../../core/elements.ts";
import * as ops from "../../ops/index.ts";
import { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { Constant, describe, Pairs, Texts, type Value } from "../format/value.ts";
import { family } from "./operator.ts";

type Label = string | number | bigint;

/** The labels of classes, by attributes whose names end in these. */
export function labelsOf(c: Call, ints: string, texts = "classlabels_strings"): readonly bigint[] | readonly string[] | null {
  const names = c.texts(texts);
  if (names !== null && names.length > 0) return names;
  const numbers = c.attribute(ints)?.ints ?? [];
  return numbers.length > 0 ? numbers : null;
}

/** The label of each sample's class. Texts are read back. */
export function labelled(c: Call, labels: readonly bigint[] | readonly string[], classes: Tensor): Tensor | Texts {
  if (typeof labels[0] !== "string") return ops.indexSelect(c.make(labels as readonly bigint[], "int64"), 0, classes);
  return new Texts(
    classes.shape,
    Array.from(classes.dataSync() as Int32Array, (i) => (labels as readonly string[])[i]!),
  );
}

/** Elements of an input as they are compared: texts, numbers, or integers. */
function keysOf(c: Call, i: number): readonly Label[] {
  const v = c.inputs[i];
  if (v instanceof Texts) return v.elements;
  return c.numbers(i).map(sameZero);
}

const sameZero = (v: number): number => (v === 0 ? 0 : v);
const shapeOf = (c: Call, i: number): readonly number[] => {
  const v = c.inputs[i];
  return v instanceof Texts ? v.shape : c.numeric(i).shape;
};

interface List {
  readonly list: readonly Label[];
  readonly dtype: Constant["dtype"] | "string";
}

/** Keys or values: a tensor, texts, integers or numbers. */
function listOf(c: Call, name: "keys" | "values"): List {
  const t = c.constant(`${name}_tensor`);
  if (t instanceof Texts) return { list: t.elements, dtype: "string" };
  if (t instanceof Constant) return { list: t.numbers(), dtype: t.dtype };
  const texts = c.texts(`${name}_strings`);
  if (texts !== null) return { list: texts, dtype: "string" };
  const whole = c.ints(`${name}_int64s`);
  return whole === null ? { list: c.floats(`${name}_floats`) ?? [], dtype: "float32" } : { list: whole, dtype: "int64" };
}

const made = (c: Call, shape: readonly number[], dtype: List["dtype"], list: readonly Label[]): Value =>
  dtype === "string" ? new Texts(shape, list as readonly string[]) : new Constant(dtype, shape, elements(dtype, list as readonly number[]));

/** What each key stands for, or the default. */
function mapped(c: Call): Value {
  if (c.opset < 2) return oldMapped(c);
  const [keys, found] = [listOf(c, "keys"), listOf(c, "values")];
  if (keys.list.length !== found.list.length) throw c.invalid("attribute values", `${keys.list.length} elements`, found.list.length);
  const table = new Map(keys.list.map((k, i) => [typeof k === "number" ? sameZero(k) : k, found.list[i]!]));
  const otherwise = defaultOf(c, found.dtype);
  return made(
    c,
    shapeOf(c, 0),
    found.dtype,
    keysOf(c, 0).map((k) => table.get(k) ?? otherwise),
  );
}

function defaultOf(c: Call, dtype: List["dtype"]): Label {
  const filler = c.constant("default_tensor");
  if (filler instanceof Texts) return filler.elements[0] ?? "_Unused";
  if (filler instanceof Constant) return filler.numbers()[0]!;
  if (dtype === "string") return c.text("default_string", "_Unused");
  return dtype === "int64" ? c.int("default_int64", -1) : c.float("default_float", -0);
}

/** Of texts their numbers in the list; of numbers the texts. */
function between(c: Call, texts: readonly string[], numbers: readonly number[]): Value {
  const shape = shapeOf(c, 0);
  if (c.inputs[0] instanceof Texts) {
    const table = new Map(texts.map((t, i) => [t, numbers[i]!]));
    const otherwise = c.int("default_int64", -1);
    return made(
      c,
      shape,
      "int64",
      keysOf(c, 0).map((k) => table.get(k as string) ?? otherwise),
    );
  }
  const table = new Map(numbers.map((n, i) => [n, texts[i]!]));
  const otherwise = c.text("default_string", "_Unused");
  return made(
    c,
    shape,
    "string",
    keysOf(c, 0).map((k) => table.get(k as number) ?? otherwise),
  );
}

const oldMapped = (c: Call): Value => {
  const classes = c.texts("classes_strings") ?? [];
  return between(
    c,
    classes,
    classes.map((_, i) => i),
  );
};

/** A column for each category: 1 where the element is it. */
function oneHot(c: Call): Value {
  const texts = c.texts("cats_strings") ?? [];
  const isText = texts.length > 0;
  const categories: readonly Label[] = isText ? texts : (c.ints("cats_int64s") ?? []);
  const isLenient = c.flag("zeros", true);
  const shape = shapeOf(c, 0);
  if (isText !== c.inputs[0] instanceof Texts) throw c.invalid("input", isText ? "of texts" : "of numbers", describe(c.inputs[0]));
  if (isLenient && !isText && c.inputs[0] instanceof Tensor) {
    const numbers = c.make(categories as readonly number[], "int64");
    return ops.to(ops.eq(ops.unsqueeze(ops.to(c.x, "int64"), -1), numbers), "float32");
  }
  const at = new Map(categories.map((k, i) => [k, i]));
  const keys = keysOf(c, 0);
  const data = new Float32Array(c.hosted(keys.length * categories.length, "attribute cats"));
  keys.forEach((k, i) => {
    const column = at.get(typeof k === "number" ? Math.trunc(k) : k);
    if (column !== undefined) data[i * categories.length + column] = 1;
    else if (!isLenient) throw c.invalid("input", "of known categories", k);
  });
  return new Constant("float32", [...shape, categories.length], data);
}

/** A map of each row: the labels and its numbers. */
function zipMap(c: Call): Value[] {
  const labels = labelsOf(c, "classlabels_int64s");
  if (labels === null) throw c.invalid("attribute classlabels_int64s", "given", "nothing");
  const x = c.x.rank === 1 ? ops.reshape(c.x, [1, c.x.size]) : c.x;
  if (x.shape[1] !== labels.length) throw c.invalid("input", `[N, ${labels.length}]`, x.describe());
  return [ops.unbind(x, 0).map((row) => new Pairs(labels, row))];
}

const pairsOf = (c: Call): Pairs => {
  const v = c.inputs[0];
  if (!(v instanceof Pairs)) throw c.invalid("input", "a map", describe(v));
  return v;
};

const keyText = (k: string | bigint | number): string => (typeof k === "string" ? `s${k}` : `n${k}`);

const zerosOf = (dtype: Constant["dtype"], count: number): Constant => new Constant(dtype, [1, count], new (arrayClass(dtype))(count));

/** The values of a map in the order of a vocabulary; zeros, or empty texts, for what it lacks. */
function dictVectorizer(c: Call): Value {
  const { keys, values } = pairsOf(c);
  const vocabulary: readonly (string | bigint)[] = labelsOf(c, "int64_vocabulary", "string_vocabulary") ?? [];
  const at = new Map(keys.map((k, i) => [keyText(k), i]));
  const found = vocabulary.map((k) => at.get(keyText(k)) ?? -1);
  if (values instanceof Texts)
    return new Texts(
      [1, found.length],
      found.map((i) => (i < 0 ? "" : values.elements[i]!)),
    );
  const filler = c.asTensor(zerosOf(values.dtype, 1));
  const all = ops.cat([ops.reshape(c.asTensor(values), [-1]), ops.reshape(filler, [1])], 0);
  const index = c.make(
    found.map((i) => (i < 0 ? keys.length : i)),
    "int32",
  );
  return ops.reshape(ops.indexSelect(all, 0, index), [1, found.length]);
}

/** A map's values in the order of its keys, which are indices where the form is SPARSE. */
function castMap(c: Call): Value {
  const { keys, values } = pairsOf(c);
  const target = c.oneOf("cast_to", "TO_FLOAT", ["TO_FLOAT", "TO_STRING", "TO_INT64"]);
  const isSparse = c.oneOf("map_form", "DENSE", ["DENSE", "SPARSE"]) === "SPARSE";
  const order = keys.map((_, i) => i).sort((a, b) => (keys[a]! < keys[b]! ? -1 : 1));
  const list: readonly Label[] = values instanceof Texts ? values.elements : numbersOf(c, values);
  const length = isSparse ? c.hosted(c.size(c.int("max_map", 1), "attribute max_map"), "attribute max_map") : keys.length;
  const filled = new Array<Label>(length).fill(target === "TO_STRING" ? "" : 0);
  order.forEach((from, i) => {
    const to = isSparse ? Number(keys[from]) : i;
    if (!(to >= 0 && to < length)) throw c.invalid("keys", `in [0, ${length - 1}]`, to);
    const v = list[from]!;
    filled[to] = target === "TO_STRING" ? String(v) : target === "TO_INT64" ? Math.trunc(Number(v)) : Number(v);
  });
  const dtype = target === "TO_STRING" ? "string" : target === "TO_INT64" ? "int64" : "float32";
  return made(c, [1, length], dtype, filled);
}

const numbersOf = (c: Call, v: Tensor | Constant): number[] => c.with([v]).numbers(0);

export const classLabels = family(
  {
    CastMap: castMap,
    CategoryMapper: (c) => between(c, c.texts("cats_strings") ?? [], c.ints("cats_int64s") ?? []),
    DictVectorizer: dictVectorizer,
    LabelEncoder: mapped,
    OneHotEncoder: oneHot,
    ZipMap: zipMap,
  },
  { isRaw: true },
);
