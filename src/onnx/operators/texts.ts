/** Operators on texts: those that move and compare elements take their numbers in a list of all texts; a few compute with texts themselves. */
import { values } from "../../ops/data/conversion.ts";
import { broadcastShapes, sizeOf } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { Constant, Texts, type Value } from "../format/value.ts";
import { offsetOf } from "./broadcast-offset.ts";
import { family, type Family, type Operator } from "./operator.ts";

/** Which results of an operator that moves elements are texts: those at the indices, or all. */
const MOVES: Readonly<Record<string, readonly number[] | "all">> = {
  ArrayFeatureExtractor: "all",
  Compress: "all",
  Concat: "all",
  Equal: [],
  Expand: "all",
  Flatten: "all",
  Gather: "all",
  GatherElements: "all",
  GatherND: "all",
  Reshape: "all",
  ReverseSequence: "all",
  ScatterElements: "all",
  ScatterND: "all",
  Shape: [],
  Size: [],
  Slice: "all",
  Split: "all",
  Squeeze: "all",
  Tile: "all",
  Transpose: "all",
  Unique: [0],
  Unsqueeze: "all",
  Where: "all",
};

const isTexts = (v: Value | undefined): v is Texts => v instanceof Texts;

/** The elements of texts' numbers. */
function worded(v: Value, words: readonly string[]): Value {
  if (!(v instanceof Tensor || v instanceof Constant)) return v;
  const numbers = v instanceof Constant ? v.numbers() : values(v.dtype, v.dataSync()).map(Number);
  return new Texts(
    v.shape,
    numbers.map((n) => words[n]!),
  );
}

function carried(operator: Operator, results: readonly number[] | "all"): Operator {
  const run = (c: Call): Value[] => {
    if (!c.inputs.some(isTexts)) return operator.run(c);
    const words = [...new Set(c.inputs.flatMap((v) => (isTexts(v) ? v.elements : [])))].sort();
    const numbers = new Map(words.map((w, i) => [w, BigInt(i)]));
    const coded = c.inputs.map((v) =>
      isTexts(v)
        ? new Constant(
            "int64",
            v.shape,
            BigInt64Array.from(v.elements, (w) => numbers.get(w)!),
          )
        : v,
    );
    return operator.run(c.with(coded)).map((v, i) => (results === "all" || results.includes(i) ? worded(v, words) : v));
  };
  return { ...operator, run };
}

/** A family whose operators take texts, too, where they move or compare elements. */
export const withTexts = (table: Family): Family =>
  Object.fromEntries(
    Object.entries(table).map(([name, operator]) => [name, Object.hasOwn(MOVES, name) ? carried(operator, MOVES[name]!) : operator]),
  );

/** An input that must be texts. */
export function textsOf(c: Call, i: number): Texts {
  const v = c.inputs[i] ?? null;
  if (!isTexts(v)) throw c.unsupported(`input ${i} that is not of texts`);
  return v;
}

function concat(c: Call): Texts {
  const [a, b] = [textsOf(c, 0), textsOf(c, 1)];
  const shape = broadcastShapes(c.name, a.shape, b.shape);
  const size = c.hosted(sizeOf(shape), "inputs");
  return new Texts(
    shape,
    Array.from({ length: size }, (_, i) => a.elements[offsetOf(i, shape, a.shape)]! + b.elements[offsetOf(i, shape, b.shape)]!),
  );
}

/** Parts between delimiters, as many as the longest has, and each element's number of parts. */
function split(c: Call): Value[] {
  const x = textsOf(c, 0);
  const delimiter = c.text("delimiter", "");
  const max = c.hasAttribute("maxsplit") ? c.int("maxsplit", 0) : Infinity;
  const parts = x.elements.map((s) => partsOf(s, delimiter, max));
  const width = Math.max(0, ...parts.map((p) => p.length));
  c.hosted(parts.length * width, "input");
  const filled = parts.flatMap((p) => [...p, ...new Array<string>(width - p.length).fill("")]);
  const counts = BigInt64Array.from(parts, (p) => BigInt(p.length));
  return [new Texts([...x.shape, width], filled), new Constant("int64", x.shape, counts)];
}

/** Without a delimiter, blanks of any number; none at the ends. */
function partsOf(text: string, delimiter: string, max: number): string[] {
  if (delimiter !== "") {
    const all = text === "" ? [] : text.split(delimiter);
    return all.length - 1 <= max ? all : [...all.slice(0, max), all.slice(max).join(delimiter)];
  }
  const list: string[] = [];
  let rest = text.trim();
  while (rest !== "" && list.length < max) {
    const end = /\s+/.exec(rest);
    if (end === null) break;
    list.push(rest.slice(0, end.index));
    rest = rest.slice(end.index + end[0].length);
  }
  return rest === "" ? list : [...list, rest];
}

/** Words without those of a list, in one case. Of rank 1, or of one row. */
function normalized(c: Call): Texts {
  const x = textsOf(c, 0);
  if (x.shape.length !== 1 && !(x.shape.length === 2 && x.shape[0] === 1))
    throw c.invalid("input", "[C] or [1, C]", `[${x.shape.join(", ")}]`);
  const action = c.oneOf("case_change_action", "NONE", ["NONE", "LOWER", "UPPER"]);
  const isSensitive = c.flag("is_case_sensitive");
  const changed = (s: string): string => (action === "LOWER" ? s.toLowerCase() : action === "UPPER" ? s.toUpperCase() : s);
  const compared = (s: string): string => (isSensitive ? s : s.toLowerCase());
  const stop = new Set((c.texts("stopwords") ?? []).map(compared));
  const kept = x.elements.filter((s) => !stop.has(compared(s))).map(changed);
  const list = kept.length === 0 ? [""] : kept;
  return new Texts([...x.shape.slice(0, -1), list.length], list);
}

export const texts = family({ StringConcat: concat, StringNormalizer: normalized, StringSplit: split }, { isPure: false, isRaw: true });
