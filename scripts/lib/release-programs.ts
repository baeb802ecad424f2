// Small programs, as users write them, that a release has to run: written into an empty project that has the packages.
import { transformSync } from "rolldown/utils";
import { ScriptError } from "../tools/project.ts";

const compute = `
const w = dx.tensor([[1, 2], [3, 4]], { device: "cpu", requiresGrad: true });
const loss = w.mul(w).sum();
loss.backward();
const step = dx.compile((x) => x.mul(2).add(1));
const out = { sum: loss.itemSync(), grad: w.grad.toArraySync(), compiled: step(dx.tensor([1, 2], { device: "cpu" })).toArraySync() };
let name = "";
try { dx.zeros([2], { device: "cpu" }).reshape([3]); } catch (error) { name = error.name; }
console.log(JSON.stringify({ ...out, name }));
`;
export const expected = JSON.stringify({
  sum: 30,
  grad: [
    [2, 4],
    [6, 8],
  ],
  compiled: [3, 5],
  name: "ShapeError",
});

export const programs = {
  "esm.mjs": `import * as dx from "dxtensor";${compute}`,
  "cjs.cjs": `const dx = require("dxtensor");${compute}`,
  // Both forms in one process: one state, and errors and tensors of one make.
  "both.cjs": `const dx = require("dxtensor");
import("dxtensor").then((esm) => {
  dx.setDefaultDevice("cpu");
  if (esm.Tensor !== dx.Tensor || esm.defaultDevice().toString() !== "cpu") throw new Error("two copies");
  ${compute}
});`,
};

/** The examples of a page, as one ES module without types. */
export function examplesOf(page: string): string {
  const text = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((m) => m[1]!).join("\n");
  const { code, errors } = transformSync("examples.ts", text, { lang: "ts", target: "es2023", tsconfig: false });
  if (errors[0] !== undefined) throw new ScriptError("EXAMPLES", `An example does not parse: ${errors[0].message}`);
  return code;
}

/** The same program in TypeScript, for both kinds of module. */
export const types = `
export const sum: dx.Tensor = dx.tensor([1, 2]).add(1);
export const model: dx.nn.Module = dx.nn.sequential(dx.nn.linear(2, 2), dx.nn.relu());
export const data: Promise<Int32Array> = sum.data("int32");
export const largest: dx.Tensor = sum.max(0).values;
// @ts-expect-error a dtype that does not exist
dx.tensor([1], { dtype: "float31" });
`;
