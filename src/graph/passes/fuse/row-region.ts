/**
 * Regions that reduce: a group of threads has whole rows. A node is computed for each element of a row, for the row as a whole (what a reduction
 * gives, and what is computed of that), or at any index, as nodes of other regions are.
 */
import { sizeOf } from "../../../core/shape.ts";
import { foldOf } from "../../../shader/operations/reductions.ts";
import { readingOf } from "../../../shader/operations/table.ts";
import type { Expr, GraphNode } from "../../graph.ts";
import { accessOf, isIdentity } from "./access.ts";
import { axesOfNode, sameAccess, sameAxes, type ReducedAxes } from "./reduced-axes.ts";
import { constantOf, insideMaker, type Facts } from "./region.ts";
import { writtenOf } from "./partial-writes.ts";

type Domain = "element" | "row" | "any";

export interface RowRegion {
  readonly shape: ReducedAxes;
  /** The reductions of each pass over the rows. */
  readonly passes: readonly (readonly GraphNode[])[];
  /** Of rows, what their elements read, with the passes that come before. */
  readonly known: readonly { readonly node: GraphNode; readonly pass: number }[];
  /** What each output is computed for. */
  readonly outputs: readonly ("element" | "row")[];
  /** Values from memory by how they are read: with `any`, by threads that may have other rows. */
  readonly reads: readonly { readonly x: Expr; readonly domain: Domain; readonly of: Domain }[];
}

class Visit {
  readonly #facts: Facts;
  readonly #inside: ReadonlySet<GraphNode>;
  readonly #shape: ReducedAxes;
  /** The passes before a node is known; null: it cannot be computed so. */
  readonly #levels = new Map<string, number | null>();
  readonly passes: GraphNode[][] = [];
  readonly known = new Map<GraphNode, number>();
  readonly reads: { x: Expr; domain: Domain; of: Domain }[] = [];
  /** What is visited: of an output of elements, or of rows. */
  of: Domain = "element";

  constructor(nodes: readonly GraphNode[], shape: ReducedAxes, facts: Facts) {
    this.#facts = facts;
    this.#inside = new Set(nodes);
    this.#shape = shape;
  }

  level(node: GraphNode, domain: Domain): number | null {
    const key = `${node.outputs[0]!.value.id} ${domain} ${this.of}`;
    const known = this.#levels.get(key);
    if (known !== undefined) return known;
    const level = this.#levelOf(node, domain);
    this.#levels.set(key, level);
    return level;
  }

  #levelOf(node: GraphNode, domain: Domain): number | null {
    if (foldOf(node) !== null) {
      if (domain !== "row" || !sameAxes(axesOfNode(node).axes, this.#shape.axes)) return null;
      const { of } = this;
      // Every thread of a group takes part.
      this.of = "element";
      const before = this.#read(node.inputs[0]!, "element");
      this.of = of;
      if (before === null) return null;
      const pass = (this.passes[before] ??= []);
      if (!pass.includes(node)) pass.push(node);
      return before + 1;
    }
    let level = 0;
    for (const [x, of] of readsOf(node, domain)) {
      const before = this.#read(x, of);
      if (before === null) return null;
      level = Math.max(level, before);
    }
    return level;
  }

  #domainOf(x: Expr, reader: Domain): Domain {
    if (reader === "any") return "any";
    const access = accessOf(x);
    if (isIdentity(access) && sizeOf(x.sizes) === (reader === "row" ? this.#shape.kept : this.#shape.kept * this.#shape.reduced)) return reader; // prettier-ignore
    return reader === "element" && access.offset === 0 && sameAccess(access.axes, this.#shape.rowOf) ? "row" : "any";
  }

  #read(x: Expr, reader: Domain): number | null {
    if (constantOf(x, this.#facts) !== null) return 0;
    const domain = this.#domainOf(x, reader);
    const maker = insideMaker(x, this.#inside, this.#facts);
    if (maker === null) {
      this.reads.push({ x, domain, of: this.of });
      return 0;
    }
    const level = this.level(maker, domain);
    if (level !== null && domain === "row" && reader === "element") this.known.set(maker, level);
    return level;
  }
}

/** What a node reads for an element, and where. */
function readsOf(node: GraphNode, domain: Domain): (readonly [Expr, Domain])[] {
  const { code } = readingOf(node)!;
  if ("gathered" in code) {
    const { source, tuple } = code.gathered(node);
    return [[source, "any"], ...tuple.flatMap(({ words }) => words.map((x) => [x, domain] as const))];
  }
  if ("summed" in code) {
    const { values, indices } = code.summed(node);
    return [values, indices].map((x) => [x, "any"] as const);
  }
  if ("replaced" in code) {
    const { x, indices, updates } = code.replaced(node);
    return [[x, domain], [indices, "any"], [updates, "any"]]; // prettier-ignore
  }
  if ("scattered" in code) {
    const { updates, indices, k } = code.scattered(node);
    // Of several indices each is compared with the later ones.
    return [
      [updates, domain],
      [indices, k > 1 ? "any" : domain],
    ];
  }
  return node.inputs.flatMap((x) => (x === null ? [] : [[x, "element" in code ? domain : "any"] as const]));
}

export const reduces = (nodes: readonly GraphNode[]): boolean => nodes.some((node) => foldOf(node) !== null);

/** Null: its reductions are along other axes than each other, or something reads their results at other rows. */
export function rowRegionOf(nodes: readonly GraphNode[], outputs: readonly Expr[], facts: Facts): RowRegion | null {
  const shape = axesOfNode(nodes.find((node) => foldOf(node) !== null)!);
  const visit = new Visit(nodes, shape, facts);
  const domains: ("element" | "row")[] = [];
  for (const x of outputs) {
    const maker = facts.makers.get(x.value)!;
    const size = writtenOf(maker);
    const domain = size === shape.kept * shape.reduced ? "element" : size === shape.kept ? "row" : null;
    if (domain === null) return null;
    visit.of = domain;
    if (visit.level(maker, domain) === null) return null;
    domains.push(domain);
  }
  const known = [...visit.known].map(([node, pass]) => ({ node, pass }));
  return { shape, passes: visit.passes, known, outputs: domains, reads: visit.reads };
}
