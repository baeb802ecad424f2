/** `dxtensor backend generate`: the written file, TypeScript's error for a missing kernel, and refused input. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { readSpec } from "../../src/cli/backend-spec.ts";
import { generatedText } from "../../src/cli/backend-types.ts";

let folder: string;
beforeEach(() => {
  mkdirSync("build", { recursive: true });
  folder = mkdtempSync(resolve("build", "generate-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string): void => {
  mkdirSync(join(folder, "src"), { recursive: true });
  writeFileSync(join(folder, name), text);
};
const read = (name: string): string => readFileSync(join(folder, name), "utf8");
const run = (...args: string[]) =>
  execa(process.execPath, [resolve("dist/bundle/cli.js"), "backend", "generate", ...args], { cwd: folder, reject: false, stdin: "ignore" });
const told = async (...args: string[]): Promise<object> => {
  const { exitCode, stdout, stderr } = await run(...args, "--json");
  return { exitCode, stderr, ...(JSON.parse(stdout) as object) };
};

const yaml = `name: generated
version: "0.2.0"
dtypes: [float32, int32]
operations:
  - ELEMENT_WISE_ADD
  - ELEMENT_WISE_MULTIPLY: [float32]
  - softmax: [float32]
fallback: [ELEMENT_WISE_MULTIPLY]
`;

const program = (softmax: string, multiply = "null") => `import type { backend as dx } from "dxtensor";
import { makeBackend, type Devices, type Kernels, type Tensor } from "./backend.generated.js";

class Memory {
  constructor(readonly bytes: Uint8Array<ArrayBuffer>) {}
}
const bytesOf = ({ memory, offset, size }: dx.BackendRange) => (memory as Memory).bytes.subarray(offset, offset + size);
const viewOf = (range: dx.BackendRange, dtype: "float32" | "int32") => {
  const { buffer, byteOffset, byteLength } = bytesOf(range);
  return dtype === "float32" ? new Float32Array(buffer, byteOffset, byteLength / 4) : new Int32Array(buffer, byteOffset, byteLength / 4);
};
const count = (t: Tensor) => t.sizes.reduce((n, d) => n * d, 1);

const kernels: Kernels = {
  ELEMENT_WISE_ADD: ({ inputs: [a, b], outputs: [y] }) => ({
    run([left, right], [result]) {
      const [p, q, r] = [viewOf(left!, a.dtype), viewOf(right!, b.dtype), viewOf(result!, y.dtype)];
      for (let i = 0; i < count(y); i++) r[i] = p[i]! + q[i]!;
    },
  }),
  ELEMENT_WISE_MULTIPLY: () => ${multiply},
  ${softmax}
};
class Host implements Devices {
  devices = () => [{ name: "host", memoryInBytes: 2 ** 20, isHardware: false }];
  open = () => ({
    allocate: (size: number) => new Memory(new Uint8Array(size)),
    free: () => {},
    write: (memory: object, offset: number, bytes: Uint8Array) => (memory as Memory).bytes.set(bytes, offset),
    read: async (memory: object, offset: number, size: number) => bytesOf({ memory, offset, size }).slice(),
    readSync: (memory: object, offset: number, size: number) => bytesOf({ memory, offset, size }).slice(),
    copy: (from: dx.BackendRange, to: dx.BackendRange) => bytesOf(to).set(bytesOf(from)),
    synchronize: async () => {},
    synchronizeSync: () => {},
    isIdle: () => true,
    memory: () => ({ heldInBytes: 0, limitInBytes: 2 ** 20 }),
    close: () => {},
  });
}
export const backend = makeBackend(new Host(), kernels);
`;

const softmaxKernel = `softmax: ({ inputs: [x], attributes: { axis } }) => ({
    run([input], [result]) {
      const [a, y, columns] = [viewOf(input!, x.dtype), viewOf(result!, "float32"), x.sizes[axis]!];
      for (let start = 0; start < count(x); start += columns) {
        const row = a.subarray(start, start + columns).map(Math.exp) as Float32Array;
        const sum = row.reduce((s, v) => s + v, 0);
        row.forEach((v, i) => (y[start + i] = v / sum));
      }
    },
  }),`;

/** What tsc says under strict; it writes JavaScript into "out". */
async function compile(): Promise<string> {
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noUnusedLocals: true,
    noUnusedParameters: true,
    skipLibCheck: true,
    module: "nodenext",
    target: "es2023",
    lib: ["es2023", "esnext.disposable"],
    types: ["node"],
    rootDir: "src",
    outDir: "out",
    paths: { dxtensor: [resolve("dist", "index.d.ts")] },
  };
  writeFileSync(join(folder, "package.json"), `{ "type": "module" }`);
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["src"] }));
  return (await execa(resolve("node_modules", ".bin", "tsc"), ["-p", folder, "--pretty", "false"], { reject: false })).stdout;
}

