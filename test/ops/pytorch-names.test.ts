/**
 * Every option has PyTorch's name in camelCase, as its own or as another one, or a reason. pytorch-names.json has the parameters of torch 2.15's functions,
 * modules, optimizers and schedules of the same names.
 */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { readFamilies } from "../../scripts/lib/families.ts";
import type { Schema } from "../../scripts/lib/schema.ts";
import { exportsOf, ofValue, signature, type Signature } from "../../scripts/lib/signatures.ts";

const theirs = JSON.parse(readFileSync(new URL("pytorch-names.json", import.meta.url), "utf8")) as Record<string, string>;

/** Options that PyTorch has not, or not there. */
const reasons: Readonly<Record<string, string>> = {
  device: "where factories and layers make their tensors",
  dtype: "of results: integers of indices, sums in another dtype",
  generator: "draws are reproducible by a generator everywhere",
  requiresGrad: "of factories",
  masterWeights: "of optimizers, for half-precision parameters: Apex's name",
  kahan: "of optimizers, for half-precision parameters",
  mask: "torch.masked, of which the schemas are those of the plain functions",
  otherMask: "torch.masked",
  fill: "the size of a result that is known before, so that it may be compiled",
  size: "the size of a result that is known before, so that it may be compiled",
  shape: "of flat data",
  start: "a slice of an index",
  end: "a slice of an index",
  step: "a slice of an index",
  "ops dequantize: axis": "ONNX's DequantizeLinear",
  "method dequantize: axis": "ONNX's DequantizeLinear",
  prefetch: "batches that are on their way to the device; prefetchFactor is PyTorch's, of workers",
  workerInit: "a module in place of worker_init_fn: a function cannot be sent to a thread",
  resourceLimits: "of threads; PyTorch's workers are processes",
  divisorOverride: "one dimension as the others",
  outputSize: "given to the layer instead of each call",
  antialias: "of the function",
  atol: "linalg.pinv's, of torch.pinverse",
  rtol: "linalg.pinv's, of torch.pinverse",
  hermitian: "linalg.pinv's, of torch.pinverse",
  aZeroPoint: "ONNX's MatMulInteger",
  bZeroPoint: "ONNX's MatMulInteger",
  distanceFunction: "of TripletMarginWithDistanceLoss",
  outputRatio: "an overload that PyTorch hides behind *args",
};

const namespaces = [
  ["fft", "fft/index.ts"],
  ["linalg", "ops/linalg/index.ts"],
  ["masked", "ops/reduce/masked.ts"],
  ["foreach", "ops/elementwise/foreach.ts"],
  ["nn", "nn/index.ts"],
  ["init", "nn/init.ts"],
  ["optim", "optim/index.ts"],
  ["lr_scheduler", "optim/schedules/index.ts"],
  ["data", "data/index.ts"],
] as const;

function signatures(): readonly (readonly [name: string, found: Signature])[] {
  const found: [string, Signature | null][] = [];
  for (const f of readFamilies()) {
    for (const e of f.exports)
      if (!e.isType && !f.classes.includes(e.name) && f.namespace === null) found.push([`ops ${e.as}`, signature(`ops/${f.file}`, e.name)]);
    for (const name of Object.values(f.parts).flat()) found.push([`method ${name}`, ofValue(`ops/${f.file}`, f.methods.get(name) ?? null)]);
  }
  for (const [folder, index] of namespaces)
    for (const e of exportsOf(index)) if (e.what === "function") found.push([`${folder} ${e.name}`, signature(e.file, e.local)]);
  return found.filter((row): row is [string, Signature] => row[1] !== null);
}

/** [field, its other names] of the options that a parameter takes. */
const fieldsOf = (s: Schema): readonly (readonly [field: string, others: readonly string[]])[] => {
  if (s.kind === "union") return s.of.flatMap(fieldsOf);
  if (s.kind !== "object") return [];
  const aliases = Object.entries(s.aliases ?? {});
  return Object.keys(s.fields).map((field) => [field, aliases.filter(([, own]) => own === field).map(([name]) => name)] as const);
};

it("names each option as PyTorch does, or has a reason", () => {
  let count = 0;
  const wrong: string[] = [];
  for (const [name, { parameters }] of signatures()) {
    const known = theirs[name]?.split(" ");
    if (known === undefined) continue;
    for (const p of parameters)
      for (const [field, others] of fieldsOf(p.schema)) {
        count++;
        if (
          ![field, ...others].some((n) => known.includes(n)) &&
          reasons[field] === undefined &&
          reasons[`${name}: ${field}`] === undefined
        )
          wrong.push(`${name}: ${field}`);
      }
  }
  expect(count).toBeGreaterThan(400);
  expect(wrong).toEqual([]);
});
