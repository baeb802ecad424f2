/** dx.train.fit and evaluate: the loop equals one that is written out, and waits for the device for reports alone. */
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { clean, eachDevice, numbers } from "../device.ts";

const { fit, evaluate } = dx.train;

type Pair = [dx.Tensor, dx.Tensor];

/** A small problem: batches of rows and their sums. */
function problem(seed = 5, count = 10) {
  const generator = new dx.Generator(seed);
  const model = dx.nn.sequential(dx.nn.linear(3, 4, { generator }), dx.nn.tanh(), dx.nn.linear(4, 1, { generator }));
  const rows = Array.from({ length: count }, (_, i) => [Float32Array.of(i / 10, 1 - i / 7, (i % 3) - 1), Float32Array.of(i / 5)] as const);
  const loader = dx.data.dataLoader(rows, { batchSize: 2, shuffle: true, generator });
  const mse = ([x, y]: readonly [dx.Tensor, dx.Tensor]): dx.Tensor => dx.nn.functional.mseLoss(model.forward(x), y);
  const heldOut = dx.data.dataLoader(rows, { batchSize: 4 });
  return { model, loader, heldOut, mse };
}

const weights = (model: dx.nn.Module): number[][] => [...model.parameters()].map(numbers);

/** Lines that a training prints. */
function lines(): { readonly output: { write(text: string): void }; readonly text: string[] } {
  const text: string[] = [];
  return { text, output: { write: (line) => void text.push(...line.split("\n").filter((l) => l !== "")) } };
}

const quiet = { quiet: true } as const;