it("does not compile without a kernel; with all of them it computes, and falls back as the file says", async () => {
  write("backend.yaml", yaml);
  expect(await told("backend.yaml")).toEqual({
    exitCode: 0,
    stderr: "",
    ok: true,
    name: "generated",
    file: join(folder, "src", "backend.generated.ts"),
    isCurrent: true,
    operations: ["ELEMENT_WISE_ADD", "ELEMENT_WISE_MULTIPLY", "softmax"],
  });
  write("src/program.ts", program(""));
  expect(await compile()).toMatch(
    /program\.ts\(\d+,\d+\): error TS2741: Property 'softmax' is missing in type .* required in type 'Kernels'/,
  );
  write("src/program.ts", program("softmax: () => null,"));
  expect(await compile()).toMatch(/error TS2322: Type '.*null.*' is not assignable to type/);
  write("src/program.ts", program(softmaxKernel));
  expect(await compile()).toBe("");

  const { backend } = (await import(/* @vite-ignore */ pathToFileURL(join(folder, "out", "program.js")).href)) as {
    backend: dx.backend.Backend;
  };
  dx.backend.register(backend);
  expect(dx.backend.list()).toContainEqual(expect.objectContaining({ name: "generated", version: "0.2.0" }));
  const device = "generated";
  const x = dx.tensor([1, 2, 3], { device });
  const n = dx.tensor([4, 5, 6], { device, dtype: "int32" });
  dx.resetFallbackStats();
  expect(x.add(x).toArraySync()).toEqual([2, 4, 6]);
  expect(n.add(n).toArraySync()).toEqual([8, 10, 12]);
  const double = dx.compile((a: dx.Tensor) => a.add(a));
  for (const value of [1, 2, 3]) expect(double(dx.tensor([value], { device })).toArraySync()).toEqual([2 * value]);
  const s = dx.softmax(dx.tensor([[0, Math.log(3)]], { device }), -1).toArraySync() as number[][];
  expect(s[0]![0]).toBeCloseTo(0.25, 6);
  expect(dx.fallbackStats()).toEqual([]);
  expect(x.mul(x).toArraySync()).toEqual([1, 4, 9]);
  expect(dx.fallbackStats()).toContainEqual(expect.objectContaining({ operation: "mul", device: "generated:0" }));
}, 240_000);

it("again it writes the same bytes, and no file of the user's", async () => {
  write("backend.yaml", yaml);
  write("src/kernels.ts", "// mine\n");
  await run("backend.yaml");
  const first = read("src/backend.generated.ts");
  await run("backend.yaml");
  expect(read("src/backend.generated.ts")).toBe(first);
  expect(read("src/kernels.ts")).toBe("// mine\n");
  expect(await told("backend.yaml", "--out", "other")).toMatchObject({ exitCode: 0, file: join(folder, "other", "backend.generated.ts") });
  expect(read("other/backend.generated.ts")).toBe(first);

  write("src/backend.generated.ts", "// my own\n");
  expect(await told("backend.yaml")).toMatchObject({ exitCode: 1, ok: false, code: "FormatError", message: expect.stringContaining("a generated file") as string }); // prettier-ignore
  expect(read("src/backend.generated.ts")).toBe("// my own\n");
});

