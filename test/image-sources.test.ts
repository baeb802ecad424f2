/** The first layers of an image copy all sources that their commands import: a moved file of src must not break them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { sourcesOf } from "../matrix/run/sources.ts";
import { imported } from "./imports.ts";
import { list } from "tar";

const root = fileURLToPath(new URL("..", import.meta.url));

const outside = (files: readonly string[], isCopied: (file: string) => boolean): string[] => files.filter((file) => !isCopied(file));

/** What the Dockerfile copies before `npm run NAME` in the stage of packages. */
function copiedBefore(command: string): string[] {
  const dockerfile = readFileSync(join(root, "Dockerfile"), "utf8");
  const stage = /^FROM tools AS packages$(.*?)^FROM /ms.exec(dockerfile)![1]!;
  const lines = stage.split("\n");
  const end = lines.findIndex((line) => line.startsWith("RUN") && line.includes(command));
  expect(end).toBeGreaterThan(0);
  return lines.slice(0, end).flatMap((line) => /^COPY (?:--\S+ )*(.+) \S+$/.exec(line)?.[1]!.split(" ") ?? []);
}

const covers =
  (copied: readonly string[]) =>
  (file: string): boolean =>
    copied.some((path) => file === path || file.startsWith(`${path}/`));

it("the Dockerfile copies what setup and fetch:directml import", () => {
  const setup = imported(["scripts/setup.ts"]);
  expect(setup.length).toBeGreaterThan(5);
  expect(outside(setup, covers(copiedBefore("npm run setup")))).toEqual([]);
  const fetch = imported(["scripts/fetch-directml.ts", "src/fetch/run.ts"]);
  expect(fetch).toContain("src/host/library-end.ts");
  expect(outside(fetch, covers(copiedBefore("npm run fetch:directml")))).toEqual([]);
});

it("the matrix copies what setup and build native import", async () => {
  const files = imported(["scripts/setup.ts", "scripts/build.ts"]);
  const archive = await sourcesOf(root, "these", [...files, "README.md"]).archive("native");
  const copied: string[] = [];
  list({ sync: true, onReadEntry: (entry) => copied.push(entry.path) }).end(archive);
  expect(copied).toContain("scripts/build.ts");
  expect(copied).not.toContain("README.md");
  expect(outside(files, covers(copied))).toEqual([]);
});
