/** Data sets of image files: class folders and lists. */
import { readdir, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { FormatError, ValueError, data } from "../../index.ts";
import { pathOf, type FilePath } from "../../host/source.ts";
import { unreadable } from "../../host/unreadable.ts";
import { decode, requireDecodeOptions, type DecodeOptions, type DecodedImage } from "./decode.ts";
import { loadSharp } from "./sharp.ts";
import { workerCode } from "./worker.generated.ts";

/** Options of imageList(). */
export interface ImageListOptions extends DecodeOptions {
  /**
   * What becomes of files that cannot be decoded: "throw" leaves them in, and the sample's error names the file; "skip" decodes every file once, when the
   * data set is made, leaves these out and lists them in `skipped`. Default: "throw".
   */
  readonly broken?: "throw" | "skip" | undefined;
  /** Ends the making of the data set. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of imageFolder(). */
export interface ImageFolderOptions extends ImageListOptions {
  /** Endings of the files that are images, in any case. Default: .avif .gif .jpeg .jpg .png .tif .tiff .webp */
  readonly extensions?: readonly string[] | undefined;
  /** Whether a class may have no image. Default: false. */
  readonly allowEmpty?: boolean | undefined;
}

/** A file that was left out, and why. */
export interface SkippedImage {
  /** The file. */
  readonly path: string;
  /** What decoding it threw. */
  readonly error: Error;
}

/** A data set of image files. Samples are [image, label]: the image uint8 [channels, height, width]. Any loader takes it, with any number of workers. */
export interface ImageDataset<L> extends data.WorkerDataset<[image: DecodedImage, label: L]> {
  /** File and label of each sample. */
  readonly samples: readonly (readonly [path: string, label: L])[];
  /** The files that `broken: "skip"` left out. */
  readonly skipped: readonly SkippedImage[];
}

/** The data set of class folders. */
export interface ImageFolderDataset extends ImageDataset<number> {
  /** The names of the folders, sorted: class i is classes[i]. */
  readonly classes: readonly string[];
  /** The class of each name. */
  readonly classToIndex: Readonly<Record<string, number>>;
}

const EXTENSIONS = [".avif", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"];

type Pairs<L> = readonly (readonly [path: FilePath, label: L])[];

function requireListOptions(operation: string, options: ImageListOptions): void {
  requireDecodeOptions(operation, options);
  const { broken } = options;
  if (broken !== undefined && broken !== "throw" && broken !== "skip")
    throw new ValueError(operation, "broken", "one of throw, skip", broken);
}

/** How many files are decoded at a time to find the broken ones. */
const AT_ONCE = 8;

async function brokenOf(operation: string, paths: readonly string[], { signal, ...options }: ImageListOptions) {
  const sharp = await loadSharp(operation, paths[0] ?? "an image");
  const broken = new Map<number, Error>();
  let next = 0;
  const work = async (): Promise<void> => {
    for (let i = next++; i < paths.length; i = next++) {
      signal?.throwIfAborted();
      await decode(sharp, paths[i]!, options, { operation }).catch((error: unknown) => broken.set(i, error as Error));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return broken;
}

/** The address of sharp's module, for workers. */
async function sharpAddress(operation: string, source: string): Promise<string> {
  await loadSharp(operation, source);
  const { createRequire } = process.getBuiltinModule("node:module");
  const { pathToFileURL } = process.getBuiltinModule("node:url");
  return pathToFileURL(createRequire(import.meta.url).resolve("sharp")).href;
}

interface ImageModule<L> {
  readonly default: (options: object) => data.Dataset<[image: DecodedImage, label: L]>;
}

async function datasetOf<L>(operation: string, pairs: Pairs<L>, options: ImageListOptions): Promise<ImageDataset<L>> {
  const { broken, signal, mode, depth, autoOrient, resize, interpolation, crop, cropAt } = options;
  let samples = pairs.map(([path, label]) => [pathOf(operation, "list", path), label] as const);
  const sharp = await sharpAddress(operation, samples[0]?.[0] ?? "a list of images");
  let skipped: readonly SkippedImage[] = [];
  if (broken === "skip") {
    const errors = await brokenOf(operation, samples.map(([path]) => path), options); // prettier-ignore
    skipped = samples.flatMap(([path], i) => (errors.has(i) ? [{ path, error: errors.get(i)! }] : []));
    samples = samples.filter((_, i) => !errors.has(i));
  }
  signal?.throwIfAborted();
  const module = `data:text/javascript;base64,${Buffer.from(workerCode).toString("base64")}`;
  const set = await data.workerDataset<ImageModule<L>>(module, {
    sharp,
    operation,
    paths: samples.map(([path]) => path),
    labels: samples.map(([, label]) => label),
    options: { mode, depth, autoOrient, resize, interpolation, crop, cropAt },
  });
  return Object.assign(set as data.WorkerDataset<[image: DecodedImage, label: L]>, { samples, skipped });
}

/**
 * A data set of listed files. list: pairs of a path or file: URL and a label, or a function that gives them. Labels are what collate() takes: numbers,
 * arrays of them, objects. Throws ValueError for options out of range, MissingPackageError without the package sharp.
 */
export async function imageList<L>(
  list: Pairs<L> | (() => Pairs<L> | Promise<Pairs<L>>),
  options: ImageListOptions = {},
): Promise<ImageDataset<L>> {
  requireListOptions("imageList", options);
  const pairs = typeof list === "function" ? await list() : list;
  if (!Array.isArray(pairs) || !pairs.every((pair) => Array.isArray(pair) && pair.length === 2))
    throw new ValueError("imageList", "list", "pairs of a path and a label, or a function that gives them", pairs);
  return datasetOf("imageList", pairs as Pairs<L>, options);
}

/** As Python sorts names: by code point. */
const byName = (a: string, b: string): number => Buffer.from(a).compare(Buffer.from(b));

/** The files below a folder, sorted folder by folder, through links, in the order of Python. */
async function* filesBelow(folder: string, seen: ReadonlySet<string>, signal: AbortSignal | undefined): AsyncGenerator<string> {
  signal?.throwIfAborted();
  const folders: string[] = [];
  for (const name of (await readdir(folder)).toSorted(byName)) {
    const path = join(folder, name);
    const stats = await stat(path).catch(() => null);
    if (stats === null || stats.isFile()) yield path;
    else if (stats.isDirectory() && !seen.has(`${stats.dev}:${stats.ino}`)) folders.push(path);
  }
  for (const path of folders) {
    const { dev, ino } = await stat(path);
    yield* filesBelow(path, new Set([...seen, `${dev}:${ino}`]), signal);
  }
}

/**
 * A data set of images in one folder a class: root/dog/1.png, root/cat/sub/2.jpg. Classes are sorted by name; files that are no images by their ending are
 * passed over. root: a path or file: URL. Throws FormatError for a folder without classes and for a class without images, ValueError for options out of
 * range, MissingPackageError without the package sharp. Reference: torchvision.datasets.ImageFolder, whose default decoder ignores EXIF data.
 */
export async function imageFolder(root: FilePath, options: ImageFolderOptions = {}): Promise<ImageFolderDataset> {
  const { extensions = EXTENSIONS, allowEmpty = false, signal } = options;
  requireListOptions("imageFolder", options);
  const folder = pathOf("imageFolder", "root", root);
  if (!Array.isArray(extensions) || !extensions.every((suffix) => typeof suffix === "string" && /^\../.test(suffix)))
    throw new ValueError("imageFolder", "extensions", 'endings with their point, as ".png"', extensions);
  const suffixes = new Set((extensions as readonly string[]).map((suffix) => suffix.toLowerCase()));
  const entries = await readdir(folder).catch((error: unknown) => {
    throw unreadable("imageFolder", folder, error);
  });
  const isFolder = await Promise.all(
    entries.map(async (name) => (await stat(join(folder, name)).catch(() => null))?.isDirectory() === true),
  );
  const classes = entries.filter((_, i) => isFolder[i]).toSorted(byName);
  if (classes.length === 0) throw new FormatError("imageFolder", folder, "a folder with one folder for each class", "none in it");
  const pairs: [string, number][] = [];
  for (const [label, name] of classes.entries()) {
    const before = pairs.length;
    for await (const path of filesBelow(join(folder, name), new Set(), signal))
      if (suffixes.has(extname(path).toLowerCase())) pairs.push([path, label]);
    if (pairs.length === before && !allowEmpty) {
      const expected = `a folder with files that end in ${[...suffixes].join(", ")}`;
      throw new FormatError("imageFolder", join(folder, name), expected, "none", "allowEmpty: true takes a class without images.");
    }
  }
  const set = await datasetOf("imageFolder", pairs, options);
  return Object.assign(set, { classes, classToIndex: Object.fromEntries(classes.map((name, i) => [name, i])) });
}
