/** The library's operations by shaders, compared with DirectML's operators: eagerly, compiled, on views, with gradients. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { choosesShader, shaderMode, type ShaderName } from "../../../src/shader/choice.ts";
import { NVIDIA_OVER_VULKAN } from "../../../src/shader/measured.ts";
import { Capabilities } from "../../../src/dml/capabilities.ts";
import { nativeDevice } from "../../../src/runtime/devices.ts";
import { eachDevice, eachMode, numbers } from "../../device.ts";
import { expectClose, numbers as exact } from "./support.ts";

const real = (shape: readonly number[], seed: number): dx.Tensor => dx.randn([...shape], { generator: new dx.Generator(seed) });

const indices = (n: number, of: number): dx.Tensor =>
  dx.tensor(
    Array.from({ length: n }, (_, i) => (i * 37) % of),
    { dtype: "int32" },
  );
/** Some of the indices name no class. */
const classes = (n: number, of: number): dx.Tensor =>
  dx.where(dx.eq(indices(n, 3), 1), dx.tensor(-100, { dtype: "int32" }), indices(n, of));

type Fn = (...x: dx.Tensor[]) => dx.Tensor;
/** Exact in float16, since devices round a cast their own way. */
const halves = (shape: readonly number[], seed: number): dx.Tensor =>
  dx.tensor(Float32Array.from(exact(shape.reduce((a, d) => a * d, 1), seed, 3, "f16")), { shape: [...shape] }); // prettier-ignore

/**
 * Each with sizes that no other test uses: programs are kept. expected: what a shader is compared with, if not DirectML's form of the
 * same: a composition in float16 rounds after each of its operators, a shader once.
 */
