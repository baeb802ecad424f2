/** A model that is exported: it is traced and translated when this is made, so that its weights are those of that moment. */
import { basename } from "node:path";
import { capture } from "../../compile/capture.ts";
import { operand, type Operand } from "../../compile/operand.ts";
import { DTypeError, DxError, ValueError } from "../../core/errors.ts";
import type { Shape } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { PendingFile } from "../../io/pending-file.ts";
import { Frozen, HostBytes, type Readable } from "../../io/pieces.ts";
import { Module } from "../../nn/module.ts";
import { empty } from "../../ops/creation/creation.ts";
import { recordedForOthers } from "../../shader/choice.ts";
import { ExportGraph, type Initializer, type Name, type Value } from "./onnx-graph.ts";
import { modelOf, sizeOfData, type Declared, type Elsewhere } from "./model.ts";
import type { ExportExample, ExportOptions, ExportResult, ExportSource } from "./options.ts";
import { Translation, type Recording } from "./translate.ts";

/** protobuf's limit, less what is around the weights. */
const MAX_BYTES = 2 ** 31 - 2 ** 24;
/** Data of other files begin at multiples of this, so that they can be mapped. */
const ALIGNMENT = 64;

/**
 * How many times as long the axes of each name are in the other run. Large primes tell what follows from one axis from what follows from another;
 * small ones are for functions that take no such length.
 */
const FACTORS = [
  [5, 7, 11, 13, 17, 19, 23, 29],
  [2, 3, 5, 7, 11, 13, 17, 19],
] as const;

interface Outputs {
  readonly names: readonly string[];
  readonly tensors: readonly Tensor[];
}

function outputsOf(operation: string, result: ExportResult): Outputs {
  const wrong = (received: unknown): never => {
    throw new DTypeError(operation, "the function's result", "a tensor, an array of tensors, or tensors by name", received);
  };
  if (result instanceof Tensor) return { names: ["output"], tensors: [result] };
  if (typeof result !== "object" || result === null) return wrong(result);
  const entries = Object.entries(result) as [string, unknown][];
  const names = Array.isArray(result) ? entries.map((_, i) => `output${i}`) : entries.map(([name]) => name);
  if (entries.length === 0) wrong(result);
  return { names, tensors: entries.map(([, t]) => (t instanceof Tensor ? t : wrong(t))) };
}

/** Runs fn with a module in evaluation mode, and gives all parts of it the mode they had. */
function evaluating<T>(source: ExportSource, fn: () => T): T {
  if (!(source instanceof Module)) return fn();
  const modes = source.modules().map((m) => [m, m.training] as const);
  source.eval();
  try {
    return fn();
  } finally {
    for (const [m, training] of modes) m.training = training;
  }
}

/** Names of a module's tensors by what they show. */
function stateNames(source: ExportSource): (t: Operand) => string {
  const names = new Map<unknown, Map<string, string>>();
  if (source instanceof Module)
    for (const [name, t] of source.stateTensors()) {
      const known = names.get(t.storage) ?? new Map<string, string>();
      if (!known.has(`${t.desc.id},${t.offset}`)) known.set(`${t.desc.id},${t.offset}`, name);
      names.set(t.storage, known);
    }
  return (t) => names.get(t.storage)?.get(`${t.desc.id},${t.offset}`) ?? "constant";
}

function requireNames(
  operation: string,
  argument: string,
  names: readonly string[] | undefined,
  defaults: readonly string[],
): readonly string[] {
  if (names === undefined) return defaults;
  if (names.length !== defaults.length) throw new ValueError(operation, argument, `${defaults.length} names`, names.length);
  if (names.some((n) => typeof n !== "string" || n === "") || new Set(names).size !== names.length)
    throw new ValueError(operation, argument, "texts that differ", names.join());
  return names;
}

