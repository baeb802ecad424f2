/** The shader of a region of elementwise nodes: each thread computes adjacent elements of every output. */
import type { DType } from "../../../core/dtype.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { BufferElements } from "../../../shader/language.ts";
import type { Float, Uint } from "../../../shader/numbers.ts";
import { asUint, ELEMENT_OF, isByte, literal, roundedToHalf, type Code } from "../../../shader/operations/code.ts";
import { readingOf } from "../../../shader/operations/table.ts";
import type { Expr, GraphNode } from "../../graph.ts";
import { accessOf, isIdentity, type Axis } from "./access.ts";
import { isUniform, keyOfLanes, laneOf, mapLanes, type AnyScope, type Lanes } from "./lanes.ts";
import { sameAccess } from "./reduced-axes.ts";
import { constantOf, insideMaker, sourceIndex, type Facts, type Region } from "./region.ts";

type Numbers = BufferElements<"f32">;

export const inputName = (i: number): string => `x${i}`;
export const outputName = (i: number): string => `y${i}`;

/** The number of the launch that roundedToHalf() needs. */
export const HALF_BITS = "halfBits";
export const halfBits = (s: AnyScope): Uint | null => (s.params as { readonly [name: string]: Uint | undefined })[HALF_BITS] ?? null;

/** A region with the names of its buffers in the launch. */
export interface NamedRegion extends Region {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
}

/** Elements of one access to memory. */
const widestOf = (dtype: DType): number => (dtype === "float16" ? 8 : 4);

/** How elements of a row read what there is once for each row, and the row. */
export interface RowLanes {
  readonly access: readonly Axis[];
  readonly lanes: Lanes;
}

/** Computes nodes at lanes; each once for the same lanes, in one block of the shader. */
export class RegionCode {
  readonly #s: AnyScope;
  readonly #region: NamedRegion;
  readonly #facts: Facts;
  readonly #inside: ReadonlySet<GraphNode>;
  readonly #width: number;
  readonly #rows: RowLanes | null;
  /** Of the open blocks, innermost last. */
  readonly #known: Map<string, readonly Code[]>[] = [new Map()];

  constructor(s: AnyScope, region: NamedRegion, facts: Facts, width: number, rows: RowLanes | null = null) {
    this.#s = s;
    this.#region = region;
    this.#facts = facts;
    this.#inside = new Set(region.nodes);
    this.#width = width;
    this.#rows = rows;
  }

  /** What fn computes is known inside of it only: it fills a block of the shader. */
  inBlock<T>(fn: () => T): T {
    this.#known.push(new Map());
    const result = fn();
    this.#known.pop();
    return result;
  }

  /** A node's elements that were computed elsewhere. */
  define(node: GraphNode, lanes: Lanes, values: readonly Code[]): void {
    this.#known.at(-1)!.set(keyOfNode(node, lanes), values);
  }

  #buffer(name: string): Numbers {
    return (this.#s.buffers as { readonly [name: string]: unknown })[name] as Numbers;
  }