const cases: readonly (readonly [name: string, shapes: readonly (readonly number[])[], fn: Fn, expected?: Fn])[] = [
  ["relu", [[7, 301]], (x) => dx.relu(x!)],
  ["relu of a view", [[7, 302]], (x) => dx.relu(x!.transpose(0, 1).narrow(0, 5, 100))],
  ["gelu", [[2, 3, 303]], (x) => dx.gelu(x!)],
  ["swiglu", [[3, 319], [3, 319]], (x, y) => dx.swiglu(x!, y!)],
  ["swiglu of float16", [[5, 320], [5, 320]], (x, y) => dx.swiglu(x!.to("float16"), y!.to("float16")).to("float32"), (x, y) => dx.swiglu(x!, y!)],
  ["add", [[5, 304], [5, 304]], (x, y) => x!.add(y!)],
  ["add with broadcasting", [[5, 3, 305], [3, 1]], (x, y) => x!.add(y!)],
  ["casts", [[3, 306]], (x) => x!.to("float16").to("float32")],
  ["softmax", [[6, 307]], (x) => dx.softmax(x!, -1)],
  ["softmax of float16", [[6, 308]], (x) => dx.softmax(x!.to("float16"), -1).to("float32")],
  ["logSoftmax", [[2, 3, 309]], (x) => dx.logSoftmax(x!, -1)],
  ["softmax along another axis", [[6, 310]], (x) => dx.softmax(x!, 0)],
  ["layerNorm", [[6, 311], [311], [311]], (x, w, b) => dx.layerNorm(x!, [311], w!, b!)],
  ["rmsNorm", [[6, 312], [312]], (x, w) => dx.rmsNorm(x!, [312], w!)],
  ["softmax, weighted", [[70, 322], [70, 322]], (x, y) => dx.softmax(x!, -1).mul(y!)],
  ["logSoftmax, weighted", [[2, 3, 323], [2, 3, 323]], (x, y) => dx.logSoftmax(x!, -1).mul(y!)],
  ["layerNorm, weighted", [[71, 324], [324], [324], [71, 324]], (x, w, b, y) => dx.layerNorm(x!, [324], w!, b!).mul(y!)],
  ["layerNorm without a weight, weighted", [[7, 325], [7, 325]], (x, y) => dx.layerNorm(x!, [325]).mul(y!)],
  ["layerNorm of float16, weighted", [[9, 326], [326], [326], [9, 326]],
    (x, w, b, y) => dx.layerNorm(x!.to("float16"), [326], w!.to("float16"), b!.to("float16")).to("float32").mul(y!)],
  ["layerNorm over two axes, weighted", [[33, 3, 109], [3, 109], [3, 109], [33, 3, 109]], (x, w, b, y) => dx.layerNorm(x!, [3, 109], w!, b!).mul(y!)],
  ["rmsNorm, weighted", [[71, 328], [328], [71, 328]], (x, w, y) => dx.rmsNorm(x!, [328], w!).mul(y!)],
  ["rmsNorm without a weight, weighted", [[7, 329], [7, 329]], (x, y) => dx.rmsNorm(x!, [329]).mul(y!)],
  ["rmsNorm of float16, weighted", [[9, 330], [330], [9, 330]], (x, w, y) => dx.rmsNorm(x!.to("float16"), [330], w!.to("float16")).to("float32").mul(y!)],
  ["crossEntropy", [[6, 314]], (x) => dx.crossEntropy(x!, classes(6, 314))],
  ["crossEntropy of images, each pixel", [[2, 315, 1, 1]], (x) => dx.crossEntropy(x!, indices(2, 315).reshape(2, 1, 1), { reduction: "none" })],
  ["crossEntropy without a class", [[6, 316]], (x) => dx.crossEntropy(x!, indices(6, 316), { ignoreIndex: 37, reduction: "sum" })],
  ["crossEntropy of float16", [[6, 317]], (x) => dx.crossEntropy(x!.to("float16"), classes(6, 317)).to("float32")],
  ["embedding", [[9, 318]], (x) => dx.embedding(indices(40, 9).reshape(5, 8), x!)],
  ["matmul", [[70, 313], [313, 33]], (x, y) => dx.matmul(x!, y!)],
  ["matmul of views", [[313, 71], [34, 313]], (x, y) => dx.matmul(x!.transpose(0, 1), y!.transpose(0, 1))],
  ["matmul of a slice", [[70, 331], [330, 33]], (x, y) => dx.matmul(x!.narrow(1, 1, 330), y!)],
  ["matmul with a bias, then an activation", [[7, 10, 332], [35, 332], [35]], (x, w, b) => dx.tanh(dx.linear(x!, w!, b!))],
  ["matmul, then an activation that others read too", [[64, 64], [64, 64]], (x, w) => { const y = dx.linear(x!, w!); return dx.relu(y).add(y); }],
  ["matmul with what is added, scaled", [[70, 36], [70, 333], [333, 36]], (c, x, y) => dx.addmm(c!, x!, y!, { alpha: 0.5, beta: -2 })],
  ["matmul of several, one of them transposed", [[2, 3, 40, 36], [2, 3, 34, 36]], (x, y) => dx.matmul(x!, y!.transpose(-1, -2))],
  ["matmul of one and several", [[20, 64], [3, 64, 24]], (x, y) => dx.matmul(x!, y!)],
  ["matmul of several in whole tiles", [[3, 64, 32], [3, 32, 64]], (x, y) => dx.matmul(x!, y!)],
  ["convolution with a bias, weighted", [[2, 5, 6, 7], [6, 5, 3, 3], [6], [2, 6, 6, 7]], (x, w, b, y) => dx.conv2d(x!, w!, b!, { padding: 1 }).mul(y!)],
  ["convolution of each channel, weighted", [[2, 6, 9], [6, 1, 3], [2, 6, 9]], (x, w, y) => dx.conv1d(x!, w!, null, { padding: 1, groups: 6 }).mul(y!)],
  ["matmul with one number added", [[1], [70, 334], [334, 37]], (c, x, y) => dx.addmm(c!, x!, y!)],
]; // prettier-ignore

let before: string | undefined;
beforeEach(() => {
  before = process.env.DXTENSOR_SHADERS;
  // Fused operators choose no shader.
  process.env.DXTENSOR_FUSE = "off";
});
const setMode = (mode: string | undefined): void => {
  if (mode === undefined) delete process.env.DXTENSOR_SHADERS;
  else process.env.DXTENSOR_SHADERS = mode;
};
const fuse = process.env.DXTENSOR_FUSE;
afterEach(() => {
  setMode(before);
  if (fuse === undefined) delete process.env.DXTENSOR_FUSE;
  else process.env.DXTENSOR_FUSE = fuse;
});

eachMode("operations by shaders", (device, mode) => {
  it.each(cases.map(([name, shapes, fn, expected = fn]) => [name, shapes, fn, expected] as const))("%s", (name, shapes, fn, expected) => {
    const launched: number[] = [];
    const results = (["off", "on"] as const).map((shaders) => {
      const run = shaders === "off" ? expected : fn;
      setMode(shaders);
      // Another device's handle has programs of its own.
      dx.closeDevice(device);
      const inputs = shapes.map((shape, i) => (/float16/.test(name) ? halves : real)(shape, i + 1));
      const y = mode.run(run, ...inputs);
      const leaves = inputs.map((x) => x.detach().requiresGrad_());
      const grads = dx.grad(run(...leaves).sum(), leaves);
      const list = [y, ...grads].map((t) => numbers(t!));
      launched.push(dx.counters(device).shadersCompiled);
      return list;
    });
    const isShader = !/another axis|of a slice|one number/.test(name);
    expect([launched[0], launched[1]! > 0]).toEqual([0, isShader]);
    const element = /float16|casts/.test(name) ? "f16" : "f32";
    // So many are summed, in an order of each form's own.
    const terms = /^(matmul|conv)/.test(name) ? 400 : name.includes("weighted") ? 71 : 1;
    results[1]!.forEach((list, i) => expectClose(list, results[0]![i]!, element, terms));
  });
});

