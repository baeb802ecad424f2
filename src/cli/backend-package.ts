/** The files of the package that `dxtensor backend new` writes: a backend on host memory with a few kernels, its tests and its workflow. Pure. */
import { readSpec } from "./backend-spec.ts";
import { generatedText } from "./backend-types.ts";

/** The licences that the package may have. */
export const LICENCES = ["MIT", "Apache-2.0", "UNLICENSED"] as const;
export type Licence = (typeof LICENCES)[number];

/** What the package is made of. */
export interface PackageOptions {
  /** The type of its devices: "tiny". */
  readonly name: string;
  /** The name on the registry: "dxtensor-tiny". */
  readonly packageName: string;
  /** Of the package. */
  readonly licence: Licence;
  /** The version of dxtensor that it is written for. */
  readonly dxtensor: string;
  /** For the licence's text. */
  readonly year: number;
}

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

const manifest = ({ name, packageName, licence, dxtensor }: PackageOptions): string =>
  json({
    name: packageName,
    version: "0.1.0",
    description: `The devices "${name}" for dxtensor`,
    license: licence,
    main: "./dist/index.js",
    types: "./dist/index.d.ts",
    files: ["dist", "!dist/*.test.*"],
    dxtensor: { backends: { [name]: "./dist/backend.js" } },
    scripts: {
      generate: "dxtensor backend generate backend.yaml",
      build: "dxtensor backend generate backend.yaml --check && tsc -p .",
      test: "npm run build && node --test dist/backend.test.js",
      prepack: "npm run build",
    },
    peerDependencies: { dxtensor: `>=${dxtensor}` },
    devDependencies: { "@types/node": ">=20", dxtensor: `>=${dxtensor}`, typescript: ">=5.6" },
    engines: { node: "^20.17.0 || >=22.9.0" },
  });

const tsconfig = json({
  compilerOptions: {
    target: "es2022",
    module: "node16",
    rootDir: "src",
    outDir: "dist",
    declaration: true,
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    types: ["node"],
  },
  include: ["src"],
});

const kernels = `/** Kernels on float32 tensors of any strides. Null where there is none: dxtensor then composes the operator of others, or falls back. */
import type { backend as dx } from "dxtensor";
import type { GemmCall, Kernels } from "./backend.generated";
import { floatsOf } from "./memory";

type Tensor = dx.BackendTensor;

/** Calls visit with the offset of each element in each tensor, in the order of the sizes. */
function forEach(sizes: readonly number[], strides: readonly (readonly number[])[], visit: (offsets: readonly number[]) => void): void {
  const offsets = strides.map(() => 0);
  const go = (axis: number): void => {
    if (axis === sizes.length) return visit(offsets);
    for (let i = 0; i < sizes[axis]!; i++) {
      go(axis + 1);
      strides.forEach((s, t) => (offsets[t]! += s[axis]!));
    }
    strides.forEach((s, t) => (offsets[t]! -= s[axis]! * sizes[axis]!));
  };
  go(0);
}

const float32Of = (tensors: readonly (Tensor | null)[]): readonly Tensor[] | null =>
  tensors.every((t): t is Tensor => t !== null && t.dtype === "float32") ? tensors : null;

type Call = Pick<dx.BackendCall, "attributes" | "inputs" | "outputs">;

function elementwise(call: Call, compute: (x: number, y: number) => number): dx.BackendKernel | null {
  const tensors = float32Of([...call.inputs, ...call.outputs]);
  if (tensors === null || call.attributes["scaleBias"] != null) return null;
  const strides = tensors.map((t) => t.strides);
  const { sizes } = tensors.at(-1)!;
  return {
    run(inputs, outputs) {
      const arrays = [...inputs, ...outputs].map((range) => floatsOf(range!));
      const [a, b, out] = [arrays[0]!, arrays.length === 3 ? arrays[1]! : arrays[0]!, arrays.at(-1)!];
      forEach(sizes, strides, (o) => (out[o.at(-1)!] = compute(a[o[0]!]!, b[o[o.length === 3 ? 1 : 0]!]!)));
    },
  };
}

/** alpha * A x B, of the last two axes. C and fused activations are left to dxtensor. */
function gemm(call: GemmCall): dx.BackendKernel | null {
  const { transA, transB, alpha, fusedActivation } = call.attributes;
  if (call.inputs[2] != null || fusedActivation != null) return null;
  const tensors = float32Of([call.inputs[0]!, call.inputs[1]!, call.outputs[0]!]);
  if (tensors === null) return null;
  const [a, b, y] = tensors as readonly [Tensor, Tensor, Tensor];
  const rank = y.sizes.length;
  const [row, column] = [rank - 2, rank - 1];
  const [aRow, aInner] = transA === "TRANSPOSE" ? [column, row] : [row, column];
  const [bInner, bColumn] = transB === "TRANSPOSE" ? [column, row] : [row, column];
  const inner = a.sizes[aInner]!;
  const lead = (t: Tensor) => t.strides.slice(0, row).map((s, axis) => (t.sizes[axis] === 1 ? 0 : s));
  const strides = [
    [...lead(a), a.strides[aRow]!, 0],
    [...lead(b), 0, b.strides[bColumn]!],
    [...lead(y), y.strides[row]!, y.strides[column]!],
  ];
  const [aStep, bStep] = [a.strides[aInner]!, b.strides[bInner]!];
  return {
    run([left, right], [result]) {
      const [x, w, out] = [floatsOf(left!), floatsOf(right!), floatsOf(result!)];
      forEach(y.sizes, strides, ([i, j, k]) => {
        let sum = 0;
        for (let n = 0; n < inner; n++) sum += x[i! + n * aStep]! * w[j! + n * bStep]!;
        out[k!] = alpha * sum;
      });
    },
  };
}

/** One for each operation of backend.yaml: add yours there, run npm run generate, and TypeScript asks for its kernel here. */
export const kernels: Kernels = {
  ELEMENT_WISE_ABS: (call) => elementwise(call, (x) => Math.abs(x)),
  ELEMENT_WISE_ADD: (call) => elementwise(call, (x, y) => x + y),
  ELEMENT_WISE_MULTIPLY: (call) => elementwise(call, (x, y) => x * y),
  ELEMENT_WISE_SUBTRACT: (call) => elementwise(call, (x, y) => x - y),
  GEMM: gemm,
};
`;

