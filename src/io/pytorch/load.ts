/** Files of torch.save(): the zip, its pickle, then the storages that its tensors need, each straight to the device. */
import type { FileHandle } from "node:fs/promises";
import type { Device } from "../../core/device.ts";
import { openSource, readAt } from "../../host/source.ts";
import { swapBytes } from "../byte-order.ts";
import { zlib } from "../inflate.ts";
import { readParts, type Part, type TransferOptions } from "../parts.ts";
import { Converter, type NeededStorage } from "./convert.ts";
import { damaged, unknown } from "./refuse.ts";
import { Unpickler } from "./unpickle.ts";
import { ZipFile, type ZipEntry, type ZipFormat } from "../zip-file.ts";

/** Of a pickle, which has no elements of tensors. */
const MAX_PICKLE = 2 ** 28;

/** The files of torch.save() are deflated by others only: at most 100 times, beyond a few megabytes. */
const zipFormat = (source: string): ZipFormat => ({
  operation: "pytorch.load",
  source,
  writer: "torch.save()",
  maxInflated: (fileBytes) => 2 ** 24 + 100 * fileBytes,
  hints: {
    crc: "torch.serialization.set_crc32_options(False) writes no CRC: save with True.",
    inflated: "torch.save() compresses nothing: save it again.",
    method: "torch.save() compresses nothing.",
  },
});

/** How a pickle of torch.save() before version 1.6 begins: its magic number. */
const legacyMagic = Buffer.from("8a0a6cfc9c46f9206aa85019", "hex");
const zipMagic = Buffer.from("504b", "hex");

/** Throws by name for PyTorch's other forms, and for what is none of them. */
async function requireZip(file: FileHandle, source: string): Promise<void> {
  const start = Buffer.from(await readAt(file, new Uint8Array(512), 0));
  if (start.subarray(0, 2).equals(zipMagic)) return;
  const again = "Load it in PyTorch, and save it there again.";
  if (start.subarray(0, 32).includes(legacyMagic)) throw unknown(source, "PyTorch's file form before version 1.6", again);
  if (
    start.subarray(257, 262).toString("latin1") === "ustar" ||
    /^(?:\.\/)?(?:pickle|storages|tensors|sys_info)\0/.test(start.subarray(0, 100).toString("latin1"))
  )
    throw unknown(source, "PyTorch's tar form of 2016", again);
  if (start[0] === 0x80) throw unknown(source, "a pickle that is no file of torch.save()", again);
  throw damaged(
    source,
    "a zip file",
    start.byteLength === 0 ? "an empty one" : `one that begins with ${start.subarray(0, 8).toString("hex")}`,
  );
}

/** The folder inside the zip file that all entries are in. */
function rootOf(zip: ZipFile, source: string): string {
  const pickles = [...zip.entries.keys()].filter((name) => /^[^/]+\/data\.pkl$/.test(name));
  const [pickle, ...others] = pickles;
  if (pickle === undefined || others.length > 0)
    throw damaged(source, "a file of torch.save(), with one data.pkl", `${pickles.length} of them`);
  const root = pickle.slice(0, -"data.pkl".length);
  if (zip.entries.has(`${root}constants.pkl`))
    throw unknown(source, "a program of TorchScript", "Save its state_dict() in PyTorch, or export it as ONNX.");
  return root;
}

/** Whether the elements' bytes are in the other order. */
async function isBigEndian(zip: ZipFile, root: string, source: string): Promise<boolean> {
  const entry = zip.entries.get(`${root}byteorder`);
  if (entry === undefined) return false;
  const order = Buffer.from(await zip.bytes(entry, 64))
    .toString("latin1")
    .trim();
  if (order !== "little" && order !== "big") throw damaged(source, "with little or big as its byte order", order);
  return order === "big";
}

interface Wanted {
  readonly storage: NeededStorage;
  readonly entry: ZipEntry;
}

/** Reads the storages by their offsets, in the order of the file. */
async function fill(
  file: FileHandle,
  source: string,
  zip: ZipFile,
  wanted: readonly Wanted[],
  isSwapped: boolean,
  options: TransferOptions,
): Promise<void> {
  const parts: Part[] = [];
  for (const { storage, entry } of wanted) {
    const { start } = await zip.locate(entry);
    let crc = 0;
    const write = (offset: number, bytes: Uint8Array): void => {
      crc = zlib().crc32(bytes, crc);
      if (offset + bytes.byteLength === entry.sizeInBytes) zip.requireCrc(entry, crc);
      if (isSwapped) swapBytes(bytes, storage.elementBytes);
      storage.filling.write(offset, bytes);
    };
    parts.push({ name: entry.name, path: source, file, position: start, sizeInBytes: entry.sizeInBytes, write });
  }
  await readParts(
    "pytorch.load",
    parts.sort((a, b) => a.position - b.position),
    options,
  );
}

/** Those that somebody compressed, which torch.save() does not. */
async function fillDeflated(zip: ZipFile, wanted: readonly Wanted[], isSwapped: boolean): Promise<void> {
  for (const { storage, entry } of wanted) {
    const bytes = await zip.bytes(entry, storage.sizeInBytes);
    if (isSwapped) swapBytes(bytes, storage.elementBytes);
    storage.filling.write(0, bytes);
  }
}

export async function loadFile(source: string, device: Device, options: TransferOptions): Promise<unknown> {
  const { file, size } = await openSource("pytorch.load", source);
  try {
    if (size === null) throw damaged(source, "a file", "a pipe");
    await requireZip(file, source);
    const zip = await ZipFile.open(file, zipFormat(source), size);
    const root = rootOf(zip, source);
    const isSwapped = await isBigEndian(zip, root, source);
    const pickle = await zip.bytes(zip.entries.get(`${root}data.pkl`)!, MAX_PICKLE);
    const entryOf = (key: string): ZipEntry => {
      const entry = zip.entries.get(`${root}data/${key}`);
      if (entry === undefined) throw damaged(source, `with an entry data/${key}, as its pickle says`, "none");
      return entry;
    };
    const converter = new Converter(source, device, (key) => entryOf(key).sizeInBytes);
    try {
      const value = converter.value(new Unpickler(source, pickle).run());
      options.signal?.throwIfAborted();
      const wanted = device.hasElements
        ? [...converter.storages.values()].map((storage) => ({ storage, entry: entryOf(storage.key) }))
        : [];
      await fill(
        file,
        source,
        zip,
        wanted.filter(({ entry }) => !entry.isDeflated),
        isSwapped,
        options,
      );
      await fillDeflated(
        zip,
        wanted.filter(({ entry }) => entry.isDeflated),
        isSwapped,
      );
      options.signal?.throwIfAborted();
      converter.release();
      return value;
    } catch (error) {
      converter.dispose();
      throw error;
    }
  } finally {
    await file.close();
  }
}
