/** A machine made by hand: files, commands and answers of devices, in a folder that replaces "/". */
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { filesUnder, runCommand, type Host } from "../../src/doctor/machine.ts";
import type { ProbedDevice } from "../../src/doctor/probe.ts";

/** A library's file: an ELF or PE header, and the name that it exports. */
export interface LibraryFile {
  readonly library: string;
  readonly format?: "elf" | "pe";
  readonly machine?: number;
  /** Bytes that are left of it. */
  readonly cutTo?: number;
  /** Of a DLL. */
  readonly version?: readonly [number, number, number, number];
}

/** A character device: "gpu" is one that is not the null device. */
export interface DeviceFile {
  readonly device: "gpu" | "null";
}

export interface LinkFile {
  readonly link: string;
}

export interface Tree {
  readonly name: string;
  /** Public sources of what the files and commands say. Nobody ran this on such a machine. */
  readonly sources: readonly string[];
  readonly platform?: "linux" | "win32";
  readonly release?: string;
  readonly node?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, string | LibraryFile | DeviceFile | LinkFile>>;
  /** By the command line, with the command's file name: "cmd.exe /c ver". */
  readonly commands?: Readonly<Record<string, string>>;
  readonly devices?: readonly ProbedDevice[];
  /** What the loader says of files that it did not load. */
  readonly refused?: readonly { readonly name: string; readonly path: string; readonly error: string }[];
  /** How the process that uses the devices ends, if not well. */
  readonly fall?: { readonly while: string; readonly signal: string };
  readonly expected: {
    readonly verdict: "gpu" | "cpu" | "broken";
    readonly ok: boolean;
    readonly codes: readonly string[];
    /** What the first problem's `mend` matches. */
    readonly mend?: RegExp;
    /** What the screen must show. */
    readonly shows: readonly RegExp[];
  };
}

export const packageFolder = { linux: "/home/user/dxtensor", win32: "C:\\dxtensor" } as const;
const windowsFolder = "/mnt/c/Windows/System32";

export const cpu: ProbedDevice = {
  device: "cpu",
  name: "dxtensor software adapter",
  driverVersion: "1.0.0.0",
  isHardware: false,
  isSimulated: false,
  featureLevel: "6.4",
  problem: null,
};
export const gpu = (name: string, driverVersion: string, featureLevel = "6.2"): ProbedDevice => ({
  device: "dml:0",
  name,
  driverVersion,
  isHardware: true,
  isSimulated: false,
  featureLevel,
  problem: null,
});

/** The package's own binaries, built in a repository. */
export const built = {
  "/home/user/dxtensor/CMakeLists.txt": "",
  "/home/user/dxtensor/build/native/Release/dxtensor.node": { library: "napi_register_module_v1" },
  "/home/user/dxtensor/build/native/Release/libdxtensor_software.so": { library: "DXCoreCreateAdapterFactory" },
} as const;
export const directml = { "/home/user/dxtensor/directml/libdirectml.so": { library: "DMLCreateDevice1" } } as const;

function libraryBytes({ library, format = "elf", machine, cutTo, version }: LibraryFile): Buffer {
  const symbol = Buffer.from(`\0${library}\0`);
  const header = Buffer.alloc(256);
  if (format === "elf") {
    header.write("\x7fELF", 0, "latin1");
    header.set([2, 1, 1], 4);
    header.writeUInt16LE(3, 16);
    header.writeUInt16LE(machine ?? 62, 18);
    // One section header, at the very end.
    header.writeBigUInt64LE(BigInt(header.length + symbol.length), 40);
    header.writeUInt16LE(64, 58);
    header.writeUInt16LE(1, 60);
  } else {
    header.write("MZ", 0, "latin1");
    header.writeUInt32LE(64, 60);
    header.write("PE\0\0", 64, "latin1");
    header.writeUInt16LE(machine ?? 0x8664, 68);
    if (version !== undefined) {
      header.writeUInt32LE(0xfeef04bd, 128);
      for (const [i, offset] of [10, 8, 14, 12].entries()) header.writeUInt16LE(version[i]!, 128 + offset);
    }
  }
  const bytes = Buffer.concat([header, symbol, Buffer.alloc(format === "elf" ? 64 : 0)]);
  return bytes.subarray(0, cutTo ?? bytes.length);
}

