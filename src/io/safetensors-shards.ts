/** safetensors files that are open: one, or those that an index lists. The first safetensors.open() imports this file. */
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { defaultDevice, device as deviceOf, type DeviceLike } from "../core/device.ts";
import { DisposedError, FormatError, ValueError } from "../core/errors.ts";
import { define } from "../core/own-property.ts";
import type { Tensor } from "../core/tensor.ts";
import { readWhole } from "../host/source.ts";
import { unreadable } from "../host/unreadable.ts";
import { fillTensors } from "./fill-tensors.ts";
import type { Part, TransferOptions } from "./parts.ts";
import { LONGEST_HEADER, type Entry } from "./safetensors-header.ts";
import type { SafetensorsFile, SafetensorsInfo, SafetensorsLoadOptions } from "./safetensors-options.ts";
import { openTensorFile, type TensorFile } from "./tensor-file.ts";

const INDEX = ".safetensors.index.json";
const FILE = ".safetensors";
/** As transformers and others call those of a model. */
const STEMS = ["model", "diffusion_pytorch_model", "adapter_model"];

/** The file of a folder that stands for its tensors: an index, or the only file. */
async function fileIn(operation: string, folder: string): Promise<string> {
  const names = await readdir(folder);
  for (const stem of STEMS) for (const end of [INDEX, FILE]) if (names.includes(stem + end)) return join(folder, stem + end);
  const indices = names.filter((name) => name.endsWith(INDEX));
  const found = indices.length > 0 ? indices : names.filter((name) => name.endsWith(FILE));
  if (found.length === 1) return join(folder, found[0]!);
  throw new FormatError(
    operation,
    folder,
    `a folder with model${INDEX} or model${FILE}`,
    found.length === 0 ? "one without" : `one with ${found.toSorted().slice(0, 5).join(", ")}`,
    found.length === 0 ? undefined : "Name the file.",
  );
}

const isFolder = async (path: string): Promise<boolean> => (await stat(path).catch(() => null))?.isDirectory() ?? false;

/** Opens a file, the files that an index lists, or those of a folder. */
export async function openAll(operation: string, path: string): Promise<OpenSafetensors> {
  const file = (await isFolder(path)) ? await fileIn(operation, path) : path;
  if (!file.endsWith(".json")) return new OpenSafetensors([await openTensorFile(operation, file)]);
  const index = await readIndex(operation, file);
  const folders = await Promise.all([realpath(dirname(file)), realpath(file).then(dirname)]);
  const opened: TensorFile[] = [];
  try {
    for (const name of new Set(index.values()))
      opened.push(await openTensorFile(operation, await shardPath(operation, file, folders, name)));
    requireMatch(operation, file, index, opened);
    return new OpenSafetensors(opened);
  } catch (error) {
    for (const shard of opened) await shard.file.close();
    throw error;
  }
}

/** The names of an index with the files that have their tensors. */
async function readIndex(operation: string, path: string): Promise<ReadonlyMap<string, string>> {
  const bytes = await readWhole(operation, path, LONGEST_HEADER);
  let index: unknown;
  try {
    index = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new FormatError(operation, path, "an index in JSON", error instanceof Error ? error.message : String(error));
  }
  const map = typeof index === "object" && index !== null && "weight_map" in index ? index.weight_map : undefined;
  const isMap = typeof map === "object" && map !== null && Object.values(map).every((name) => typeof name === "string");
  if (!isMap || Array.isArray(map))
    throw new FormatError(operation, path, "an index with weight_map, from names of tensors to files", "another JSON value");
  return new Map(Object.entries(map as Record<string, string>));
}

/** The real file of a name in an index. Names, and links, that lead out of the index's folders are refused. */
async function shardPath(operation: string, index: string, folders: readonly string[], name: string): Promise<string> {
  const outside = (received: string): FormatError => new FormatError(operation, index, "an index of files in its folder", received);
  if (name === "" || name === "." || name === ".." || /[/\\\0]/.test(name)) throw outside(JSON.stringify(name));
  const path = join(dirname(index), name);
  const real = await realpath(path).catch((error: unknown) => {
    throw unreadable(operation, path, error);
  });
  const isInside = folders.some((folder) => {
    const way = relative(folder, real);
    return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
  });
  if (!isInside) throw outside(`${name}, a link to ${real}`);
  return path;
}

