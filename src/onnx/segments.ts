/** A model's graph in segments, each of which is one compiled program, with the nodes between them that no program can contain. */
import { isGradEnabled } from "../autograd/grad-mode.ts";
import { compile, type Compiled } from "../compile/compile.ts";
import { castingRegion } from "../core/autocast.ts";
import { batching } from "../core/batching.ts";
import { TraceError } from "../core/errors.ts";
import { scope } from "../core/scope.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { Budget } from "./format/limits.ts";
import type { NodeMessage } from "./format/proto.ts";
import { Constant, KEPT, Texts, type Value } from "./format/value.ts";
import type { InputAxes } from "./dynamic-axes.ts";
import { readNames, readsOf } from "./graph-order.ts";
import { withHardSwish } from "./hard-swish.ts";
import { named, Names, runNode, runNodes, type Context } from "./run-graph.ts";

/** Kinds of inputs that are compiled in their first call; those after them in their second. */
const FEW_KINDS = 4;
/** Programs of one segment. */
const MAX_PROGRAMS = 32;
/** Runs of graphs inside nodes that one program contains: a loop of more steps runs between two programs. */
const MAX_TRACED_RUNS = 64;

/** Thrown where a program would contain too many runs of graphs inside nodes. */
class TooManyRuns extends Error {}

class TracedBudget extends Budget {
  #runs = 0;

  override spend(where: string): void {
    super.spend(where);
    if (++this.#runs > MAX_TRACED_RUNS) throw new TooManyRuns(`${where}: too many runs for one program`);
  }
}

/** Whether an error says that a node cannot be part of a program. */
export const isRefusal = (error: unknown): boolean => error instanceof TraceError || error instanceof TooManyRuns;

type Program = Compiled<Tensor[], Tensor | readonly Value[]>;
/** What becomes of a segment's results, in its program. */
type Finish = (results: Value[], inputs: readonly (Value | undefined)[]) => Value[];

/** A text that is equal for constants of equal elements; null: its programs would be too many. */
function keyOfConstant(v: Value | undefined): string | null {
  if (v === undefined) return "-";
  if (v === null) return "n";
  if (v instanceof Constant && v.size <= KEPT) return `${v.dtype}[${v.shape.join()}]${v.data.join()}`;
  if (v instanceof Texts) return JSON.stringify([v.shape, v.elements]);
  return null;
}

/** A text that is equal for tensors that one program takes. axes: those that may have any length. */
const keyOfTensor = ({ desc, dtype, shape }: Tensor, axes: readonly number[] | null): string | number =>
  axes === null ? desc.id : `${dtype}[${shape.map((n, axis) => (axes.includes(axis) ? "" : n)).join(" ")}]`;

export class Segment {
  readonly nodes: readonly NodeMessage[];
  /** Names of what comes from before it. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly #context: Context;
  readonly #finish: Finish;
  /** Of each input that comes with the call; null where its shape decides the program. */
  readonly #axes: readonly (readonly number[] | null)[];
  readonly #programs = new Map<string, Program>();
  readonly #kinds = new Map<string, number>();
  /** Of the last call. */
  #recent: { readonly key: string; readonly descs: readonly Tensor["desc"][]; readonly program: Program } | null = null;
  /** What results of a traced call are besides tensors. */
  readonly #traced = new WeakMap<object, readonly Value[]>();

  constructor(
    context: Context,
    nodes: readonly NodeMessage[],
    inputs: readonly string[],
    outputs: readonly string[],
    finish: Finish,
    dynamic: InputAxes,
  ) {
    this.#context = context;
    this.nodes = nodes;
    this.inputs = inputs;
    this.outputs = outputs;
    this.#finish = finish;
    const axes = inputs.map((name) => dynamic.get(name) ?? []);
    this.#axes = axes.map((list) => (list.length > 0 ? list : null));
  }

  /** Node by node. */
  run(values: readonly (Value | undefined)[], outer: Names): Value[] {
    const names = new Names(outer);
    this.inputs.forEach((name, i) => {
      if (values[i] !== undefined) names.set(name, values[i]);
    });
    runNodes(this.#context, this.nodes, this.outputs, names);
    return this.#finish(
      this.outputs.map((name) => named(names, name, "onnx")),
      values,
    );
  }