eachDevice("train.fit", (device) => {
  test.each([
    ["eager", false],
    ["compiled", true],
  ] as const)("equals the loop written out, %s", (_, compile) =>
    clean(
      device,
      async () => {
        const [one, two] = [problem(), problem()];
        const own = dx.optim.adam(one.model.parameters(), { lr: 0.05 });
        for (let epoch = 0; epoch < 3; epoch++)
          for await (const [x, y] of one.loader) {
            own.zeroGrad();
            dx.scope(() => {
              one.mse([x, y]).backward();
              dx.nn.utils.clipGradNorm_(one.model.parameters(), 0.5);
              own.step();
            });
            x.dispose();
            y.dispose();
          }
        const optimizer = dx.optim.adam(two.model.parameters(), { lr: 0.05 });
        const result = await fit(two.loader, { model: two.model, optimizer, loss: two.mse, epochs: 3, clipNorm: 0.5, compile, ...quiet });
        expect(result).toMatchObject({ reason: "done", step: 15, epochs: 3, checkpoint: null });
        const found = weights(two.model).flat();
        for (const [i, w] of weights(one.model).flat().entries()) expect(Math.abs(found[i]! - w)).toBeLessThanOrEqual(1e-5);
        expect(two.model.training).toBe(true);
        own.zeroGrad();
        for (const p of [...one.model.parameters(), ...two.model.parameters()]) p.dispose();
      },
      { collect: true },
    ),
  );

  test("gradients of several batches make a step of their mean, at the end of an epoch too", () =>
    clean(
      device,
      async () => {
        const inputs = [1, 2, 3, 4, 5].map((i): Pair => [dx.tensor([[i, -i]]), dx.tensor([[i / 2]])]);
        const make = () => dx.nn.linear(2, 1, { generator: new dx.Generator(1) });
        const [one, two, three] = [make(), make(), make()];
        const own = dx.optim.sgd(one.parameters(), { lr: 0.01 });
        for (const part of [inputs.slice(0, 2), inputs.slice(2, 4), inputs.slice(4)]) {
          own.zeroGrad();
          for (const [x, y] of part) dx.nn.functional.mseLoss(one.forward(x), y).div(part.length).backward();
          own.step();
        }
        for (const [model, compile] of [
          [two, false],
          [three, true],
        ] as const) {
          const seen: number[] = [];
          const result = await fit(inputs, {
            model,
            optimizer: dx.optim.sgd(model.parameters(), { lr: 0.01 }),
            loss: ([x, y]) => dx.nn.functional.mseLoss(model.forward(x), y),
            epochs: 1,
            accumulate: 2,
            compile,
            onStep: ({ batch }) => void seen.push(inputs.indexOf(batch)),
            ...quiet,
          });
          expect(result.step).toBe(3);
          expect(seen).toEqual([1, 3, 4]);
          for (const [i, w] of weights(model).flat().entries()) expect(Math.abs(w - weights(one).flat()[i]!)).toBeLessThanOrEqual(1e-5);
        }
        // Batches of others than loaders stay.
        expect(numbers(inputs[0]![0])).toEqual([1, -1]);
      },
      { collect: true },
    ));

  test("waits for the device for reports, epochs and evaluations alone", () =>
    clean(
      device,
      async () => {
        const { model, loader, heldOut, mse } = problem(2, 40);
        const { binding } = nativeDevice(dx.device(device));
        const native = binding as { read: (typeof binding)["read"]; readSync: (typeof binding)["readSync"] };
        const [read, readSync] = [binding.read.bind(binding), binding.readSync.bind(binding)];
        const reads = { async: 0, sync: 0 };
        native.read = (...args) => {
          reads.async++;
          return read(...args);
        };
        native.readSync = (...args) => {
          reads.sync++;
          return readSync(...args);
        };
        try {
          const { text, output } = lines();
          const optimizer = dx.optim.adam(model.parameters(), { lr: 0.01 });
          await fit(loader, {
            model,
            optimizer,
            loss: mse,
            epochs: 2,
            reportEvery: 8,
            evaluate: { loader: heldOut },
            clipNorm: 1,
            autocast: "float16",
            seed: 3,
            output,
          });
          const count = (pattern: RegExp): number => text.filter((line) => pattern.test(line)).length;
          expect([count(/ loss .* steps\/s/), count(/ended: mean loss/), count(/evaluation: loss/)]).toEqual([5, 2, 2]);
          expect(reads.async + reads.sync).toBeLessThanOrEqual(9);
          expect(reads.sync).toBe(0);
        } finally {
          Object.assign(native, { read, readSync });
        }
      },
      { collect: true },
    ));

  test("evaluates by samples, in eval mode, and resets metrics", () =>
    clean(
      device,
      async () => {
        const model = dx.nn.sequential(dx.nn.linear(1, 1), dx.nn.dropout(0.5));
        const frozen = model.children()[1]!;
        frozen.eval();
        const inputs = [1, 2, 3].map((n): Pair => [dx.ones([n, 1]), dx.full([n, 1], n)]);
        const calls: string[] = [];
        const counter = {
          n: 0,
          update(outputs: dx.Tensor, targets: dx.Tensor) {
            expect(outputs.shape).toEqual(targets.shape);
            expect(outputs.requiresGrad).toBe(false);
            calls.push("update");
            this.n += outputs.shape[0]!;
          },
          compute: async () => dx.tensor(counter.n),
          reset: () => void ((counter.n = 0), calls.push("reset")),
        };
        const values = await evaluate(inputs, {
          model,
          loss: ([x, y]) => {
            expect(model.training).toBe(false);
            return { loss: y.mean(), outputs: model.forward(x), targets: y };
          },
          metrics: { counter, parts: { update: () => {}, reset: () => {}, compute: () => ({ f1: [1, dx.tensor([2, 3])], all: true }) } },
        });
        expect(values.loss).toBeCloseTo((1 + 4 + 9) / 6, 5);
        expect(values).toMatchObject({ counter: 6, "parts.f1.0": 1, "parts.f1.1.0": 2, "parts.f1.1.1": 3, "parts.all": 1 });
        expect(calls).toEqual(["reset", "update", "update", "update", "reset"]);
        expect([model.training, frozen.training]).toEqual([true, false]);
      },
      { collect: true },
    ));

  test("takes the metrics of dx.metrics", () =>
    clean(
      device,
      async () => {
        const model = dx.nn.linear(2, 2, { generator: new dx.Generator(1) });
        const targets = dx.tensor([0, 1, 1], { dtype: "int32" });
        const batches: Pair[] = [
          [
            dx.tensor([
              [4, 0],
              [0, 4],
              [0, 4],
            ]),
            targets,
          ],
        ];
        const accuracy = dx.metrics.accuracy({ numClasses: 2 });
        const result = await fit(batches, {
          model,
          optimizer: dx.optim.sgd(model.parameters(), { lr: 0.5 }),
          loss: ([x, y]) => {
            const outputs = model.forward(x);
            return { loss: dx.nn.functional.crossEntropy(outputs, y), outputs, targets: y };
          },
          epochs: 10,
          evaluate: { loader: batches, metrics: { accuracy } },
          monitor: "accuracy",
          mode: "max",
          ...quiet,
        });
        expect(result.best!.value).toBe(1);
        for (const buffer of accuracy.buffers()) buffer.dispose();
      },
      { collect: true },
    ));

  test("stops when the evaluation gets no better, with the best", () =>
    clean(
      device,
      async () => {
        const { model, loader, heldOut, mse } = problem();
        const values = [3, 2, 2.5, NaN, 1.95, 1];
        let at = 0;
        const result = await fit(loader, {
          model,
          optimizer: dx.optim.sgd(model.parameters(), { lr: 0.01 }),
          loss: (batch) => ({ loss: mse(batch), outputs: batch[0], targets: batch[1] }),
          epochs: 10,
          evaluate: { loader: heldOut, metrics: { m: { update: () => {}, compute: () => values[at++]!, reset: () => {} } } },
          monitor: "m",
          earlyStop: { patience: 3, minDelta: 0.1 },
          ...quiet,
        });
        expect(result).toMatchObject({ reason: "earlyStop", epochs: 5, best: { value: 1.95, step: 25 } });
        expect(result.history.map((e) => e.evaluation!.m)).toEqual(values.slice(0, 5));
      },
      { collect: true },
    ));

  test("schedules, steps, callbacks, scalars and reports", () =>
    clean(
      device,
      async () => {
        const { model, loader, heldOut, mse } = problem();
        const optimizer = dx.optim.sgd(model.parameters(), { lr: 1 });
        const schedule = new dx.optim.lrScheduler.StepLR(optimizer, { stepSize: 1, gamma: 0.5 });
        const seen: string[] = [];
        const { text, output } = lines();
        const scalars: unknown[][] = [];
        const result = await fit(loader, {
          model,
          optimizer,
          loss: mse,
          steps: 8,
          schedule,
          scheduleEach: "step",
          reportEvery: 4,
          evaluate: { loader: heldOut, everySteps: 6 },
          json: true,
          output,
          seed: 9,
          onStep: ({ step, loss }) => void seen.push(`step ${step} ${loss.size}`),
          onReport: ({ step, lr }) => void seen.push(`report ${step} ${lr}`),
          onEvaluate: ({ step, isBest }) => void seen.push(`evaluate ${step} ${isBest}`),
          onEpochEnd: async ({ epoch, step }) => void seen.push(`epoch ${epoch} ${step}`),
          summaryWriter: { scalar: (...args: unknown[]) => scalars.push(args) },
        });
        expect(result).toMatchObject({ reason: "done", step: 8, epochs: 1 });
        expect(optimizer.lr).toBe(2 ** -8);
        expect(seen.filter((line) => !line.startsWith("step"))).toEqual([
          "report 4 0.0625",
          "epoch 0 5",
          "evaluate 6 true",
          "report 8 0.00390625",
          expect.stringMatching(/^evaluate 8 /),
        ]);
        expect(seen.filter((line) => line.startsWith("step")).length).toBe(8);
        const events = text.map((line) => JSON.parse(line) as { event: string; step: number; seed?: string; secondsLeft?: number });
        expect(events.map((e) => e.event)).toEqual(["begin", "report", "epoch", "evaluation", "report", "evaluation", "end"]);
        expect(events[0]).toMatchObject({ seed: "9", steps: 8, epochs: null });
        expect(events[4]!.secondsLeft).toBe(0);
        expect(scalars.map(([tag, , step]) => [tag, step])).toEqual([
          ["loss/train", 4],
          ["learningRate", 4],
          ["loss/evaluate", 6],
          ["loss/train", 8],
          ["learningRate", 8],
          ["loss/evaluate", 8],
        ]);
      },
      { collect: true },
    ));

  test("a rate that falls on a plateau, values in autocast, and clipped elements", () =>
    clean(
      device,
      async () => {
        const { model, loader, mse } = problem();
        const optimizer = dx.optim.sgd(model.parameters(), { lr: 1e-6 });
        const schedule = new dx.optim.lrScheduler.ReduceLROnPlateau(optimizer, {
          patience: 0,
          factor: 0.5,
          threshold: 10,
          thresholdMode: "abs",
        });
        await fit(loader, { model, optimizer, loss: mse, epochs: 3, schedule, clipValue: 1e-3, autocast: "bfloat16", ...quiet });
        expect(optimizer.lr).toBe(0.25e-6);
      },
      { collect: true },
    ));

  test("stops by a callback, by a signal, and by errors, and leaves nothing behind", () =>
    clean(
      device,
      async () => {
        const { model, loader, heldOut, mse } = problem();
        const optimizer = dx.optim.sgd(model.parameters(), { lr: 0.01 });
        const options = { model, optimizer, loss: mse, epochs: 2, ...quiet };
        const before = process.listenerCount("SIGINT");
        const stopped = await fit(loader, { ...options, onStep: async ({ step }) => (step === 7 ? "stop" : undefined) });
        expect(stopped).toMatchObject({ reason: "callback", step: 7, epochs: 1 });
        // Vitest's `rejects` keeps the errors, and these what their stacks refer to.
        const failure = (more: object): Promise<string> =>
          fit(loader, { ...options, ...more }).then(
            () => "none",
            (e: Error) => `${e.name}: ${e.message}`,
          );
        const controller = new AbortController();
        const abort = ({ step }: { readonly step: number }): void => void (step === 3 && controller.abort(new Error("enough")));
        expect(await failure({ signal: controller.signal, onStep: abort })).toBe("Error: enough");
        expect(await failure({ signal: AbortSignal.abort(new Error("before")) })).toBe("Error: before");
        let calls = 0;
        const failing = (batch: readonly [dx.Tensor, dx.Tensor]): dx.Tensor => {
          if (++calls === 3) throw new RangeError("of the user");
          return mse(batch);
        };
        expect(await failure({ loss: failing })).toBe("RangeError: of the user");
        expect(await failure({ evaluate: { loader: heldOut, loss: () => dx.ones([2]) } })).toMatch(
          /^ShapeError: fit: loss\(batch\) must be of one/,
        );
        expect(model.training).toBe(true);
        expect(process.listenerCount("SIGINT")).toBe(before);
        optimizer.zeroGrad();
      },
      { collect: true },
    ));

  test("a training three times, with frozen modules and a model in eval mode", () =>
    clean(
      device,
      async () => {
        for (let run = 0; run < 3; run++) {
          const { model, loader, mse } = problem(run);
          const first = model.children()[0]!;
          first.eval();
          const modesSeen: boolean[] = [];
          const loss = (batch: readonly [dx.Tensor, dx.Tensor]): dx.Tensor => {
            modesSeen.push(first.training, model.training);
            return mse(batch);
          };
          const options = { model, optimizer: dx.optim.sgd(model.parameters(), { lr: 0.01 }), loss, ...quiet };
          await fit(loader, { ...options, steps: 1 });
          expect(modesSeen).toEqual([false, true]);
          model.eval();
          await fit(loader, { ...options, steps: 1 });
          expect(modesSeen.slice(2)).toEqual([true, true]);
          expect(model.training).toBe(false);
        }
      },
      { collect: true },
    ));
});

