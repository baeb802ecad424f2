/** A graph model: TensorFlow's nodes, frozen by the converter. */
import { FormatError, UnsupportedError } from "../../core/errors.ts";
import type { ModelMessage } from "../../onnx/format/proto.ts";
import { GraphBuilder, type Value, type Weight } from "./graph-builder.ts";
import { NodeCall } from "./graph-node.ts";
import { isRecord, listOf, recordOf, type Json } from "./json.ts";
import { OPERATORS } from "./tensorflow-operators.ts";

const OPERATION = "tfjs.load";

interface Node {
  readonly name: string;
  readonly op: string;
  readonly inputs: readonly (readonly [name: string, result: number])[];
  readonly attr: Json;
}

/** A node's name and the number of its result, of "name" or "name:2". */
function referenceOf(text: string): readonly [string, number] {
  const [, name = text, result = "0"] = /^(.*):(\d+)$/.exec(text) ?? [];
  return [name, Number(result)];
}

function nodesOf(source: string, topology: unknown): Map<string, Node> {
  const list = listOf(OPERATION, source, "node", recordOf(OPERATION, source, "modelTopology", topology)["node"]);
  const found = new Map<string, Node>();
  for (const json of list) {
    const { name, op, input = [], attr = {} } = recordOf(OPERATION, source, "node", json);
    if (typeof name !== "string" || typeof op !== "string" || !isRecord(attr))
      throw new FormatError(OPERATION, source, "with nodes of a name and an operator", JSON.stringify(json).slice(0, 80));
    const inputs = listOf(OPERATION, source, `input of ${name}`, input).map(String).filter((text) => !text.startsWith("^")).map(referenceOf); // prettier-ignore
    if (found.has(name)) throw new FormatError(OPERATION, source, "with each node once", `${name} twice`);
    found.set(name, { name, op, inputs, attr });
  }
  return found;
}

/** Names of results that a signature lists: "StatefulPartitionedCall:0". */
function outputsOf(nodes: ReadonlyMap<string, Node>, signature: unknown): string[] {
  const outputs = isRecord(signature) && isRecord(signature["outputs"]) ? signature["outputs"] : null;
  if (outputs !== null && Object.keys(outputs).length > 0)
    return Object.values(outputs).map((o) => String(isRecord(o) ? o["name"] : o).replace(/:0$/, ""));
  const read = new Set([...nodes.values()].flatMap((node) => node.inputs.map(([name]) => name)));
  return [...nodes.values()].filter(({ name, op }) => !read.has(name) && op !== "Const" && op !== "NoOp").map(({ name }) => name);
}

class GraphModel {
  readonly #source: string;
  readonly #nodes: ReadonlyMap<string, Node>;
  readonly #weights: ReadonlyMap<string, Weight>;
  readonly #b = new GraphBuilder();
  readonly #made = new Map<string, readonly Value[]>();

  constructor(source: string, nodes: ReadonlyMap<string, Node>, weights: ReadonlyMap<string, Weight>) {
    this.#source = source;
    this.#nodes = nodes;
    this.#weights = weights;
  }

  message(signature: unknown, wanted: readonly string[] | undefined): ModelMessage {
    this.#requireKnown();
    // Inputs have the order of the signature, or of the file.
    const inputs = isRecord(signature) && isRecord(signature["inputs"]) ? Object.values(signature["inputs"]) : [];
    const names = inputs.map((i) => String(isRecord(i) ? i["name"] : i).replace(/:0$/, ""));
    for (const name of [...names, ...this.#nodes.keys()]) if (this.#nodes.get(name)?.op === "Placeholder") this.#results(name);
    const outputs = (wanted ?? outputsOf(this.#nodes, signature)).map((name) => {
      const [node, result] = referenceOf(name);
      const value = this.#results(node)[result];
      if (value === undefined) throw this.#bad(`a model with the value ${name}`, "none of that name");
      return { name, value };
    });
    return this.#b.finish(outputs, {});
  }

  #bad(expected: string, received: string): FormatError {
    return new FormatError(OPERATION, this.#source, expected, received);
  }

  /** Throws for operators that are not known, all at once. */
  #requireKnown(): void {
    const unknown = new Map<string, string[]>();
    for (const { name, op } of this.#nodes.values())
      if (!Object.hasOwn(OPERATORS, op) && !["Placeholder", "Const", "NoOp"].includes(op))
        unknown.set(op, [...(unknown.get(op) ?? []), name]);
    if (unknown.size === 0) return;
    const text = [...unknown].map(([op, names]) => `${op} (${names.length}: ${names.slice(0, 3).join(", ")})`).join(", ");
    throw new UnsupportedError({
      operation: OPERATION,
      argument: this.#source,
      expected: "of operators that the reader has",
      received: text,
    });
  }

  /** The results of a node: those before it are made first, without recursion. */
  #results(target: string): readonly Value[] {
    const pending = [target];
    const open = new Set<string>();
    while (pending.length > 0) {
      const name = pending.at(-1)!;
      if (this.#made.has(name)) {
        pending.pop();
        continue;
      }
      const node = this.#nodes.get(name);
      if (node === undefined) throw this.#bad("with all nodes that it names", `none called ${name}`);
      const missing = node.inputs.filter(([input]) => !this.#made.has(input));
      if (missing.length > 0) {
        if (open.has(name)) throw this.#bad("nodes without a circle", `one through ${name}`);
        open.add(name);
        for (const [input] of missing) pending.push(input);
        continue;
      }
      this.#made.set(name, this.#run(node));
      pending.pop();
    }
    return this.#made.get(target)!;
  }

  #run(node: Node): readonly Value[] {
    const { name, op } = node;
    if (op === "Const") {
      const weight = this.#weights.get(name);
      if (weight === undefined) throw this.#bad("with the elements of all its constants", `none of ${name}`);
      return [this.#b.known(weight)];
    }
    const inputs = node.inputs.map(([input, result]) => {
      const value = this.#made.get(input)![result];
      if (value === undefined) throw this.#bad(`with a result ${result} of ${input}`, `${this.#made.get(input)!.length}`);
      return value;
    });
    const call = new NodeCall(this.#source, this.#b, node, inputs);
    if (op === "Placeholder") return [this.#b.input(name, call.dtype("dtype"), call.shape("shape"))];
    if (op === "NoOp") return [];
    const made = OPERATORS[op]!(call);
    return Array.isArray(made) ? (made as readonly Value[]) : [made as Value];
  }
}

/** The graph of a graph model. outputs: names of values that it gives; default: what the signature says. */
export function graphModel(
  source: string,
  topology: unknown,
  signature: unknown,
  weights: ReadonlyMap<string, Weight>,
  outputs: readonly string[] | undefined,
): ModelMessage {
  return new GraphModel(source, nodesOf(source, topology), weights).message(signature, outputs);
}
