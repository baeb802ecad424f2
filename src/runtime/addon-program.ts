/** Programs of the addon made from graphs, and the errors of making them. */
import { GraphBuilder } from "../graph/builder.generated.ts";
import { Graph, packedExpr, type Expr, type Value } from "../graph/graph.ts";
import { removeDeadCode } from "../graph/passes/dead-code.ts";
import { planGraph } from "../graph/plan/plan.ts";
import type { Definition, TensorSpec } from "../core/definition.ts";
import type { Desc } from "../core/storage.ts";
import { isPacked } from "../core/shape.ts";
import { DTYPES, packedBytes } from "../core/dtype.ts";
import { withMemory } from "./buffers.ts";
import type { NativeDevice } from "./devices.ts";
import { lowerOperation } from "./lowering.ts";

/** An input of a definition's graph: description and the part of the offset that is no multiple of 16 bytes. */
export interface ProgramInput {
  readonly desc: Desc;
  readonly residue: number;
}

/** How one operation is lowered. */
interface Lowered {
  /** Its result aliases the first input. Default: false. */
  readonly writesOver?: boolean;
  /** As Emitter has it. Default: true. */
  readonly isAlone?: boolean;
}

/** Lowers one operation to a graph whose inputs are the storages from the aligned offset on. */
export function lowerDefinition<A>(
  native: NativeDevice,
  definition: Definition<A>,
  inputs: readonly ProgramInput[],
  attrs: A,
  outputs: readonly TensorSpec[],
  { writesOver = false, isAlone = true }: Lowered = {},
): Graph {
  const graph = new Graph();
  const builder = new GraphBuilder(graph, native.capabilities);
  builder.origin = definition.name;
  builder.isAlone = isAlone;
  builder.writesOver = writesOver;
  const exprs = inputs.map(({ desc, residue }) => {
    const sizes = desc.shape.length === 0 ? [1] : desc.shape;
    const strides = desc.shape.length === 0 ? [1] : desc.strides;
    const value = graph.addInput(spanOf(desc, residue));
    return builder.reinterpret(packedExpr(value, desc.dtype, sizes), { strides, sizes, byteOffset: residue });
  });
  const results = lowerOperation(builder, definition, exprs, attrs, outputs);
  const taken = new Set<Value>();
  graph.outputs = results.map((x, i) => finish(builder, x, outputs[i]!, taken));
  // A branch of a formula that a constant decides leaves nodes behind, which DirectML refuses.
  return removeDeadCode(graph);
}

/** Bytes from the aligned offset to the last element. */
function spanOf(desc: Desc, residue: number): number {
  return Math.ceil((residue + desc.extent * DTYPES[desc.dtype].sizeInBytes) / 4) * 4;
}

/** An output must be the whole of a value that a node wrote, packed, and not shared with another output. */
function finish(g: GraphBuilder, x: Expr, spec: TensorSpec, taken: Set<Value>): Expr {
  const sizes = spec.shape.length === 0 ? [1] : spec.shape;
  const whole =
    x.value.producer !== null &&
    !taken.has(x.value) &&
    x.byteOffset === 0 &&
    isPacked(x.sizes, x.strides) &&
    packedBytes(spec.dtype, sizes) === x.value.sizeInBytes;
  const out = whole ? x : (g.emit("ELEMENT_WISE_IDENTITY", { input: x }).output as Expr);
  taken.add(out.value);
  return g.reinterpret(out, { sizes, strides: packedExpr(out.value, spec.dtype, sizes).strides, dtype: spec.dtype });
}

/** A compiled program of the addon. */
export interface Program {
  readonly id: number;
}

export function compileGraph(native: NativeDevice, graph: Graph, name: string, asGraph = false): Program {
  const description = planGraph(graph, native.capabilities, name, asGraph ? "whole" : undefined);
  return { id: withMemory(name, () => native.binding.createProgram(native.id, description)) };
}
