/** CIFAR-10 and CIFAR-100, binary version: https://www.cs.toronto.edu/~kriz/cifar.html */
import { open, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { FormatError, UnsupportedError, ValueError } from "../core/errors.ts";
import { openSource, pathOf, readAt, type FilePath } from "../host/source.ts";
import { unreadable } from "../host/unreadable.ts";
import type { Dataset } from "./dataset.ts";
import type { HostArray } from "./worker/host-collate.ts";

/** Options of cifar10(). */
export interface Cifar10Options {
  /** The 50,000 training images, or the 10,000 test images. Default: true. */
  readonly train?: boolean | undefined;
}

/** Options of cifar100(). */
export interface Cifar100Options extends Cifar10Options {
  /** The 100 classes, or their 20 superclasses. Default: "fine". */
  readonly labels?: "fine" | "coarse" | undefined;
}

/** An image with its class: float32 [3, 32, 32] in [0, 1], and the label. */
export type CifarSample = [image: HostArray, label: number];

const PIXELS = 3 * 32 * 32;

interface Format {
  readonly operation: string;
  /** Label bytes before the pixels, and which of them is read. */
  readonly labelBytes: number;
  readonly labelAt: number;
  readonly classCount: number;
}

interface File {
  readonly path: string;
  readonly images: number;
}

/** Images of CIFAR's files, each read when it is asked for: nothing is kept in memory, and workers can make one too. */
export class CifarDataset implements Dataset<CifarSample> {
  /** Names of the classes by label; empty if the folder has no list of them. */
  readonly classes: readonly string[];
  /** Number of images. */
  readonly length: number;
  readonly #format: Format;
  readonly #files: readonly File[];

  /** @internal */
  constructor(format: Format, files: readonly File[], classes: readonly string[]) {
    this.#format = format;
    this.#files = files;
    this.classes = classes;
    this.length = files.reduce((n, { images }) => n + images, 0);
  }

  /** Image `index` and its label. Throws ValueError for a number out of range, FormatError for a file that changed or a label out of range. */
  async get(index: number): Promise<CifarSample> {
    const { operation, labelBytes, labelAt, classCount } = this.#format;
    if (!Number.isInteger(index) || index < 0 || index >= this.length)
      throw new ValueError(`${operation}.get`, "index", `in [0, ${this.length})`, index);
    let at = index;
    const file = this.#files.find(({ images }) => (at < images ? true : ((at -= images), false)))!;
    const position = at * (labelBytes + PIXELS);
    const handle = await open(file.path, "r").catch((error: unknown) => {
      throw unreadable(operation, file.path, error);
    });
    try {
      const record = await readAt(handle, new Uint8Array(labelBytes + PIXELS), position);
      if (record.byteLength < labelBytes + PIXELS)
        throw new FormatError(
          operation,
          file.path,
          "as long as it was when it was opened",
          `its end at offset ${position + record.byteLength}`,
        );
      const label = record[labelAt]!;
      if (label >= classCount)
        throw new FormatError(operation, file.path, `with labels below ${classCount}`, `${label} at offset ${position + labelAt}`);
      return [{ data: Float32Array.from(record.subarray(labelBytes), (v) => v / 255), shape: [3, 32, 32] }, label];
    } finally {
      await handle.close();
    }
  }
}

const isFile = async (path: string): Promise<boolean> => (await stat(path).catch(() => null))?.isFile() ?? false;

async function dataset(
  format: Format,
  folder: string,
  names: readonly string[],
  classList: string,
  archive: string,
): Promise<CifarDataset> {
  const { operation, labelBytes } = format;
  const hint = `The folder holds the binary version, unpacked from ${archive}: ${names.join(", ")}.`;
  const files: File[] = [];
  for (const name of names) {
    const path = join(folder, name);
    const pickle = path.slice(0, -".bin".length);
    if (!(await isFile(path)) && (await isFile(pickle)))
      throw new UnsupportedError({
        operation,
        argument: pickle,
        expected: "of the binary version",
        received: "a pickle of the Python version",
        hint,
      });
    const { file, size } = await openSource(operation, path, hint);
    await file.close();
    const recordBytes = labelBytes + PIXELS;
    if (size === null || size === 0 || size % recordBytes !== 0)
      throw new FormatError(operation, path, `images of ${recordBytes} bytes`, size === null ? "a pipe" : `${size} bytes`, hint);
    files.push({ path, images: size / recordBytes });
  }
  const text = await readFile(join(folder, classList), "utf8").catch(() => "");
  return new CifarDataset(
    format,
    files,
    text.split(/\r?\n/).filter((name) => name !== ""),
  );
}

/**
 * The CIFAR-10 images of a folder with the files of its binary version: samples [image, label], where the image is float32 [3, 32, 32] in [0, 1]. Images
 * are read when they are asked for.
 *
 * folder: text or a file: URL. Throws FormatError when a file is missing or damaged, UnsupportedError for the Python version, which is pickles.
 * Reference: torchvision.datasets.CIFAR10.
 */
export async function cifar10(folder: FilePath, { train = true }: Cifar10Options = {}): Promise<CifarDataset> {
  const format = { operation: "cifar10", labelBytes: 1, labelAt: 0, classCount: 10 };
  const names = train ? [1, 2, 3, 4, 5].map((n) => `data_batch_${n}.bin`) : ["test_batch.bin"];
  return dataset(format, pathOf("cifar10", "folder", folder), names, "batches.meta.txt", "cifar-10-binary.tar.gz");
}

/**
 * The CIFAR-100 images of a folder with the files of its binary version, as cifar10(); `labels` says which of the two labels samples have.
 *
 * folder: text or a file: URL. Throws as cifar10() does. Reference: torchvision.datasets.CIFAR100.
 */
export async function cifar100(folder: FilePath, { train = true, labels = "fine" }: Cifar100Options = {}): Promise<CifarDataset> {
  if (labels !== "fine" && labels !== "coarse") throw new ValueError("cifar100", "labels", 'one of "fine", "coarse"', labels);
  const isFine = labels === "fine";
  const format = { operation: "cifar100", labelBytes: 2, labelAt: isFine ? 1 : 0, classCount: isFine ? 100 : 20 };
  const names = [train ? "train.bin" : "test.bin"];
  return dataset(format, pathOf("cifar100", "folder", folder), names, `${labels}_label_names.txt`, "cifar-100-binary.tar.gz");
}
