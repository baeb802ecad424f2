/** Removes flat JOINs whose inputs can be written directly into the output. */
import { DTYPES } from "../core/dtype.ts";
import { sizeOf } from "../core/shape.ts";
import { isWhole, type Graph, type GraphNode, type Value } from "./graph.ts";

export interface FlatJoins {
  /** The output and the offset that each piece is written to. */
  readonly inside: ReadonlyMap<Value, { readonly whole: Value; readonly offset: number }>;
  readonly gone: ReadonlySet<GraphNode>;
  /** Constant pieces: their bytes are written once, and nothing else uses their range. */
  readonly presets: readonly { readonly whole: Value; readonly offset: number; readonly bytes: Uint8Array }[];
}

/**
 * Pieces of flat JOINs that their nodes can write directly into the output, so that the JOIN is removed. direct: the state buffers that values are
 * written to in place. No node may read such a buffer: a piece is written before all reads, and may be a slice of the buffer itself.
 */
export function flatJoins(graph: Graph, taken: ReadonlySet<Value>, direct: ReadonlyMap<Value, Value>): FlatJoins {
  const read = new Set(graph.nodes.flatMap((node) => node.inputs.map((x) => x?.value)));
  const inside = new Map<Value, { whole: Value; offset: number }>();
  const gone = new Set<GraphNode>();
  const presets: { whole: Value; offset: number; bytes: Uint8Array }[] = [];
  const made = new Map<Value, GraphNode>();
  for (const node of graph.nodes) for (const x of node.outputs) if (x !== null) made.set(x.value, node);
  for (const node of graph.nodes) {
    if (node.operator !== "JOIN") continue;
    const out = node.outputs[0]!;
    const axis = Number(node.attributes.axis);
    if (out.sizes.some((d, i) => i < axis && d !== 1)) continue;
    const buffer = direct.get(out.value);
    if (buffer !== undefined && read.has(buffer)) continue;
    const pieces = new Set<Value>();
    let offset = 0;
    const offsets: [Value, number][] = [];
    const still: { whole: Value; offset: number; bytes: Uint8Array }[] = [];
    const isMovable = node.inputs.every((x, i) => {
      const at = offset;
      offset += sizeOf(x!.sizes) * DTYPES[x!.dtype].sizeInBytes;
      // A value takes whole words: only the last piece may end inside a word.
      if (offset % 4 !== 0 && i + 1 < node.inputs.length) return false;
      const bytes = graph.constants.get(x!.value);
      if (bytes !== undefined) {
        still.push({ whole: out.value, offset: at, bytes });
        return isWhole(x!) && !taken.has(out.value);
      }
      offsets.push([x!.value, at]);
      const isNew =
        !pieces.has(x!.value) && !inside.has(x!.value) && !taken.has(x!.value) && made.has(x!.value) && !gone.has(made.get(x!.value)!);
      pieces.add(x!.value);
      return isNew && isWhole(x!) && at % 16 === 0;
    });
    if (!isMovable || Math.ceil(offset / 4) * 4 !== out.value.sizeInBytes) continue;
    for (const [value, at] of offsets) inside.set(value, { whole: out.value, offset: at });
    presets.push(...still);
    gone.add(node);
  }
  return { inside, gone, presets };
}
