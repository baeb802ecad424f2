import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ownFile, ownFolder, packageFolder, packageRoot } from "../../src/core/home.ts";

let folder: string;
/** The same code as somebody's bundle has it. */
beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "dxtensor-home-")));
  const input = join(folder, "input.mjs");
  writeFileSync(
    input,
    `import * as home from ${JSON.stringify(join(process.cwd(), "src/core/home.ts"))};
console.log(JSON.stringify([home.packageRoot(), home.packageFolder("@dxtensor/linux-x64"), home.packageFolder("absent")]));`,
  );
  for (const [name, format] of [
    ["out.mjs", "esm"],
    ["out.cjs", "cjs"],
  ] as const) {
    const build = await rolldown({ input, platform: "node", external: /^node:/, tsconfig: false });
    await build.write({ file: join(folder, "app", "dist", name), format });
    await build.close();
  }
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

it("knows its package, and none where there is none", () => {
  const [sources, file] = process.env.DXTENSOR_TEST_LIBRARY === "built" ? ["build/test-library", "code.cjs"] : ["src", "core/home.ts"];
  expect(ownFile()).toBe(join(process.cwd(), sources, file));
  expect(ownFolder()).toBe(join(process.cwd(), sources));
  expect(packageRoot()).toBe(process.cwd());
  expect(packageFolder("vitest")).toBe(join(process.cwd(), "node_modules/vitest"));
  expect(packageFolder("@dxtensor/plan9-mips")).toBe(null);
});

it.each(["out.mjs", "out.cjs"])("in a bundle (%s) it looks from there, and from the program", async (name) => {
  const run = async (cwd: string, file: string) => JSON.parse((await execa(process.execPath, [file], { cwd })).stdout) as (string | null)[];
  const bundle = join(folder, "app", "dist", name);
  expect(await run(folder, bundle)).toEqual([null, null, null]);
  const installed = join(folder, "app", "node_modules", "@dxtensor", "linux-x64");
  mkdirSync(installed, { recursive: true });
  writeFileSync(join(installed, "package.json"), "{}");
  try {
    expect(await run(tmpdir(), bundle)).toEqual([null, installed, null]);
    // What is imported from elsewhere finds what the program has.
    const main = join(folder, "app", "main.mjs");
    writeFileSync(main, `await import(${JSON.stringify(bundle)});`);
    expect(await run(tmpdir(), main)).toEqual([null, installed, null]);
  } finally {
    rmSync(join(folder, "app", "node_modules"), { recursive: true });
  }
});
