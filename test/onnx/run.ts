/** One of ONNX's node tests: the model is loaded and run, and its results are compared. */
import * as dx from "../../src/index.ts";
import { values } from "../../src/ops/data/conversion.ts";
import { modelFrom } from "../../src/onnx/read-model.ts";
import type { OnnxModel } from "../../src/onnx/model.ts";
import { constantOf } from "../../src/onnx/format/tensor-message.ts";
import { Constant, describe, Texts, type Value } from "../../src/onnx/format/value.ts";
import { near } from "../tolerance.ts";
import { observed, type Way } from "../golden/way.ts";
import type { Case, Recorded } from "./cases.ts";
import { outOfScope } from "./scope.ts";

export interface Outcome {
  readonly id: string;
  readonly result: "passed" | "failed" | "missing" | "outOfScope";
  readonly reason?: string;
  readonly way?: Way;
}

const isList = (v: Recorded): v is readonly Recorded[] => Array.isArray(v);
const valueOf = (v: Recorded): Value => (v === null ? null : isList(v) ? v.map(valueOf) : constantOf(v));

/** Inputs come as tensors on the device, as a user's do. Those of types that no dtype has are constants, as a model's own. */
function onDevice(v: Value, device: dx.Device): Value {
  if (v instanceof Constant) return v.narrow === null ? v.on(device) : v;
  return Array.isArray(v) ? (v as readonly Value[]).map((x) => onDevice(x, device)) : v;
}

const elements = (v: dx.Tensor | Constant): readonly (number | bigint | boolean)[] =>
  values(v.dtype, v instanceof Constant ? v.data : v.dataSync());

/** What differs between a result and the recorded one, or null. */
function difference(got: Value, want: Value, bound: { readonly rtol: number; readonly atol: number }): string | null {
  if (Array.isArray(want)) {
    const list = want as readonly Value[];
    if (!Array.isArray(got) || got.length !== list.length) return `${describe(got)} instead of ${describe(want)}`;
    for (const [i, w] of list.entries()) {
      const problem = difference((got as readonly Value[])[i] ?? null, w, bound);
      if (problem !== null) return `element ${i}: ${problem}`;
    }
    return null;
  }
  if (want instanceof Texts && got instanceof Texts && describe(got) === describe(want)) {
    const at = want.elements.findIndex((e, i) => e !== got.elements[i]);
    return at < 0 ? null : `element ${at} is ${String(got.elements[at])} instead of ${String(want.elements[at])}`;
  }
  if (want === null || want instanceof Texts || got === null || got instanceof Texts || Array.isArray(got))
    return describe(got) === describe(want) ? null : `${describe(got)} instead of ${describe(want)}`;
  const [g, w] = [got as dx.Tensor | Constant, want as dx.Tensor | Constant];
  if (g.describe() !== w.describe()) return `${g.describe()} instead of ${w.describe()}`;
  const [found, wanted] = [elements(g), elements(w)];
  const at = wanted.findIndex((e, i) =>
    typeof e === "bigint" ? e !== found[i] && !near(Number(found[i]), Number(e), bound) : !near(Number(found[i]), Number(e), bound),
  );
  return at < 0 ? null : `element ${at} is ${String(found[at])} instead of ${String(wanted[at])}`;
}

/** Operators whose result's shape depends on data, or that draw: compile() refuses them, or they are no function of their inputs. */
const UNCOMPILED = new Set([
  "Bernoulli",
  "Compress",
  "If",
  "Loop",
  "NonMaxSuppression",
  "NonZero",
  "RandomUniformLike",
  "TfIdfVectorizer",
  "Unique",
]);
/** Operators whose inputs after the first one are shapes. */
const READS = new Set(["Dropout", "OneHot", "Pad", "Range", "Resize", "Upsample"]);

/** The model's results from the third call of a compiled function. Integers are constants, as an exporter makes shapes and axes. */
function compiledResults(model: OnnxModel, modelInputs: readonly Value[], c: Case): Value[] {
  const reads = c.model.graph!.nodes.some((n) => READS.has(n.type));
  const isVariable = (v: Value, i: number): boolean =>
    v instanceof dx.Tensor && (v.dtype === "float32" || v.dtype === "float16") && !(reads && (i > 0 || c.name.includes("range")));
  const tensors = modelInputs.filter((v, i): v is dx.Tensor => isVariable(v, i));
  const fixed = modelInputs.map((v, i) => (v instanceof dx.Tensor && !isVariable(v, i) ? new Constant(v.dtype, v.shape, v.dataSync()) : v));
  const run = (...list: dx.Tensor[]): dx.Tensor[] => {
    const rest = [...list];
    const results = model.run(fixed.map((v) => (v instanceof dx.Tensor ? rest.shift()! : v)));
    return results.map((v) => (v instanceof Constant ? v.on(model.device) : (v as dx.Tensor)));
  };
  const program = dx.compile(run, { name: c.name });
  try {
    for (let i = 0; i < 2; i++) program(...tensors);
    return program(...tensors);
  } finally {
    program.dispose();
  }
}

/** Runs a case on a device. compiled: by the third call of a compiled function, where that can be. What the importer does not know is missing, not failed. */
export function runCase(c: Case, device: string, { compiled = false }: { readonly compiled?: boolean } = {}): Outcome {
  const beyond = outOfScope(c);
  if (beyond !== null) return { id: c.name, result: "outOfScope", reason: beyond };
  try {
    return dx.scope(() => {
      const model = modelFrom(c.bytes, { device }, null);
      try {
        let way: Way = "view";
        for (const { inputs, outputs } of c.sets) {
          const modelInputs = inputs.map((v) => onDevice(valueOf(v), model.device));
          const isCompiled = compiled && !c.model.graph!.nodes.some((n) => UNCOMPILED.has(n.type));
          const run = observed(() => (isCompiled ? compiledResults(model, modelInputs, c) : model.run(modelInputs)));
          way = run.way;
          for (const [i, want] of outputs.entries()) {
            const problem = difference(run.result[i] ?? null, valueOf(want), c);
            if (problem !== null)
              return { id: c.name, result: "failed", reason: outputs.length === 1 ? problem : `output ${i}: ${problem}` };
          }
        }
        return { id: c.name, result: "passed", way };
      } finally {
        model.dispose();
      }
    });
  } catch (error) {
    const isMissing = error instanceof dx.UnsupportedError && error.operation.startsWith("onnx");
    return { id: c.name, result: isMissing ? "missing" : "failed", reason: error instanceof Error ? error.message : String(error) };
  }
}
