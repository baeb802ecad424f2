/** Whether a model asks for what the importer has: versions of operator sets, and operators. */
import { FormatError, UnsupportedError } from "../core/errors.ts";
import { innerGraphs } from "./format/limits.ts";
import { domainOf, functionKey } from "./format/operator-keys.ts";
import type { FunctionMessage, ModelMessage, NodeMessage } from "./format/proto.ts";
import { nameOf } from "./graph-order.ts";
import { operatorOf } from "./operators/index.ts";

/** The newest versions that the importer knows, by domain. */
const NEWEST: Readonly<Record<string, number>> = { "": 28, "ai.onnx.ml": 5 };

/** Throws for operator sets that are none, or newer than those that the importer knows. */
export function requireVersions({ opsets, functions }: ModelMessage): void {
  for (const { domain, version } of [...opsets, ...functions.flatMap((f) => f.opsets)]) {
    const name = domainOf(domain) === "" ? "ai.onnx" : domain;
    if (!(version >= 1)) throw new FormatError("onnx.load", `operator set ${name}`, "of version 1 or above", String(version));
    const newest = NEWEST[domainOf(domain)];
    if (newest !== undefined && version > newest)
      throw new UnsupportedError({
        operation: "onnx.load",
        argument: `operator set ${name}`,
        expected: `of version ${newest} at most`,
        received: String(version),
        hint: "Export the model again with an older operator set.",
      });
  }
}

/** Nodes that an error names of each operator. */
const MAX_NAMED = 3;

/** Throws UnsupportedError for operators that nodes ask for and the importer does not have: all at once. isReplaced: whether a layer runs instead. */
export function requireOperators(
  nodes: readonly NodeMessage[],
  functions: ReadonlyMap<string, FunctionMessage>,
  isReplaced: (node: NodeMessage) => boolean,
): void {
  const missing = new Map<string, string[]>();
  const seen = new Set<FunctionMessage>();
  const visit = (list: readonly NodeMessage[]): void => {
    for (const node of list) {
      if (isReplaced(node)) continue;
      for (const inner of innerGraphs(node)) visit(inner.nodes);
      const domain = domainOf(node.domain);
      const f = functions.get(functionKey(domain, node.type, node.overload));
      if (f !== undefined) {
        if (!seen.has(f)) {
          seen.add(f);
          visit(f.nodes);
        }
      } else if (operatorOf(domain, node.type) === null) {
        const name = `${domain === "" ? "" : `${domain}.`}${node.type}`;
        const own = nameOf(node);
        const others = missing.get(name);
        if (others === undefined) missing.set(name, [own]);
        else others.push(own);
      }
    }
  };
  visit(nodes);
  if (missing.size === 0) return;
  const shown = [...missing].map(([name, own]) => {
    const names = own.slice(0, MAX_NAMED).join(", ");
    return `operator ${name} (${own.length} ${own.length === 1 ? "node" : "nodes"}: ${names}${own.length > MAX_NAMED ? ", …" : ""})`;
  });
  throw new UnsupportedError({
    operation: "onnx.load",
    received: shown.join(", "),
    hint: "load(file, { outputs }) leaves nodes out that come after the values named, and load(file, { layers }) replaces nodes by name.",
  });
}
