/** The buffers that a program owns: fixed inputs, numbers, the arena, and for a replay copies of arguments and results. */
import { allocate, withMemory } from "../runtime/buffers.ts";
import type { Storage } from "../core/storage.ts";
import type { NativeDevice } from "../runtime/devices.ts";

export class ProgramBuffers {
  readonly #native: NativeDevice;
  readonly #name: string;
  /** By slot; null for state, and for what no call has needed yet. */
  readonly #storages: (Storage | null)[];

  constructor(native: NativeDevice, name: string, slots: number) {
    this.#native = native;
    this.#name = name;
    this.#storages = Array.from({ length: slots }, () => null);
  }

  get slots(): number {
    return this.#storages.length;
  }

  /** 0 where the program owns none. */
  handle(slot: number): number {
    return this.#storages[slot]?.handle ?? 0;
  }

  own(slot: number, storage: Storage): void {
    storage.retain();
    this.#storages[slot] = storage;
  }

  /** Unless the slot has a buffer. */
  allocate(slot: number, bytes: number): void {
    if (bytes !== 0 && this.#storages[slot] === null) this.own(slot, allocate(this.#native, bytes, this.#name, true));
  }

  write(slot: number, offset: number, bytes: ArrayBufferView): void {
    withMemory(this.#name, () => this.#native.binding.write(this.handle(slot), offset, bytes));
  }

  release(): void {
    for (const s of this.#storages) s?.release();
  }
}
