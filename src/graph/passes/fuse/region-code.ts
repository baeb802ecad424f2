/** The shader of a region of elementwise nodes: each thread computes adjacent elements of every output. */
import type { DType } from "../../../core/dtype.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { BufferElements } from "../../../shader/language.ts";
import type { Float, Uint } from "../../../shader/numbers.ts";
import {
  asUint,
  choose,
  ELEMENT_OF,
  isByte,
  literal,
  roundedToHalf,
  type Code,
  type Gathered,
  type Terms,
} from "../../../shader/operations/code.ts";
import { BLOCK_WORDS, givesState, skippedBlocks, STATE_WORDS, stateBehind, wordsOf } from "../../../shader/operations/draws.ts";
import { offsetOf } from "../../../shader/operations/gathers.ts";
import { readingOf, scatteredBy } from "../../../shader/operations/table.ts";
import type { Expr, GraphNode } from "../../graph.ts";
import { accessOf, isIdentity, type Axis } from "./access.ts";
import { replacedElements, summedElements, targetsOf, type Target } from "./index-code.ts";
import { isUniform, keyOfLanes, laneOf, mapLanes, type AnyScope, type Lanes, type Start } from "./lanes.ts";
import { offsetIndex, type Offset } from "./offsets.ts";
import { sameAccess } from "./reduced-axes.ts";
import { originalOf } from "./drawn-elements.ts";
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
  /** Default: none. */
  readonly offsets?: readonly NamedOffset[];
  /** Numbers of the launch: by how many blocks the draws of the region begin behind their state. */
  readonly skips: ReadonlyMap<number, Uint>;
}

/** An offset with its name among the launch's numbers, which counts it in elements of its alignment. */
export interface NamedOffset extends Offset {
  readonly name: string;
}

/** Elements of one access to memory. */
const widestOf = (dtype: DType): number => (dtype === "float16" ? 8 : 4);

/** How elements of a row read what there is once for each row, and the row. */
export interface RowLanes {
  readonly access: readonly Axis[];
  readonly lanes: Lanes;
}

