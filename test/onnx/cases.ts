/** ONNX's own node tests, as record.py writes them. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import {
  readModel,
  readTensorMessage,
  type GraphMessage,
  type ModelMessage,
  type TensorMessage,
  type TypeMessage,
} from "../../src/onnx/format/proto.ts";

export const archive = join(dirname(fileURLToPath(import.meta.url)), "cases.jsonl.gz");

/** A TensorProto, a sequence, or nothing. */
export type Recorded = TensorMessage | readonly Recorded[] | null;
export interface Case {
  readonly name: string;
  readonly rtol: number;
  readonly atol: number;
  readonly bytes: Uint8Array;
  readonly model: ModelMessage;
  readonly sets: readonly { readonly inputs: readonly Recorded[]; readonly outputs: readonly Recorded[] }[];
}

type Stored = number | readonly Stored[] | null;
interface Line {
  readonly name: string;
  readonly rtol: number;
  readonly atol: number;
  readonly model: string;
  readonly sets: readonly { readonly inputs: readonly Stored[]; readonly outputs: readonly Stored[] }[];
}

export function readCases(file: string): Case[] {
  const [first, ...lines] = gunzipSync(readFileSync(file)).toString("utf8").trimEnd().split("\n");
  const tensors = (JSON.parse(first!) as string[]).map((t) => readTensorMessage(Buffer.from(t, "base64")));
  const value = (v: Stored): Recorded => (v === null ? null : typeof v === "number" ? tensors[v]! : v.map(value));
  return lines.map((line) => {
    const { model, sets, ...rest } = JSON.parse(line) as Line;
    const bytes = Buffer.from(model, "base64");
    return {
      ...rest,
      bytes,
      model: readModel(bytes),
      sets: sets.map((s) => ({ inputs: s.inputs.map(value), outputs: s.outputs.map(value) })),
    };
  });
}

/** FNV-1a, 32 bits, of a name's UTF-8 bytes. */
export function hashOf(name: string): number {
  let h = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(name)) h = Math.imul(h ^ byte, 0x01000193) >>> 0;
  return h;
}

/** Every kind and element type of a model: its inputs, outputs, initializers and constants, those of inner graphs too. */
export function* typesOf(graph: GraphMessage): Generator<{ readonly kind: string; readonly type: number }> {
  for (const { type } of [...graph.inputs, ...graph.outputs]) yield* typesIn(type);
  for (const t of graph.initializers) yield { kind: "tensor", type: t.dataType };
  for (const node of graph.nodes)
    for (const a of node.attributes) {
      if (a.name === "to" && /^Cast$/.test(node.type)) yield { kind: "tensor", type: Number(a.i) };
      if (a.t !== null) yield { kind: "tensor", type: a.t.dataType };
      if (a.g !== null) yield* typesOf(a.g);
    }
}

function* typesIn(t: TypeMessage | null): Generator<{ readonly kind: string; readonly type: number }> {
  if (t === null) return;
  if (t.kind === "tensor") yield { kind: "tensor", type: t.elementType };
  else yield { kind: t.kind, type: 0 };
  yield* typesIn(t.element);
}
