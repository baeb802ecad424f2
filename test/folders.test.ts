/** Imports between the folders of src point one way. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const src = fileURLToPath(new URL("../src", import.meta.url));

/**
 * Folders of src from the bottom up: each imports those before it, types too. An index.ts lists what its folder and the folders inside have, and lies
 * above them all.
 */
const folders = [
  "core",
  "host",
  "native",
  "telemetry",
  "dml",
  "graph",
  "graph/passes",
  "graph/plan",
  "backend",
  "shader",
  "shader/dxbc",
  "shader/operations",
  "shader/kernels",
  "graph/passes/fuse",
  "runtime/lapack",
  "runtime",
  "autograd",
  "dispatch",
  "ops/declare",
  // The families that all others are made of need each other; between their files nothing goes in a circle.
  [
    "ops/elementwise",
    "ops/creation",
    "ops/data",
    "ops/shape",
    "ops/reduce",
    "ops/index",
    "ops/scan",
    "ops/sort",
    "ops/matmul",
    "ops/special",
    "ops/linalg",
  ],
  "ops/conv",
  "ops/random",
  "ops/pool",
  "ops/vision",
  "ops/norm",
  "ops/loss",
  "ops/attention",
  "ops/recurrent",
  "ops/quantized",
  "ops/kernel",
  "ops/exports",
  "ops",
  "complex",
  "fft",
  "control",
  "func",
  "compile",
  "nn",
  "optim",
  "optim/schedules",
  "metrics",
  "onnx/format",
  "onnx/operators",
  "onnx",
  "io",
  "onnx/export",
  "io/checkpoint",
  "io/gguf",
  "io/npy",
  "io/npz",
  "io/wav",
  "io/peft",
  "io/pytorch",
  "io/tfjs",
  ["models", "models/generation"],
  "data/worker",
  "data/augment",
  "data",
  "data/files",
  "train/events",
  "train/loop",
  "train/page",
  "train",
  "distributed",
  "profile",
  "public",
  "",
  "peers",
  "peers/hub",
  "peers/images",
  "peers/tables",
  "peers/parquet",
  "peers/arrow",
  "peers/text",
  "measure",
  "verify/values",
  "verify/operators",
  "verify",
  "verify/cases",
  "fetch",
  "doctor",
  "inspect",
  "model-run",
  "launch",
  "cli",
].map((level) => (typeof level === "string" ? [level] : level));

/** What a tensor and an operation consist of: the tape's, the graph's and the view's types, by name only. */
const named = new Set(["core/definition.ts", "core/padded-axes.ts", "core/tensor.ts", "core/tracer.ts"]);

const name = (file: string): string => relative(src, file).replaceAll("\\", "/");
const heightOf = (file: string): number => {
  const folder = name(dirname(file));
  const at = folders.findIndex((level) => level.includes(folder));
  if (!file.endsWith("index.ts") || at < 0) return at;
  return folders.findLastIndex((level) => level.some((f) => f === folder || f.startsWith(`${folder}/`))) + 0.5;
};

/** [file, what it imports, whether the import is of types alone]. */
const imports = readdirSync(src, { recursive: true, encoding: "utf8" })
  .filter((f) => f.endsWith(".ts"))
  .map((f) => join(src, f))
  .flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/^(?:import|export) (type )?(?:[^;"]*? from )?"(\.[^"]+)";$/gms)].map(
      ([, type, path]) => [file, normalize(join(dirname(file), path!)), type !== undefined] as const,
    ),
  );

it("imports between the folders of src point one way", () => {
  expect(imports.length).toBeGreaterThan(1000);
  const files = [...new Set(imports.flatMap(([from, to]) => [from, to]))];
  expect(files.filter((file) => heightOf(file) < 0).map(name)).toEqual([]);
  const wrong = imports.filter(([from, to, isType]) => heightOf(to) > heightOf(from) && !(isType && named.has(name(from))));
  expect(wrong.map(([from, to]) => `${name(from)} → ${name(to)}`)).toEqual([]);
});

it("files of src do not import each other in a circle", () => {
  const next = new Map<string, string[]>();
  for (const [from, to, isType] of imports) if (!isType) next.set(from, [...(next.get(from) ?? []), to]);
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].map(name).join(" → "));
    if (done.has(file) || path.includes(file)) return;
    for (const to of next.get(file) ?? []) visit(to, [...path, file]);
    done.add(file);
  };
  for (const file of next.keys()) visit(file, []);
  expect(circles).toEqual([]);
});

