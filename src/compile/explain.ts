/** explain(): a compiled program as text. */
import type { CompiledProgram } from "./program.ts";
import { programsOf, type Executable, type LoopStep } from "./schedule.ts";
import type { Expr, GraphNode } from "../graph/graph.ts";
import { OPERATORS } from "../dml/operators.generated.ts";
import { kernelsOf, nodesText, type ExplainedKernel } from "./kernels.ts";

export interface ExplainedNode {
  readonly operator: string;
  /** The operation and the line that asked for it. */
  readonly origin: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly activation: string | null;
  /** What `tune` has measured of it: "measured: 16.2 us (shader) against 40.1 us (DirectML)"; null: nothing. */
  readonly measured: string | null;
}

/** Nodes that one shader computes, which was made for them. */
export interface ExplainedRegion {
  /** The operations that asked for them. */
  readonly origin: string;
  /** In the order in which they are computed. */
  readonly nodes: readonly ExplainedNode[];
  /** Why it has no more nodes: the operators around it, "result" for what the function returns or keeps, and limits. */
  readonly ends: readonly string[];
  /** Bytes of the buffers that it reads and writes. */
  readonly bytes: number;
  /** Floating-point operations: one for each element of an elementwise node's result, and for each element that is reduced. */
  readonly flops: number;
  /** As a node has it. */
  readonly measured: string | null;
  /** The shader as text, one statement a line. */
  readonly shader: string;
}

/** A loop of a compiled function, as scan() and whileLoop() make it. */
export interface ExplainedLoop {
  /** The function that asked for it: "scan", "scan backward" for its gradients, or "whileLoop". */
  readonly name: string;
  /** The function and the line that asked for it. */
  readonly origin: string;
  /** How often the body runs in a call, for each step of the loop around it; of whileLoop() in the last call. */
  readonly steps: number;
  /** Whether the last step comes first. */
  readonly reverse: boolean;
  /** Programs of the body and the condition, those of loops inside not among them. */
  readonly programs: number;
}

/** What a program that compile() made does: its dispatches, its memory. toString() is the whole text. */
export interface Explanation {
  /** The function's name. */
  readonly name: string;
  /** The device it runs on, "cpu" or "dml:0". */
  readonly device: string;
  /** The graph's operators, in the order in which they run. */
  readonly nodes: readonly ExplainedNode[];
  /** The nodes of each `SHADER` that `fuse` made, in the order in which they run. */
  readonly fused: readonly ExplainedRegion[];
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
  /** Loops, in the order in which they begin: their bodies are programs of their own. Nodes, dispatches and the like of a body count once. */
  readonly loops: readonly ExplainedLoop[];
  /** Programs that a call runs; those of a loop's body in each step. */
  readonly programs: number;
  /** Why the function was recorded, once for each recording. */
  readonly recordings: readonly string[];
  /** The explanation as text, one dispatch a line. */
  toString(): string;
}

const show = (x: Expr | null): string =>
  x === null ? "-" : `%${x.value.id}${x.byteOffset > 0 ? `+${x.byteOffset}` : ""}:${x.dtype}[${x.sizes.join(", ")}]`;

/** What one program tells. */
type Facts = Omit<Explanation, "name" | "device" | "loops" | "programs" | "recordings" | "toString">;

const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);

const explained = (n: GraphNode): ExplainedNode => ({
  operator: n.operation?.call.operation ?? n.operator,
  origin: n.origin,
  inputs: n.inputs.map(show),
  outputs: n.outputs.map(show),
  activation:
    n.attributes.fusedActivation == null
      ? null
      : OPERATORS[(n.attributes.fusedActivation as { operator: keyof typeof OPERATORS }).operator].name,
  measured: n.measured ?? null,
});

const regionsOf = (nodes: readonly GraphNode[]): ExplainedRegion[] =>
  nodes.flatMap(({ fused, origin, measured = null }) => {
    if (fused === undefined) return [];
    const { nodes: inside, ends, bytes, flops, shader } = fused;
    return [{ origin, nodes: inside.map(explained), ends, bytes, flops, measured, get shader() { return shader(); } }]; // prettier-ignore
  });

function factsOf(program: CompiledProgram): Facts {
  const { graph, description } = program;
  const info = program.info();
  const nodes = graph.nodes.map(explained);
  const dispatches = description.steps.filter((s) => "dispatch" in s).length;
  return {
    nodes,
    fused: regionsOf(graph.nodes),
    kernels: kernelsOf(program, program.kernelTimes ?? info.kernels, program.kernelTimes !== null).flat(),
    dispatches,
    copies: description.steps.length - dispatches,
    barriers: program.barriers,
    distinctOperators: description.dispatchables.length,
    arenaInBytes: description.scratch,
    temporaryInBytes: info.temporaryInBytes,
    inputsInBytes: sum(description.inputs),
    outputsInBytes: sum(description.outputs),
    stateCells: graph.state.length,
  };
}