/** Lengths of both runs: no dynamic one is 1, which broadcasts, and each name has a length of its own. */
function trialShapes(
  operation: string,
  examples: readonly Tensor[],
  names: readonly string[],
  { dynamicAxes = {} }: ExportOptions,
  factors: readonly number[],
) {
  const lengths = new Map<string, readonly [number, number]>();
  const axisNames = examples.map((t) => t.shape.map((): string | null => null));
  for (const [input, axes] of Object.entries(dynamicAxes)) {
    const i = names.indexOf(input);
    if (i < 0) throw new ValueError(operation, "dynamicAxes", `by the names of inputs (${names.join()})`, input);
    for (const [text, name] of Object.entries(axes)) {
      const axis = Number(text) < 0 ? Number(text) + examples[i]!.rank : Number(text);
      const n = examples[i]!.shape[axis];
      if (n === undefined) throw new ValueError(operation, `dynamicAxes.${input}`, `axes of a tensor of rank ${examples[i]!.rank}`, text);
      if (typeof name !== "string" || name === "") throw new ValueError(operation, `dynamicAxes.${input}`, "names of axes", name);
      const one = Math.max(n, 2);
      const known = lengths.get(name);
      if (known === undefined) lengths.set(name, [one, one * (factors[lengths.size] ?? 41 + 2 * lengths.size)]);
      else if (known[0] !== one) throw new ValueError(operation, "dynamicAxes", `one length for ${name}`, `${known[0]} and ${one}`);
      axisNames[i]![axis] = name;
    }
  }
  const shapes = (run: 0 | 1): Shape[] =>
    examples.map((t, i) => t.shape.map((n, axis) => (axisNames[i]![axis] === null ? n : lengths.get(axisNames[i]![axis]!)![run])));
  return { axisNames, one: shapes(0), two: shapes(1), isDynamic: lengths.size > 0, lengths };
}

type Trial = ReturnType<typeof trialShapes>;

export class PendingModel {
  readonly #operation: string;
  readonly #options: ExportOptions;
  readonly #graph: ExportGraph;
  readonly #name: string;
  readonly #inputs: readonly Declared[];
  readonly #outputs: readonly Declared[];

