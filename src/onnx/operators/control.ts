/** Graphs inside of nodes: branches, loops, scans. */
import { values } from "../../ops/data/conversion.ts";
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { Constant, describe, isNumeric, type Value } from "../format/value.ts";
import { family } from "./operator.ts";

/** A condition's value; of a tensor it is read back. */
function isTrue(c: Call, v: Value): boolean {
  if (!isNumeric(v)) throw c.invalid("condition", "a tensor of one element", describe(v));
  const list = v instanceof Constant ? v.numbers() : values(v.dtype, v.dataSync()).map(Number);
  return list[0] !== 0;
}

const branch = (c: Call): Value[] => c.body(isTrue(c, c.inputs[0] ?? null) ? "then_branch" : "else_branch").run([]);

/** Maximum of iterations of a loop without a trip count: a condition that never becomes false is an error. */
const ENDLESS = 1e9;

function loop(c: Call): Value[] {
  const body = c.body("body");
  const max = c.has(0) ? c.number(0) : ENDLESS;
  let condition = c.has(1) ? isTrue(c, c.inputs[1]!) : true;
  let states: Value[] = c.inputs.slice(2).map((v) => v ?? null);
  const scans: Value[][] = [];
  const outputs = c.node.outputs.length - states.length;
  for (let i = 0; i < outputs; i++) scans.push([]);
  for (let i = 0; i < max && condition; i++) {
    const results = body.run([Constant.scalar("int64", BigInt(i)), boolean(condition), ...states]);
    condition = isTrue(c, results[0] ?? null);
    scans.forEach((list, k) => list.push(results[1 + states.length + k] ?? null));
    states = results.slice(1, 1 + states.length);
  }
  return [...states, ...scans.map((list) => stacked(c, list, 0))];
}

const boolean = (value: boolean): Constant => new Constant("bool", [], Uint8Array.of(value ? 1 : 0));

function stacked(c: Call, list: readonly Value[], axis: number): Value {
  if (list.length === 0) return ops.zeros([0], { device: c.device });
  return ops.stack(
    list.map((v) => c.asTensor(v)),
    axis,
  );
}

function scanInputs(c: Call, max: number): number {
  const count = c.int("num_scan_inputs", 1);
  if (!(count >= 1 && count <= max)) throw c.invalid("attribute num_scan_inputs", `in [1, ${max}]`, count);
  return count;
}

/** States that go from step to step, and slices of the scanned inputs. */
function scan(c: Call): Value[] {
  if (c.opset < 9) return scanBatches(c);
  const body = c.body("body");
  const count = scanInputs(c, c.inputs.length);
  let states: Value[] = c.inputs.slice(0, c.inputs.length - count).map((v) => v ?? null);
  const scanned = c.inputs.slice(c.inputs.length - count).map((v) => c.asTensor(v));
  const axes = scanned.map((t, i) => c.axis(c.ints("scan_input_axes")?.[i] ?? 0, t.rank));
  const isBackwards = (name: string, i: number): boolean => (c.ints(name)?.[i] ?? 0) === 1;
  const steps = scanned[0]!.shape[axes[0]!]!;
  const outputs: Value[][] = Array.from({ length: c.node.outputs.length - states.length }, () => []);
  for (let step = 0; step < steps; step++) {
    const parts = scanned.map((t, i) => ops.select(t, axes[i]!, isBackwards("scan_input_directions", i) ? steps - 1 - step : step));
    const results = body.run([...states, ...parts]);
    outputs.forEach((list, k) => list.push(results[states.length + k] ?? null));
    states = results.slice(0, states.length);
  }
  const joined = outputs.map((list, k): Value => {
    const ordered = isBackwards("scan_output_directions", k) ? list.toReversed() : list;
    const rank = (c.asTensor(ordered[0] ?? null) as Tensor).rank + 1;
    return stacked(c, ordered, c.axis(c.ints("scan_output_axes")?.[k] ?? 0, rank));
  });
  return [...states, ...joined];
}

/** Version 8: an optional list of lengths, then states and scanned inputs with a batch in front, each sample on its own. */
function scanBatches(c: Call): Value[] {
  if (c.has(0)) throw c.unsupported("version 8 with lengths of its sequences");
  const body = c.body("body");
  const count = scanInputs(c, c.inputs.length - 1);
  const inputs = c.inputs.slice(1).map((v) => c.asTensor(v ?? null));
  const states = inputs.length - count;
  const backwards = c.ints("directions") ?? [];
  const samples = Array.from({ length: inputs[0]!.shape[0]! }, (_, n) => {
    let current: Value[] = inputs.slice(0, states).map((t) => ops.select(t, 0, n));
    const scanned = inputs.slice(states).map((t) => ops.select(t, 0, n));
    const steps = scanned[0]!.shape[0]!;
    const outputs: Value[][] = Array.from({ length: c.node.outputs.length - states }, () => []);
    for (let step = 0; step < steps; step++) {
      const results = body.run([...current, ...scanned.map((t, i) => ops.select(t, 0, backwards[i] === 1 ? steps - 1 - step : step))]);
      outputs.forEach((list, k) => list.push(results[states + k] ?? null));
      current = results.slice(0, states);
    }
    return [...current, ...outputs.map((list) => stacked(c, list, 0))];
  });
  return c.node.outputs.map((_, k) =>
    stacked(
      c,
      samples.map((s) => s[k]!),
      0,
    ),
  );
}

/** A graph over the elements of sequences; tensors among the inputs are the same for all. */
function sequenceMap(c: Call): Value[] {
  const body = c.body("body");
  const length = c.sequence(0).length;
  const outputs: Value[][] = c.node.outputs.map(() => []);
  for (let i = 0; i < length; i++) {
    const results = body.run(c.inputs.map((v) => (Array.isArray(v) ? ((v as readonly Value[])[i] ?? null) : v)));
    outputs.forEach((list, k) => list.push(results[k] ?? null));
  }
  return outputs;
}

export const control = family({ If: branch, Loop: loop, Scan: scan, SequenceMap: sequenceMap }, { isPure: false, isRaw: true });
