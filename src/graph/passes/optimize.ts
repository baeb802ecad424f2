/** The passes, in order. Each is a function from graph to graph. */
import { isSwitchedOn } from "../../host/environment.ts";
import type { Capabilities } from "../../dml/capabilities.ts";
import type { Graph } from "../graph.ts";
import { castOneHot } from "./cast-one-hot.ts";
import { mergeCommonSubexpressions } from "./common-subexpressions.ts";
import { removeDeadCode } from "./dead-code.ts";
import { foldConstants } from "./fold-constants.ts";
import { fuseActivations } from "./fuse-activation.ts";
import { fuseCasts } from "./fuse-casts.ts";
import { fuseColumnSums } from "./fuse-column-sums.ts";
import { fuseEpilogues } from "./fuse-epilogues.ts";
import { fuseNorms } from "./fuse-norms.ts";
import { fusePrologues } from "./fuse-prologues.ts";
import { joinLaunches } from "./join-launches.ts";
import { recomputeSegments } from "./recompute.ts";
import { verifyGraph } from "../invariants.ts";

/** `asOne`: for one DirectML graph of all nodes. */
export function optimize(graph: Graph, capabilities: Capabilities, asOne: boolean): Graph {
  const stages: [string, (g: Graph) => Graph][] = [
    ["trace", (g) => g],
    ["dead code", removeDeadCode],
    ["one-hot rows", castOneHot],
    ["common subexpressions", mergeCommonSubexpressions],
    ["dead code again", removeDeadCode],
  ];
  // A fusing device does this itself in its graphs, and more of it; shaders are in no graph.
  if (!asOne) stages.push(["constants", foldConstants]);
  stages.push(["casts", fuseCasts]);
  stages.push(["epilogues", fuseEpilogues]);
  // A product that has a norm takes its activation then.
  stages.push(["norms", fuseNorms]);
  stages.push(["activations", (g) => fuseActivations(g, asOne && capabilities.fusesGraphs)]);
  stages.push(["column sums", fuseColumnSums]);
  stages.push(["prologues", fusePrologues]);
  stages.push(["launches", joinLaunches]);
  stages.push(["recomputation", recomputeSegments]);
  const verify = isSwitchedOn("DXTENSOR_VERIFY");
  for (const [name, pass] of stages) {
    graph = pass(graph);
    if (verify) verifyGraph(graph, name);
  }
  return graph;
}
