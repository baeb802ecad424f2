/** The checks of files for Windows before they are packed, on images made here: headers, one section with the tables. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { cannotBuild } from "../scripts/lib/native-builds.ts";
import { optional, platforms } from "../scripts/lib/packages.ts";
import { buildWindows, prebuiltWindows, windowsFiles } from "../scripts/lib/windows-files.ts";
import { readImage, windowsProblems } from "../scripts/lib/windows-image.ts";
import { cannotZig, wrapper } from "../scripts/lib/zig.ts";
import { published } from "../src/native/published.ts";

interface Parts {
  machine?: number;
  imports?: readonly string[];
  delayed?: readonly string[];
  exports?: readonly string[];
}

const FILE_OFFSET = 0x400;
const ADDRESS = 0x1000;

/** A PE32+ image whose one section lies elsewhere in the file than in memory. */
function image({ machine = 0xaa64, imports = [], delayed = [], exports = [] }: Parts): Buffer {
  const bytes = Buffer.alloc(0x2000);
  const [header, optionalHeader, sections] = [0x80, 0x98, 0x98 + 240];
  let end = ADDRESS;
  const offsetOf = (address: number) => address - ADDRESS + FILE_OFFSET;
  const take = (size: number) => (end += size) - size;
  const text = (value: string) => {
    const address = take(value.length + 1);
    bytes.write(`${value}\0`, offsetOf(address), "latin1");
    return address;
  };
  const directory = (index: number, address: number) => bytes.writeUInt32LE(address, optionalHeader + 112 + index * 8);
  const libraries = (index: number, names: readonly string[], size: number, nameAt: number) => {
    if (names.length === 0) return;
    const table = take(size * (names.length + 1));
    for (const [i, name] of names.entries()) bytes.writeUInt32LE(text(name), offsetOf(table) + i * size + nameAt);
    directory(index, table);
  };
  bytes.write("MZ", 0, "latin1");
  bytes.writeUInt32LE(header, 60);
  bytes.write("PE\0\0", header, "latin1");
  bytes.writeUInt16LE(machine, header + 4);
  bytes.writeUInt16LE(1, header + 6);
  bytes.writeUInt16LE(240, header + 20);
  bytes.writeUInt16LE(0x20b, optionalHeader);
  bytes.writeUInt32LE(16, optionalHeader + 108);
  bytes.writeUInt32LE(ADDRESS, sections + 12);
  bytes.writeUInt32LE(0x2000 - FILE_OFFSET, sections + 16);
  bytes.writeUInt32LE(FILE_OFFSET, sections + 20);
  libraries(1, imports, 20, 12);
  libraries(13, delayed, 32, 4);
  if (exports.length > 0) {
    const [table, names] = [take(40), take(4 * exports.length)];
    bytes.writeUInt32LE(exports.length, offsetOf(table) + 24);
    bytes.writeUInt32LE(names, offsetOf(table) + 32);
    for (const [i, name] of exports.entries()) bytes.writeUInt32LE(text(name), offsetOf(names) + 4 * i);
    directory(0, table);
  }
  return bytes;
}

const system = ["KERNEL32.dll", "api-ms-win-crt-heap-l1-1-0.dll"];
const addon = { imports: [...system, "node.exe"], exports: ["napi_register_module_v1", "node_api_module_get_api_version_v1"] };

it("reads what an image asks for and shows", () => {
  expect(readImage(image({ ...addon, delayed: ["d3d12.dll"] }))).toEqual({
    imports: [...addon.imports, "d3d12.dll"],
    exports: addon.exports,
  });
  expect(readImage(image({}))).toEqual({ imports: [], exports: [] });
  expect(() => readImage(Buffer.alloc(512))).toThrow("no 64-bit image");
});

it("a file of the package is for its processor and stands alone", () => {
  const problems = (parts: Parts, arch: "x64" | "arm64" = "arm64", name = "dxtensor.node") => windowsProblems(name, image(parts), arch);
  expect(problems(addon)).toEqual([]);
  expect(problems({ ...addon, machine: 0x8664 }, "x64")).toEqual([]);
  expect(problems({ ...addon, machine: 0x8664 })).toEqual(["is for x64"]);
  expect(problems({ ...addon, imports: [...system, "libc++.dll", "libunwind.dll"] })).toEqual(["needs libc++.dll", "needs libunwind.dll"]);
  expect(problems({ ...addon, exports: [addon.exports[1]!, "napi_register_module_v10"] })).toEqual([
    "does not export napi_register_module_v1",
    "exports napi_register_module_v10",
  ]);
  expect(windowsProblems("dxtensor_software.dll", Buffer.from("\x7fELF"), "arm64")[0]).toContain("cut off");
});

it("each processor's build has folders of its own", () => {
  expect(["x64", "arm64"].map((arch) => buildWindows(arch as "x64"))).toEqual([
    expect.stringMatching(/build.windows$/),
    expect.stringMatching(/build.windows-arm64$/),
  ]);
  expect(prebuiltWindows("arm64").endsWith(join("prebuilds", "win32-arm64"))).toBe(true);
  expect(windowsFiles).toEqual(["dxtensor.node", "dxtensor_software.dll"]);
});

it("whatever the loader asks npm for is part of a release", () => {
  expect([...published].toSorted()).toEqual(platforms.toSorted());
  expect(platforms.filter((name) => !optional.includes(name))).toEqual([]);
});

it("Windows on arm64 is made where the pinned compiler runs", () => {
  expect(cannotZig("linux", "x64")).toBeNull();
  expect(cannotZig("linux", "arm64")).toContain("linux-arm64");
  if (process.platform === "linux") expect(cannotBuild("win32-arm64")).toBe(cannotZig());
  const text = wrapper("/cache/zig", ["dlltool", "-m", "arm64"]);
  expect(text).toMatch(/^#!\/bin\/sh\n/);
  expect(text).toMatch(/exec '\/cache\/zig' dlltool -m arm64 "\$@"\n$/);
});