  constructor(operation: string, source: ExportSource, example: ExportExample, options: ExportOptions) {
    this.#operation = operation;
    this.#options = options;
    const { opset = 17, names = {}, metadata = {} } = options;
    if (typeof source !== "function") throw new DTypeError(operation, "source", "a module or a function", source);
    if (!Number.isInteger(opset) || opset < 17 || opset > 21) throw new ValueError(operation, "opset", "an integer from 17 to 21", opset);
    for (const [key, v] of Object.entries(metadata))
      if (typeof v !== "string") throw new ValueError(operation, `metadata.${key}`, "text", v);
    const examples = example instanceof Tensor ? [example] : example;
    if (!Array.isArray(examples) || !examples.every((t) => t instanceof Tensor))
      throw new DTypeError(operation, "example", "a tensor, or an array of tensors", example);
    for (const t of examples) t.requireLive(operation, "example");
    const inputNames = requireNames(
      operation,
      "names.inputs",
      names.inputs,
      examples.length === 1 ? ["input"] : examples.map((_, i) => `input${i}`),
    );
    const trials = FACTORS.map((factors) => trialShapes(operation, examples, inputNames, options, factors)) as [Trial, Trial];
    let outputNames: readonly string[] = [];
    const record = (shapes: readonly Shape[]): Recording => {
      const args = examples.map((t, i) => empty(shapes[i]!, { dtype: t.dtype, device: t.device }));
      try {
        return recordedForOthers(() =>
          capture(operation, source as (...inputs: Tensor[]) => ExportResult, args, (result) => {
            const { names: keys, tensors } = outputsOf(operation, result);
            outputNames = keys;
            return tensors.map((t) => operand(t));
          }),
        );
      } finally {
        for (const t of args) t.dispose();
      }
    };
    const { one, two, trial } = evaluating(source, () => {
      const [large, small] = trials;
      const first = record(large.one);
      if (!large.isDynamic) return { one: first, two: first, trial: large };
      try {
        return { one: first, two: record(large.two), trial: large };
      } catch (error) {
        if (!(error instanceof DxError)) throw error;
        return { one: first, two: record(small.two), trial: small };
      }
    });
    outputNames = requireNames(operation, "names.outputs", names.outputs, outputNames);
    this.#graph = new ExportGraph(opset);
    this.#name = source.name === "" ? "graph" : source instanceof Module ? source.constructor.name : source.name;
    const inputs = inputNames.map((name, i): Value => ({
      name: { text: this.#graph.unique(name) },
      dtype: examples[i]!.dtype,
      shape: trial.one[i]!,
      other: trial.two[i]!,
    }));
    for (const name of outputNames) this.#graph.unique(name);
    const results = new Translation(this.#graph, stateNames(source)).run(one, two, inputs);
    results.forEach((name, i) => {
      this.#output(name, outputNames[i]!);
    });
    this.#inputs = inputs.map((v, i) => ({
      name: v.name.text,
      dtype: v.dtype,
      shape: v.shape.map((n, axis) => trial.axisNames[i]![axis] ?? n),
    }));
    this.#outputs = one.result.map((t, i) => {
      const lengthOf = (n: number, axis: number): number | string => {
        const other = two.result[i]!.desc.shape[axis]!;
        if (n === other) return n;
        for (const [name, [a, b]] of trial.lengths) if (a === n && b === other) return name;
        return `${outputNames[i]}_${axis}`;
      };
      return { name: outputNames[i]!, dtype: t.desc.dtype, shape: t.desc.shape.map(lengthOf) };
    });
  }

  /** Gives a result its name. What is an input, a weight, or another result too is copied. */
  #output(name: Name, text: string): void {
    this.#graph.nodes.push({ type: "Identity", inputs: [name], outputs: [{ text }], attributes: {} });
  }

  #parts(elsewhere: ReadonlyMap<Initializer, Elsewhere>): Readable[] {
    const parts: Readable[] = [];
    let own: Uint8Array[] = [];
    const close = (): void => {
      if (own.length > 0) parts.push(new HostBytes("graph", Buffer.concat(own)));
      own = [];
    };
    for (const part of modelOf(this.#graph, this.#name, this.#inputs, this.#outputs, this.#options.metadata ?? {}, elsewhere)) {
      if (part instanceof Uint8Array) own.push(part);
      else if (part.later.data instanceof Uint8Array) own.push(part.later.data.subarray(0, part.sizeInBytes));
      else {
        close();
        parts.push(new Frozen(this.#operation, part.later.name.text, part.later.data));
      }
    }
    close();
    return parts;
  }

  get #sizeOfWeights(): number {
    return this.#graph.initializers.reduce((n, t) => n + sizeOfData(t), 0);
  }

  async bytes(): Promise<Uint8Array> {
    if (this.#sizeOfWeights > MAX_BYTES)
      throw new ValueError(
        this.#operation,
        "the model",
        "of at most 2 GB",
        `${this.#sizeOfWeights} bytes`,
        "Use export(), which writes a file.",
      );
    return new PendingFile(new Uint8Array(0), this.#parts(new Map())).bytes();
  }

  async write(path: string): Promise<void> {
    const { externalData = this.#sizeOfWeights > MAX_BYTES } = this.#options;
    if (!externalData) return new PendingFile(new Uint8Array(0), this.#parts(new Map())).write(this.#operation, path, this.#options);
    const location = `${basename(path)}.data`;
    const elsewhere = new Map<Initializer, Elsewhere>();
    const data: Readable[] = [];
    let offset = 0;
    for (const t of this.#graph.initializers) {
      // What shapes follow from is read without the other file.
      if (!(t.data instanceof Tensor)) continue;
      const gap = (ALIGNMENT - (offset % ALIGNMENT)) % ALIGNMENT;
      if (gap > 0) data.push(new HostBytes("gap", new Uint8Array(gap)));
      offset += gap;
      elsewhere.set(t, { location, offset });
      data.push(new Frozen(this.#operation, t.name.text, t.data));
      offset += sizeOfData(t);
    }
    const model = new PendingFile(new Uint8Array(0), this.#parts(elsewhere));
    const weights = new PendingFile(new Uint8Array(0), data);
    try {
      // Both are written before one replaces an older file.
      await model.write(this.#operation, path, {}, () => weights.write(this.#operation, `${path}.data`, this.#options));
    } finally {
      weights.dispose();
    }
  }
}