  #once(key: string, make: () => readonly Code[]): readonly Code[] {
    for (const known of this.#known) {
      const values = known.get(key);
      if (values !== undefined) return values;
    }
    const values = make();
    this.#known.at(-1)!.set(key, values);
    return values;
  }

  /** A node's elements: one for each lane, or one that all lanes share. */
  node(node: GraphNode, lanes: Lanes): readonly Code[] {
    return this.#once(keyOfNode(node, lanes), () => {
      const made = this.#computed(node, lanes);
      if (node.outputs[0]!.dtype !== "float16") return made;
      // As it would be in memory: compensated sums depend on it.
      return made.map((x) => roundedToHalf(x as Float, halfBits(this.#s)));
    });
  }

  #computed(node: GraphNode, lanes: Lanes): readonly Code[] {
    const { code } = readingOf(node)!;
    const count = isUniform(lanes) ? 1 : this.#width;
    if ("indexed" in code)
      return Array.from({ length: count }, (_, k) => {
        const index = laneOf(lanes, k);
        const load = (input: number, offset: Uint): Code => this.#element(node.inputs[input]!, offset);
        return code.indexed(this.#s, { index, load }, node);
      });
    const inputs = node.inputs.map((x) => this.read(x!, lanes));
    const each = Math.max(1, ...inputs.map((x) => x.length));
    return Array.from({ length: each }, (_, k) => code.element(this.#s, inputs.map((x) => x[x.length === 1 ? 0 : k]!), node)); // prettier-ignore
  }

  /** The elements of an expression at lanes of its reader. */
  read(x: Expr, lanes: Lanes): readonly Code[] {
    const constant = constantOf(x, this.#facts);
    if (constant !== null) return [literal(this.#s, x.dtype, constant)];
    const access = accessOf(x);
    if (this.#rows !== null && lanes.kind === "run" && lanes.grid !== undefined) {
      if (access.offset === 0 && sameAccess(access.axes, this.#rows.access)) return this.#at(x, this.#rows.lanes);
      // Its own index, with the coordinates.
      if (isIdentity(access)) return this.#at(x, lanes);
    }
    return this.#at(x, mapLanes(this.#s, access, lanes, this.#width));
  }

  /** An element of an expression, so many elements behind its first. */
  #element(x: Expr, offset: Uint): Code {
    const constant = constantOf(x, this.#facts);
    if (constant !== null) return literal(this.#s, x.dtype, constant);
    const base = offset.add(accessOf(x).offset);
    return this.#at(x, { kind: "run", base, step: 0, alignment: 1 })[0]!;
  }

  /** At lanes of the value that an expression shows. */
  #at(x: Expr, lanes: Lanes): readonly Code[] {
    const maker = insideMaker(x, this.#inside, this.#facts);
    if (maker !== null) return this.node(maker, lanes);
    const source = sourceIndex(this.#region, x);
    return this.#once(`u${source}@${keyOfLanes(lanes)}`, () => this.#load(this.#buffer(this.#region.inputNames[source]!), x.dtype, lanes));
  }

  #load(from: Numbers, dtype: DType, lanes: Lanes): readonly Code[] {
    const width = this.#width;
    if (isUniform(lanes)) return [loadOne(from, dtype, laneOf(lanes, 0))];
    const isWide = lanes.kind === "run" && lanes.step === 1 && width > 1 && lanes.alignment >= width;
    if (isWide && (!isByte(dtype) || width % 4 === 0)) {
      if (isByte(dtype)) return loadBytes(from, lanes.base, width);
      const each = Math.min(width, widestOf(dtype));
      return Array.from({ length: width / each }, (_, i) => from.loadsInside(lanes.base.add(i * each), each)).flat();
    }
    return Array.from({ length: width }, (_, k) => loadOne(from, dtype, laneOf(lanes, k)));
  }

  /** Writes elements of an output from `at` on, a multiple of their number. */
  store(index: number, dtype: DType, at: Uint, values: readonly Code[]): void {
    const width = this.#width;
    const all = Array.from({ length: width }, (_, k) => values[values.length === 1 ? 0 : k]!);
    const to = this.#buffer(this.#region.outputNames[index]!);
    if (isByte(dtype)) {
      for (let i = 0; i < width; i += 4)
        (to as unknown as BufferElements<"u32">).storesInside(at.add(i).div(4), [packed(all.slice(i, i + 4))]);
      return;
    }
    const each = Math.min(width, widestOf(dtype));
    for (let i = 0; i < width; i += each) to.storesInside(at.add(i), all.slice(i, i + each) as never);
  }

  /** Writes one element, of no byte; other threads may write its neighbours. */
  storeOne(index: number, at: Uint, value: Code): void {
    this.#buffer(this.#region.outputNames[index]!).storesInside(at, [value as never]);
  }
}

const keyOfNode = (node: GraphNode, lanes: Lanes): string => `${node.outputs[0]!.value.id}@${keyOfLanes(lanes)}`;

function loadOne(from: Numbers, dtype: DType, at: Uint): Code {
  if (!isByte(dtype)) return from.loadsInside(at, 1)[0]!;
  const word = from.loadsInside(at.shiftRight(2), 1)[0] as unknown as Uint;
  return word.shiftRight(at.and(3).shiftLeft(3)).and(255);
}

function loadBytes(from: Numbers, base: Uint, width: number): Code[] {
  return Array.from({ length: width / 4 }, (_, i) => from.loadsInside(base.add(4 * i).shiftRight(2), 1)[0] as unknown as Uint).flatMap(
    (word) => [0, 8, 16, 24].map((shift) => (shift === 24 ? word.shiftRight(24) : word.shiftRight(shift).and(255))),
  );
}

const packed = (bytes: readonly Code[]): Uint => bytes.map(asUint).reduce((word, x, i) => word.or(x.shiftLeft(8 * i)));

/** Elements of a buffer, as the shader counts them: words of bytes, pairs of float16. */
export function countOf({ dtype, sizes }: Expr): number {
  const n = sizeOf(sizes);
  if (isByte(dtype)) return Math.ceil(n / 4);
  return dtype === "float16" ? 2 * Math.ceil(n / 2) : n;
}

export const elementOf = (dtype: DType) => ELEMENT_OF[dtype]!;
