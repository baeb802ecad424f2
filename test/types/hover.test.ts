/** The published declarations in an editor: every exported name, member and option has a text on hover, under its public name. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, expect, it } from "vitest";
import { typescript } from "../scripts.ts";
import { completions, hovers, type Hover } from "./hovers.ts";

let folder: string;
let types: string;
let all: readonly Hover[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-types-"));
  types = join(folder, "dxtensor.d.ts");
  // The same declarations as in the package: release and this test make them by one function.
  const program = `
    import { buildTypeScript } from "./scripts/build.ts";
    import { bundleTypes } from "./scripts/lib/package-bundles.ts";
    await buildTypeScript(["src"]);
    await bundleTypes(${JSON.stringify(types)});`;
  await execa(process.execPath, [...typescript, "--input-type=module", "-e", program]);
  all = hovers(types);
}, 600_000);
afterAll(() => {
  rmSync(folder, { recursive: true });
});

it("asks for every name: functions, layers, methods, options", () => {
  const names = new Set(all.map((h) => h.name));
  expect(all.length).toBeGreaterThan(4000);
  for (const name of [
    "add",
    "nn",
    "nn.linear",
    "nn.Linear",
    // A member is listed under the first class that has it: nn.LazyLinear has those of nn.Linear.
    "nn.Bilinear.weight",
    "nn.functional.relu",
    "nn.init.KaimingOptions.nonlinearity",
    "Tensor.mul_",
    "Tensor.max",
    "ComplexTensor.reshape",
    "optim.adam",
    "optim.adam(lr.betas)",
    "optim.lrScheduler.StepLR",
    "io.safetensors.load",
    "Generator",
    "var",
    "addmm(options.alpha)",
  ])
    expect(names).toContain(name);
});

it("has a text for each", () => {
  expect(all.filter((h) => h.documentation.trim() === "").map((h) => h.name)).toEqual([]);
});

it("shows names that users may write, and types, not any", () => {
  expect(all.filter((h) => h.display === "" || /\$\d|_d_exports|import\(/.test(h.display)).map((h) => `${h.name}: ${h.display}`)).toEqual(
    [],
  );
  expect(readFileSync(types, "utf8")).not.toMatch(/\$\d|_d_exports/);
  const display = (name: string): string | undefined => all.find((h) => h.name === name)?.display;
  expect(display("nn.linear")).toBe(
    "function nn.linear(inFeatures: number, outFeatures: number, bias?: boolean | dx.nn.LinearOptions, options?: dx.nn.LinearOptions): dx.nn.Linear (+1 overload)",
  );
  expect(display("Tensor.relu")).toBe("(method) Tensor.relu(): dx.Tensor");
  expect(display("optim.SGD")).toMatch(/^class optim\.SGD/);
});

it("says more of a layer than its function's name", () => {
  const text = (name: string): string => all.find((h) => h.name === name)!.documentation;
  expect(text("nn.ReLU")).toContain("torch.nn.ReLU");
  expect(text("nn.ReLU")).toContain("max(x, 0)");
  expect(text("nn.linear")).toBe(text("nn.Linear"));
  expect(text("Tensor.relu_")).toContain("in place");
  // What the generators read is no text for users.
  expect(all.filter((h) => /@\w+/.test(h.documentation)).map((h) => h.name)).toEqual([]);
});

it("strikes former names of options through, and offers the names that stand for them", () => {
  const offers = [
    ["nn.layerNorm(3, { | })", "eps", "epsilon"],
    ["nn.layerNorm({ normalizedShape: 3, | })", "eps", "epsilon"],
    ["nn.lstm(2, 3, { | })", "numLayers", "layers"],
    ["nn.lstm(2, 3, { | })", "projSize", "projection"],
    ["nn.groupNorm(2, 4, { | })", "eps", "epsilon"],
    ["nn.batchNorm2d(2, { | })", "eps", "epsilon"],
    ["nn.rmsNorm(2, { | })", "elementwiseAffine", "affine"],
    ["layerNorm(x, [2], null, null, { | })", "eps", "epsilon"],
    ["rmsNorm(x, [2], null, { | })", "eps", "epsilon"],
    ["leakyRelu(x, { | })", "negativeSlope", "slope"],
  ] as const;
  const found = completions(
    types,
    offers.map(([line]) => `dx.${line};`),
  );
  offers.forEach(([line, name, former], i) => {
    expect([line, name, found[i]!.get(name)]).toEqual([line, name, "plain"]);
    expect([line, former, found[i]!.get(former)]).toEqual([line, former, "struck"]);
  });
});

it("checks what users write: calls of modules, batches, options", async () => {
  const calls = readFileSync(new URL("calls.ts", import.meta.url), "utf8").replace("../../src/index.ts", "./dxtensor.js");
  writeFileSync(join(folder, "calls.ts"), calls);
  const settings = { module: "nodenext", target: "es2022", lib: ["es2023", "esnext.disposable"], strict: true, noEmit: true, types: [] };
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: { ...settings, skipLibCheck: false }, files: ["calls.ts"] }),
  );
  const done = await execa(join(process.cwd(), "node_modules", ".bin", "tsc"), ["-p", folder], { reject: false });
  expect(done.stdout).toBe("");
  expect(done.exitCode).toBe(0);
}, 120_000);