eachDevice("products by shaders", () => {
  it("end with the activation that follows, inside of compiled functions", () => {
    setMode("on");
    const [x, w, b] = [[64, 48], [32, 48], [32]].map((shape, i) => real(shape, i + 1)) as [dx.Tensor, dx.Tensor, dx.Tensor]; // prettier-ignore
    const nodes = (fn: (...x: dx.Tensor[]) => dx.Tensor): number => {
      const made = dx.compile(fn, { check: false, fuse: "off" });
      expectClose(numbers(made(x, w, b)), numbers(fn(x, w, b)), "f32", 48);
      return made.explain().nodes.length;
    };
    const layer = (a: dx.Tensor, u: dx.Tensor, v: dx.Tensor): dx.Tensor => dx.linear(a, u, v);
    const plain = nodes((...t) => layer(...(t as [dx.Tensor, dx.Tensor, dx.Tensor])));
    expect(nodes((...t) => layer(...(t as [dx.Tensor, dx.Tensor, dx.Tensor])).sigmoid())).toBe(plain);
  });
});

eachDevice("optimizers by shaders", (device) => {
  it.each([
    ["adam", { weightDecay: 0.1 }],
    ["adam", { maximize: true, betas: [0.8, 0.9] }],
    ["adamW", { lr: 0.01 }],
    ["adam", { amsgrad: true }],
  ] as const)("%s %o", (name, options) => {
    const results = ["off", "on"].map((shaders) => {
      setMode(shaders);
      dx.closeDevice(device);
      const weights = [real([7, 31], 1), real([41], 2)].map((w) => w.requiresGrad_());
      const optimizer = dx.optim[name](weights, options as dx.optim.AdamOptions);
      let launched = 0;
      for (let step = 0; step < 3; step++) {
        optimizer.zeroGrad();
        weights.map((w, i) => w.mul(w).mul(i + step).sum()).reduce((a, b) => a.add(b)).backward(); // prettier-ignore
        launched -= dx.counters(device).shadersCompiled;
        optimizer.step();
        launched += dx.counters(device).shadersCompiled;
      }
      return { launched, list: weights.map((w) => numbers(w)) };
    });
    expect(results.map((r) => r.launched)).toEqual([0, "amsgrad" in options ? 0 : 1]);
    results[1]!.list.forEach((w, i) => expectClose(w, results[0]!.list[i]!));
  });
});

eachDevice("8-bit optimizers by shaders", (device) => {
  const code = ["exp_avg", "exp_avg_sq"] as const;
  it.each([
    ["adam8bit", [20, 30], { weightDecay: 0.1 }],
    ["adam8bit", [1023], { maximize: true, betas: [0.8, 0.9] }],
    ["adamW8bit", [16, 16], { lr: 0.01 }],
    ["adamW8bit", [257], { eps: 1e-4 }],
    ["adam8bit", [1], {}],
    ["adam8bit of a view", [31, 33], {}],
    ["adam8bit in float16", [300], {}],
  ] as const)("%s of %j %o", (what, shape, options) => {
    const [kind] = what.split(" ") as ["adam8bit" | "adamW8bit"];
    const results = ["off", "on"].map((shaders) => {
      setMode(shaders);
      dx.closeDevice(device);
      const whole = what.endsWith("view") ? real([...shape].reverse(), 1).transpose(0, 1) : real([...shape], 1);
      // Rounded on the host: a device's own cast may truncate where a shader's does not.
      const rounded = (t: dx.Tensor): dx.Tensor =>
        what.endsWith("float16") ? dx.tensor(numbers(t), { dtype: "float16" }).reshape(t.shape) : t;
      const w = rounded(whole).detach().requiresGrad_();
      const optimizer = dx.optim[kind]([w], { min8bitSize: 0, ...options } as Partial<dx.optim.Adam8bitOptions>);
      let launched = 0;
      const steps = Array.from({ length: 4 }, (_, step) => {
        // Of very different sizes, with zeros; the last step has a NaN.
        const g = dx.arange(w.size, { dtype: "float32" }).mul(0.7 + step).sin().pow(7).reshape([...shape]); // prettier-ignore
        w.grad = rounded(step === 3 ? dx.where(dx.arange(w.size).reshape([...shape]).eq(0), Number.NaN, g) : g); // prettier-ignore
        launched -= dx.counters(device).shadersCompiled;
        optimizer.step();
        launched += dx.counters(device).shadersCompiled;
        const own = optimizer.stateDict().state[0]!;
        return {
          w: numbers(w),
          scales: code.map((name) => numbers(own[`${name}_absmax`]!)),
          codes: code.map((name) => numbers(own[name]!)),
        };
      });
      optimizer.dispose();
      return { launched, steps };
    });
    expect(results.map((r) => r.launched > 0)).toEqual([false, !what.endsWith("float16")]);
    const [composed, launched] = results.map((r) => r.steps);
    composed!.forEach((want, step) => {
      const found = launched![step]!;
      // Codes on a border may be each other's neighbours, which the next steps see.
      const differing = want.codes.flatMap((list, k) =>
        list.flatMap((c, i) => (c === found.codes[k]![i] ? [] : [Math.abs(c - found.codes[k]![i]!)])),
      );
      expect(differing.length).toBeLessThanOrEqual(Math.max(3, 0.01 * want.w.length));
      expect(Math.max(0, ...differing)).toBeLessThanOrEqual(1);
      want.scales.forEach((list, k) =>
        list.forEach((v, i) => expect(Object.is(v, found.scales[k]![i]) || Math.abs(v - found.scales[k]![i]!) <= 1e-5 * v).toBe(true)),
      );
      want.w.forEach((v, i) => expect(Object.is(v, found.w[i]) || Math.abs(v - found.w[i]!) <= 2e-3 + 1e-4 * Math.abs(v)).toBe(true));
    });
  });
});

