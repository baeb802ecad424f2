/**
 * Facts about each operation from the recorded cases: its DirectML operators, dtypes, gradients, the lowest feature level without a fallback. `npm
 * run operators` makes docs/operators.json and docs/operators.md of them.
 */
import { join } from "node:path";
import * as dx from "../../src/index.ts";
import { clearScalars } from "../../src/runtime/constants.ts";
import { ROWS } from "../autograd/rows.ts";
import { SMOOTH } from "../ops/smooth.ts";
import { Call, operandsOf } from "./call.ts";
import { dtypeOf, isTensor, readCases, readIndex, tensorOf, withComplex, type Case } from "./cases.ts";
import { runCase, type Outcome } from "./run.ts";
import { outOfScope } from "./scope.ts";
import { entryOf } from "./table/index.ts";
import { fallbacks, observed } from "./way.ts";

/** What PyTorch's recorded tests say of one operation of ours. */
export interface Facts {
  /** PyTorch's names that lead to it. */
  readonly pytorch: readonly string[];
  readonly operators: readonly string[];
  /** Of the first operand, in cases that pass. */
  readonly dtypes: readonly string[];
  /** 1: recorded gradients pass; 2: gradients of gradients agree with finite differences, too. */
  readonly gradient: 0 | 1 | 2;
  /** The ways that calls ran. */
  readonly ways: readonly string[];
  readonly passed: number;
  readonly failed: number;
  readonly missing: number;
}

/** PyTorch's names that are not ours in camelCase. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  __getitem__: "index",
  __radd__: "add",
  __rdiv__: "div",
  __rmatmul__: "matmul",
  __rmod__: "remainder",
  __rmul__: "mul",
  __rpow__: "pow",
  __rsub__: "sub",
  __rand__: "bitwiseAnd",
  H: "permute",
  T: "permute",
  "nn.functional.hardsigmoid": "hardSigmoid",
  "nn.functional.hardswish": "hardSwish",
  "nn.functional.logsigmoid": "logSigmoid",
  "nn.functional.dropout2d": "dropoutChannels",
  "nn.functional.multi_head_attention_forward": "multiHeadAttention",
  "nn.functional._scaled_dot_product_attention": "scaledDotProductAttention",
  "nn.functional.unfold": "unfoldWindows",
  "nn.functional.upsample_bilinear": "interpolate",
  "linalg.inv": "linalg.inv",
  take_along_dim: "takeAlongAxis",
  lstm: "recurrent",
  gru: "recurrent",
  rnn_tanh: "recurrent",
  rnn_relu: "recurrent",
  lstm_cell: "recurrentCell",
  gru_cell: "recurrentCell",
  rnn_relu_cell: "recurrentCell",
  native_batch_norm: "batchNorm",
  native_layer_norm: "layerNorm",
  histogram: "histc",
  split_with_sizes: "split",
  moveaxis: "movedim",
  trapz: "trapezoid",
  ravel: "flatten",
  reshape_as: "reshape",
  view_as: "view",
  expand_as: "expand",
  bfloat16: "to",
  bool: "to",
  byte: "to",
  char: "to",
  double: "to",
  float: "to",
  half: "to",
  int: "to",
  long: "to",
  short: "to",
};

const camel = (name: string): string => name.replaceAll(/_+([a-z0-9])/g, (_, c: string) => c.toUpperCase());
const SPACES = new Set(["fft", "linalg", "masked"]);

/** Our name of PyTorch's operation: "relu", "fft.rfft". */
export function nameOf(op: string): string {
  const path = op.split(".");
  const own = camel(path.at(-1)!);
  const other = OTHER_NAMES[op];
  if (other !== undefined && !(own in dx)) return other;
  const space = path.length > 1 ? path[0]! : "";
  const inner = SPACES.has(space) ? (dx as unknown as Record<string, Record<string, unknown> | undefined>)[space] : undefined;
  return inner?.[own] === undefined ? own : `${space}.${own}`;
}