const memory = `/** Allocations in host memory. Another device keeps a handle of its own here: dxtensor never reads it. */
import type { backend as dx } from "dxtensor";

export class Memory {
  readonly bytes: Uint8Array<ArrayBuffer>;
  constructor(sizeInBytes: number) {
    this.bytes = new Uint8Array(sizeInBytes);
  }
}

export const bytesOf = ({ memory, offset, size }: dx.BackendRange): Uint8Array<ArrayBuffer> =>
  (memory as Memory).bytes.subarray(offset, offset + size);

export const floatsOf = (range: dx.BackendRange): Float32Array => {
  const { buffer, byteOffset, byteLength } = bytesOf(range);
  return new Float32Array(buffer, byteOffset, Math.floor(byteLength / 4));
};
`;

const device = `/** A device that computes at once, so that its queue is always empty. */
import type { Device } from "./backend.generated";
import { bytesOf, Memory } from "./memory";

/** Bytes that a device has. */
export const LIMIT = 2 ** 30;

export function open(): Device {
  let held = 0;
  return {
    allocate(size) {
      if (held + size > LIMIT) throw Object.assign(new Error(\`\${size} bytes do not fit\`), { kind: "outOfMemory" });
      held += size;
      return new Memory(size);
    },
    free: (memory) => void (held -= (memory as Memory).bytes.byteLength),
    write: (memory, offset, bytes) => (memory as Memory).bytes.set(bytes, offset),
    read: async (memory, offset, size) => bytesOf({ memory, offset, size }).slice(),
    readSync: (memory, offset, size) => bytesOf({ memory, offset, size }).slice(),
    copy: (from, to) => bytesOf(to).set(bytesOf(from)),
    synchronize: async () => {},
    synchronizeSync: () => {},
    isIdle: () => true,
    memory: () => ({ heldInBytes: held, limitInBytes: LIMIT }),
    close: () => {},
  };
}
`;

const backend = ({ name }: PackageOptions): string => `/** What dxtensor loads when a device "${name}" is first used. */
import { makeBackend } from "./backend.generated";
import { LIMIT, open } from "./device";
import { kernels } from "./kernels";

export const backend = makeBackend({ devices: () => [{ name: "${name} on host memory", memoryInBytes: LIMIT, isHardware: false }], open }, kernels);
`;

const spec = ({ name }: PackageOptions): string => `# What the backend computes. After a change: npm run generate.
name: "${name}"
version: "0.1.0"
dtypes: [float32]
operations: [ELEMENT_WISE_ABS, ELEMENT_WISE_ADD, ELEMENT_WISE_MULTIPLY, ELEMENT_WISE_SUBTRACT, GEMM]
fallback: all
`;

