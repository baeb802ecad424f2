/**
 * Checks that libvkd3d's headers and WSL's headers declare the same ABI, which the wrappers require. Needs libvkd3d's headers,
 * which `npm run build:vulkan` fetches.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { layouts, microsoft, preprocess, structures, tables, vkd3d, type Side, type Slot } from "./headers.ts";

const work = join("build", "vulkan", "cmake");
const cacheFile = join(work, "CMakeCache.txt");
const folder = existsSync(cacheFile) ? /^DXTENSOR_VKD3D:\w+=(.*)$/m.exec(readFileSync(cacheFile, "utf8"))?.[1] : undefined;

describe.skipIf(folder === undefined)("vkd3d's headers compared with Microsoft's (skipped where build:vulkan has not run)", () => {
  let sides: readonly [Side, Side];
  let texts: readonly [string, string];
  let interfaces: string[];
  beforeAll(async () => {
    sides = [microsoft(join("build", "headers", "usr", "include")), vkd3d(folder ?? "")];
    texts = [await preprocess(sides[0]), await preprocess(sides[1])];
    // Blobs lie in another header of Microsoft's.
    interfaces = readFileSync(join(work, "interfaces.txt"), "utf8")
      .split(/\s+/)
      .filter((name) => name !== "" && name !== "ID3D10Blob");
  });

  it("have the same methods in the same order with the same kinds of arguments and results", () => {
    const [theirs, ours] = texts.map(tables) as [Map<string, Slot[]>, Map<string, Slot[]>];
    expect(interfaces.length).toBeGreaterThan(30);
    for (const name of interfaces) {
      expect(theirs.get(name)?.length).toBeGreaterThan(3);
      expect({ name, slots: ours.get(name) }).toEqual({ name, slots: theirs.get(name) });
    }
    expect(interfaces.reduce((sum, name) => sum + (ours.get(name)?.length ?? 0), 0)).toBeGreaterThan(1000);
  });

  it("lay out every common structure the same way", async () => {
    const [theirs, ours] = texts.map(structures) as [Map<string, string[]>, Map<string, string[]>];
    const common = new Map<string, string[]>();
    for (const [name, fields] of ours) {
      const other = theirs.get(name);
      if (other !== undefined)
        common.set(
          name,
          fields.filter((field) => other.includes(field)),
        );
    }
    expect(common.size).toBeGreaterThan(200);
    const [a, b] = await Promise.all(sides.map((side) => layouts(side, common)));
    expect(b).toEqual(a);
    expect(a).toHaveLength(common.size);
  });
});
