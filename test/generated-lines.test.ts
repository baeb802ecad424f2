/** A new operation and a new layer add lines to the generated files, and change none: two changes that add something merge. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, expect, it } from "vitest";
import { KindNames, kindName } from "../scripts/lib/kind-names.ts";
import { root } from "../scripts/tools/project.ts";

const operation = `
export interface DemoOptions {
  /** Default: 0.5. */
  readonly slant?: number | "steep" | null;
  /** Other names. Default: none. */
  readonly others?: readonly (readonly string[])[];
}
/** x, whatever the options are. @functional */
export function demo(x: Tensor, axes: number | readonly bigint[] = 1, options: DemoOptions = {}): Tensor {
  return options.slant === null && axes === 1 ? x : relu(x);
}
`;
const layer = `
export interface DemoLayerOptions {
  /** Default: 0.25. */
  readonly tilt?: number | readonly bigint[];
}
/** A layer that gives its input. Reference: torch.nn.Identity. */
export class Demo extends Module {
  constructor(
    readonly width: number | bigint,
    readonly options: DemoLayerOptions = {},
  ) {
    super();
  }
  forward(x: Tensor): Tensor {
    return x;
  }
}
export const demo = (width: number | bigint, options?: DemoLayerOptions): Demo => new Demo(width, options);
`;

/** Text with another one before the first line that begins so. */
function before(text: string, start: string, added: string): string {
  const i = text.indexOf(`\n${start}`);
  if (i < 0) throw new Error(`no line begins with ${start}`);
  return `${text.slice(0, i)}\n${added}${text.slice(i)}`;
}

let copy = "";
let files: readonly string[] = [];
beforeAll(async () => {
  copy = mkdtempSync(join(tmpdir(), "dxtensor-generated-"));
  for (const path of ["src", "scripts", "native/schema", "package.json", "README.md", "docs/operators.json", "docs/operators.md"]) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(root, path), join(copy, path), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"), "junction");
  const edit = (path: string, change: (text: string) => string): void =>
    writeFileSync(join(copy, path), change(readFileSync(join(copy, path), "utf8")));
  edit("src/ops/elementwise/activation.ts", (text) =>
    before(text, "export const methods", operation).replace("methods = { relu,", "methods = { relu, demo,"),
  );
  edit("src/nn/activation.ts", (text) => before(text, "export const silu", layer));
  await execa(process.execPath, [join(copy, "scripts", "run.mjs"), "generate"], { cwd: copy });
  const generated = readdirSync(join(copy, "src"), { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".generated.ts"));
  files = [...generated.map((path) => join("src", path)), join("docs", "operators.json"), join("docs", "operators.md"), "README.md"];
}, 120_000);
afterAll(() => {
  rmSync(copy, { recursive: true, force: true });
});

const linesOf = (folder: string, file: string): readonly string[] => readFileSync(join(folder, file), "utf8").split("\n");

it("a new operation and a new layer only add lines", () => {
  const changed: string[] = [];
  const added: Record<string, number> = {};
  for (const file of files) {
    const after = linesOf(copy, file);
    let i = 0;
    for (const line of linesOf(root, file)) {
      const next = after.indexOf(line, i);
      if (next < 0) changed.push(`${file}: ${line.slice(0, 200)}`);
      else i = next + 1;
    }
    const count = after.length - linesOf(root, file).length;
    if (count > 0) added[file.replaceAll("\\", "/")] = count;
  }
  expect(changed).toEqual([]);
  expect(added).toEqual({
    "docs/operators.json": 1,
    "docs/operators.md": 1,
    "src/nn/functional.generated.ts": 1,
    // The type, the comment, the function.
    "src/ops/exports/index.generated.ts": 3,
    // Of each parameter and field, and the names of two for refusals.
    "src/ops/exports/kinds.generated.ts": 8,
    "src/ops/exports/methods.generated.ts": 1,
    // Of width, of options, of tilt and its list.
    "src/public/kinds.generated.ts": 5,
    // The type of the options; the class, its type, its function, and the comments of both.
    "src/public/nn.generated.ts": 6,
  });
});

it("a kind is named by what it is", () => {
  const number = { kind: "number" } as const;
  const nothing = { kind: "undefined" } as const;
  expect(kindName(number)).toBe("number");
  expect(kindName({ kind: "array", of: number })).toBe("numbers");
  expect(kindName({ kind: "union", of: [number, { kind: "array", of: number }, { kind: "null" }, nothing] })).toBe(
    "optNumberOrNumbersOrNull",
  );
  const words = ["mean", "sum", "none"].map((value) => ({ kind: "literal", value }) as const);
  expect(kindName({ kind: "union", of: words })).toBe("mean_sum_none");
  const fields = { alpha: number };
  expect(kindName({ kind: "object", typeName: "EluOptions", fields })).toBe("EluOptions");
  expect(kindName({ kind: "object", fields })).toMatch(/^alpha_[0-9a-f]{6}$/);
  expect(kindName({ kind: "object", fields: { alpha: nothing } })).not.toBe(kindName({ kind: "object", fields }));
  const long = "abcdefghij".split("").map((c) => ({ kind: "literal", value: c.repeat(9) }) as const);
  expect(kindName({ kind: "union", of: long })).toMatch(/^\w{24}_[0-9a-f]{6}$/);
});

it("two kinds of one name are refused", () => {
  const names = new KindNames();
  const alpha = { kind: "object", typeName: "Options", fields: { alpha: { kind: "number" } } } as const;
  expect(names.take(alpha)).toEqual(["Options", true]);
  expect(names.take({ ...alpha })).toEqual(["Options", false]);
  expect(() => names.take({ ...alpha, fields: { beta: { kind: "number" } } })).toThrow("Two kinds of arguments are named Options");
});
