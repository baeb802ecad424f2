import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { version, versions } from "../../src/cli/version.ts";

it("lists the libraries that a device would be opened with", () => {
  const told = JSON.parse(versions()) as {
    dxtensor: string;
    node: string;
    platform: string;
    libraries: { name: string; path: string | null; version: string | null; problem: string | null }[];
  };
  const { version: own } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  expect([version(), told.dxtensor]).toEqual([own, own]);
  expect([told.node, told.platform]).toEqual([process.version, `${process.platform}-${process.arch}`]);
  expect(told.libraries.map(({ name }) => name)).toEqual(["addon", "software", "dxcore", "d3d12", "directml"]);
  for (const { path, version: found } of told.libraries) {
    expect(path === null || existsSync(path)).toBe(true);
    expect(found === null).toBe(path === null);
  }
  expect(told.libraries.slice(0, 2).every(({ path, problem }) => path !== null && problem === null)).toBe(true);
});
