/** Makes data sets of modules, and batches of their samples: the same code in a worker and in the loader's own thread. */
import { importModule } from "../../host/import-module.ts";
import { hostBatch, hostCollate, type HostNode } from "./host-collate.ts";
import type { BatchForm, FailedPart } from "./protocol.ts";
import { contextOf, type PassSeed, type SampleContext } from "./seeds.ts";

/** What a module may make: samples by index, an array of them, or a stream. */
export interface IndexedSource {
  readonly length: number;
  get(index: number, context: SampleContext): unknown;
  batch?(indices: readonly number[], contexts: readonly SampleContext[]): unknown;
}
export type StreamSource = AsyncIterable<unknown> | Iterable<unknown>;
export type Source = IndexedSource | StreamSource;

/** A failure, and where it was. */
export class ProduceError extends Error {
  readonly part: FailedPart;
  /** The sample's index; null where it is about none. */
  readonly index: number | null;

  constructor(part: FailedPart, index: number | null, cause: unknown) {
    super(part, { cause });
    this.part = part;
    this.index = index;
  }
}

const isFunction = (value: unknown): value is (...args: readonly unknown[]) => unknown => typeof value === "function";
const isClass = (fn: object): boolean => /^class\b/.test(Function.prototype.toString.call(fn));
const has = (value: unknown, name: PropertyKey): boolean =>
  typeof value === "object" && value !== null && isFunction((value as Record<PropertyKey, unknown>)[name]);

export const isIndexed = (value: unknown): value is IndexedSource =>
  has(value, "get") && typeof (value as IndexedSource).length === "number";

/** The function that a module exports as its default; of a CommonJS module, also that of `exports.default`. */
async function defaultOf(href: string): Promise<(...args: readonly unknown[]) => unknown> {
  const module = (await importModule(href)) as { default?: unknown };
  const inner = (module.default as { default?: unknown } | undefined)?.default;
  const made = [module.default, inner].find(isFunction);
  if (made === undefined) throw new TypeError(`${href} has no default export that is a function or a class`);
  return made;
}

/** Calls the default export of a module. */
export async function callDefault(href: string, argument: unknown): Promise<unknown> {
  const make = await defaultOf(href);
  return isClass(make) ? new (make as unknown as new (argument: unknown) => unknown)(argument) : make(argument);
}

/** The data set of a module. Throws TypeError for what is none. */
export async function makeSource(href: string, options: unknown): Promise<Source> {
  const made = await callDefault(href, options);
  if (Array.isArray(made)) return { length: made.length, get: (index) => made[index] as unknown };
  if (isIndexed(made)) return made;
  if (has(made, Symbol.asyncIterator) || has(made, Symbol.iterator)) return made as StreamSource;
  throw new TypeError(`${href}: the default export must make an object with length and get, an array, or an iterable object`);
}

/** The samples of these indices, read at once. */
async function samplesOf(source: IndexedSource, indices: readonly number[], contexts: readonly SampleContext[]): Promise<unknown[]> {
  return Promise.all(
    indices.map(async (index, i) => {
      try {
        return await source.get(index, contexts[i]!);
      } catch (error) {
        throw new ProduceError("sample", index, error);
      }
    }),
  );
}

/** Samples, or the batch of them. */
export type Produced = { readonly node: HostNode } | { readonly samples: readonly unknown[] };

/** What a loader's form makes of samples. */
export function formed(samples: readonly unknown[], form: BatchForm): Produced {
  if (form.by === "loader") return { samples };
  try {
    return { node: hostCollate(samples, form.padding) };
  } catch (error) {
    throw new ProduceError("collate", null, error);
  }
}

/** The contexts of samples from a position of a pass on. */
export const contextsOf = (pass: PassSeed, position: number, count: number): readonly SampleContext[] =>
  Array.from({ length: count }, (_, i) => contextOf(pass, position + i));

/** The batch of the samples of these indices. */
export async function produce(
  source: IndexedSource,
  indices: readonly number[],
  contexts: readonly SampleContext[],
  form: BatchForm,
): Promise<Produced> {
  if (form.by !== "dataset" || source.batch === undefined) return formed(await samplesOf(source, indices, contexts), form);
  try {
    return { node: hostBatch(await source.batch(indices, contexts)) };
  } catch (error) {
    throw new ProduceError("collate", null, error);
  }
}