/** "C:\Windows\x.dll" lies at /C/Windows/x.dll of the tree. */
const flat = (path: string): string => path.replace(/^([A-Za-z]):/, "/$1").replaceAll("\\", "/");

const programOf = (line: string): string => line.split(" ")[0]!;
const pathOfProgram = (program: string): string => {
  if (program === "powershell.exe") return `${windowsFolder}/WindowsPowerShell/v1.0/${program}`;
  return program.endsWith(".exe") ? `${windowsFolder}/${program}` : `/usr/bin/${program}`;
};

/** Shell programs that know the lines they are asked for, and fail on any other. */
function layCommands(root: string, commands: Readonly<Record<string, string>>, isWindows: boolean): void {
  for (const program of new Set(Object.keys(commands).map(programOf))) {
    const path = join(root, isWindows ? join("bin", program) : pathOfProgram(program));
    const cases = Object.entries(commands)
      .filter(([line]) => programOf(line) === program)
      .map(([line, output], i) => {
        writeFileSync(join(root, `.output-${program}-${i}`), output);
        const pattern = line.slice(program.length + 1).replace(/[^\w]/g, "?");
        return `  ${pattern === "" ? "''" : pattern}*) cat '${join(root, `.output-${program}-${i}`)}';;`;
      });
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `#!/bin/sh\ncase "$*" in\n${cases.join("\n")}\n  *) exit 1;;\nesac\n`);
    chmodSync(path, 0o755);
  }
}

/** Lines that the process with the devices writes. */
export function probeLines({ devices = [cpu], refused = [], fall, files }: Tree): string {
  const hasAddon = Object.keys(files).some((path) => path.endsWith("dxtensor.node"));
  const direct3d = Object.keys(files).some((path) => path.includes("build/vulkan")) ? "Direct3D 12 over Vulkan" : "Direct3D 12";
  if (!hasAddon) return `${JSON.stringify({ step: "failed", problem: "no usable native binary" })}\n`;
  const lines: object[] = [{ step: "loaded", direct3d, libraries: {}, refused }];
  for (const device of devices) lines.push({ step: "trying", device: device.device, name: device.name }, { step: "device", ...device });
  lines.push(fall === undefined ? { step: "done" } : { step: "trying", device: fall.while, name: "a GPU" });
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

export function lay(tree: Tree, root: string): void {
  for (const [path, content] of Object.entries(tree.files)) {
    const file = join(root, flat(path));
    mkdirSync(dirname(file), { recursive: true });
    if (typeof content === "string") writeFileSync(file, content);
    else if ("library" in content) writeFileSync(file, libraryBytes(content));
    else if ("device" in content) symlinkSync(content.device === "null" ? "/dev/null" : "/dev/zero", file);
    else symlinkSync(content.link, file);
  }
  layCommands(root, tree.commands ?? {}, tree.platform === "win32");
}

/** The tree as a host; its commands really run. */
export function hostOf(tree: Tree, root: string): Host {
  const platform = tree.platform ?? "linux";
  const pathOf = (path: string): string => join(root, flat(path));
  const files = filesUnder(pathOf);
  return {
    ...files,
    real: (path) => files.real(path).replace(root, ""),
    env: { HOME: "/home/user", ...tree.env },
    platform,
    arch: "x64",
    cwd: packageFolder[platform],
    home: platform === "win32" ? "C:\\Users\\user" : "/home/user",
    packageFolder: () => null,
    root: packageFolder[platform],
    release: tree.release ?? "",
    node: tree.node ?? "v24.21.0",
    napi: "10",
    async run(command, args, options) {
      if (command === process.execPath) {
        const { fall } = tree;
        return { status: fall === undefined ? 0 : null, signal: fall?.signal ?? null, stdout: probeLines(tree), stderr: "" };
      }
      const isPath = command.startsWith("/");
      const file = isPath ? pathOf(command) : join(root, platform === "win32" ? "bin" : dirname(pathOfProgram(command)), basename(command));
      return runCommand(file, args, { ...options, ...(options.cwd === undefined ? {} : { cwd: pathOf(options.cwd) }) });
    },
  };
}
