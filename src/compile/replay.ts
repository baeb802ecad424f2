/** A program's recording: closed command lists over buffers of the program, into which arguments are copied, and out of which results are. */
import { DTYPES } from "../core/dtype.ts";
import { Storage, type Desc } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import { inPhase } from "../host/phases.ts";
import { allocate, withMemory } from "../runtime/buffers.ts";
import type { NativeDevice } from "../runtime/devices.ts";
import type { LoweredInput } from "./path-graph.ts";
import type { ProgramBuffers } from "./program-buffers.ts";
import type { BucketMapping, Pieces } from "./variant.ts";

/** The program's own copy of an argument, and which tensor was copied there last. */
export class ArgumentCopy {
  readonly slot: number;
  readonly index: number;
  readonly sizeInBytes: number;
  /** Whether the program writes to it. */
  readonly isWritten: boolean;
  #storage: WeakRef<Storage> | null = null;
  #desc: Desc | null = null;
  #offset = 0;
  #version = 0;

  constructor(slot: number, index: number, sizeInBytes: number, isWritten: boolean) {
    this.slot = slot;
    this.index = index;
    this.sizeInBytes = sizeInBytes;
    this.isWritten = isWritten;
  }

  holds(t: Tensor): boolean {
    return (
      this.#desc === t.desc && this.#offset === t.offset && this.#version === t.storage.version && this.#storage?.deref() === t.storage
    );
  }

  /** Whether the program can read the argument's own buffer, and write to it: a write takes all bytes of the buffer. */
  mayBind({ storage, offset, dtype }: Tensor): boolean {
    const start = offset === 0 ? 0 : offset * DTYPES[dtype].sizeInBytes;
    if (this.isWritten) return start === 0 && storage.sizeInBytes === this.sizeInBytes;
    return start % 16 === 0 && storage.sizeInBytes - start >= this.sizeInBytes;
  }

  remember(t: Tensor): void {
    this.#storage = new WeakRef(t.storage);
    this.#desc = t.desc;
    this.#offset = t.offset;
    this.#version = t.storage.version;
  }
}

const NO_COPIES = new Float64Array();

/** Closed lists of a recording. */
const LISTS = 3;
/**
 * Lists on hardware of a recording that was replayed `replays` times as it is: a third of them is submitted together, since a submission takes as long as some
 * 20 dispatches. `dispatches`: in all lists.
 */
const MANY_LISTS = { replays: 32, max: 15, dispatches: 480 };

/** Handles in the addon, which their owner releases. */
interface Handles {
  readonly program: number;
  recording: number;
}

/** The program that is replayed. */
export interface Replayed {
  readonly native: NativeDevice;
  readonly name: string;
  readonly dispatches: number;
  /** undefined leaves their number to the replay. */
  readonly lists: number | undefined;
  readonly handles: Handles;
  readonly buffers: ProgramBuffers;
  readonly inputs: readonly LoweredInput[];
  readonly arguments: readonly ArgumentCopy[];
  /** Arguments that it writes to. */
  readonly written: readonly number[];
  readonly stateInputs: readonly { readonly slot: number; readonly storage: Storage }[];
  /** Bytes of each output's buffer. */
  readonly outputBytes: readonly number[];
  /** Slot and bytes of each result: equal ones share a slot. */
  readonly outputs: readonly { readonly slot: number; readonly contentInBytes: number }[];
}

/** Recorded when it is first replayed, and again when the storage of a state was repointed from outside. */
export class Replay {
  readonly #of: Replayed;
  /** Of a recording that is new, and of one that was replayed often. */
  readonly #lists: number;
  readonly #manyLists: number;
  /** Of the recording. */
  #replays = 0;
  #recordedLists = 0;
  /** Buffer, offset and bytes of each output that is copied into a new storage; and the handles of these storages. */
  #resultCopies = new Float64Array();
  #results = new Float64Array();
  /** Handles that the recording was made with, by slot. */
  #recorded: number[] = [];
  /** Storage.repoints when the state's buffers were last compared with the recorded ones. */
  #seenRepoints = -1;
  /** Numbers of groups of steps behind which a part of the recording ends; and those of the present recording. */
  #cuts: readonly number[] = [];
  #recordedCuts: readonly number[] = [];

  constructor(of: Replayed) {
    this.#of = of;
    this.#lists = of.lists ?? LISTS;
    const affordable = Math.min(MANY_LISTS.max, Math.floor(MANY_LISTS.dispatches / of.dispatches));
    this.#manyLists = of.lists ?? (of.native.adapter.isHardware ? Math.max(LISTS, affordable) : LISTS);
  }

  /** From the next replay on, a part of the recording ends behind each of these numbers of groups. */
  cutAt(groups: readonly number[]): void {
    this.#cuts = groups;
  }

  /** The part of the present recording that ends with so many groups, or holds the last of them. */
  partUntil(groups: number): number {
    const part = this.#recordedCuts.findIndex((cut) => cut >= groups);
    return part < 0 ? this.#recordedCuts.length : part;
  }