  /** As a program, where the inputs have a kind that comes again. key: of the weights. */
  call(values: readonly (Value | undefined)[], outer: Names, key: string): readonly Value[] {
    const recent = this.#recent;
    if (recent !== null && recent.key === key && this.#isLike(recent.descs, values)) return asList(recent.program(...(values as Tensor[])));
    const tensors = values.filter((v): v is Tensor => v instanceof Tensor);
    let kind = `${key}|${values.flatMap((v, i) => (v instanceof Tensor ? [keyOfTensor(v, this.#axes[i]!)] : [])).join()}`;
    if (tensors.length < values.length)
      for (const v of values) {
        const own = v instanceof Tensor ? "t" : keyOfConstant(v);
        if (own === null) return this.run(values, outer);
        kind += `|${own}`;
      }
    let program = this.#programs.get(kind);
    if (program === undefined) {
      if (!this.#isFrequent(kind)) return this.run(values, outer);
      program = this.#program(values, outer);
      const [oldest] = this.#programs;
      if (this.#programs.size >= MAX_PROGRAMS && oldest !== undefined) {
        oldest[1].dispose();
        this.#programs.delete(oldest[0]);
      }
    } else this.#programs.delete(kind);
    this.#programs.set(kind, program);
    this.#recent = tensors.length === values.length ? { key, descs: tensors.map((t) => t.desc), program } : null;
    return asList(program(...tensors));
  }

  /** As a part of the trace that runs: a later call with equal inputs takes it over as a whole. */
  trace(values: readonly (Value | undefined)[], outer: Names, key: string): readonly Value[] {
    const trace = tracer()!;
    const constants = values.map((v) => (v instanceof Tensor ? "t" : keyOfConstant(v)));
    if (batching() !== null || constants.includes(null)) return this.run(values, outer);
    let results: readonly Value[] = [];
    const tensors = values.filter((v): v is Tensor => v instanceof Tensor);
    const guards = [key, isGradEnabled(), castingRegion()?.dtype ?? null, constants.join("|")];
    const made = trace.part(this, tensors, guards, () => {
      results = scope(() => this.run(values, outer));
      const own = results.map((v) => (v instanceof Tensor ? v : null));
      this.#traced.set(own, results);
      return own;
    });
    return this.#traced.get(made) ?? results;
  }

  #isLike(descs: readonly Tensor["desc"][], values: readonly (Value | undefined)[]): boolean {
    for (let i = 0; i < descs.length; i++) {
      const v = values[i];
      if (!(v instanceof Tensor) || v.desc !== descs[i]) return false;
    }
    return descs.length === values.length;
  }

  #isFrequent(kind: string): boolean {
    const count = this.#kinds.get(kind) ?? 0;
    if (this.#kinds.size > 1000) this.#kinds.clear();
    this.#kinds.set(kind, count + 1);
    return count > 0 || this.#kinds.size <= FEW_KINDS;
  }

  #program(values: readonly (Value | undefined)[], outer: Names): Program {
    const isTensor = values.map((v) => v instanceof Tensor);
    const others = values.map((v) => (v instanceof Tensor ? null : v));
    const run = (...tensors: Tensor[]): Tensor | readonly Value[] => {
      let next = 0;
      const before = this.#context.budget;
      if (tracer() !== null) this.#context.budget = new TracedBudget(before.left, undefined);
      try {
        // Views of weights hold the weights' memory until they are disposed of.
        const results = scope(() => this.run(others.map((v, i) => (isTensor[i] === true ? tensors[next++]! : v)), outer)); // prettier-ignore
        return results.length === 1 && results[0] instanceof Tensor ? results[0] : results;
      } finally {
        this.#context.budget = before;
      }
    };
    const axes = this.#axes.filter((_, i) => isTensor[i]);
    const dynamic = axes.some((list) => list !== null) ? { dynamic: axes } : {};
    return compile(run, { name: "an ONNX model", check: false, ...dynamic });
  }

  dispose(): void {
    for (const program of this.#programs.values()) program.dispose();
    this.#programs.clear();
    this.#recent = null;
  }
}

const asList = (results: Tensor | readonly Value[]): readonly Value[] => (results instanceof Tensor ? [results] : results);

export type Part = Segment | NodeMessage;

/** Nodes of one segment, with few operators for what some files write with several. */
function simplified(context: Context, nodes: readonly NodeMessage[], outputs: readonly string[], weight: WeightOf): readonly NodeMessage[] {
  const constants = new Map(nodes.flatMap((node) => (node.type === "Constant" ? [[node.outputs[0]!, node] as const] : [])));
  return withHardSwish(nodes, outputs, (name) => {
    const node = constants.get(name);
    return node === undefined ? weight(name) : runNode(context, node, new Names(null))[0];
  });
}

type WeightOf = (name: string) => Value | undefined;

/** The nodes of a graph in as few segments as the nodes between allow. weight: the weight of a name. finish: of a segment that is all. dynamic: of the model's inputs. */
export function partsOf(
  context: Context,
  nodes: readonly NodeMessage[],
  alone: ReadonlySet<NodeMessage>,
  outputs: readonly string[],
  weight: WeightOf,
  finish: Finish,
  dynamic: InputAxes,
): Part[] {
  const level = new Map<string, number>();
  const segments: NodeMessage[][] = [];
  const between: NodeMessage[][] = [];
  for (const node of nodes) {
    let own = 0;
    for (const name of readsOf(node)) own = Math.max(own, level.get(name) ?? 0);
    const isAlone = alone.has(node);
    ((isAlone ? between : segments)[own] ??= []).push(node);
    for (const name of node.outputs) level.set(name, isAlone ? own + 1 : own);
  }
  const groups: (readonly NodeMessage[])[] = [];
  for (let i = 0; i < Math.max(segments.length, between.length); i++) {
    if (segments[i] !== undefined) groups.push(segments[i]!);
    for (const node of between[i] ?? []) groups.push([node]);
  }
  const isAll = groups.length === 1 && alone.size === 0;
  const later = new Set(outputs);
  const parts = groups.toReversed().map((group): Part => {
    const own = new Set(group.flatMap((node) => node.outputs));
    const results = isAll ? outputs : [...own].filter((name) => later.has(name));
    const reads = readNames(group, isAll ? outputs : []);
    for (const name of reads) later.add(name);
    if (group.length === 1 && alone.has(group[0]!)) return group[0]!;
    const inputs = [...reads].filter((name) => !own.has(name) && weight(name) === undefined);
    return new Segment(context, simplified(context, group, results, weight), inputs, results, isAll ? finish : (list) => list, dynamic);
  });
  return parts.toReversed();
}
