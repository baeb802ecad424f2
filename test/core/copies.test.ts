/** Two copies of the package in one process: each refuses the other's tensors, modules and devices, and names both copies. */
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, expect, it } from "vitest";

const bundle = resolve("dist/bundle/dxtensor.js");
let folder: string;
const file = (version: string): string => join(folder, version, "node_modules", "dxtensor", "dist", "bundle", "dxtensor.js");

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "dxtensor-copies-")));
  for (const version of ["0.1.0", "0.0.9"]) {
    mkdirSync(join(file(version), ".."), { recursive: true });
    cpSync(bundle, file(version));
    writeFileSync(join(file(version), "..", "..", "..", "package.json"), JSON.stringify({ name: "dxtensor", version, type: "module" }));
  }
  writeFileSync(join(folder, "entry.mjs"), `export * from ${JSON.stringify(bundle)};`);
  for (const format of ["cjs", "esm"] as const) {
    const made = await rolldown({ input: join(folder, "entry.mjs"), platform: "node", external: /^node:/, tsconfig: false });
    await made.write({ file: join(folder, format === "cjs" ? "bundled.cjs" : "bundled.mjs"), format });
    await made.close();
  }
}, 60_000);
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** What each of the calls says: `dx` is one copy, `other` the second, which made `t`, `model` and `p`. */
async function tell(first: string, second: string, calls: readonly string[]): Promise<readonly string[]> {
  const program = `
const dx = await import(${JSON.stringify(first)}), other = await import(${JSON.stringify(second)});
dx.setDefaultDevice("cpu"), other.setDefaultDevice("cpu");
const mine = dx.ones([2]), t = other.ones([2]), model = other.nn.linear(2, 2), [p] = model.parameters();
class Net extends dx.nn.Module { constructor(fields) { super(); Object.assign(this, fields); } forward(x) { return this.fc(x); } }
const calls = [${calls.map((call) => `() => ${call}`).join(", ")}];
const texts = [];
for (const call of calls) {
  try { await call(); texts.push("nothing"); } catch (error) { texts.push(error.name + " " + error.message); }
}
console.log(JSON.stringify(texts));
`;
  const env = { DXTENSOR_NATIVE: resolve("build/native/Release/dxtensor.node") };
  const { stdout } = await execa(process.execPath, ["--input-type=module", "-e", program], { env });
  return JSON.parse(stdout) as string[];
}

const calls = [
  "mine.add(t)",
  "dx.matmul(t, mine)",
  "dx.cat([mine, t])",
  "dx.relu(t)",
  "dx.where(dx.ones([2], { dtype: 'bool' }), t, 0)",
  "dx.tensor(t)",
  "dx.tensor([t, t])",
  "dx.zeros([2], { device: t.device })",
  "dx.nn.linear(2, 2)(t)",
  "dx.nn.sequential(dx.nn.relu(), model)",
  "new Net({ fc: model }).parameters()",
  "new Net({ heads: [{ a: model }] }).stateDict()",
  "new Net({ scale: p }).parameters()",
  "dx.optim.adam(model.parameters(), { lr: 0.1 })",
  "dx.optim.sgd([{ params: [p] }], { lr: 0.1 })",
  "dx.optim.adam([new dx.nn.Parameter(mine), p], { lr: 0.1 })",
  "dx.optim.lbfgs(model.parameters())",
  "dx.nn.linear(2, 2).loadStateDict(model.stateDict())",
  "dx.nn.utils.clipGradNorm_(model.parameters(), 1)",
  "dx.io.safetensors.save('never.safetensors', model.stateDict())",
  "dx.grad(mine, [t])",
  "dx.compile((x) => x.add(t))(mine)",
  "dx.compile((x) => x.mul(2).sum().backward())(t)",
  "dx.stft(t, { nFft: 2 })",
  "dx.complex(mine, t)",
  "dx.fft.fft(other.complex(t, t))",
];

it("errors name the other copy's version and file, and the way to one", async () => {
  const texts = await tell(file("0.1.0"), file("0.0.9"), calls);
  for (const [i, said] of texts.entries()) {
    const text = `${said} <- ${calls[i]}`;
    expect(text).toMatch(/^\w+Error \w/);
    expect(text).toMatch(/received .* of another copy of dxtensor/);
    expect(text).toContain(`That copy is 0.0.9 in ${file("0.0.9")}; this one, 0.1.0 in ${file("0.1.0")}. One program needs one copy`);
    expect(text).toContain("`npm ls dxtensor`");
  }
  const back = await tell(file("0.0.9"), file("0.1.0"), ["mine.add(t)"]);
  expect(back[0]).toContain(`That copy is 0.1.0 in ${file("0.1.0")};`);
});

it("a copy inside a bundle is told as one", async () => {
  const [inner] = await tell(file("0.1.0"), join(folder, "bundled.mjs"), ["mine.add(t)"]);
  expect(inner).toContain(`That copy is part of a bundle, ${join(folder, "bundled.mjs")};`);
  expect(inner).toContain("leave dxtensor out of the bundle (esbuild: --external:dxtensor");
  const [outer] = await tell(join(folder, "bundled.cjs"), file("0.1.0"), ["mine.add(t)"]);
  expect(outer).toContain(`That copy is 0.1.0 in ${file("0.1.0")};`);
  expect(outer).toContain("this one, part of a bundle");
});

it("one file that was loaded twice is told as such", async () => {
  const [text] = await tell(file("0.1.0"), `${file("0.1.0")}?again`, ["mine.add(t)"]);
  expect(text).toContain("The same file was loaded twice");
});

it("what is of one copy says nothing of copies", async () => {
  const [text] = await tell(file("0.1.0"), file("0.1.0"), ["dx.matmul(dx.ones([2, 3]), dx.ones([2, 3]))"]);
  expect(text).toMatch(/^ShapeError matmul/);
  expect(text).not.toContain("copy");
});

const closing = [
  "mine.add(1).dataSync().join()",
  "dx.closeDevice('cpu')",
  "t.add(1).dataSync().join()",
  "compiled(t).dataSync().join()",
  "model(other.ones([1, 2])).dataSync().length",
  "mine.add(1)",
  "dx.ones([2]).add(2).dataSync().join()",
  "other.closeDevice('cpu')",
  "t.add(1)",
  "dx.ones([2]).add(3).dataSync().join()",
  "other.ones([2]).add(4).dataSync().join()",
];

it.each([
  ["two files", "0.1.0", "0.0.9"],
  ["one folder", "0.1.0", "0.1.0"],
])("a copy closes its own device, and the other's tensors and programs keep working: %s", async (_, first, second) => {
  const program = `
const dx = await import(${JSON.stringify(file(first))}), other = await import(${JSON.stringify(`${file(second)}?second`)});
dx.setDefaultDevice("cpu"), other.setDefaultDevice("cpu");
const mine = dx.ones([2]), t = other.ones([2]), model = other.nn.linear(2, 2), compiled = other.compile((x) => x.mul(3));
compiled(t);
const texts = [];
for (const call of [${closing.map((call) => `() => ${call}`).join(", ")}]) {
  try { texts.push(String(await call())); } catch (error) { texts.push(error.name); }
}
console.log(JSON.stringify(texts));
`;
  const env = { DXTENSOR_NATIVE: resolve("build/native/Release/dxtensor.node") };
  const { stdout } = await execa(process.execPath, ["--input-type=module", "-e", program], { env });
  const texts = JSON.parse(stdout) as string[];
  expect(texts).toEqual(["2,2", "undefined", "2,2", "3,3", "2", "NativeError", "3,3", "undefined", "NativeError", "4,4", "5,5"]);
});
