// The system requirements of a Windows file, read from its headers: Debian's objdump does not support arm64 files.
import { basename } from "node:path";
import { readBinary } from "../../src/doctor/executable.ts";
import type { Architecture } from "./sysroot.ts";

interface Image {
  /** Libraries that it is loaded with. */
  readonly imports: readonly string[];
  /** Names that it exports. */
  readonly exports: readonly string[];
}

/** Part of every Windows 10, and the host that loads the addon. */
const known = /^(kernel32|ntdll|advapi32|bcrypt|user32|ole32|msvcrt|ucrtbase|api-ms-win-[\w-]+)\.dll$|^node\.exe$/i;
/** What each file exports, and no more: its C++ library is its own. */
const wanted: Readonly<Record<string, readonly string[]>> = {
  "dxtensor.node": ["napi_register_module_v1", "node_api_module_get_api_version_v1"],
  "dxtensor_software.dll": [
    "D3D12CreateDevice",
    "D3D12SerializeVersionedRootSignature",
    "DMLCreateDevice",
    "DMLCreateDevice1",
    "DXCoreCreateAdapterFactory",
    "DxtensorSimulate",
  ],
};

const signature = 24;

/** Reads a whole 64-bit image ("PE32+"). */
export function readImage(bytes: Buffer): Image {
  const header = bytes.readUInt32LE(60);
  const optional = header + signature;
  if (bytes.toString("latin1", header, header + 4) !== "PE\0\0" || bytes.readUInt16LE(optional) !== 0x20b)
    throw new Error("it is no 64-bit image");
  const sections = optional + bytes.readUInt16LE(header + 20);
  const count = bytes.readUInt16LE(header + 6);
  /** The file's offset of what is loaded at an address. */
  const offsetOf = (address: number): number => {
    for (let at = sections; at < sections + count * 40; at += 40) {
      const offset = address - bytes.readUInt32LE(at + 12);
      if (offset >= 0 && offset < bytes.readUInt32LE(at + 16)) return bytes.readUInt32LE(at + 20) + offset;
    }
    throw new Error(`it has nothing at ${address.toString(16)}`);
  };
  const textAt = (address: number): string => {
    const start = offsetOf(address);
    return bytes.toString("latin1", start, bytes.indexOf(0, start));
  };
  /** The address of a table, 0 where there is none. */
  const table = (index: number): number =>
    index < bytes.readUInt32LE(optional + 108) ? bytes.readUInt32LE(optional + 112 + index * 8) : 0;
  const listOf = (address: number, size: number, nameAt: number): string[] => {
    const names: string[] = [];
    if (address === 0) return names;
    for (let at = offsetOf(address); bytes.readUInt32LE(at + nameAt) !== 0; at += size) names.push(textAt(bytes.readUInt32LE(at + nameAt)));
    return names;
  };
  const exported = (): string[] => {
    if (table(0) === 0) return [];
    const at = offsetOf(table(0));
    const length = bytes.readUInt32LE(at + 24);
    if (length === 0) return [];
    const names = offsetOf(bytes.readUInt32LE(at + 32));
    return Array.from({ length }, (_, i) => textAt(bytes.readUInt32LE(names + i * 4)));
  };
  return {
    // At once, and at the first call of one of their functions.
    imports: [...listOf(table(1), 20, 12), ...listOf(table(13), 32, 4)],
    exports: exported(),
  };
}

/** Why a file of a package would not load on a bare Windows of that processor, and what it shows that it should not. */
export function windowsProblems(file: string, bytes: Buffer, arch: Architecture): string[] {
  const names = wanted[basename(file)] ?? [];
  const { arch: found, problem } = readBinary(bytes, "win32", arch, names[0] ?? "");
  if (found !== null && found !== arch) return [`is for ${found}`];
  if (problem !== null) return [problem];
  const { imports, exports } = readImage(bytes);
  return [
    ...imports.filter((name) => !known.test(name)).map((name) => `needs ${name}`),
    ...names.filter((name) => !exports.includes(name)).map((name) => `does not export ${name}`),
    ...exports.filter((name) => !names.includes(name)).map((name) => `exports ${name}`),
  ];
}
