/** Microsoft's libdirectml.so: which one is wanted, and whether bytes are that library. Reads no network. */
import { createHash } from "node:crypto";
import { unzipSync } from "fflate";
import { libraryEndOf } from "../host/library-end.ts";
import { FetchFailure } from "./download-failure.ts";

/** MIT licence; DirectML feature level 6.2, for Linux x64. */
export const pinned = {
  project: "torch-directml",
  wheel: "torch-directml==0.2.5.dev240914",
  file: "torch_directml-0.2.5.dev240914-cp310-cp310-manylinux2010_x86_64.whl",
  sha256: "fd54a8c578630f62a31d6d971d1f7e758e8497df8afccefe5efb1517d791692c",
};

const again = "Run `npx dxtensor fetch` to fetch the right one, or name a complete copy: npx dxtensor fetch --from FILE_OR_FOLDER";

export const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Throws unless the bytes are a whole 64-bit x86 shared library with DirectML's entry point. */
function checkElf(bytes: Buffer, name: string): void {
  const foreign = (what: string): FetchFailure => new FetchFailure("FOREIGN", `${name} is not Microsoft's libdirectml.so: ${what}.`, again);
  const cut = (what: string): FetchFailure => new FetchFailure("TRUNCATED", `${name} is cut off: ${what}.`, again);
  if (bytes.length === 0) throw cut("it is empty");
  if (bytes.length >= 2 && bytes.toString("latin1", 0, 2) === "MZ")
    throw foreign("it is a Windows library; Linux and WSL need an ELF file");
  if (bytes.toString("latin1", 0, 4) !== "\x7fELF".slice(0, Math.min(4, bytes.length))) throw foreign("it is not an ELF file");
  if (bytes.length < 64) throw cut(`${bytes.length} bytes are too few for an ELF header`);
  if (bytes[4] !== 2 || bytes[5] !== 1) throw foreign("it is not a 64-bit little-endian file");
  if (bytes.readUInt16LE(18) !== 62) throw foreign(`it is for another CPU (ELF machine ${bytes.readUInt16LE(18)}, x86-64 is 62)`);
  if (bytes.readUInt16LE(16) !== 3) throw foreign("it is not a shared library");
  const end = libraryEndOf(bytes);
  if (end > bytes.length) throw cut(`it has ${bytes.length} bytes of at least ${end}`);
  if (!bytes.includes("DMLCreateDevice")) throw foreign("it has no DMLCreateDevice");
  if (!bytes.includes("DMLCreateDevice1"))
    throw new FetchFailure("OLD", `${name} is older than DirectML feature level 2.1 (no DMLCreateDevice1), and 5.0 is needed.`, again);
}

/** Throws a FetchFailure with code TRUNCATED, FOREIGN, OLD or DIGEST unless the bytes are the library with this digest. */
export function checkLibrary(bytes: Buffer, name: string, wanted: string): void {
  checkElf(bytes, name);
  const received = sha256(bytes);
  if (received === wanted) return;
  throw new FetchFailure(
    "DIGEST",
    `${name} has SHA-256 ${received}, expected ${wanted}.`,
    `It is another version, or was changed. ${again}. If you trust this one, name its digest: --sha256 ${received}`,
  );
}

export interface FetchedFile {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Library, licence and notice of a torch-directml wheel. */
export function readWheel(bytes: Buffer, name: string): FetchedFile[] {
  let entries: { [path: string]: Uint8Array };
  try {
    entries = unzipSync(bytes, {
      filter: (entry) => /(^torch_directml\/libdirectml\.so|\.dist-info\/(LICENSE|NOTICE)[^/]*)$/.test(entry.name),
    });
  } catch (error) {
    const isZip = bytes.length > 2 && bytes.toString("latin1", 0, 2) === "PK";
    throw new FetchFailure(
      isZip ? "TRUNCATED" : "FOREIGN",
      `${name} is not a complete wheel (zip file): ${(error as Error).message}.`,
      again,
    );
  }
  const files = Object.entries(entries).map(([path, content]) => ({ name: path.split("/").at(-1)!, bytes: Buffer.from(content) }));
  if (!files.some((file) => file.name === "libdirectml.so"))
    throw new FetchFailure(
      "FOREIGN",
      `${name} has no torch_directml/libdirectml.so.`,
      `It has to be the Linux wheel of ${pinned.wheel}. ${again}`,
    );
  return files;
}
