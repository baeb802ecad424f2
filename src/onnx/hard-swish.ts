/** x * Clip(x + 3, 0, 6) / 6, as files of operator sets before 14 write a HardSwish, as that one operator. */
import { domainOf } from "./format/operator-keys.ts";
import type { NodeMessage } from "./format/proto.ts";
import { Constant, type Value } from "./format/value.ts";
import { readsOf } from "./graph-order.ts";

const SHIFT = 3;
const LIMIT = 6;

type ValueOf = (name: string) => Value | undefined;

/** A node's one input besides x if x is one of its two; null otherwise. */
function besides({ inputs }: NodeMessage, x: string): string | null {
  const [a, b] = inputs;
  if (inputs.length !== 2 || a === b) return null;
  return a === x ? b! : b === x ? a! : null;
}

class Patterns {
  readonly #valueOf: ValueOf;
  readonly #makers = new Map<string, NodeMessage>();
  readonly #readers = new Map<string, NodeMessage[]>();

  constructor(nodes: readonly NodeMessage[], outputs: readonly string[], valueOf: ValueOf) {
    this.#valueOf = valueOf;
    for (const node of nodes) {
      for (const name of node.outputs) this.#makers.set(name, node);
      for (const name of readsOf(node)) this.#readers.set(name, [...(this.#readers.get(name) ?? []), node]);
    }
    // An output is read twice at least: by the caller, too.
    for (const name of outputs) this.#readers.set(name, []);
  }

  #isNumber(name: string | undefined, wanted: number): boolean {
    const value = name === undefined ? undefined : this.#valueOf(name);
    // A parameter may change.
    if (!(value instanceof Constant) || value.size !== 1 || value.shape.length > 1 || value.isParameter) return false;
    return (value.dtype === "float32" || value.dtype === "float16") && Number(value.data[0]) === wanted;
  }

  #isOne(node: NodeMessage | undefined, type: string): node is NodeMessage {
    return node?.type === type && domainOf(node.domain) === "";
  }

  /** The only node that reads what a node makes. */
  #next(node: NodeMessage): NodeMessage | undefined {
    const readers = this.#readers.get(node.outputs[0]!);
    return readers?.length === 1 ? readers[0] : undefined;
  }

  #dividesBySix(node: NodeMessage, x: string): boolean {
    return this.#isOne(node, "Div") && node.inputs[0] === x && this.#isNumber(node.inputs[1], LIMIT);
  }

  #multiplies(node: NodeMessage, x: string, by: string): boolean {
    return this.#isOne(node, "Mul") && besides(node, x) === by;
  }

  /** The four nodes of a pattern that begins with this one, and what it reads. */
  from(first: NodeMessage): { readonly x: string; readonly nodes: readonly [NodeMessage, NodeMessage, NodeMessage, NodeMessage] } | null {
    if (!this.#isOne(first, "Add")) return null;
    const x = first.inputs.find((name) => this.#isNumber(besides(first, name) ?? undefined, SHIFT));
    const clip = this.#next(first);
    if (x === undefined || !this.#isOne(clip, "Clip") || clip.inputs[0] !== first.outputs[0]) return null;
    if (!this.#isNumber(clip.inputs[1], 0) || !this.#isNumber(clip.inputs[2], LIMIT)) return null;
    const third = this.#next(clip);
    const last = third === undefined ? undefined : this.#next(third);
    if (third === undefined || last === undefined) return null;
    const [clipped, made] = [clip.outputs[0]!, third.outputs[0]!];
    const isPattern =
      (this.#multiplies(third, clipped, x) && this.#dividesBySix(last, made)) ||
      (this.#dividesBySix(third, clipped) && this.#multiplies(last, made, x));
    return isPattern ? { x, nodes: [first, clip, third, last] } : null;
  }
}

/** Nodes, among which each such pattern is one node. outputs: what is read of them from outside. valueOf: of weights and constants. */
export function withHardSwish(nodes: readonly NodeMessage[], outputs: readonly string[], valueOf: ValueOf): readonly NodeMessage[] {
  const patterns = new Patterns(nodes, outputs, valueOf);
  const lost = new Set<NodeMessage>();
  const merged = new Map<NodeMessage, NodeMessage>();
  for (const node of nodes) {
    const found = patterns.from(node);
    if (found === null) continue;
    const last = found.nodes[3];
    for (const other of found.nodes.slice(0, 3)) lost.add(other);
    merged.set(last, { ...last, type: "HardSwish", domain: "", overload: "", inputs: [found.x], attributes: [] });
  }
  return merged.size === 0 ? nodes : nodes.filter((node) => !lost.has(node)).map((node) => merged.get(node) ?? node);
}
