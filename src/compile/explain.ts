/** explain(): a compiled program as text. */
import type { CompiledProgram } from "./program.ts";
import type { Expr } from "../graph/graph.ts";
import { OPERATORS } from "../dml/operators.generated.ts";
import { kernelsOf, nodesText, type ExplainedKernel } from "./kernels.ts";

export interface ExplainedNode {
  readonly operator: string;
  /** The operation and the line that asked for it. */
  readonly origin: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly activation: string | null;
}

/** What a program that compile() made does: its dispatches, its memory. toString() is the whole text. */
export interface Explanation {
  /** The function's name. */
  readonly name: string;
  /** The device it runs on, "cpu" or "dml:0". */
  readonly device: string;
  /** The graph's operators, in the order in which they run. */
  readonly nodes: readonly ExplainedNode[];
  /** What the software adapter made of the nodes, in the order of execution; with times after `profileSync()`. Empty on other devices. */
  readonly kernels: readonly ExplainedKernel[];
  /** Compiled operators or graphs recorded in one list. */
  readonly dispatches: number;
  /** Copies of buffers in one call. */
  readonly copies: number;
  /** Barriers between dispatches of one call. */
  readonly barriers: number;
  /** Compiled once each. */
  readonly distinctOperators: number;
  /** Memory of intermediates, in bytes. */
  readonly arenaInBytes: number;
  /** Workspace that DirectML asks for, in bytes. */
  readonly temporaryInBytes: number;
  /** Memory of the inputs, in bytes. */
  readonly inputsInBytes: number;
  /** Memory of the outputs, in bytes. */
  readonly outputsInBytes: number;
  /** Number of outer tensors that the function writes. */
  readonly stateCells: number;
  /** Why the function was recorded, once for each recording. */
  readonly recordings: readonly string[];
  /** The explanation as text, one dispatch a line. */
  toString(): string;
}

const show = (x: Expr | null): string =>
  x === null ? "-" : `%${x.value.id}${x.byteOffset > 0 ? `+${x.byteOffset}` : ""}:${x.dtype}[${x.sizes.join(", ")}]`;

export function explain(name: string, program: CompiledProgram, recordings: readonly string[]): Explanation {
  const { graph, description } = program;
  const info = program.info();
  const nodes = graph.nodes.map((n): ExplainedNode => ({
    operator: n.operation?.call.operation ?? n.operator,
    origin: n.origin,
    inputs: n.inputs.map(show),
    outputs: n.outputs.map(show),
    activation:
      n.attributes.fusedActivation == null
        ? null
        : OPERATORS[(n.attributes.fusedActivation as { operator: keyof typeof OPERATORS }).operator].name,
  }));
  const kernels = kernelsOf(program, program.kernelTimes ?? info.kernels, program.kernelTimes !== null).flat();
  const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
  const dispatches = description.steps.filter((s) => "dispatch" in s).length;
  const facts = {
    name,
    device: `${program.native.device} (${program.native.adapter.name})`,
    nodes,
    kernels,
    dispatches,
    copies: description.steps.length - dispatches,
    barriers: program.barriers,
    distinctOperators: description.dispatchables.length,
    arenaInBytes: description.scratch,
    temporaryInBytes: info.temporaryInBytes,
    inputsInBytes: sum(description.inputs),
    outputsInBytes: sum(description.outputs),
    stateCells: graph.state.length,
    recordings: [...recordings],
  };
  return {
    ...facts,
    toString() {
      const width = Math.max(...nodes.map((n) => n.operator.length), 8);
      const lines = nodes.map(
        (n) =>
          `  ${n.outputs.filter((o) => o !== "-").join(", ")} = ${n.operator.padEnd(width)} ${n.inputs.join(", ")}${n.activation === null ? "" : ` then ${n.activation}`}    # ${n.origin}`,
      );
      return [
        `${name} on ${facts.device}: ${nodes.length} nodes in ${dispatches} dispatches, ${facts.copies} copies, ${facts.barriers} barriers, ${facts.distinctOperators} distinct`,
        `  arena ${facts.arenaInBytes} B, temporary ${facts.temporaryInBytes} B, inputs and state ${facts.inputsInBytes} B, outputs ${facts.outputsInBytes} B, ${facts.stateCells} state buffers written`,
        `  recorded ${recordings.length} times: ${recordings.slice(-4).join("; ")}`,
        ...lines,
        ...(kernels.length === 0 ? [] : [`  ${kernels.length} kernels:`]),
        ...kernels.map(
          (k) =>
            `  ${k.microseconds === null ? "" : `${k.microseconds.toFixed(1).padStart(10)} us  `}${k.kernel.padEnd(width)} # ${nodesText(k)}`,
        ),
      ].join("\n");
    },
  };
}