/** What a thread writes of an output. */
interface Result {
  readonly values: readonly Code[];
  /** Of what is written by index: of each element, or of the first of adjacent ones. Null: at the thread's own index. */
  readonly targets: readonly Target[] | null;
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
    if ("terms" in code) return this.#product(code.terms(node), lanes, count);
    if ("replaced" in code) return replacedElements(this.#s, this, code.replaced(node), lanes, count);
    if ("summed" in code) return summedElements(this.#s, this, code.summed(node), lanes, count);
    if ("gathered" in code) return this.#gathered(code.gathered(node), lanes, count);
    if ("scattered" in code) throw new Error(`fuse: ${node.origin} reads a tensor that its region writes`);
    if ("draws" in code) return this.#drawn(node, lanes, count);
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

  /** Sums of the terms, in their order. */
  #product({ count, operands, addend, finish }: Terms, lanes: Lanes, width: number): readonly Code[] {
    const s = this.#s;
    const added = addend === null ? null : (this.read(addend, lanes) as readonly Float[]);
    const step = stepOf(count);
    const factors = operands.map(({ first, stride }) => {
      const constant = constantOf(first, this.#facts);
      if (constant !== null) {
        const same = [literal(s, "float32", constant) as Float];
        return (): Float[][] => Array.from({ length: step }, () => same);
      }
      const from = this.#buffer(this.#region.inputNames[sourceIndex(this.#region, first)]!);
      const access = accessOf(first);
      const at = mapLanes(s, access, lanes, this.#width);
      const isWide = stride === 1 && step % 4 === 0 && access.offset % 4 === 0 && access.axes.every((a) => a.stride % 4 === 0);
      return (k: Uint): Float[][] => termsAt(from, at, k, { stride, step, isWide }, width);
    });
    const sums = Array.from({ length: width }, () => s.variable(s.f32(0)));
    const sum = (k: Uint): void => {
      const [a, b] = factors.map((terms) => terms(k)) as [Float[][], Float[][]];
      for (let i = 0; i < step; i++)
        sums.forEach((total, lane) => (total.value = laneIn(a[i]!, lane).fma(laneIn(b[i]!, lane), total.value)));
    };
    s.for(0, count, sum, { step, unroll: count <= MAX_UNROLLED });
    return sums.map((total, lane) => finish(s, total.value, added === null ? null : laneIn(added, lane)));
  }

  /** A generator's state where the node's blocks begin. */
  #stateOf(node: GraphNode): readonly Uint[] {
    const [skipped, x] = [skippedBlocks(node), node.inputs[0]!];
    const state = Array.from({ length: STATE_WORDS }, (_, k) => this.#element(x, this.#s.u32(k)) as Uint);
    return skipped === 0 ? state : stateBehind(state, this.#region.skips.get(skipped)!);
  }

  /** Words of a generator: adjacent ones are of one block. */
  #drawn(node: GraphNode, lanes: Lanes, width: number): readonly Code[] {
    const s = this.#s;
    const state = this.#stateOf(node);
    if (givesState(node)) {
      if (lanes.kind === "run" && lanes.step === 1 && width === STATE_WORDS) return state;
      return Array.from({ length: width }, (_, k) => wordAt(state, laneOf(lanes, k)));
    }
    if (lanes.kind === "run" && lanes.step === 1 && width % BLOCK_WORDS === 0 && lanes.alignment % BLOCK_WORDS === 0) {
      const first = lanes.base.div(BLOCK_WORDS);
      return Array.from({ length: width / BLOCK_WORDS }, (_, i) => wordsOf(s, state, first.add(i))).flat();
    }
    return Array.from({ length: width }, (_, k) => {
      const index = laneOf(lanes, k);
      return wordAt(wordsOf(s, state, index.div(BLOCK_WORDS)), index.mod(BLOCK_WORDS));
    });
  }

  /** Adjacent elements with the same indices are one access. */
  #gathered({ source, last, tuple }: Gathered, lanes: Lanes, width: number): readonly Code[] {
    const s = this.#s;
    const words = tuple.map((index) => index.words.map((x) => this.read(x, lanes)));
    const { offset: start } = accessOf(source);
    const from = mapLanes(s, { ...accessOf(source), offset: 0 }, lanes, this.#width);
    const at = (k: number) => {
      const parts = tuple.map(({ size, stride }, i) =>
        offsetOf(
          words[i]!.map((x) => x[x.length === 1 ? 0 : k]!),
          size,
          stride,
          tuple.length,
        ),
      );
      return {
        offset: parts.reduce((sum, part) => sum.add(part.offset), s.u32(0)),
        inside: parts.map((part) => part.inside).reduce((a, b) => a.and(b)),
      };
    };
    const constant = constantOf(source, this.#facts);
    const found = (base: Uint, step: number, alignment: number): readonly Code[] =>
      constant === null ? this.#at(source, { kind: "run", base, step, alignment }) : [literal(s, source.dtype, constant)];
    const zero = literal(s, source.dtype, 0);
    if (isUniform(lanes) || words.every((list) => list.every((x) => x.length === 1))) {
      const { offset, inside } = at(0);
      const step = from.kind === "run" ? from.step : null;
      // All lanes are in the tensor, or none is.
      const isTogether = width === 1 || step === 0 || (step === 1 && from.kind === "run" && from.alignment % width === 0 && tuple.every(({ stride }) => stride % width === 0) && (last + 1) % width === 0); // prettier-ignore
      if (from.kind === "run" && isTogether) {
        const address = from.base.add(offset);
        const isThere = inside.and(address.le(last));
        const base = isThere.select(address, 0).add(start);
        const values = found(base, width === 1 ? 0 : step!, start % width === 0 ? width : 1);
        return values.map((x) => choose(isThere, x, zero));
      }
    }
    return Array.from({ length: width }, (_, k) => {
      const { offset, inside } = at(k);
      const address = laneOf(from, k).add(offset);
      const isThere = inside.and(address.le(last));
      return choose(isThere, found(isThere.select(address, 0).add(start), 0, 1)[0]!, zero);
    });
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
    return this.#at(x, mapLanes(this.#s, access, lanes, this.#width, this.#startOf(x)));
  }

  /** Null: its offset is part of the code. */
  #startOf(x: Expr): Start | null {
    const { offsets = [] } = this.#region;
    if (offsets.length === 0 || insideMaker(x, this.#inside, this.#facts) !== null) return null;
    const of = offsets[offsetIndex(this.#region, offsets, x)];
    if (of === undefined) return null;
    const { [of.name]: number } = this.#s.params as { readonly [name: string]: Uint };
    return { at: number!.mul(of.alignment), alignment: of.alignment };
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

  /** What a thread writes of a node's elements at lanes. */
  result(node: GraphNode, lanes: Lanes): Result {
    const scattered = scatteredBy(node);
    if (scattered === null) return { values: this.node(node, lanes), targets: null };
    return { values: this.read(scattered.updates, lanes), targets: targetsOf(this.#s, this, scattered, lanes, this.#width) };
  }

  /** Writes what was computed at lanes from `at` on. last: as store() has it. */
  write(index: number, dtype: DType, at: Uint, { values, targets }: Result, last: Uint | null = null): void {
    if (targets === null) return void this.store(index, dtype, at, values, last);
    const [first] = targets;
    if (targets.length === 1) return void this.#s.if(first!.isWritten, () => this.store(index, dtype, first!.at, values));
    targets.forEach(({ at: to, isWritten }, k) =>
      this.#s.if(isWritten, () => this.storeOne(index, to, values[values.length === 1 ? 0 : k]!)),
    );
  }

  /** Writes one element that was computed, of no byte. */
  writeOne(index: number, at: Uint, { values, targets }: Result): void {
    if (targets === null) this.storeOne(index, at, values[0]!);
    else this.#s.if(targets[0]!.isWritten, () => this.storeOne(index, targets[0]!.at, values[0]!));
  }

  /** Writes elements of an output from `at` on, a multiple of their number; where `last` is given, none behind the word of that one. */
  store(index: number, dtype: DType, at: Uint, values: readonly Code[], last: Uint | null = null): void {
    const width = this.#width;
    const all = Array.from({ length: width }, (_, k) => values[values.length === 1 ? 0 : k]!);
    const to = this.#buffer(this.#region.outputNames[index]!);
    if (isByte(dtype)) {
      for (let i = 0; i < width; i += 4)
        (to as unknown as BufferElements<"u32">).storesInside(at.add(i).div(4), [packed(all.slice(i, i + 4))]);
      return;
    }
    if (last !== null) {
      const word = dtype === "float16" ? 2 : 1;
      for (let i = 0; i < width; i += word)
        this.#s.if(at.add(i).le(last), () => to.storesInside(at.add(i), all.slice(i, i + word) as never));
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

/** Terms of a product that are written out, and those of one step of a loop over more. */
const [MAX_UNROLLED, MAX_STEP] = [16, 8];

/** Terms of one step, a divisor of their number. */
function stepOf(count: number): number {
  for (let step = Math.min(count, MAX_STEP); ; step--) if (count % step === 0) return step;
}

const wordAt = (words: readonly Uint[], at: Uint): Uint =>
  words.slice(1).reduce((found, word, i) => at.eq(i + 1).select(word, found), words[0]!);

/** Of all lanes, or the one that they share. */
const laneIn = (values: readonly Float[], lane: number): Float => values[values.length === 1 ? 0 : lane]!;

interface Steps {
  /** Elements between two terms. */
  readonly stride: number;
  /** Terms. */
  readonly step: number;
  /** Whether four adjacent ones are one access. */
  readonly isWide: boolean;
}

/** A factor of so many terms from the k-th on, each for all lanes or for one that they share. at: lanes of the first term. */
function termsAt(from: Numbers, at: Lanes, k: Uint, { stride, step, isWide }: Steps, width: number): Float[][] {
  const ofTerm = (base: Uint, i: number): Uint => base.add(k.add(i).mul(stride >>> 0));
  const isAcross = at.kind === "run" && at.step === 1 && width === 4 && at.alignment % 4 === 0 && stride % 4 === 0;
  if (isAcross) return Array.from({ length: step }, (_, i) => from.loadsInside(ofTerm(at.base, i), 4));
  const each = Array.from({ length: isUniform(at) ? 1 : width }, (_, lane) => {
    const base = laneOf(at, lane);
    const count = isWide ? 4 : 1;
    return Array.from({ length: step / count }, (_, i) => from.loadsInside(ofTerm(base, count * i), count)).flat();
  });
  return Array.from({ length: step }, (_, i) => each.map((terms) => terms[i]!));
}

const keyOfNode = (node: GraphNode, lanes: Lanes): string => `${originalOf(node.outputs[0]!.value).id}@${keyOfLanes(lanes)}`;

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