const index = `/** Registers the backend: for programs that are bundled, or that run without autoload. */
import * as dx from "dxtensor";
import { backend } from "./backend";

dx.backend.register(backend);

export { backend };
`;

const tests = ({ name }: PackageOptions): string => `import assert from "node:assert/strict";
import { test } from "node:test";
import * as dx from "dxtensor";
import "./index";

const device = "${name}";

test("computes the operations that it declares", () => {
  dx.resetFallbackStats();
  const x = dx.tensor([[1, -2, 3], [4, 5, -6]], { device });
  const y = dx.tensor([10, 20, 30], { device });
  assert.deepEqual(x.add(y).toArraySync(), [[11, 18, 33], [14, 25, 24]]);
  assert.deepEqual(x.sub(y).toArraySync(), [[-9, -22, -27], [-6, -15, -36]]);
  assert.deepEqual(x.mul(x).toArraySync(), [[1, 4, 9], [16, 25, 36]]);
  assert.deepEqual(x.abs().toArraySync(), [[1, 2, 3], [4, 5, 6]]);
  assert.deepEqual(x.matmul(x.transpose(0, 1)).toArraySync(), [[14, -24], [-24, 77]]);
  assert.deepEqual(dx.fallbackStats(), []);
});

test("has gradients", () => {
  const x = dx.tensor([1, 2, 3], { device }).requiresGrad_();
  x.mul(x).sum().backward();
  assert.deepEqual(x.grad!.toArraySync(), [2, 4, 6]);
});

test("runs compiled functions", () => {
  dx.resetFallbackStats();
  const f = dx.compile((a: dx.Tensor) => a.add(a).mul(a));
  for (const value of [1, -2, 3]) assert.deepEqual(f(dx.tensor([value], { device })).toArraySync(), [2 * value * value]);
  assert.deepEqual(dx.fallbackStats(), []);
});
`;

const workflow = `name: test
on: [push, pull_request]
permissions:
  contents: read
jobs:
  test:
    runs-on: \${{ matrix.os }}
    strategy:
      matrix:
        os: [ubuntu-latest, windows-latest]
        node: [20, 22, 24]
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with:
          node-version: \${{ matrix.node }}
      - run: npm install
      - run: npm test
`;

const readme = ({ name, packageName }: PackageOptions): string => `# ${packageName}

The devices \`${name}\` for dxtensor.

\`\`\`sh
npm install dxtensor ${packageName}
\`\`\`

\`\`\`js
import * as dx from "dxtensor";

dx.tensor([1, 2, 3], { device: "${name}" }).add(1).print();
\`\`\`

The package is loaded when a device \`${name}\` is first used. Bundled programs import it.

## Development

\`npm install\`, then \`npm test\`. \`backend.yaml\` lists what has a kernel, \`npm run generate\` writes the types, and the kernels are in \`src/kernels.ts\`; \`dx.setStrict(true)\` shows which are missing. dxtensor's page "Write a backend" says what
each method promises.
`;

const MIT = ({ packageName, year }: PackageOptions): string => `MIT License

Copyright (c) ${year} the authors of ${packageName}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the
following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY
CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`;

const APACHE = ({ packageName, year }: PackageOptions): string => `Copyright ${year} the authors of ${packageName}

Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with the License. You may
obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language governing permissions and
limitations under the License.
`;

/** The text of each file, by its path in the package. */
export function packageFiles(options: PackageOptions): ReadonlyMap<string, string> {
  const licence = options.licence === "MIT" ? MIT(options) : options.licence === "Apache-2.0" ? APACHE(options) : null;
  return new Map([
    ["package.json", manifest(options)],
    ["tsconfig.json", tsconfig],
    ["README.md", readme(options)],
    ...(licence === null ? [] : [["LICENSE", licence] as const]),
    [".gitignore", "node_modules\ndist\n"],
    [".github/workflows/test.yml", workflow],
    ["backend.yaml", spec(options)],
    ["src/backend.generated.ts", generatedText("backend.yaml", readSpec("backend.yaml", spec(options), []))],
    ["src/backend.ts", backend(options)],
    ["src/backend.test.ts", tests(options)],
    ["src/device.ts", device],
    ["src/index.ts", index],
    ["src/kernels.ts", kernels],
    ["src/memory.ts", memory],
  ]);
}