const listed = (names: readonly string[]): string =>
  `${names.slice(0, 5).join(", ")}${names.length > 5 ? ` and ${names.length - 5} more` : ""}`;

/** Each tensor is in one file, which is that of the index. */
function requireMatch(operation: string, path: string, index: ReadonlyMap<string, string>, files: readonly TensorFile[]): void {
  const where = new Map<string, string>();
  for (const { path: file, header } of files)
    for (const { name } of header.entries) {
      const other = where.get(name);
      if (other !== undefined)
        throw new FormatError(operation, path, "an index of files with each tensor once", `${name} in ${other} and ${basename(file)}`);
      where.set(name, basename(file));
    }
  const missing = [...index].filter(([name, file]) => where.get(name) !== file).map(([name]) => name);
  if (missing.length > 0)
    throw new FormatError(operation, path, "an index of tensors that its files have", `${listed(missing)}, which they lack`);
  const unlisted = [...where.keys()].filter((name) => !index.has(name));
  if (unlisted.length > 0) throw new FormatError(operation, path, "an index of all tensors of its files", `none of ${listed(unlisted)}`);
}

interface Located {
  readonly file: TensorFile;
  readonly entry: Entry;
}

class OpenSafetensors implements SafetensorsFile {
  readonly paths: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly tensors: ReadonlyMap<string, SafetensorsInfo>;
  readonly #files: readonly TensorFile[];
  readonly #located: ReadonlyMap<string, Located>;
  #isClosed = false;

  constructor(files: readonly TensorFile[]) {
    this.#files = files;
    this.paths = files.map(({ path }) => path);
    const metadata: Record<string, string> = {};
    for (const { header } of files)
      for (const [key, text] of Object.entries(header.metadata)) if (!Object.hasOwn(metadata, key)) define(metadata, key, text);
    this.metadata = metadata;
    this.#located = new Map(files.flatMap((file) => file.header.entries.map((entry) => [entry.name, { file, entry }] as const)));
    this.tensors = new Map(
      [...this.#located.values()].map(({ entry: { name, dtype, shape, start, end } }) => [
        name,
        { name, dtype, shape, sizeInBytes: end - start },
      ]),
    );
  }

  async tensor(name: string, options: TransferOptions & { readonly device?: DeviceLike | undefined } = {}): Promise<Tensor> {
    const operation = "safetensors.tensor";
    return (await this.#fill(operation, [this.#find(operation, "name", name)], options))[0]!;
  }

  async load(options: SafetensorsLoadOptions = {}): Promise<Record<string, Tensor>> {
    const operation = "safetensors.load";
    const { names } = options;
    const wanted = names === undefined ? [...this.#located.values()] : [...new Set(names)].map((n) => this.#find(operation, "names", n));
    if (this.#isClosed) throw closed(operation);
    const made = await this.#fill(operation, wanted, options);
    const tensors: Record<string, Tensor> = {};
    wanted.forEach(({ entry }, i) => define(tensors, entry.name, made[i]!));
    return tensors;
  }

  #find(operation: string, argument: string, name: string): Located {
    if (this.#isClosed) throw closed(operation);
    const found = this.#located.get(name);
    if (found !== undefined) return found;
    const known = [...this.#located.keys()].join(", ");
    throw new ValueError(operation, argument, `of a tensor in ${this.paths[0]}: ${known.slice(0, 300) || "it has none"}`, name);
  }

  #fill(operation: string, wanted: readonly Located[], options: SafetensorsLoadOptions): Promise<readonly Tensor[]> {
    const device = options.device === undefined ? defaultDevice() : deviceOf(options.device);
    const parts = wanted.map(({ file, entry }) => ({
      dtype: entry.dtype,
      shape: entry.shape,
      part: (write: Part["write"]): Part => ({
        name: entry.name,
        path: file.path,
        file: file.file,
        position: file.header.dataStart + entry.start,
        sizeInBytes: entry.end - entry.start,
        write,
      }),
    }));
    return fillTensors(operation, device, parts, options);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.all(this.#files.map(({ file }) => file.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const closed = (operation: string): DisposedError => new DisposedError(operation, "file", "open", "one that was closed");