describe("DXTENSOR_SHADERS", () => {
  const device = (runsShaders: boolean): Capabilities =>
    new Capabilities({
      name: "test",
      featureLevel: 0x6000,
      dataTypes: 0,
      fusesGraphs: false,
      waveLanes: 0,
      runsShaders,
      fasterShaders: () => NVIDIA_OVER_VULKAN,
    });

  const chooses = (runs: boolean, name: ShaderName, extent = 0, dtype: dx.DType = "float32", isAlone = true, isPacked = true): boolean =>
    choosesShader(device(runs), isAlone, name, { dtype, extent, isPacked });

  it("takes what was measured, eagerly and among others", () => {
    setMode(undefined);
    expect([true, false].map((isAlone) => chooses(true, "matmul", 2048, "float32", isAlone))).toEqual([true, true]);
    expect([true, false].map((isAlone) => chooses(true, "relu", 2 ** 26, "float32", isAlone))).toEqual([true, false]);
    expect((["relu", "add"] as const).flatMap((name) => [chooses(true, name, 1000), chooses(true, name, 2 ** 26, "float16")])).toEqual([
      false,
      true,
      false,
      true,
    ]);
    expect([chooses(true, "relu", 2 ** 26), chooses(true, "add", 2 ** 26)]).toEqual([true, false]);
    expect(chooses(true, "relu", 2 ** 26, "float32", true, false)).toBe(false);
    expect(chooses(true, "softmax", 4096, "float16")).toBe(true);
    expect([100, 1024, 16384, 20000].map((n) => chooses(true, "softmax", n))).toEqual([false, true, true, false]);
    expect([8, 16, 4096].map((n) => chooses(true, "matmul", n))).toEqual([false, true, true]);
    expect([1, 64, 65].map((rows) => chooses(true, "packedLinear", rows))).toEqual([true, true, false]);
    expect([128, 256, 4096].map((n) => chooses(true, "attention", n))).toEqual([false, true, true]);
    expect([128, 1024].map((n) => chooses(true, "attention", n, "float32", false))).toEqual([false, true]);
    expect([8, 16].map((n) => chooses(true, "linear", n, "float32", false))).toEqual([false, true]);
    expect([128, 2048].map((n) => chooses(true, "causalAttentionGradient", n, "float32", false))).toEqual([false, true]);
  });

  it("is off, on or only-measured", () => {
    setMode(undefined);
    expect(shaderMode()).toBe("only-measured");
    setMode("on");
    expect([chooses(true, "relu"), chooses(false, "relu")]).toEqual([true, false]);
    setMode("off");
    expect(chooses(true, "relu")).toBe(false);
    setMode("fast");
    expect(() => shaderMode()).toThrow('environment: DXTENSOR_SHADERS must be "off", "on", "only-measured"; received fast');
  });

  it("takes no shader where none was measured, unless told to", () => {
    setMode(undefined);
    const { capabilities } = nativeDevice(dx.device("cpu"));
    expect(capabilities.runsShaders).toBe(true);
    expect(
      (["add", "relu", "softmax", "matmul"] as const).some((name) =>
        choosesShader(capabilities, true, name, { dtype: "float16", extent: 2 ** 26, isPacked: true }),
      ),
    ).toBe(false);
  });
});