/** The facts of several programs together. */
function totalOf(list: readonly Facts[]): Facts {
  const total = (field: Exclude<keyof Facts, "nodes" | "fused" | "kernels">): number => sum(list.map((f) => f[field]));
  return {
    nodes: list.flatMap((f) => f.nodes),
    fused: list.flatMap((f) => f.fused),
    kernels: list.flatMap((f) => f.kernels),
    dispatches: total("dispatches"),
    copies: total("copies"),
    barriers: total("barriers"),
    distinctOperators: total("distinctOperators"),
    arenaInBytes: total("arenaInBytes"),
    temporaryInBytes: total("temporaryInBytes"),
    inputsInBytes: total("inputsInBytes"),
    outputsInBytes: total("outputsInBytes"),
    stateCells: total("stateCells"),
  };
}

/** A program's nodes and kernels, one a line. */
function linesOf({ nodes, fused, kernels }: Facts): string[] {
  const width = Math.max(...nodes.map((n) => n.operator.length), 8);
  const lineOf = (n: ExplainedNode): string =>
    `${n.outputs.filter((o) => o !== "-").join(", ")} = ${n.operator.padEnd(width)} ${n.inputs.join(", ")}${n.activation === null ? "" : ` then ${n.activation}`}    # ${n.origin}${n.measured === null ? "" : `, ${n.measured}`}`;
  return [
    ...nodes.map((n) => `  ${lineOf(n)}`),
    ...fused.flatMap((r) => [
      `  shader of ${r.origin}, ${r.bytes} B, ${r.flops} FLOP${r.measured === null ? "" : `, ${r.measured}`}${r.ends.length === 0 ? "" : `, ends at ${r.ends.join(", ")}`}:`,
      ...r.nodes.map((n) => `    ${lineOf(n)}`),
    ]),
    ...(kernels.length === 0 ? [] : [`  ${kernels.length} kernels:`]),
    ...kernels.map(
      (k) =>
        `  ${k.microseconds === null ? "" : `${k.microseconds.toFixed(1).padStart(10)} us  `}${k.kernel.padEnd(width)} # ${nodesText(k)}`,
    ),
  ];
}

export function explain(name: string, executable: Executable, recordings: readonly string[]): Explanation {
  const programs = programsOf(executable).map(({ program, loops }) => ({ facts: factsOf(program), loops }));
  const total = totalOf(programs.map((p) => p.facts));
  const steps = [...new Set(programs.flatMap((p) => p.loops))];
  const loops = steps.map((step): ExplainedLoop => ({
    name: step.node.begin.name,
    origin: step.node.begin.origin,
    steps: step.steps,
    reverse: step.node.begin.reverse,
    programs: programs.filter((p) => p.loops.at(-1) === step).length,
  }));
  const { native } = executable;
  const facts = {
    name,
    device: `${native.device} (${native.adapter.name})`,
    ...total,
    loops,
    programs: programs.length,
    recordings: [...recordings],
  };
  return {
    ...facts,
    toString() {
      const open: LoopStep[] = [];
      const body = programs.flatMap(({ facts: own, loops: inside }) => {
        const lines: string[] = [];
        while (open.length > 0 && !inside.includes(open.at(-1)!)) open.pop();
        for (const { node, steps: count } of inside.slice(open.length))
          lines.push(
            `  ${"  ".repeat(inside.length - 1)}${node.begin.origin}: ${count} steps${node.begin.reverse ? ", the last first" : ""}`,
          );
        open.splice(0, open.length, ...inside);
        const indent = "  ".repeat(inside.length);
        if (programs.length > 1) lines.push(`  ${indent}program of ${own.nodes.length} nodes`);
        return [...lines, ...linesOf(own).map((line) => indent + line)];
      });
      return [
        `${name} on ${facts.device}: ${total.nodes.length} nodes in ${total.dispatches} dispatches, ${total.copies} copies, ${total.barriers} barriers, ${total.distinctOperators} distinct`,
        `  arena ${total.arenaInBytes} B, temporary ${total.temporaryInBytes} B, inputs and state ${total.inputsInBytes} B, outputs ${total.outputsInBytes} B, ${total.stateCells} state buffers written`,
        `  recorded ${recordings.length} times: ${recordings.slice(-4).join("; ")}`,
        ...(programs.length > 1 ? [`  ${programs.length} programs, ${loops.length} loops`] : []),
        ...body,
      ].join("\n");
    },
  };
}