/** Operations that gradgradcheck or its like is run on, by the first word of the row's name. */
const twice = new Set(
  [...ROWS.map(([name]) => name), ...SMOOTH.filter((s) => s.once !== true).map((s) => s.name)].map((n) => n.split(/[ ,]/)[0]!),
);

const dtypeIn = (c: Case): string | null => (isTensor(c.input) && /^(f|bf|i|u|bool)/.test(c.input.t) ? dtypeOf(c.input.t) : null);

/** The facts of one operation from the outcomes of its cases. */
export function factsOf(name: string, ops: readonly string[], cases: readonly Case[], outcomes: readonly Outcome[]): Facts {
  const byId = new Map(outcomes.map((o) => [o.id, o]));
  const passed = cases.filter((c) => c.kind === "ok" && byId.get(c.id)?.result === "passed");
  const sorted = (list: Iterable<string>): string[] => [...new Set(list)].toSorted();
  const count = (result: Outcome["result"]): number => outcomes.filter((o) => o.result === result).length;
  const hasGradient = outcomes.some((o) => o.result === "passed" && o.gradients === true);
  return {
    pytorch: sorted(ops),
    operators: sorted(passed.flatMap((c) => byId.get(c.id)!.operators ?? [])),
    dtypes: sorted(passed.flatMap((c) => dtypeIn(c) ?? [])),
    gradient: hasGradient ? (twice.has(name) ? 2 : 1) : 0,
    ways: sorted(passed.flatMap((c) => byId.get(c.id)!.way ?? [])),
    passed: count("passed"),
    failed: count("failed"),
    missing: count("missing"),
  };
}

/** All operations with recorded cases, and their cases. */
export function operationsOf(folder: string): Map<string, { readonly ops: string[]; readonly cases: Case[]; readonly names: string[][] }> {
  const found = new Map<string, { ops: string[]; cases: Case[]; names: string[][] }>();
  for (const { op, file } of readIndex(folder)) {
    const name = nameOf(op);
    const cases = readCases(join(folder, file));
    const names = cases.reduce<readonly string[]>(
      (best, c) => (c.names !== undefined && c.names.length > best.length ? c.names : best),
      [],
    );
    const entry = found.get(name) ?? { ops: [], cases: [], names: [] };
    entry.ops.push(op);
    entry.cases.push(...cases);
    entry.names.push(...cases.map(() => [...names]));
    found.set(name, entry);
  }
  return found;
}

/** Every operation's facts on the default device. */
export function allFacts(folder: string): Record<string, Facts> {
  const facts: Record<string, Facts> = {};
  for (const [name, { ops, cases, names }] of operationsOf(folder)) {
    const outcomes = cases.map((c, i) => runCase(c, names[i]!));
    clearScalars();
    facts[name] = factsOf(name, ops, cases, outcomes);
  }
  return facts;
}

/** How many of the calls recorded in bfloat16 (folder bfloat16/) pass, by operation. */
export function bfloat16Counts(outcomes: readonly Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { id, result } of outcomes) {
    const name = nameOf(id.split(":")[0]!);
    if (result === "passed") counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** Operations of which a call falls back on a device, forward. */
export function fallingBack(folder: string, device: string): Set<string> {
  const found = new Set<string>();
  for (const [name, { cases }] of operationsOf(folder))
    for (const c of cases) {
      const entry = entryOf(c.op);
      if (found.has(name) || c.kind !== "ok" || entry === null || "out" in c.kwargs || outOfScope(c) !== null) continue;
      const before = fallbacks();
      try {
        dx.withDevice(device, () => dx.scope(() => dx.noGrad(() => void entry.run(new Call(c, operandsOf(c, withComplex(tensorOf)))))));
      } catch {
        // What is missing or refused is counted on cpu.
      }
      if (fallbacks() > before) found.add(name);
    }
  clearScalars();
  return found;
}

/** Operators of what the recorded cases don't have, by a call of each. */
export function tracedOperators(run: () => unknown): readonly string[] {
  return observed(() => dx.scope(() => dx.noGrad(() => void run()))).operators.toSorted();
}