it("is what docs/write-a-backend.md shows", async () => {
  const page = readFileSync("docs/write-a-backend.md", "utf8");
  const section = page.slice(page.indexOf("## Typed registrations"));
  const block = (language: string): string => new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "m").exec(section)![1]!;
  write("backend.yaml", block("yaml"));
  expect((await run("backend.yaml")).exitCode).toBe(0);
  const shown = block("typescript");
  const declarations = shown.slice(0, shown.indexOf("import "));
  expect(read("src/backend.generated.ts")).toContain(declarations.trim());
  write("src/index.ts", `${shown.slice(shown.indexOf("import "))}\ndeclare const devices: Devices;\n`);
  expect(await compile()).toBe("");
}, 120_000);

it("--check writes nothing, and fails where the file is missing or out of date", async () => {
  write("backend.yaml", yaml);
  expect(await told("backend.yaml", "--check")).toMatchObject({ exitCode: 1, ok: false, isCurrent: false });
  expect(existsSync(join(folder, "src", "backend.generated.ts"))).toBe(false);
  await run("backend.yaml");
  expect(await told("backend.yaml", "--check")).toMatchObject({ exitCode: 0, ok: true });
  const before = read("src/backend.generated.ts");
  write("backend.yaml", yaml.replace("  - softmax: [float32]\n", ""));
  const plain = await run("backend.yaml", "--check");
  expect([plain.exitCode, plain.stdout]).toEqual([1, expect.stringContaining("Out of date:")]);
  expect(read("src/backend.generated.ts")).toBe(before);
});

it("a file that is not there, and an output that cannot be written", async () => {
  expect(await told("absent.yaml")).toMatchObject({
    exitCode: 1,
    code: "FormatError",
    message: expect.stringContaining("absent.yaml") as string,
  });
  write("backend.yaml", yaml);
  expect(await told("backend.yaml", "--out", "backend.yaml")).toMatchObject({ exitCode: 1, code: "FormatError" });
  expect(readdirSync(folder).toSorted()).toEqual(["backend.yaml", "src"]);
});

const known = ["softmax", "layerNorm", "linear"];

