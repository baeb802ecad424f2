/** Shared libraries as files: for which machine, whole or cut off, which version. Nothing is loaded. */

import { libraryEndOf } from "../host/library-end.ts";

export interface Binary {
  readonly format: "elf" | "pe" | null;
  /** "x64", "arm64", … as Node names them. */
  readonly arch: string | null;
  /** "1.15.4.0" of a DLL; the build id of an ELF file. */
  readonly version: string | null;
  /** Why it can't be the library that it is named after, null when nothing speaks against it. */
  readonly problem: string | null;
}

const elfMachines: Readonly<Record<number, string>> = { 62: "x64", 183: "arm64", 3: "ia32", 40: "arm" };
const peMachines: Readonly<Record<number, string>> = { 0x8664: "x64", 0xaa64: "arm64", 0x14c: "ia32" };

/** The note that linkers leave: "GNU", type 3, 20 bytes. */
const buildIdNote = Buffer.from("040000001400000003000000474e5500", "hex");
const fixedFileInfo = Buffer.from("bd04effe", "hex");

function readElf(bytes: Buffer): Binary {
  const arch = bytes.length >= 20 ? (elfMachines[bytes.readUInt16LE(18)] ?? `ELF machine ${bytes.readUInt16LE(18)}`) : null;
  const found = (problem: string | null, version: string | null = null): Binary => ({ format: "elf", arch, version, problem });
  if (bytes.length < 64) return found(`it is cut off: ${bytes.length} bytes do not hold an ELF header`);
  if (bytes[4] !== 2 || bytes[5] !== 1) return found("it is no 64-bit little-endian ELF file");
  const end = libraryEndOf(bytes);
  if (end > bytes.length) return found(`it is cut off: ${bytes.length} bytes of at least ${end}`);
  const note = bytes.indexOf(buildIdNote);
  return found(null, note < 0 ? null : `build ${bytes.toString("hex", note + 16, note + 24)}`);
}

function readPe(bytes: Buffer): Binary {
  const header = bytes.length >= 64 ? bytes.readUInt32LE(60) : 0;
  if (header === 0 || bytes.length < header + 24) return { format: "pe", arch: null, version: null, problem: "it is cut off" };
  const end = libraryEndOf(bytes);
  if (end > bytes.length)
    return { format: "pe", arch: null, version: null, problem: `it is cut off: ${bytes.length} bytes of at least ${end}` };
  const machine = bytes.readUInt16LE(header + 4);
  const info = bytes.indexOf(fixedFileInfo);
  const word = (offset: number): number => bytes.readUInt16LE(info + offset);
  const version = info < 0 || bytes.length < info + 16 ? null : [word(10), word(8), word(14), word(12)].join(".");
  return { format: "pe", arch: peMachines[machine] ?? `PE machine ${machine}`, version, problem: null };
}

/** Reads a library's bytes. `symbol` is a name that it must hold to be the one that is wanted. */
export function readBinary(bytes: Buffer, platform: string, arch: string, symbol: string): Binary {
  if (bytes.length === 0) return { format: null, arch: null, version: null, problem: "it is empty" };
  const isElf = bytes.toString("latin1", 0, 4) === "\x7fELF";
  const isPe = bytes.toString("latin1", 0, 2) === "MZ";
  if (!isElf && !isPe) return { format: null, arch: null, version: null, problem: "it is no library" };
  const binary = isElf ? readElf(bytes) : readPe(bytes);
  if (binary.problem !== null) return binary;
  if ((binary.format === "pe") !== (platform === "win32")) {
    const [is, should] = isPe ? ["Windows", "Linux"] : ["Linux", "Windows"];
    return { ...binary, problem: `it is a ${is} library; this is ${should}` };
  }
  if (binary.arch !== arch) return { ...binary, problem: `it is for ${binary.arch}; this Node is for ${arch}` };
  if (!bytes.includes(symbol)) return { ...binary, problem: `it has no ${symbol}` };
  return binary;
}

/** Compares "5.10.43.3" with "5.15": by number, missing parts are 0. Negative: a is older. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => text.split(".").map((part) => Number.parseInt(part, 10) || 0));
  for (let i = 0; i < Math.max(left!.length, right!.length); i++) {
    const difference = (left![i] ?? 0) - (right![i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
