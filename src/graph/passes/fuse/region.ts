/** A region: nodes that become one launch, with what it reads and writes. */
import { DTYPES, type DType } from "../../../core/dtype.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { Element } from "../../../shader/ir.ts";
import { ELEMENT_OF, isByte } from "../../../shader/operations/code.ts";
import { gathers, readingOf, replacedBy, scatteredBy, summedBy } from "../../../shader/operations/table.ts";
import { isWhole, type Expr, type GraphNode, type Value } from "../../graph.ts";
import { accessOf, isIdentity, isOne, lastOf, type Access } from "./access.ts";

/** What is known of a graph when regions are formed. */
export interface Facts {
  /** Bytes of values that never change. */
  readonly constants: ReadonlyMap<Value, Uint8Array>;
  readonly makers: ReadonlyMap<Value, GraphNode>;
  readonly readers: ReadonlyMap<Value, readonly GraphNode[]>;
  /** Results of the program, and new values of state. */
  readonly results: ReadonlySet<Value>;
  /** Results of the program. */
  readonly returned: ReadonlySet<Value>;
  /** The buffers that new values of state are written to. */
  readonly states: ReadonlyMap<Value, Value>;
  /** Buffers of a launch. */
  readonly maxBuffers: number;
  /** As Capabilities has it. */
  readonly roundsHalf: () => boolean;
  /** What constantOf() has found. */
  readonly numbers?: Map<Expr, number | null>;
}

/** A buffer that is read: a value as elements of one kind. */
export interface Source {
  readonly value: Value;
  readonly element: Element;
  readonly dtype: DType;
  /** Whether it is not read, but written in part. */
  readonly isUpdated?: boolean;
}

export interface Region {
  /** In the graph's order. */
  readonly nodes: readonly GraphNode[];
  readonly sources: readonly Source[];
  /** What others read of it: each node's output. */
  readonly outputs: readonly Expr[];
}

/** Words that a buffer may have for a shader where Direct3D runs over Vulkan, in bytes. */
const MAX_BYTES = 2 ** 29;

const NUMBERS_OF: { readonly [K in DType]?: (view: DataView, at: number) => number } = {
  float32: (view, at) => view.getFloat32(at, true),
  int32: (view, at) => view.getInt32(at, true),
  uint32: (view, at) => view.getUint32(at, true),
  uint8: (view, at) => view.getUint8(at),
  bool: (view, at) => view.getUint8(at),
};

/** Bytes of constants that are looked through for one number. */
const MAX_CONSTANT = 1024;

/** The one number that all elements of an expression are, where that is known. */
export function constantOf(x: Expr, facts: Pick<Facts, "constants" | "makers" | "numbers">): number | null {
  let number = facts.numbers?.get(x);
  if (number === undefined) {
    number = numberOf(x, facts);
    facts.numbers?.set(x, number);
  }
  return number;
}

function numberOf(x: Expr, { constants, makers }: Pick<Facts, "constants" | "makers">): number | null {
  const maker = makers.get(x.value);
  if (maker !== undefined) return sameKind(maker.outputs[0]!.dtype, x.dtype) ? (readingOf(maker)?.constant?.(maker) ?? null) : null;
  const [bytes, read] = [constants.get(x.value), NUMBERS_OF[x.dtype]];
  if (bytes === undefined || read === undefined || bytes.byteLength > MAX_CONSTANT) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = DTYPES[x.dtype].sizeInBytes;
  const [access, count] = [accessOf(x), Math.floor(bytes.byteLength / size)];
  const first = access.offset < count ? read(view, access.offset * size) : null;
  if (first === null || isOne(access)) return first;
  for (let i = 0; i < count; i++) if (!Object.is(read(view, i * size), first)) return null;
  return lastOf(access) < count ? first : null;
}

/** Whether an expression may be read by a shader: its own elements of its value, or nothing at all. */
export const isReadable = (x: Expr): boolean =>
  ELEMENT_OF[x.dtype] !== undefined && x.value.sizeInBytes <= MAX_BYTES && x.byteOffset % DTYPES[x.dtype].sizeInBytes === 0;

/** Whether a node's output may be written by a shader. */
export const isWritable = (x: Expr): boolean => isReadable(x) && isWhole(x) && sizeOf(x.sizes) > 0;

const sameKind = (a: DType, b: DType): boolean => a === b || (isByte(a) && isByte(b));

/** The node inside whose output an expression shows, as it was computed; null: it is read from memory. */
export function insideMaker(x: Expr, inside: ReadonlySet<GraphNode>, facts: Facts): GraphNode | null {
  const maker = facts.makers.get(x.value);
  return maker !== undefined && inside.has(maker) && sameKind(maker.outputs[0]!.dtype, x.dtype) ? maker : null;
}

/** Null: an expression shows a node's output as numbers of another kind, for which it has to be in memory. */
export function regionOf(nodes: readonly GraphNode[], facts: Facts): Region | null {
  const inside = new Set(nodes);
  const sources: Source[] = [];
  for (const node of nodes)
    for (const [i, x] of node.inputs.entries()) {
      if (i === 0 && scatteredBy(node) !== null) {
        sources.push({ value: x!.value, element: ELEMENT_OF[x!.dtype]!, dtype: x!.dtype, isUpdated: true });
        continue;
      }
      if (x === null || constantOf(x, facts) !== null || insideMaker(x, inside, facts) !== null) continue;
      const maker = facts.makers.get(x.value);
      if (maker !== undefined && inside.has(maker)) return null;
      const element = ELEMENT_OF[x.dtype]!;
      const known = sources.some((s) => s.value === x.value && s.element === element && isByte(s.dtype) === isByte(x.dtype));
      if (!known) sources.push({ value: x.value, element, dtype: x.dtype });
    }
  const outputs = nodes.flatMap((node) => {
    const out = node.outputs[0]!;
    const isRead = facts.results.has(out.value) || (facts.readers.get(out.value) ?? []).some((reader) => !inside.has(reader));
    return isRead ? [out] : [];
  });
  return { nodes, sources, outputs };
}

/** The index of the buffer that an expression is read from. */
export const sourceIndex = ({ sources }: Region, x: Expr): number =>
  sources.findIndex((s) => s.value === x.value && s.element === ELEMENT_OF[x.dtype] && isByte(s.dtype) === isByte(x.dtype));

/**
 * How often nodes are computed at other indices than those of their readers, one in another: each may compute all before it again. isShared: of
 * accesses, those to what threads have computed once for all of them.
 */
export function depthsOf(nodes: readonly GraphNode[], facts: Facts, isShared: (access: Access) => boolean): number {
  const inside = new Set(nodes);
  const depths = new Map<GraphNode, number>();
  let max = 0;
  for (const node of nodes) {
    let depth = 0;
    for (const [i, x] of node.inputs.entries()) {
      const maker = x === null ? null : insideMaker(x, inside, facts);
      if (maker === null) continue;
      const access: Access = accessOf(x!);
      const isOther =
        (i === 0 && gathers(node)) ||
        summedBy(node) !== null ||
        (i > 0 && replacedBy(node) !== null) ||
        !(isIdentity(access) || isOne(access) || isShared(access));
      depth = Math.max(depth, depths.get(maker)! + (isOther ? 1 : 0));
    }
    depths.set(node, depth);
    max = Math.max(max, depth);
  }
  return max;
}
