/** The kernels that the software adapter runs for a compiled graph, with the nodes that each computes. */
import { OPERATORS } from "../dml/operators.generated.ts";
import type { KernelTime } from "../native/binding.ts";
import type { CompiledProgram } from "./program.ts";

/** A kernel of the program on devices that fuse: which operators it runs. */
export interface ExplainedKernel {
  /** What it is: an operator, or several as one ("CONVOLUTION (fused)", "fused elementwise (7)"). */
  readonly kernel: string;
  /** The nodes that it computes, in the graph's order: DirectML's operators, each with the operation and the line that asked for it. */
  readonly nodes: readonly { readonly operator: string; readonly origin: string }[];
  /** The least of a few runs; null before profileSync(). */
  readonly microseconds: number | null;
}

const names = new Map(Object.values(OPERATORS).map(({ type, name }) => [type, name as string]));

/** DirectML's name of an operator type. */
export const operatorName = (type: number): string => names.get(type) ?? `type ${type}`;

/** By the program's dispatch steps, in their order; empty where a step is one operator, or the device does not show what it runs. */
export function kernelsOf(
  { description }: CompiledProgram,
  kernels: readonly (readonly KernelTime[])[],
  areTimed: boolean,
): ExplainedKernel[][] {
  return description.steps.flatMap((step) => {
    if (!("dispatch" in step)) return [];
    const made = description.dispatchables[step.dispatch]!;
    if (!("nodes" in made)) return [[]];
    return [
      (kernels[step.dispatch] ?? []).map(({ name, nodes, seconds }) => ({
        kernel: name,
        nodes: nodes.map((n) => ({ operator: operatorName(made.nodes[n]!.type), origin: step.origins?.[n] ?? "" })),
        microseconds: areTimed ? seconds * 1e6 : null,
      })),
    ];
  });
}

/** The nodes of a kernel as people read them: each operation's line once. */
export const nodesText = ({ nodes }: Pick<ExplainedKernel, "nodes">): string =>
  [...new Set(nodes.map((n) => n.origin || n.operator))].join("; ");
