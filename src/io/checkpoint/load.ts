/** load(): the state in a file that save() wrote. */
import { Device, defaultDevice, device as deviceOf, type DeviceLike } from "../../core/device.ts";
import type { DType } from "../../core/dtype.ts";
import { DTypeError, ValueError } from "../../core/errors.ts";
import type { Shape } from "../../core/shape.ts";
import type { ComplexTensor } from "../../core/complex-tensor.ts";
import type { Tensor } from "../../core/tensor.ts";
import { pathOf, type FilePath } from "../../host/source.ts";
import type { Generator, GeneratorState } from "../../ops/random/random.ts";
import type { TransferOptions } from "../parts.ts";
import { entriesIn } from "./decode.ts";
import type { Json } from "./format.ts";
import { lastIn } from "./folder.ts";
import { IntoLoader } from "./into.ts";
import { openCheckpoint, type OpenCheckpoint } from "./open.ts";
import { Reader, type DeviceOf } from "./read.ts";

/** A tensor of a file, before it is read. */
export interface SavedTensorInfo {
  /** The dtype of its elements. */
  readonly dtype: DType;
  /** The length of each axis. */
  readonly shape: Shape;
}

/**
 * Where tensors go: one device for all, a device for each name ("model", "model.head"; the longest name that fits a tensor's path is taken, others go to
 * the default device), or a function of the tensor's path.
 */
export type CheckpointDevice =
  DeviceLike | Readonly<Record<string, DeviceLike>> | ((name: string, tensor: SavedTensorInfo) => DeviceLike | undefined);

/** Options of load(). */
export interface CheckpointLoadOptions extends TransferOptions {
  /** Where the tensors go; "meta" reads shapes and dtypes alone. Default: the default device. */
  readonly device?: CheckpointDevice | undefined;
  /** Names at the top of the state: the others are not read. Default: all. */
  readonly only?: readonly string[] | undefined;
}

/** Options of load() with objects that take the state. */
export interface CheckpointIntoOptions extends CheckpointLoadOptions {
  /** Objects with loadStateDict(), generators and tensors by the names that they were saved under, in objects and lists as they were saved. */
  readonly into: object;
  /** Whether names that are missing in the file, or unknown to a module, are an error. Default: true. */
  readonly strict?: boolean | undefined;
  /** Whether modules take the tensors themselves instead of their values. Default: for modules that were made on `meta`. */
  readonly assign?: boolean | undefined;
}

/** What load() gives for a value of this type: the state of an object that has one, anything else as it was. */
export type SavedState<T> = 0 extends 1 & T
  ? // any
    T
  : T extends Tensor | ComplexTensor | ArrayBufferView | ArrayBuffer | Date
    ? T
    : T extends Generator
      ? GeneratorState
      : T extends { stateDict(): infer State }
        ? SavedState<Awaited<State>>
        : T extends ReadonlyMap<infer Key, infer Value>
          ? Map<Key, SavedState<Value>>
          : T extends ReadonlySet<infer Value>
            ? Set<Value>
            : T extends object
              ? { -readonly [Name in keyof T]: SavedState<T[Name]> }
              : T;

/** What load() gives where `into` takes a part of the state. */
export interface LoadedInto<T> {
  /** What `into` did not take: plain values, and tensors outside of objects. */
  readonly state: T;
  /** Names that `into` or its modules have and the file lacks; empty unless strict is false. */
  readonly missing: readonly string[];
  /** Names in the file that the modules do not know; empty unless strict is false. */
  readonly unexpected: readonly string[];
  /** Objects whose state the file has and for which `into` has none: they were not read. */
  readonly unread: readonly string[];
}

/** The longest name that is a path's beginning. */
function byPrefix(devices: Readonly<Record<string, DeviceLike>>): (name: string) => DeviceLike | undefined {
  const names = Object.keys(devices).sort((a, b) => b.length - a.length);
  return (name) => {
    const found = names.find((prefix) => name === prefix || name.startsWith(`${prefix}.`));
    return found === undefined ? undefined : devices[found];
  };
}

function deviceFinder(device: CheckpointDevice | undefined): DeviceOf {
  const otherwise = defaultDevice();
  if (device === undefined) return () => otherwise;
  if (typeof device === "string" || device instanceof Device) {
    const all = deviceOf(device);
    return () => all;
  }
  const find = typeof device === "function" ? device : byPrefix(device);
  return ({ name, dtype, shape }) => {
    const found = find(name, { dtype, shape });
    return found === undefined ? otherwise : deviceOf(found);
  };
}

/** The state, or the parts of it at the top that `only` names. */
function partOf({ state, path }: OpenCheckpoint, only: readonly string[] | undefined): Json {
  if (only === undefined) return state;
  const entries = entriesIn(state);
  if (entries === null) throw new ValueError("load", "only", "left out for a state that is no object", only);
  const known = new Map(entries);
  const missing = only.filter((name) => !known.has(name));
  if (missing.length > 0)
    throw new ValueError(
      "load",
      path,
      `with ${missing.join(", ")}, which \`only\` names`,
      `one with ${[...known.keys()].join(", ") || "nothing"}`,
    );
  return { $object: only.map((name) => [name, known.get(name)!]) };
}

/**
 * The state that save() wrote. Objects that had a state come as what their stateDict() gave, a generator as what getState() gives; tensors go straight
 * to their devices, in pieces. Any other safetensors file gives its tensors by name.
 *
 * With `into` the states are loaded into the objects that it names (modules, optimizers, …), and the rest is the result's `state`; names and shapes of
 * modules are compared before anything is read. path: text or a file: URL. Throws FormatError for a file that is damaged, no safetensors file, or of a
 * newer version; with `into` ValueError for names that do not fit, ShapeError for shapes. Reference: torch.load.
 */
export function load<T = unknown>(path: FilePath, options: CheckpointIntoOptions): Promise<LoadedInto<T>>;
// oxlint-disable-next-line typescript/no-explicit-any -- what a file holds is known to the user alone, who may say so by T
export function load<T = any>(path: FilePath, options?: CheckpointLoadOptions): Promise<SavedState<T>>;
export async function load(path: FilePath, options: CheckpointLoadOptions | CheckpointIntoOptions = {}): Promise<unknown> {
  options.signal?.throwIfAborted();
  const source = pathOf("load", "path", path);
  const find = deviceFinder(options.device);
  const checkpoint = await openCheckpoint(source);
  try {
    const state = partOf(checkpoint, options.only);
    if ("into" in options && options.into !== undefined) {
      const { into, strict = true, assign, signal, onProgress } = options;
      if ((typeof into !== "object" && typeof into !== "function") || into === null)
        throw new DTypeError("load", "into", "an object with modules, optimizers or other objects that have state", into);
      return await new IntoLoader({ ...checkpoint, state }, find, { strict, assign, signal, onProgress }).load(into);
    }
    const reader = new Reader(checkpoint, options);
    reader.want(state, "", find);
    await reader.read();
    try {
      return reader.value(state);
    } catch (error) {
      reader.dispose();
      throw error;
    } finally {
      reader.release();
    }
  } finally {
    await checkpoint.close();
  }
}

/**
 * The path of the last complete checkpoint in a folder, by the time when it was saved; null where there is none, or no folder. Files that are damaged,
 * incomplete or no checkpoints are left out. Throws DTypeError for what is no path.
 */
export async function latest(folder: FilePath): Promise<string | null> {
  return lastIn(pathOf("latest", "folder", folder));
}