describe("errors name the line and the key", () => {
  const head = 'name: tiny\nversion: "1"\n';
  const list = "operations: [GEMM]\n";
  it.each([
    ["", /b\.yaml:1 must be a map with name, version, dtypes, operations, fallback; received nothing/],
    ["- a\n", /b\.yaml:1 must be a map .* received a list/],
    ["a: [\n", /b\.yaml:\d must be YAML/],
    ["name: a\nname: b\n", /b\.yaml:2 must be YAML; received Map keys must be unique/],
    [`${head}dtype: [float32]\n${list}`, /b\.yaml:3 dtype must be one of the keys .* Did you mean dtypes\?/],
    [`${head}dtypes:\n${list}`, /b\.yaml:3 dtypes must be a list of dtypes, as \[float32\]; received nothing/],
    [`version: "1"\ndtypes: [float32]\n${list}`, /b\.yaml:3 name must be there; received nothing\. Add the key name\./],
    [`${head}${list}`, /b\.yaml:3 dtypes must be there/],
    [`${head}dtypes: [float32]\n`, /b\.yaml:3 operations must be there/],
    [`name: Tiny\nversion: "1"\ndtypes: [float32]\n${list}`, /b\.yaml:1 name must be a lower-case letter.*received Tiny/],
    [
      `name: cpu\nversion: "1"\ndtypes: [float32]\n${list}`,
      /b\.yaml:1 name must be a name that the library does not have itself; received cpu/,
    ],
    [`name: float32\nversion: "1"\ndtypes: [float32]\n${list}`, /b\.yaml:1 name must be a name that is no dtype/],
    [`name: [a]\nversion: "1"\ndtypes: [float32]\n${list}`, /b\.yaml:1 name must be the type of the devices.*received a list/],
    [`name: tiny\nversion: 1.0\ndtypes: [float32]\n${list}`, /b\.yaml:2 version must be the version as text, as "0\.1\.0"; received 1/],
    [`${head}dtypes: []\n${list}`, /b\.yaml:3 dtypes must be a list of dtypes.*received an empty list/],
    [`${head}dtypes: float32\n${list}`, /b\.yaml:3 dtypes must be a list of dtypes.*received float32/],
    [
      `${head}dtypes:\n  - float32\n  - flaot16\n${list}`,
      /b\.yaml:5 dtypes\[1\] must be one of .*received flaot16\. Did you mean float16\?/,
    ],
    [`${head}dtypes: [float32, float32]\n${list}`, /b\.yaml:3 dtypes\[1\] must be no second float32/],
    [
      `${head}dtypes: [float32]\noperations:\n  - GEMM\n  - ELEMENT_WISE_AD\n`,
      /b\.yaml:6 operations\[1\] must be .*received ELEMENT_WISE_AD\. Did you mean ELEMENT_WISE_ADD\?/,
    ],
    [`${head}dtypes: [float32]\noperations: [sofmax]\n`, /b\.yaml:4 operations\[0\] must be .*received sofmax\. Did you mean softmax\?/],
    [`${head}dtypes: [float32]\noperations: [constructor]\n`, /b\.yaml:4 operations\[0\] must be .*received constructor/],
    [`${head}dtypes: [float32]\noperations: [GEMM, GEMM]\n`, /b\.yaml:4 operations\[1\] must be no second GEMM/],
    [`${head}dtypes: [float32]\noperations: [1]\n`, /b\.yaml:4 operations\[0\] must be the name of an operator/],
    [
      `${head}dtypes: [float32]\noperations:\n  - GEMM: [float16]\n`,
      /b\.yaml:5 operations\[0\]\.GEMM\[0\] must be one of float32; received float16/,
    ],
    [
      `${head}dtypes: [float32]\noperations:\n  - GEMM: [float32]\n    REDUCE: [float32]\n`,
      /b\.yaml:5 operations\[0\] must be one name with its dtypes/,
    ],
    [`${head}dtypes: [float32]\n${list}fallback: some\n`, /b\.yaml:5 fallback must be all, none, or a list .*received some/],
    [
      `${head}dtypes: [float32]\n${list}fallback: [GEM]\n`,
      /b\.yaml:5 fallback\[0\] must be one of operations; received GEM\. Did you mean GEMM\?/,
    ],
    [`${head}dtypes: [float32]\n${list}fallback: [GEMM, GEMM]\n`, /b\.yaml:5 fallback\[1\] must be no second GEMM/],
  ])("%#: %j", (text, message) => {
    expect(() => readSpec("b.yaml", text, known)).toThrow(message);
    expect(() => readSpec("b.yaml", text, known)).toThrow(dx.FormatError);
  });
});

it("every operator of DirectML's has a type that checks", async () => {
  const spec = readSpec(
    "all.yaml",
    `name: all\nversion: "1"\ndtypes: [float32, float16, int64, bool]\noperations: [${[...Object.keys(dx.dml.OPERATORS), ...known].join(", ")}]\nfallback: none\n`,
    known,
  );
  write("src/backend.generated.ts", generatedText("all.yaml", spec));
  expect(await compile()).toBe("");
  // Operators see bool as uint8.
  expect(read("src/backend.generated.ts")).toContain('a: Tensor<"float32" | "float16" | "int64" | "uint8">');
  expect(read("src/backend.generated.ts")).toContain('x: Tensor<"float32" | "float16" | "int64" | "bool">');
  expect(read("src/backend.generated.ts").match(/^export interface \w+Call /gm)).toHaveLength(Object.keys(dx.dml.OPERATORS).length + 3);
}, 120_000);