it("decompositions and solvers alone run on the host", () => {
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).flatMap((f) =>
    f.endsWith(".ts") ? [f.replaceAll("\\", "/")] : [],
  );
  const users = files.filter((f) => /\bdefineHost\b|lapack\/engine|\bhost: \(\[/.test(readFileSync(join(src, f), "utf8")));
  expect(users).toContain("ops/linalg/svd.ts");
  expect(users.filter((f) => !/^ops\/linalg\/|^runtime\/(host-operations\.ts$|lapack\/)/.test(f))).toEqual([]);
});

it("each file of graph, compile, autograd and runtime has its test at the same path", () => {
  const test = fileURLToPath(new URL(".", import.meta.url));
  const lacking = ["graph", "compile", "autograd", "runtime"].flatMap((folder) =>
    readdirSync(join(src, folder), { recursive: true, encoding: "utf8" })
      .filter((f) => f.endsWith(".ts") && !f.endsWith(".generated.ts"))
      .map((f) => join(folder, f.replace(/\.ts$/, ".test.ts")))
      .filter((f) => !existsSync(join(test, f))),
  );
  expect(lacking).toEqual([]);
});

it("each family of operations has a README that lists its files", () => {
  const ops = join(src, "ops");
  const families = readdirSync(ops, { withFileTypes: true }).flatMap((f) => (f.isDirectory() ? [f.name] : []));
  expect(families.length).toBeGreaterThan(20);
  for (const family of families) {
    const files = readdirSync(join(ops, family)).filter((f) => f.endsWith(".ts") && !f.endsWith(".generated.ts"));
    const readme = readFileSync(join(ops, family, "README.md"), "utf8");
    const listed = [...readme.matchAll(/^\| `([^`]+)` \| \S.* \|$/gm)].map(([, file]) => file);
    expect({ family, listed }).toEqual({ family, listed: files.sort() });
  }
});

const native = fileURLToPath(new URL("../native", import.meta.url));

/** Folders of native, or single files, from the top down, and what each includes: only what lies further down the list. */
const nativeFolders: Record<string, readonly string[]> = {
  "software/bench": ["test", "software/cpu", "software/cpu/fast/isa", "software/cpu/host"],
  vulkan: ["test"],
  test: [
    "software/directml",
    "software/compiler",
    "software/shader/execute",
    "software/cpu/fast/conv",
    "software/cpu/fast/isa",
    "software/cpu",
    "software/cpu/host",
    "software/shader",
    "dml",
    "schema",
    "abi",
  ],
  addon: ["dml", "include"],
  distributed: [],
  "software/exports.cpp": ["software/directml", "software/d3d12"],
  "software/directml": ["software/compiler", "software/d3d12", "software/cpu", "software/cpu/host", "schema", "abi"],
  "software/compiler": [
    "software/d3d12",
    "software/cpu/fast/conv",
    "software/cpu/fast/gemm",
    "software/cpu/fast/elementwise",
    "software/cpu/fast/tensor",
    "software/cpu",
    "software/cpu/host",
    "schema",
  ],
  "software/d3d12": ["software/shader/execute", "software/cpu", "software/cpu/host", "software/shader", "schema", "abi"],
  "software/shader/execute": ["software/cpu/fast/isa", "software/cpu/host", "software/shader"],
  "software/cpu/fast/fast.cpp": [
    "software/cpu/fast/conv",
    "software/cpu/fast/gemm",
    "software/cpu/fast/elementwise",
    "software/cpu/fast",
    "software/cpu",
  ],
  "software/cpu/fast/recurrent": [
    "software/cpu/fast/gemm",
    "software/cpu/fast",
    "software/cpu/fast/tensor",
    "software/cpu/fast/isa",
    "software/cpu/reference",
    "software/cpu/host",
  ],
  "software/cpu/fast/pool": [
    "software/cpu/fast",
    "software/cpu/fast/tensor",
    "software/cpu/fast/isa",
    "software/cpu/reference",
    "software/cpu/host",
  ],
  "software/cpu/fast/movement": [
    "software/cpu/fast/elementwise",
    "software/cpu/fast",
    "software/cpu/fast/tensor",
    "software/cpu/fast/isa",
    "software/cpu/reference",
    "software/cpu",
    "software/cpu/host",
  ],
  "software/cpu/fast/reduce": [
    "software/cpu/fast",
    "software/cpu/fast/tensor",
    "software/cpu/fast/isa",
    "software/cpu/reference",
    "software/cpu/host",
  ],
  "software/cpu/fast/norm": ["software/cpu/fast/elementwise", "software/cpu/fast", "software/cpu/fast/tensor", "software/cpu/host"],
  "software/cpu/fast/conv": [
    "software/cpu/fast/gemm",
    "software/cpu/fast/elementwise",
    "software/cpu/fast/tensor",
    "software/cpu/fast/isa",
    "software/cpu",
    "software/cpu/host",
  ],
  "software/cpu/fast/gemm": [
    "software/cpu/fast/elementwise",
    "software/cpu/fast/tensor",
    "software/cpu/fast/isa",
    "software/cpu",
    "software/cpu/host",
  ],
  "software/cpu/fast/elementwise": [
    "software/cpu/fast",
    "software/cpu/fast/tensor",
    "software/cpu/fast/isa",
    "software/cpu",
    "software/cpu/host",
    "schema",
  ],
  "software/cpu/fast": ["software/cpu"],
  "software/cpu/fast/tensor": ["software/cpu/fast/isa", "software/cpu/host", "schema", "abi"],
  "software/cpu/fast/isa": ["software/shader", "abi"],
  "software/cpu/reference": ["software/cpu", "software/cpu/host", "schema", "abi"],
  "software/cpu": ["software/cpu/host", "schema"],
  "software/cpu/host": ["abi"],
  "software/shader": [],
  dml: ["schema", "abi"],
  schema: ["abi"],
  abi: [],
  include: [],
};

/** The folder of a file below native: itself, its own folder, or the next one above, whichever the list has. */
function nativeFolderOf(file: string): string {
  let folder = file.replaceAll("\\", "/");
  while (folder !== "." && !(folder in nativeFolders)) folder = dirname(folder);
  return folder;
}

it("includes between the folders of native point one way", () => {
  const files = readdirSync(native, { recursive: true, encoding: "utf8" }).filter((f) => /\.(cpp|h|inl)$/.test(f));
  expect(files.length).toBeGreaterThan(300);
  const included = new Map<string, Set<string>>(Object.keys(nativeFolders).map((folder) => [folder, new Set<string>()]));
  const wrong: string[] = [];
  for (const file of files) {
    const folder = nativeFolderOf(file);
    if (folder === ".") wrong.push(`${file} is in no folder of the list`);
    for (const [, path] of readFileSync(join(native, file), "utf8").matchAll(/^#include "([^"]+)"/gm)) {
      const target = [join(dirname(file), path!), path!].find((f) => existsSync(join(native, f)));
      if (target === undefined) continue; // a generated header, or a system's
      const other = nativeFolderOf(target);
      if (other === folder) continue;
      included.get(folder)?.add(other);
      if (!nativeFolders[folder]?.includes(other)) wrong.push(`${file} → ${target}`);
    }
  }
  expect(wrong).toEqual([]);
  const order = Object.keys(nativeFolders);
  const entries = Object.entries(nativeFolders).flatMap(([folder, others]) => others.map((other) => [folder, other] as const));
  expect(entries.filter(([folder, other]) => order.indexOf(other) <= order.indexOf(folder))).toEqual([]);
  expect(entries.filter(([folder, other]) => !included.get(folder)!.has(other))).toEqual([]);
});

it("no header of the software adapter's kernels knows its compiler", () => {
  const headers = readdirSync(join(native, "software/cpu"), { recursive: true, encoding: "utf8" }).filter((f) => /\.(h|inl)$/.test(f));
  expect(headers.length).toBeGreaterThan(50);
  expect(headers.filter((f) => readFileSync(join(native, "software/cpu", f), "utf8").includes('"software/compiler/'))).toEqual([]);
});
