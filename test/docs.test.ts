/** The examples of the pages for users, checked by the compiler and run as they stand: a page's blocks share their names, as one program. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { entries } from "../scripts/lib/entries.ts";
import * as dx from "../src/index.ts";
import { pages, textOf, withoutTypes } from "./pages.ts";

const AsyncFunction = (async () => {}).constructor as new (...names: string[]) => (...args: unknown[]) => Promise<void>;

/** What the compiler says of the pages' programs under strict, with the types of the package. */
async function typeErrors(programs: Readonly<Record<string, string>>): Promise<string> {
  mkdirSync("build", { recursive: true });
  const folder = mkdtempSync(resolve("build", "docs-"));
  try {
    // An assertion of a promise always holds: its type refuses one.
    const plain = "T extends PromiseLike<unknown> ? never : T";
    writeFileSync(
      join(folder, "assert.d.ts"),
      `import assert from "node:assert";\ntype Strict = Omit<typeof assert.strict, never> & (<T>(value: ${plain}, message?: string) => void);\ndeclare const strict: Strict;\nexport default strict;\n`,
    );
    for (const [page, text] of Object.entries(programs)) {
      const code = text.replace('"node:assert/strict"', '"./assert.js"');
      writeFileSync(join(folder, `${page.replaceAll("/", "-")}.ts`), `${code}\nexport {};\n`);
    }
    const compilerOptions = {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      module: "nodenext",
      target: "es2023",
      lib: ["es2023", "esnext.disposable"],
      types: ["node"],
      paths: {
        dxtensor: [resolve("dist", "index.d.ts")],
        ...Object.fromEntries(entries.map((entry) => [`dxtensor/${entry.name}`, [resolve("dist", `${entry.module}.d.ts`)]])),
      },
    };
    writeFileSync(join(folder, "package.json"), `{ "type": "module" }`);
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
    const { stdout } = await execa(resolve("node_modules", ".bin", "tsc"), ["-p", folder, "--pretty", "false"], { reject: false });
    return stdout.replaceAll(/^.*[\\/](?=[^\\/]+\.ts\()/gm, "");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The module of a name, of the library itself in src. */
async function moduleOf(from: string): Promise<unknown> {
  if (from === "dxtensor") return dx;
  const entry = entries.find(({ name }) => from === `dxtensor/${name}`);
  return import(entry === undefined ? from : `../src/${entry.module}.ts`);
}

/** What a page imports, by name: nothing else is there when it runs. */
async function importsOf(text: string): Promise<Record<string, unknown>> {
  const names: Record<string, unknown> = {};
  for (const [line, what, from] of text.matchAll(/^import (.+) from "([^"]+)";$/gm)) {
    const module = (await moduleOf(from!)) as Record<string, unknown>;
    const whole = /^\* as (\w+)$/.exec(what!);
    const list = /^\{ ([\w, ]+) \}$/.exec(what!);
    if (whole !== null) names[whole[1]!] = module;
    else if (list !== null) for (const name of list[1]!.split(", ")) names[name] = module[name];
    else if (/^\w+$/.test(what!)) names[what!] = module.default;
    else throw new Error(`docs.test.ts does not read: ${line}`);
  }
  return names;
}

describe("examples of the documents", () => {
  it("check under strict", async () => {
    expect(await typeErrors(Object.fromEntries(pages.map((page) => [page, textOf(page)])))).toBe("");
    const wrong = `import assert from "node:assert/strict";\nimport * as dx from "dxtensor";\nconst x = dx.ones([1]);\n`;
    expect(await typeErrors({ wrong: `${wrong}assert(x.allclose(x));` })).toMatch(/^wrong\.ts\(4,8\): error TS2345: .*Promise/);
    expect(await typeErrors({ wrong: `${wrong}x.ad(1);` })).toMatch(/^wrong\.ts\(4,3\): error TS2339: Property 'ad' does not exist/);
    expect(await typeErrors({ right: `${wrong}assert(x.allcloseSync(x));\nassert.equal(x.rank, 1);` })).toBe("");
  }, 120_000);

  it.each(pages)("%s", async (page) => {
    const text = textOf(page);
    const names = await importsOf(text);
    const code = withoutTypes(page, text).replaceAll(/^import .*$/gm, "");
    // The README's program ends with the accuracy that it prints.
    const isReadme = page === "README.md";
    assert(isReadme || code.includes("assert"), "an example that asserts nothing is no test");
    const body = isReadme
      ? `dx.manualSeed(1);${code.replace("console.log(", "const accuracy = (")}\nif (!(accuracy > 0.97)) throw new Error(String(accuracy));`
      : code;
    const before = dx.defaultDevice();
    try {
      await new AsyncFunction(...Object.keys(names), body)(...Object.values(names));
    } finally {
      dx.setDefaultDevice(before);
    }
  });
});

// Who begins copies them into a file that Node runs as it stands.
it.each(["README.md", "docs/tour.md"])("the first program of %s is JavaScript", async (page) => {
  const [, code] = /^```ts\n([\s\S]*?)^```$/m.exec(readFileSync(page, "utf8"))!;
  expect((await execa(process.execPath, ["--input-type=module", "--check"], { input: code!, reject: false })).stderr).toBe("");
});

it("every page with an example in TypeScript is among them", () => {
  const written = readdirSync("docs")
    .toSorted()
    .map((name) => `docs/${name}`)
    .filter((name) => name.endsWith(".md") && textOf(name) !== "");
  expect(written).toEqual(pages.filter((name) => name.startsWith("docs/")));
});
