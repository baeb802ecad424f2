/** The native backend that docs/write-a-backend.md shows: its C++ is the sample's, and its program runs. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canBuild, compileSample, newFolder } from "./library-backend/build.ts";

const page = readFileSync("docs/write-a-backend.md", "utf8");
const blocks = (language: string) => [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gm"))].map((m) => m[1]!);

it("has the sample's source", () => {
  const source = readFileSync("examples/native-backend/backend.cpp", "utf8");
  const shown = blocks("cpp");
  expect(shown.length).toBeGreaterThan(3);
  for (const block of shown) for (const part of block.split("\n\n")) expect(source).toContain(part);
  expect(source.split("\n").length).toBeLessThan(210);
});

describe.skipIf(!canBuild)("its program (skipped where there is no C++ compiler and CMake, and on Windows)", () => {
  let folder: string;
  beforeAll(() => void (folder = newFolder()));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("computes on the sample's device", async () => {
    const sample = await compileSample(folder);
    const [program] = blocks("js");
    const file = join(folder, "page.mjs");
    writeFileSync(
      file,
      program!
        .replace('"dxtensor"', JSON.stringify(pathToFileURL(resolve("dist/bundle/dxtensor.js")).href))
        .replace('"build/sample.so"', JSON.stringify(sample)),
    );
    const { stdout } = await execa(process.execPath, [file]);
    expect(stdout).toBe("[ [ 8, 12 ], [ 18, 26 ] ]");
  });
});