describe("errors are typed, and say the argument", () => {
  const model = dx.nn.linear(1, 1);
  const optimizer = dx.optim.sgd(model.parameters(), { lr: 0.1 });
  const batches: Pair[] = [[dx.ones([1, 1]), dx.ones([1, 1])]];
  const same = dx.data.dataLoader([1, 2]);
  const good = { model, optimizer, loss: ([x]: Pair) => model.forward(x).mean(), epochs: 1, ...quiet };

  test.each<[string, { readonly loader?: unknown } & Record<string, unknown>, new (...args: never[]) => Error]>([
    ["epochs", { epochs: undefined }, dx.ValueError],
    ["epochs", { epochs: 1.5 }, dx.ValueError],
    ["steps", { steps: -1 }, dx.ValueError],
    ["accumulate", { accumulate: 0 }, dx.ValueError],
    ["reportEvery", { reportEvery: 0 }, dx.ValueError],
    ["clipValue", { clipNorm: 1, clipValue: 1 }, dx.ValueError],
    ["clipNorm", { clipNorm: -1 }, dx.ValueError],
    ["evaluate.loader", { evaluate: { loader: 5 } }, dx.DTypeError],
    ["metrics", { evaluate: { loader: batches, metrics: { m: {} } } }, dx.DxError],
    ["evaluate.metrics", { evaluate: { loader: batches, metrics: { loss: { update() {}, compute() {}, reset() {} } } } }, dx.ValueError],
    ["loss(batch)", { evaluate: { loader: batches, metrics: { m: { update() {}, compute: () => 1, reset() {} } } } }, dx.ValueError],
    ["evaluate.loader", { loader: same, evaluate: { loader: same } }, dx.ValueError],
    ["monitor", { monitor: "accuracy" }, dx.ValueError],
    ["monitor", { monitor: "accuracy", evaluate: { loader: batches } }, dx.ValueError],
    ["earlyStop.minDelta", { earlyStop: { minDelta: -1 } }, dx.ValueError],
    ["loss(batch)", { loss: async () => dx.ones([]) }, dx.DTypeError],
    ["loss(batch)", { loss: () => dx.ones([2]) }, dx.ShapeError],
    ["loss(batch)", { loss: () => dx.ones([], { dtype: "int32" }) }, dx.DTypeError],
    ["loss(batch)", { loss: () => null }, dx.DTypeError],
    ["loader", { loader: [] }, dx.ValueError],
    ["loader", { loader: 7 }, dx.DTypeError],
    ["model", { model: {} }, dx.DxError],
    ["mode", { mode: "least" }, dx.DxError],
    ["epoch", { epoch: 3 }, dx.DxError],
  ])("%s: %o", async (argument, { loader = batches, ...wrong }, kind) => {
    const error = await Promise.resolve()
      .then(() => fit(loader as Pair[], { ...good, ...wrong } as typeof good))
      .catch((e: unknown) => e);
    expect(error).toBeInstanceOf(kind);
    expect((error as Error).message).toContain(argument);
  });
});
