/** `dxtensor doctor` in an application that depends on packages with native libraries: one that computes, and ones that do not. */
import { mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildFaulty, canBuild, compileSample, newFolder } from "../runtime/library-backend/build.ts";

interface Answer {
  readonly verdict: string;
  readonly problems: readonly { readonly code: string; readonly severity: string; readonly text: string; readonly mend: string }[];
  readonly facts: {
    readonly probe: {
      readonly backends: readonly { readonly name: string; readonly devices: number; readonly problem: string | null }[];
      readonly devices: readonly { readonly device: string; readonly name: string; readonly problem: string | null }[];
    };
  };
}

/** The package loads its library as docs/write-a-backend.md says. */
const source = `const dx = require("dxtensor");
exports.backend = dx.backend.loadLibrary(require("node:path").join(__dirname, "backend.so"));
`;

describe.skipIf(!canBuild)(
  "dxtensor doctor and native libraries (skipped where there is no C++ compiler and CMake, and on Windows)",
  () => {
    let app: string;

    /** An installed package with a library, or without one. */
    const install = (name: string, library: string | null): void => {
      const folder = join(app, "node_modules", `dxtensor-${name}`);
      mkdirSync(folder, { recursive: true });
      const backends = { [name]: "./backend.cjs" };
      writeFileSync(join(folder, "package.json"), JSON.stringify({ name: `dxtensor-${name}`, version: "1.2.3", dxtensor: { backends } }));
      writeFileSync(join(folder, "backend.cjs"), source);
      if (library !== null) symlinkSync(library, join(folder, "backend.so"));
    };

    const doctor = (...args: string[]) =>
      execa(process.execPath, [resolve("dist/bundle/cli.js"), "doctor", ...args], { cwd: app, reject: false, stdin: "ignore" });

    beforeAll(async () => {
      app = realpathSync(newFolder());
      mkdirSync(join(app, "node_modules"));
      symlinkSync(resolve("."), join(app, "node_modules", "dxtensor"), "junction");
      const [sample, fan] = await Promise.all([compileSample(app), buildFaulty(app, "fan")]);
      install("sample", sample);
      install("fan", fan);
      install("lost", null);
      const dependencies = Object.fromEntries(["sample", "fan", "lost"].map((name) => [`dxtensor-${name}`, "*"]));
      writeFileSync(join(app, "package.json"), JSON.stringify({ name: "app", private: true, dependencies }));
    }, 60_000);
    afterAll(() => rmSync(app, { recursive: true, force: true }));

    it("lists each with its package, its devices and what is wrong with it", async () => {
      const { stdout, stderr } = await doctor("--json");
      expect(stderr).toBe("");
      const { problems, facts } = JSON.parse(stdout) as Answer;
      const { backends, devices } = facts.probe;
      const file = (name: string): string => join(app, "node_modules", `dxtensor-${name}`, "backend.cjs");
      const declared = (name: string) => ({ name, package: `dxtensor-${name}`, version: "1.2.3", file: file(name) });
      expect(backends).toEqual([
        { ...declared("sample"), devices: 1, problem: null },
        { ...declared("fan"), devices: 1, problem: null },
        { ...declared("lost"), devices: 0, problem: expect.stringMatching(/backend\.so/) as string },
      ]);
      expect(devices.filter(({ device }) => !/^(cpu|dml)/.test(device))).toMatchObject([
        { device: "sample:0", name: "host memory", isHardware: false, featureLevel: null, problem: null },
        { device: "fan:0", name: "a device that fails", problem: expect.stringContaining("the fan stopped") as string },
      ]);
      expect(problems.filter(({ code }) => code.startsWith("backend."))).toMatchObject([
        {
          code: "backend.notLoaded",
          severity: "note",
          text: expect.stringMatching(/^The backend lost was not loaded: .*backend\.so/) as string,
        },
        {
          code: "backend.fails",
          severity: "error",
          text: expect.stringMatching(/^fan:0 does not compute: .*the fan stopped/) as string,
          mend: "see the documentation of dxtensor-fan 1.2.3",
        },
      ]);
    });

    it("shows them to people", async () => {
      const { stdout } = await doctor();
      expect(stdout).toMatch(/^backend sample +dxtensor-sample 1\.2\.3, .*backend\.cjs, 1 device$/m);
      expect(stdout).toMatch(/^sample:0 +host memory, .*computes$/m);
      expect(stdout).toMatch(/^fan:0 +a device that fails, .*FAILS: .*the fan stopped/m);
      expect(stdout).toMatch(/^backend lost +dxtensor-lost 1\.2\.3, .*NOT LOADED: /m);
    });
  },
);
