/** The measured choice inside compiled functions: recorded, replayed, in one arena, in place, in training steps, compared with DirectML's operators. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { loadReports, nativeDevice } from "../../../src/runtime/devices.ts";
import { SHADERS } from "../../../src/shader/choice.ts";
import type { Measurement } from "../../../src/shader/measured.ts";
import { writeStored } from "../../../src/shader/store.ts";
import { eachDevice, isMicrosoft, numbers } from "../../device.ts";

const variables = ["XDG_CACHE_HOME", "LOCALAPPDATA", "DXTENSOR_SHADERS"] as const;
let folder: string;
let before: (string | undefined)[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-shaders-"));
  before = variables.map((name) => process.env[name]);
  process.env.XDG_CACHE_HOME = folder;
  process.env.LOCALAPPDATA = folder;
  delete process.env.DXTENSOR_SHADERS;
});
afterEach(() => {
  variables.forEach((name, i) => {
    if (before[i] === undefined) delete process.env[name];
    else process.env[name] = before[i];
  });
  rmSync(folder, { recursive: true });
});

/** As if all shaders had been measured to be faster in compiled functions, and none in eager calls. */
function measuredFaster(device: string): void {
  const native = nativeDevice(dx.device(device));
  const measurements = SHADERS.flatMap((shader) =>
    (["float32", "float16"] as const).flatMap((dtype) =>
      [1, 2 ** 20].map((extent): Measurement => ({ shader, dtype, place: "compiled", extent, directml: 2, byShader: 1, isWrong: false })),
    ),
  );
  writeStored(native, loadReports()[native.runtime], { time: "2026-01-02T03:04:05.000Z", measurements });
}

const real = (shape: readonly number[], seed: number): dx.Tensor => dx.randn([...shape], { generator: new dx.Generator(seed) });

/** What fn gives by DirectML's operators, eagerly, and by shaders, compiled. */
function both(device: string, fn: (compiled: boolean) => number[][]): void {
  measuredFaster(device);
  // DirectML's casts to float16 may cut off where shaders round: docs/shaders.md.
  const tolerance = isMicrosoft(device) ? 1e-2 : 2e-4;
  process.env.DXTENSOR_SHADERS = "off";
  dx.closeDevice(device);
  const expected = fn(false);
  expect(dx.counters(device).shadersCompiled).toBe(0);
  delete process.env.DXTENSOR_SHADERS;
  dx.closeDevice(device);
  const made = fn(true);
  expect(dx.counters(device).shadersCompiled).toBeGreaterThan(0);
  made.forEach((list, i) => list.forEach((x, k) => expect(Math.abs(x - expected[i]![k]!), `${i}, ${k}: ${x}, ${expected[i]![k]}`).toBeLessThan(tolerance * (1 + Math.abs(expected[i]![k]!))))); // prettier-ignore
  dx.closeDevice(device);
}

const compileIf = <F extends (...args: never[]) => unknown>(compiled: boolean, fn: F): F =>
  compiled ? (dx.compile(fn as never) as unknown as F) : fn;

eachDevice("shaders in compiled functions", (device) => {
  it("stand between other nodes, in one arena, replayed with other data", () => {
    both(device, (compiled) => {
      const weight = real([32, 48], 1);
      const row = real([48], 2);
      const f = compileIf(compiled, (x: dx.Tensor, gate: dx.Tensor) => {
        const h = dx.layerNorm(dx.matmul(x, weight), [48], row, row);
        const a = dx.softmax(h.mul(0.5).add(row), -1);
        const b = dx
          .swiglu(dx.gelu(h.sub(1)), gate)
          .to("float16")
          .mul(2)
          .to("float32");
        return dx.relu(dx.rmsNorm(a.sub(b), [48]).mul(3)).add(dx.logSoftmax(b, -1));
      });
      const made: number[][] = [];
      for (let call = 0; call < 4; call++) made.push(numbers(f(real([16, 32], 10 + call), real([16, 48], 20 + call))));
      return made;
    });
    expect(device).toBeDefined();
  });

  it("train: a network with embeddings, norms and a loss, by Adam", () => {
    both(device, (compiled) => {
      const [table, up, gate, down, norm] = [real([11, 24], 1), real([24, 40], 2), real([24, 40], 3), real([40, 11], 4), dx.ones([24])].map((t) => t.mul(0.3).requiresGrad_()); // prettier-ignore
      const weights = [table!, up!, gate!, down!, norm!];
      const optimizer = dx.optim.adamW(weights, { lr: 0.02, weightDecay: 0.01 });
      const step = compileIf(compiled, (tokens: dx.Tensor, target: dx.Tensor) => {
        optimizer.zeroGrad();
        const x = dx.rmsNorm(dx.embedding(tokens, table!), [24]).mul(norm!);
        const h = dx.swiglu(dx.matmul(x, up!), dx.matmul(x, gate!));
        const loss = dx.crossEntropy(dx.matmul(h, down!), target);
        loss.backward();
        optimizer.step();
        return loss;
      });
      const losses: number[] = [];
      for (let call = 0; call < 6; call++) {
        const tokens = dx.tensor(Array.from({ length: 20 }, (_, i) => (i * 3 + call) % 11), { dtype: "int32" }); // prettier-ignore
        losses.push(...numbers(step(tokens, tokens.add(1).remainder(11))));
      }
      expect(losses.at(-1)!).toBeLessThan(losses[0]!);
      return [losses, ...weights.map((w) => numbers(w))];
    });
  });

  it("write state in place", () => {
    both(device, (compiled) => {
      const state = real([300], 5);
      const sums = dx.zeros([300]);
      const f = compileIf(compiled, (x: dx.Tensor) => {
        state.add_(x);
        state.relu_();
        sums.add_(dx.gelu(state));
        return dx.softmax(state.mul(x), -1);
      });
      const made: number[][] = [];
      for (let call = 0; call < 5; call++) made.push(numbers(f(real([300], 30 + call))), numbers(state), numbers(sums));
      return made;
    });
  });

  it("serve several sizes, padded", () => {
    both(device, (compiled) => {
      const body = (x: dx.Tensor): dx.Tensor => dx.softmax(dx.gelu(x.mul(2)), -1).add(dx.swiglu(x, x));
      const f = compiled ? dx.compile(body, { dynamic: [0] }) : body;
      return [3, 5, 3, 8, 17].map((n) => numbers(f(real([n, 12], n))));
    });
  });
});
