/** Mistakes that were once ignored or gave untyped errors: options of methods and groups, assigned properties, missing files and devices. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { compileFunction } from "node:vm";
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import * as onnx from "../../src/onnx/index.ts";
import { clean, eachDevice } from "../device.ts";

/** A call as JavaScript has it, where nobody looks at types. */
const evaluate = (code: string, names: Readonly<Record<string, unknown>>): unknown =>
  compileFunction(code, Object.keys(names))(...Object.values(names));

const optimizers = ["sgd", "adam", "adamW", "adadelta", "adagrad", "adamax", "asgd", "nadam", "radam", "rmsprop", "rprop"] as const;

eachDevice("mistakes that were ignored", (device) => {
  const x = (): dx.Tensor => dx.ones([2, 3], { device });
  const z = (): dx.ComplexTensor => dx.complex(x(), x());
  const p = (): dx.Tensor => new dx.nn.Parameter(x());
  const refused = (code: string): unknown => {
    try {
      return evaluate(code, { dx, x, p, z });
    } catch (error) {
      return error;
    }
  };

  test.each([
    [
      "p().sum().backward({ retain_graph: true })",
      "ValueError",
      "backward: options must be an object of no more than gradient, retainGraph, createGraph; received retain_graph. Did you mean retainGraph?",
    ],
    ["p().sum().backward({}, 1)", "ValueError", /^backward: arguments must be no more than options; received 1 after them/],
    ["x().formatSync({ precison: 1 })", "ValueError", /received precison\. Did you mean precision\?$/],
    ["x().requiresGrad = true", "ValueError", "tensor: requiresGrad must be read, not set; received true. Call x.requiresGrad_()."],
    ["x().shape = [6]", "ValueError", "tensor: shape must be read, not set; received [6]. Call x.reshape(...)."],
    ['x().dtype = "int32"', "ValueError", /Call x\.to\(dtype\)\.$/],
    ["dx.optim.adam([{ params: [p()], betas: [0.9, '1'] }])", "ValueError", /^Adam: betas must be an array of numbers/],
    ["dx.optim.sgd([{ params: [p()], nesterov: 1 }])", "ValueError", "SGD: nesterov must be true or false; received 1."],
    ["dx.optim.sgd([p()]).paramGroups[0].lr = '1'", "ValueError", /lr must be at least 0/],
    ...optimizers.map(
      (name) => [`dx.optim.${name}([{ params: [p()], lr: "0.5" }])`, "ValueError", /: lr must be a number; received "0\.5"\.$/] as const,
    ),
    ["z().sum({ dmi: 0 })", "ValueError", /^sum: axis must be /],
    ["z().sum({ dim: 0, axis: 0 })", "ValueError", /^sum: axis must be passed once/],
    ["z().sum(0, { keepdims: true })", "ValueError", /received keepdims\. Did you mean keepDims\?$/],
    ["z().exp(1)", "ValueError", /^exp: arguments must be none; received 1/],
    ["z().add('1')", "DTypeError", /^add: b must be /],
    ["z().allcloseSync(z(), { tol: 1 })", "ValueError", /^allcloseSync: options must be .* received tol/],
    ["z().reshape({ shape: [6] })", "ValueError", /^reshape: /],
    ["x().grad = dx.ones([3], { device: x().device })", "ValueError", /^tensor: grad must be null or a tensor like float32\[2, 3\] on /],
    ["x().grad = x().to('float16')", "ValueError", /received float16\[2, 3\]/],
    ["x().grad = 1", "ValueError", /received 1\.$/],
    ['dx.closeDevice("dml:99")', "DeviceIndexError", /^Invalid device_id argument supplied 99\. /],
  ] as const)("%s", (code, name, message) =>
    clean(
      device,
      () => {
        const error = refused(code);
        expect(error).toMatchObject({ name });
        if (typeof message === "string") expect(error).toHaveProperty("message", message);
        else expect((error as Error).message).toMatch(message);
      },
      { collect: true },
    ),
  );

  test("what is right is taken as before", () =>
    clean(
      device,
      async () => {
        const q = p();
        q.mul(2).sum().backward({ retainGraph: true });
        expect(q.grad!.toArraySync()).toEqual([
          [2, 2, 2],
          [2, 2, 2],
        ]);
        expect(x().formatSync({ precision: 1 })).toBe(await x().format({ precision: 1 }));
        const o = dx.optim.adam([{ params: [q], lr: 0.5, betas: undefined, amsgrad: true }]);
        expect(o.lr).toBe(0.5);
        o.dispose();
        q.grad!.dispose();
      },
      { collect: true },
    ));
});

test("a layer under a key that names nothing is refused", () => {
  class Deep extends dx.nn.Module {
    readonly layers = new Map([[{ at: 1 }, dx.nn.linear(1, 1, { device: "meta" })]]);
    readonly notes = new Map([[{ at: 1 }, "kept"]]);
    forward(t: dx.Tensor): dx.Tensor {
      return t;
    }
  }
  expect(() => new Deep().parameters()).toThrow("Module: layers must be a Map of strings or numbers to what it holds; received { at: 1 }.");
});

test.each([
  ["safetensors.load", (path: string) => dx.io.safetensors.load(path)],
  ["onnx.load", (path: string) => onnx.load(path)],
])("%s names a file that is not there", async (name, load) => {
  const path = join(import.meta.dirname, "none", "nope");
  const error: unknown = await load(path).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(dx.FormatError);
  expect(error).toHaveProperty("message", expect.stringContaining(`${name}: ${path} must be a file that can be read; received ENOENT`));
  expect((error as Error).cause).toHaveProperty("code", "ENOENT");
});

describe("environment variables are named", () => {
  test.each([
    ["DXTENSOR_TIMEOUT_MS", "-1", /ones: DXTENSOR_TIMEOUT_MS must be an integer of milliseconds from 1 to 2147483647; received "-1"/],
    ["DXTENSOR_THREADS", "many", /ones: DXTENSOR_THREADS must be an integer from 1 to 2147483647; received many/],
    ["DXTENSOR_SIMULATE", "nothing", /DXTENSOR_SIMULATE: the simulated profiles 'nothing' were refused/],
    ["DXTENSOR_DEVICE", "gpu", /DXTENSOR_DEVICE must be "cpu", "meta" or "dml:N"; received gpu/],
  ])("%s=%s", (name, value, message) => {
    const index = pathToFileURL(join(import.meta.dirname, "..", "..", "dist", "index.js")).href;
    const code = `const dx = await import(${JSON.stringify(index)}); try { dx.ones([1]); } catch (e) { console.log(e.message); }`;
    const env = { ...process.env, DXTENSOR_DEVICE: "cpu", [name]: value };
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8", env });
    expect(stdout).toMatch(message);
  });
});
