/** The weights of a model.json: their files, one after the other, and what the converter has made of their elements. */
import { readdir, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { fromHalf } from "../../core/dtype.ts";
import { FormatError, UnsupportedError } from "../../core/errors.ts";
import { sizeOf } from "../../core/shape.ts";
import { readWhole } from "../../host/source.ts";
import { unreadable } from "../../host/unreadable.ts";
import { isRecord, listOf, type Json } from "./json.ts";
import type { Weight } from "./graph-builder.ts";

const MAX_BYTES = 2 ** 31 - 1;

/** How a weight's elements are in its file. */
interface Stored {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: "float32" | "int32" | "bool";
  readonly quantization: { readonly dtype: "uint8" | "uint16" | "float16"; readonly scale: number; readonly min: number } | null;
}

const WIDTHS: Readonly<Record<string, number>> = { float32: 4, int32: 4, bool: 1, uint8: 1, uint16: 2, float16: 2 };

function storedOf(operation: string, source: string, json: unknown): Stored {
  const bad = (received: string): FormatError =>
    new FormatError(operation, source, "a list of weights with name, shape and dtype", received);
  if (!isRecord(json) || typeof json["name"] !== "string") throw bad("one without a name");
  const { name, shape, dtype, quantization } = json as Json & { readonly name: string };
  if (!Array.isArray(shape) || !shape.every((n) => Number.isSafeInteger(n) && (n as number) >= 0))
    throw bad(`${name} of shape ${JSON.stringify(shape)}`);
  if (dtype !== "float32" && dtype !== "int32" && dtype !== "bool")
    throw new UnsupportedError({ operation, argument: `${source}: ${name}`, expected: "float32, int32 or bool", received: String(dtype) });
  if (quantization === undefined || quantization === null) return { name, shape: shape as number[], dtype, quantization: null };
  if (!isRecord(quantization)) throw bad(`${name} of quantization ${JSON.stringify(quantization)}`);
  const { dtype: own, scale = 1, min = 0 } = quantization;
  if ((own !== "uint8" && own !== "uint16" && own !== "float16") || typeof scale !== "number" || typeof min !== "number")
    throw bad(`${name} of quantization ${JSON.stringify(quantization)}`);
  return { name, shape: shape as number[], dtype, quantization: { dtype: own, scale, min } };
}

function decoded({ name, shape, dtype, quantization }: Stored, bytes: Uint8Array): Weight {
  if (quantization === null) return { name, shape, dtype, bytes };
  const { dtype: own, scale, min } = quantization;
  const like = (length: number): Int32Array | Float32Array => (dtype === "int32" ? new Int32Array(length) : new Float32Array(length));
  const made = like(sizeOf(shape));
  const valueOf = (code: number): number => (dtype === "int32" ? Math.round(code * scale + min) : code * scale + min);
  if (own === "uint8") {
    const values = like(256).map((_, code) => valueOf(code));
    lookUp(made, bytes, values);
  } else {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let i = 0; i < made.length; i++) {
      const code = view.getUint16(2 * i, true);
      made[i] = own === "float16" ? fromHalf(code) : valueOf(code);
    }
  }
  return { name, shape, dtype, bytes: new Uint8Array(made.buffer) };
}

/** Writes the value of each code. */
function lookUp(made: Int32Array | Float32Array, codes: Uint8Array, values: Int32Array | Float32Array): void {
  for (let i = 0; i < made.length; i++) made[i] = values[codes[i]!]!;
}

const sizeInBytesOf = ({ shape, dtype, quantization }: Stored): number => sizeOf(shape) * WIDTHS[quantization?.dtype ?? dtype]!;

/** What the groups of a model.json say of its weights, in their order. */
export function storedWeights(operation: string, model: string, manifest: unknown): (Stored & { readonly sizeInBytes: number })[] {
  return groupsOf(operation, model, manifest)
    .flatMap(({ weights }) => weights)
    .map((json) => storedOf(operation, model, json))
    .map((stored) => ({ ...stored, sizeInBytes: sizeInBytesOf(stored) }));
}

/** The files of a model.json's weights. */
export async function weightFiles(operation: string, model: string, manifest: unknown): Promise<string[]> {
  const names = groupsOf(operation, model, manifest).flatMap(({ paths }) => paths);
  return Promise.all(names.map((name) => pathIn(operation, model, name)));
}

interface Group {
  readonly paths: readonly unknown[];
  readonly weights: readonly unknown[];
}

function groupsOf(operation: string, model: string, manifest: unknown): Group[] {
  return listOf(operation, model, "weightsManifest", manifest).map((group) => {
    if (!isRecord(group))
      throw new FormatError(operation, model, "a weightsManifest of groups with paths and weights", JSON.stringify(group));
    return {
      paths: listOf(operation, model, "paths", group["paths"]),
      weights: listOf(operation, model, "weights", group["weights"]),
    };
  });
}

/** Weights by name, of a list and the bytes of its files. */
export function weightsOf(operation: string, source: string, list: readonly unknown[], bytes: Uint8Array): Map<string, Weight> {
  const found = new Map<string, Weight>();
  let at = 0;
  for (const json of list) {
    const stored = storedOf(operation, source, json);
    const size = sizeInBytesOf(stored);
    if (at + size > bytes.length)
      throw new FormatError(operation, source, `with at least ${at + size} bytes of weights, as ${stored.name} needs`, `${bytes.length}`);
    found.set(stored.name, decoded(stored, bytes.subarray(at, at + size)));
    at += size;
  }
  if (at !== bytes.length) throw new FormatError(operation, source, `with ${at} bytes of weights, as its list says`, `${bytes.length}`);
  return found;
}

/** A file that a model.json names, in its folder or one inside. */
async function pathIn(operation: string, model: string, name: unknown): Promise<string> {
  const outside = (received: string): FormatError => new FormatError(operation, model, "a model with files in its folder", received);
  if (typeof name !== "string" || name === "" || isAbsolute(name)) throw outside(JSON.stringify(name));
  const folder = dirname(model);
  const isInside = (from: string, to: string): boolean => {
    const way = relative(from, to);
    return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
  };
  const path = join(folder, name);
  if (!isInside(folder, path)) throw outside(name);
  const real = await realpath(path).catch(async (error: unknown) => {
    const others = await readdir(folder).catch(() => []);
    throw unreadable(
      operation,
      path,
      error,
      `Its folder has ${others
        .toSorted((a, b) => (a < b ? -1 : 1))
        .slice(0, 5)
        .join(", ")}.`,
    );
  });
  const folders = await Promise.all([realpath(folder), realpath(model).then(dirname)]);
  if (!folders.some((each) => isInside(each, real))) throw outside(`${name}, a link to ${real}`);
  return path;
}

/** The weights that a model.json lists in groups, each of which is some files. */
export async function readWeights(operation: string, model: string, manifest: unknown): Promise<Map<string, Weight>> {
  const found = new Map<string, Weight>();
  for (const { paths, weights } of groupsOf(operation, model, manifest)) {
    const parts: Uint8Array[] = [];
    for (const name of paths) parts.push(await readWhole(operation, await pathIn(operation, model, name), MAX_BYTES));
    for (const [name, weight] of weightsOf(operation, model, weights, parts.length === 1 ? parts[0]! : Buffer.concat(parts))) {
      if (found.has(name)) throw new FormatError(operation, model, "with each weight once", `${name} twice`);
      found.set(name, weight);
    }
  }
  return found;
}
