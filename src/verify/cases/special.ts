/** NaN, infinities, signed zeros, denormals and the ends of the range through the elementwise operators. */
import { OPERATORS } from "../../dml/operators.generated.ts";
import type { Case, Context, Result } from "../case.ts";
import { filled } from "../input-values.ts";
import { compareOutcomes } from "../operator-case.ts";
import { rows, tableAllows, tensorsOf, instantiate, isDefined } from "../operators/operators.ts";
import { parse, type Described } from "../values/operator-text.ts";
import { typeOf, type DataType } from "../values/types.ts";

const floats = (type: DataType): number[] => {
  const [largest, smallest, denormal] = type.name === "f32" ? [3.4028234663852886e38, 2 ** -126, 2 ** -140] : [65504, 2 ** -14, 2 ** -20];
  const positive = [0, denormal, smallest, 0.5, 1, 1.5, 2.5, 3, 1e4, largest, Infinity];
  return [NaN, ...positive, ...positive.map((v) => -v)];
};

function integers(type: DataType): bigint[] {
  const bits = BigInt(type.bits);
  const top = 1n << (bits - 1n);
  return type.kind === "signed"
    ? [-top, -top + 1n, -2n, -1n, 0n, 1n, 2n, top - 2n, top - 1n]
    : [0n, 1n, 2n, top - 1n, top, 2n * top - 2n, 2n * top - 1n];
}

const specials = (type: DataType): readonly (number | bigint)[] => (type.kind === "float" ? floats(type) : integers(type));

const isOneInput = (d: Described): boolean => d.row.fields.filter((f) => f.kind === "input").length === 1;

/** Every value, or every pair of two, as the inputs' elements. */
function inputsOf(d: Described): { readonly inputs: Uint8Array[]; readonly pairs: readonly (readonly (number | bigint)[])[] } {
  const tensors = d.row.fields.flatMap((f, i) => (f.kind === "input" ? tensorsOf(d, i) : []));
  const lists = tensors.map((t) => specials(typeOf(t.dataType)!));
  const a = lists[0]!;
  const b = lists[1] ?? [0];
  const pairs = isOneInput(d) ? a.map((x) => [x]) : a.flatMap((x) => b.map((y) => [x, y]));
  return { pairs, inputs: tensors.map((t, k) => filled(t, (i) => pairs[i]![k]!)) };
}

/** A row's text with all tensors 1-D, of n elements. */
const resized = (row: string, n: number): string => row.replaceAll(/(?<=[A-Z0-9])\[[\d,]+\]/g, `[${n}]`);

/** Elementwise rows of one or two inputs, the first of each operator with each choice of attributes. */
function* candidates(): Generator<string> {
  const seen = new Set<string>();
  for (const row of rows) {
    const name = row.slice(0, row.indexOf(" "));
    if (!/^(ELEMENT_WISE|ACTIVATION)_/.test(name) || /SOFTMAX|HARDMAX|QUANTIZ/.test(name)) continue;
    const inputs = OPERATORS[name as keyof typeof OPERATORS].fields.filter((f) => f.kind === "input").length;
    const text = resized(row, 1);
    if (inputs > 2 || seen.has(text)) continue;
    seen.add(text);
    yield row;
  }
}

/** Findings that say which inputs gave the differences. */
function explain(result: Result, d: Described, pairs: readonly (readonly (number | bigint)[])[]): Result {
  if (result.kind !== "differs") return result;
  const findings = result.findings.map((f) => {
    if (f.elements === undefined) return f;
    const elements = f.elements.map((e) => ({ ...e, inputs: pairs[e.index]! }));
    return { ...f, elements, text: `${d.row.name}(${elements[0]!.inputs.map(String).join(", ")}): ${f.text}` };
  });
  return { kind: "differs", findings };
}

function runSpecial(d: Described, { device, peer }: Context): Result {
  const { inputs, pairs } = inputsOf(d);
  return explain(compareOutcomes(d, device.run(d, inputs), peer.run(d, inputs)), d, pairs);
}

/** Floats first: they are all that the quick set takes. */
const types = ["f32", "f16", "i32", "u32", "i64", "u64", "i16", "u16", "i8", "u8"];

export function* specialCases(level: number, quick: boolean): Generator<Case> {
  const numbers = new Map<string, number>();
  for (const row of candidates()) {
    const name = row.slice(0, row.indexOf(" "));
    const number = (numbers.get(name) ?? 0) + 1;
    numbers.set(name, number);
    for (const type of quick ? types.slice(0, 2) : types) {
      const output = /IS_|LOGICAL_(EQ|GREATER|LESS)/.test(name) ? "u8" : name.endsWith("BIT_COUNT") ? "u32" : type;
      const texts = { T: type, U: output, C: type };
      const one = parse(instantiate(resized(row, 1), texts));
      if (!tableAllows(one, level) || !isDefined(one)) continue;
      const described = parse(instantiate(resized(row, inputsOf(one).pairs.length), texts));
      yield { id: `special/${name}/${number}/${type}`, run: (context) => runSpecial(described, context) };
    }
  }
}
