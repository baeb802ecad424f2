/** npm run onnx -- --export: ONNX Runtime runs what the library exports, and must give the same numbers. */
import * as dx from "../../../src/index.ts";
import { exportCases, tensorsOf, type Source } from "../export-cases.ts";
import { smallLlama } from "./cache-passes.ts";
import { layerCases, networkCases, optionsOf } from "./modules.ts";
import { judge } from "./onnxruntime.ts";
import { judgeWithCache, packageModels } from "./package-models.ts";

interface Judged {
  readonly name: string;
  readonly run: () => Promise<void>;
}

const computed = (source: Source, args: readonly dx.Tensor[]): readonly dx.Tensor[] => tensorsOf(dx.noGrad(() => source(...args)));

const modules = [...layerCases, ...networkCases].map((c): Judged => ({
  name: c.name,
  run: async () => {
    const source = c.make();
    const file = await dx.io.onnx.serialize(source, c.args(2, 6), { ...optionsOf(c), opset: 18 });
    const runs = [c.args(2, 6), c.args(3, 5), c.args(1, 4)].map((args) => ({ args, wanted: computed(source, args) }));
    await judge(file, runs, c.tolerance ?? 1e-5);
  },
}));

const operations = exportCases.map(({ name, source, make, opset = 18 }): Judged => ({
  name,
  run: async () => {
    const args = make();
    const file = await dx.io.onnx.serialize(source, args, { opset });
    await judge(file, [{ args, wanted: computed(source, args) }], 1e-5);
  },
}));

const cached: Judged = {
  name: "Llama with a cache",
  run: async () => judgeWithCache(await dx.models.fromConfig(smallLlama, { family: "llama" }), [2, 1], 1e-5),
};

/** Prints what differs, and the counts; how many failed. */
export async function judgeExports(device: string, only: RegExp, say: (text: string) => void): Promise<number> {
  dx.setDefaultDevice(device);
  let [passed, failed] = [0, 0];
  for (const { name, run } of [...operations, ...modules, cached, ...packageModels(say)].filter((c) => only.test(c.name))) {
    dx.manualSeed(11);
    try {
      await run();
      passed++;
    } catch (error) {
      failed++;
      say(`failed ${name}: ${(error as Error).message.split("\n")[0]}`);
    }
  }
  say(`${passed} passed, ${failed} failed`);
  return failed;
}
