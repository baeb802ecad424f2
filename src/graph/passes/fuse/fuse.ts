/** Turns elementwise nodes between other operators into few launches of shaders that are made for them. */
import type { Capabilities } from "../../../dml/capabilities.ts";
import { wordOf } from "../../../host/environment.ts";
import { MAX_BUFFERS, MAX_VIEWS } from "../../../shader/dxbc/emit.ts";
import { printShader } from "../../../shader/print-shader.ts";
import { simplify } from "../../../shader/simplify.ts";
import { withNodes, type FusedNodes, type Graph, type GraphNode, type Value } from "../../graph.ts";
import { removeDeadCode } from "../dead-code.ts";
import { factsOf, group, type Grouped } from "./clusters.ts";
import { launchOf } from "./launch.ts";
import type { Facts } from "./region.ts";

/** Whether compiled functions fuse nodes to shaders, where shaders run. */
export type FuseMode = "always" | "off";
const modes: readonly FuseMode[] = ["always", "off"];

/** The option of a function decides against the variable, which is set for the whole process. */
export const fuseMode = (option?: FuseMode): FuseMode => option ?? wordOf("DXTENSOR_FUSE", modes) ?? "off";

export const fuses = ({ runsShaders }: Capabilities, option?: FuseMode): boolean => fuseMode(option) === "always" && runsShaders;

/** The operations that asked for nodes, each once, by their lines. */
function originOf(nodes: readonly GraphNode[]): string {
  const names = [...new Set(nodes.map((n) => n.origin))].filter((name) => name !== "");
  const shown = names.slice(0, 3).join(" + ");
  return `${nodes.length} nodes of ${shown}${names.length > 3 ? ` and ${names.length - 3} more` : ""}`;
}

function launched(grouped: Grouped, facts: Facts, capabilities: Capabilities): GraphNode {
  const region = grouped.region!;
  const { node, kernel } = launchOf(region, facts, capabilities, grouped.nodes[0]!.id, originOf(grouped.nodes));
  const bytes = [...node.inputs, ...node.outputs].reduce((n, x) => n + x!.value.sizeInBytes, 0);
  const fused: FusedNodes = {
    nodes: region.nodes,
    ends: grouped.ends,
    bytes,
    shader: () => printShader(simplify(kernel.program.source)),
  };
  return { ...node, fused };
}

/** constants: inputs whose bytes never change. */
export function fuseRegions(graph: Graph, capabilities: Capabilities, constants: ReadonlyMap<Value, Uint8Array>): Graph {
  const facts = factsOf(
    graph,
    new Map([...constants, ...graph.constants]),
    capabilities.seesTexels ? MAX_VIEWS : MAX_BUFFERS,
    () => capabilities.roundsHalf,
  );
  const nodes = group(graph, facts).flatMap((grouped) =>
    grouped.region === null ? grouped.nodes : [launched(grouped, facts, capabilities)],
  );
  return removeDeadCode(withNodes(graph, nodes, (x) => x));
}
