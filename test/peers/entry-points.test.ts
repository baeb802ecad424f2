/** The entry points as files of the bundle: one library with the main one, nothing of a peer until it is used, and none at all. */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { entries, peers } from "../../scripts/lib/entries.ts";
import { manifest } from "../../scripts/lib/manifest.ts";

/** What each entry point is asked for where its package is missing. */
const calls: Readonly<Record<string, string>> = {
  arrow: `arrow("table.arrow").types()`,
  images: `decodePixels("photo.png")`,
  hub: `downloadModel("owner/name")`,
  parquet: `parquet("table.parquet").types()`,
  text: `loadTokenizer("tokenizer.json")`,
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dxtensor-entries-"));
  await mkdir(join(folder, "bundle"));
  for (const name of ["dxtensor", ...entries.map((entry) => entry.name)])
    await cp(join("dist", "bundle", `${name}.js`), join(folder, "bundle", `${name}.js`));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
});
afterAll(() => rm(folder, { recursive: true }));

it("the manifest has their peers, all optional", () => {
  const { peerDependencies, peerDependenciesMeta } = manifest as never as Record<string, Record<string, unknown>>;
  expect(Object.keys(peerDependencies!)).toEqual([...new Set(peers)].toSorted());
  for (const peer of peers) expect(peerDependenciesMeta![peer]).toEqual({ optional: true });
});

describe.each(entries)("dxtensor/$name", ({ name, peer }) => {
  it("is the main bundle's library, and loads without its package", async () => {
    const text = await readFile(join("dist", "bundle", `${name}.js`), "utf8");
    expect(text).toMatch(/^import \{[^}]+\} from "\.\/dxtensor\.js";/m);
    expect(text).not.toMatch(new RegExp(`^import .*"${peer}"`, "m"));
    const program = `
      import * as dx from "./bundle/dxtensor.js";
      import * as reader from "./bundle/${name}.js";
      const error = await reader.${calls[name]!}.catch((e) => e);
      console.log(JSON.stringify([error instanceof dx.MissingPackageError, error.name, error.package, error.command, error.message]));`;
    await writeFile(join(folder, `${name}.js`), program);
    const { stdout } = await execa(process.execPath, [`${name}.js`], { cwd: folder });
    const [isOurs, ...rest] = JSON.parse(stdout) as [boolean, ...string[]];
    expect(isOurs).toBe(true);
    expect(rest.slice(0, 3)).toEqual(["MissingPackageError", peer, `npm install ${peer}`]);
    expect(rest[3]).toMatch(new RegExp(`needs the package ${peer}, which is not installed\\. Run: npm install ${peer}$`));
  });
});
