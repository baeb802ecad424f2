/** One program for several sizes: it is made of a path with the sizes of a bucket, and called with padded arguments of smaller sizes. */
import type { Device } from "../core/device.ts";
import { DTYPES } from "../core/dtype.ts";
import type { NativeDevice } from "../runtime/devices.ts";
import { packedStrides } from "../core/shape.ts";
import type { Storage } from "../core/storage.ts";
import type { Constant, Event, Scalar } from "./log.ts";
import { Lowering } from "./path-graph.ts";
import type { Shapes } from "./geometry.ts";
import { Unpadded, sizeEvent, type Sized } from "./padded-graph.ts";
import { matchTraces, type InitialPair, type TraceMatch } from "./trace-matching.ts";
import { CompiledProgram, type ProgramOptions, type Values } from "./program.ts";

/** Byte ranges, three numbers each: offset in the smaller, offset in the larger, length. Null: all bytes. */
export type Pieces = Float64Array | null;

/** A path with what it begins with and what it gives. */
export interface Source {
  readonly path: readonly Event[];
  /** Storages of the arguments, in their order; null for those that are reached otherwise. */
  readonly begins: readonly (Storage | null)[];
  readonly outputs: readonly Storage[];
}

/** Maps tensors of a call's sizes to those of a program's. */
export interface BucketMapping {
  readonly match: TraceMatch;
  /** By argument. */
  readonly arguments: readonly Pieces[];
  readonly outputs: readonly { readonly contentInBytes: number; readonly pieces: Pieces }[];
  readonly scalars: readonly (readonly [Scalar, Scalar])[];
  readonly constants: readonly (readonly [Constant, Constant])[];
}

/** end: bytes that there are. */
function piecesOf({ large, small }: Shapes, bytes: number, end: number): Pieces {
  const last = large.findLastIndex((d, i) => d !== small[i]);
  if (last < 0) return null;
  const run = small.slice(last).reduce((a, b) => a * b, 1);
  const outer = small.slice(0, last);
  const rows = outer.reduce((a, b) => a * b, 1);
  const [steps, within] = [packedStrides(large), packedStrides(outer)];
  const pieces = new Float64Array(3 * rows);
  for (let row = 0; row < rows; row++) {
    let rest = row;
    let to = 0;
    within.forEach((s, i) => {
      const n = Math.floor(rest / s);
      rest -= n * s;
      to += n * steps[i]!;
    });
    // The last row of a view ends before its gap.
    pieces.set([row * run * bytes, to * bytes, Math.min(run * bytes, end - row * run * bytes)], 3 * row);
  }
  return pieces;
}

/** The bytes of the smaller, at their offsets in the larger. */
function spread(bytes: Uint8Array, shapes: Shapes, element: number): Uint8Array {
  const pieces = piecesOf(shapes, element, bytes.byteLength);
  if (pieces === null) return bytes;
  const all = new Uint8Array(shapes.large.reduce((a, b) => a * b, element));
  for (let i = 0; i < pieces.length; i += 3) all.set(bytes.subarray(pieces[i]!, pieces[i]! + pieces[i + 2]!), pieces[i + 1]!);
  return all;
}

export class Variant {
  /** With the path that showed which axes are padded. */
  readonly baseMatch: TraceMatch;
  readonly #source: Source;
  readonly #device: Device;
  readonly #sizes: readonly Scalar[];
  /** Of the program, in addition to the sizes. */
  #numbers: Sized["numbers"] = [];
  #program: CompiledProgram | null = null;
  /** Why there can be no program; null: there may be one. */
  refusal: string | null = null;

  /** baseMatch: of the source's path with a smaller one. */
  constructor(source: Source, baseMatch: TraceMatch, device: Device) {
    this.#source = source;
    this.baseMatch = baseMatch;
    this.#device = device;
    this.#sizes = baseMatch.axes.map((a) => sizeEvent(device, a.large));
    this.#vary(baseMatch);
  }

  /** How a smaller path maps to the program; a string says in what it differs. */
  match(small: Source, initial: readonly InitialPair[]): BucketMapping | string {
    const match = matchTraces(this.#source.path, small.path, initial, this.baseMatch);
    if (typeof match === "string") return match;
    const { outputs } = this.#source;
    if (outputs.length !== small.outputs.length || !outputs.every((s, i) => match.storages.get(s)?.small === small.outputs[i]))
      return "its results";
    if (this.#vary(match)) this.drop();
    const pieces = (s: Storage | null): Pieces => {
      const pair = s === null ? undefined : match.storages.get(s);
      return pair === undefined ? null : piecesOf(pair.shapes, pair.element, pair.small.contentInBytes);
    };
    const [scalars, constants]: [[Scalar, Scalar][], [Constant, Constant][]] = [[], []];
    for (const [a, b] of match.events)
      if (a.kind === "scalar") scalars.push([a, b as Scalar]);
      else if (a.kind === "constant") constants.push([a, b as Constant]);
    return {
      match,
      arguments: this.#source.begins.map(pieces),
      outputs: outputs.map((s, i) => ({ contentInBytes: small.outputs[i]!.contentInBytes, pieces: pieces(s) })),
      scalars,
      constants,
    };
  }

  /** What the program's numbers and data are, when those of the smaller path are these. */
  values(mapping: BucketMapping, smallValues: Values): Values {
    const values = new Map<Event, number | bigint | boolean | Uint8Array>();
    this.#sizes.forEach((e, i) => values.set(e, mapping.match.sizes[i]!));
    for (const { event, of } of this.#numbers) values.set(event, of(mapping.match));
    for (const [large, small] of mapping.scalars) if (large.varies) values.set(large, smallValues.get(small) ?? small.value);
    for (const [large, small] of mapping.constants) {
      const bytes = (smallValues.get(small) ?? small.bytes) as Uint8Array;
      values.set(large, spread(bytes, { large: large.shape, small: small.shape }, DTYPES[large.dtype].sizeInBytes));
    }
    return values;
  }

  /** Null: there is none, for what `refusal` says. */
  program(native: NativeDevice, options: ProgramOptions): CompiledProgram | null {
    if (this.#program !== null && this.#program.native === native) return this.#program;
    if (this.refusal !== null) return null;
    const { path, begins, outputs } = this.#source;
    const sized: Sized = { match: this.baseMatch, sizes: this.#sizes, device: this.#device, numbers: [] };
    const lowering = new Lowering(native, options.name, (storage) => begins.indexOf(storage), sized);
    let written: number[];
    try {
      lowering.add(path);
      written = lowering.finish(outputs);
    } catch (error) {
      if (!(error instanceof Unpadded)) throw error;
      this.refusal = error.message;
      return null;
    }
    this.#numbers = sized.numbers;
    this.#program = new CompiledProgram(
      native,
      { graph: lowering.graph, inputs: lowering.inputs, contents: outputs.map((s) => s.contentInBytes), written },
      options,
    );
    return this.#program;
  }

  /** The program, if it was made. */
  get made(): CompiledProgram | null {
    return this.#program;
  }

  drop(): void {
    this.#program?.dispose();
    this.#program = null;
  }

  /** Numbers that differ between sizes are inputs; whether there are new ones. */
  #vary(match: TraceMatch): boolean {
    const added = match.numbers.filter((e) => !e.varies);
    for (const e of added) e.varies = true;
    return added.length > 0;
  }
}
