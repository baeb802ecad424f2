/** Reading and writing by index and by mask. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import { method, type Entry, type Table } from "./entry.ts";

const dim = (c: Call): number => c.number("dim", 0);

/** A function of x and arguments, and the method with "_" that writes in place. */
const written = (name: string, args: (c: Call) => unknown[]): Entry => ({
  run: (c) => (dx as unknown as Record<string, (...a: unknown[]) => dx.Tensor>)[name]!(c.x, ...args(c)),
  inPlace: `${name}_` in dx.Tensor.prototype ? (c) => method(c, `${name}_`, ...args(c)) : undefined,
});
const source = (c: Call): unknown => c.get("src", "source", "value");
const self = (c: Call): object => ({ includeSelf: c.get("include_self") !== false });

export const indexing: Table = {
  scatter: written("scatter", (c) => [dim(c), c.named("index"), source(c), c.has("reduce") ? { reduce: c.text("reduce", "add") } : {}]),
  scatter_add: written("scatterAdd", (c) => [dim(c), c.named("index"), c.named("src")]),
  scatter_reduce: written("scatterReduce", (c) => [dim(c), c.named("index"), c.named("src"), c.text("reduce", "sum"), self(c)]),
  index_add: written("indexAdd", (c) => [dim(c), c.named("index"), c.named("source"), { alpha: c.number("alpha", 1) }]),
  index_copy: written("indexCopy", (c) => [dim(c), c.named("index"), c.named("source")]),
  index_fill: written("indexFill", (c) => [dim(c), c.named("index"), source(c)]),
  index_reduce: written("indexReduce", (c) => [dim(c), c.named("index"), c.named("source"), c.text("reduce", "prod"), self(c)]),
};