  /** Replays over copies of those arguments that are not as they were at the last replay. mapping: of smaller sizes to the program's. */
  call(args: readonly Tensor[], mapping: BucketMapping | null): Storage[] {
    const { native, name, handles, buffers, outputs, arguments: copied } = this.#of;
    this.record();
    const stale = copied.filter((a) => !a.holds(args[a.index]!));
    const copies = stale.flatMap(({ slot, index, sizeInBytes }) => {
      const { storage, offset, dtype } = args[index]!;
      const from = offset * DTYPES[dtype].sizeInBytes;
      const to = buffers.handle(slot);
      const pieces = mapping?.arguments[index] ?? null;
      if (pieces !== null) return copiesOf(pieces, storage.handle, from, to);
      return [storage.handle, from, to, 0, Math.min(sizeInBytes, storage.sizeInBytes - from)];
    });
    const count = this.#results.length;
    const storages: Storage[] = [];
    let resultCopies = this.#resultCopies;
    for (let i = 0; i < count; i++) {
      const cut = mapping?.outputs[i];
      const pieces = cut?.pieces ?? null;
      // A contiguous result is cut by the copy out of the program; others are cut afterwards.
      const isOne = cut !== undefined && pieces !== null && pieces.length === 3;
      storages.push(new Storage(native.device, isOne ? cut.contentInBytes : outputs[i]!.contentInBytes));
      if (!isOne) continue;
      if (resultCopies === this.#resultCopies) resultCopies = this.#resultCopies.slice();
      resultCopies[3 * i + 2] = storages[i]!.sizeInBytes;
    }
    withMemory(name, () =>
      native.binding.replay(
        handles.recording,
        copies.length === 0 ? NO_COPIES : Float64Array.from(copies),
        resultCopies,
        storages,
        this.#results,
      ),
    );
    this.#replays++;
    for (let i = 0; i < count; i++) storages[i]!.handle = this.#results[i]!;
    for (const a of stale) a.remember(args[a.index]!);
    this.#writeBack(args, mapping);
    if (mapping === null) return storages;
    return storages.map((whole, i) => {
      const { contentInBytes, pieces } = mapping.outputs[i]!;
      if (pieces === null || pieces.length === 3) return whole;
      const part = allocate(native, contentInBytes, name);
      this.#cut(pieces, whole.handle, part.handle, 0);
      whole.retain();
      whole.release();
      return part;
    });
  }

  /** Copies what was written into arguments from the program's buffers. */
  #writeBack(args: readonly Tensor[], mapping: BucketMapping | null): void {
    const { native, name, buffers } = this.#of;
    const written = this.#of.arguments.filter((a) => a.isWritten);
    for (const { slot, index } of written) {
      const { storage, offset, desc } = args[index]!;
      const size = DTYPES[desc.dtype].sizeInBytes;
      const from = buffers.handle(slot);
      const pieces = mapping?.arguments[index] ?? null;
      if (pieces === null) withMemory(name, () => native.binding.copy(from, 0, storage.handle, offset * size, desc.extent * size));
      else this.#cut(pieces, from, storage.handle, offset * size);
    }
    noteWritten(this.#of.written, args);
    // The copies hold what was written.
    if (mapping === null) for (const a of written) a.remember(args[a.index]!);
  }

  /** Copies pieces of a larger buffer to their offsets in the smaller. */
  #cut(pieces: Float64Array, large: number, small: number, start: number): void {
    for (let i = 0; i < pieces.length; i += 3)
      withMemory(this.#of.name, () => this.#of.native.binding.copy(large, pieces[i + 1]!, small, start + pieces[i]!, pieces[i + 2]!));
  }

  /** Buffers that only a replay needs: copies of the arguments, and results. */
  #makeCopies(): void {
    const { buffers, inputs, outputs, outputBytes } = this.#of;
    for (const { slot, sizeInBytes } of this.#of.arguments) buffers.allocate(slot, sizeInBytes);
    outputBytes.forEach((bytes, i) => buffers.allocate(inputs.length + i, bytes));
    this.#resultCopies = Float64Array.from(
      outputs.flatMap(({ slot, contentInBytes }) => [buffers.handle(slot), 0, Math.ceil(contentInBytes / 4) * 4]),
    );
    this.#results = new Float64Array(outputs.length);
  }

  /** Makes the recording, or makes it again when a state has another buffer than before. */
  record(): void {
    const { native, name, handles, buffers, inputs, stateInputs } = this.#of;
    if (handles.recording !== 0) {
      const isReady = this.#recordedCuts === this.#cuts && (this.#replays < MANY_LISTS.replays || this.#recordedLists === this.#manyLists);
      if (isReady && this.#seenRepoints === Storage.repoints) return;
      this.#seenRepoints = Storage.repoints;
      const isSame = stateInputs.every(({ slot, storage }) => this.#recorded[slot] === storage.handle);
      if (isReady && isSame) return;
      if (!isSame) this.#replays = 0;
    }
    const lists = this.#replays < MANY_LISTS.replays ? this.#lists : this.#manyLists;
    if (handles.recording === 0) this.#makeCopies();
    else native.binding.releaseRecording(handles.recording);
    handles.recording = 0;
    this.#recorded = Array.from({ length: buffers.slots }, (_, slot) => {
      const source = inputs[slot]?.source;
      return source?.kind === "state" ? source.storage.handle : buffers.handle(slot);
    });
    const slots = new Float64Array(2 * this.#recorded.length);
    this.#recorded.forEach((handle, i) => {
      slots[2 * i] = handle;
    });
    const cuts = this.#cuts.length === 0 ? undefined : Float64Array.from(this.#cuts);
    handles.recording = inPhase("record", () => withMemory(name, () => native.binding.record(handles.program, slots, lists, cuts)));
    this.#recordedCuts = this.#cuts;
    this.#recordedLists = lists;
  }
}

/** Notes that a call wrote to these arguments. */
export function noteWritten(written: readonly number[], args: readonly Tensor[]): void {
  for (const index of written) {
    const { storage, offset, desc } = args[index]!;
    storage.wrote(offset, offset + desc.extent);
  }
}

/** The copies that put pieces into something larger. */
function copiesOf(pieces: NonNullable<Pieces>, from: number, start: number, to: number): number[] {
  const copies: number[] = [];
  for (let i = 0; i < pieces.length; i += 3) copies.push(from, start + pieces[i]!, to, pieces[i + 1]!, pieces[i + 2]!);
  return copies;
}
