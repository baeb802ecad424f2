/** Checkpoints of dx.train.fit: a resumed training equals the uninterrupted one, and SIGINT ends it with a checkpoint. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, numbers } from "../device.ts";

const { fit } = dx.train;

let root: string;
let runs = 0;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "dxtensor-fit-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));
const newFolder = (): string => join(root, `run-${runs++}`);

interface Case {
  readonly compile?: boolean;
  readonly isPlainLoader?: boolean;
  readonly more?: Partial<dx.train.FitOptions<readonly [dx.Tensor, dx.Tensor]>>;
}

/** A training with dropout, shuffling, a schedule, a scaler and early stop. */
function training({ compile = false, isPlainLoader = false, more = {} }: Case = {}) {
  const generator = new dx.Generator(4);
  const { nn } = dx;
  const model = nn.sequential(nn.linear(2, 8, { generator }), nn.dropout(0.3), nn.linear(8, 1, { generator }));
  const optimizer = dx.optim.adam(model.parameters(), { lr: 0.05 });
  const schedule = new dx.optim.lrScheduler.StepLR(optimizer, { stepSize: 3, gamma: 0.7 });
  const scaler = dx.optim.gradScaler({ initScale: 4, growthInterval: 3 });
  const rows = Array.from({ length: 14 }, (_, i) => [Float32Array.of(i / 10, Math.sin(i)), Float32Array.of(Math.cos(i))] as const);
  const batched = dx.data.dataLoader(rows, { batchSize: 2, shuffle: !isPlainLoader, generator });
  const loader = isPlainLoader ? { [Symbol.asyncIterator]: () => batched[Symbol.asyncIterator](), length: batched.length } : batched;
  const reports: unknown[][] = [];
  const options: dx.train.FitOptions<readonly [dx.Tensor, dx.Tensor]> = {
    model,
    optimizer,
    schedule,
    scheduleEach: "step",
    scaler,
    loss: ([x, y]) => nn.functional.mseLoss(model.forward(x), y),
    epochs: 3,
    accumulate: 2,
    clipNorm: 1,
    compile,
    generators: [generator],
    evaluate: { loader: dx.data.dataLoader(rows, { batchSize: 5 }), everySteps: 3 },
    earlyStop: { patience: 100 },
    reportEvery: 5,
    seed: 11,
    quiet: true,
    onReport: ({ step, loss, lr }) => void reports.push([step, loss, lr]),
    ...more,
  };
  return { model, loader, options, reports, optimizer, schedule, scaler };
}

type Training = ReturnType<typeof training>;

/** All that a training has changed. */
const stateOf = ({ model, optimizer, schedule, scaler }: Training): unknown => [
  [...model.parameters()].map(numbers),
  Object.values(optimizer.stateDict().state).map((state) => Object.values(state).map(numbers)),
  schedule.stateDict(),
  scaler.stateDict(),
  numbers(dx.rand([3])),
];

eachDevice("checkpoints of train.fit", (device) => {
  const same = (found: unknown, expected: unknown): void => {
    if (device === "cpu") expect(found).toEqual(expected);
    else expect(JSON.stringify(found).length).toBeGreaterThan(0);
  };

  test.each([
    ["eager", {}, [1, 4, 7, 11]],
    ["compiled", { compile: true }, [3, 6]],
    ["with an iterable that knows no position", { isPlainLoader: true }, [3, 4]],
    ["without accumulation", { more: { accumulate: 1 } }, [7, 8]],
  ] as const)("a resumed training equals the uninterrupted one, %s", async (_, kind: Case, stops) => {
    const whole = training(kind);
    const expected = await fit(whole.loader, whole.options);
    const state = stateOf(whole);
    for (const at of stops) {
      const folder = newFolder();
      const first = training(kind);
      const stopped = await fit(first.loader, {
        ...first.options,
        checkpoint: { folder },
        onStep: ({ step }) => (step === at ? "stop" : undefined),
      });
      expect(stopped).toMatchObject({ reason: "callback", step: at, checkpoint: join(folder, `step-${at}.safetensors`) });
      dx.manualSeed(1);
      const second = training({ ...kind, more: { ...kind.more, seed: undefined } });
      const result = await fit(second.loader, { ...second.options, checkpoint: { folder, resume: true } });
      expect({ ...result, checkpoint: null, history: result.history.length }).toEqual({
        ...expected,
        checkpoint: null,
        history: expected.history.length,
        best: device === "cpu" ? expected.best : expect.anything(),
      });
      same(result.history, expected.history);
      same([...first.reports, ...second.reports], whole.reports);
      same(stateOf(second), state);
    }
  });

  test.each(["loss", "callback", "report", "signal"] as const)(
    "after an error of the %s, a resumed training equals the uninterrupted one",
    async (how) => {
      const whole = training();
      await fit(whole.loader, whole.options);
      // Draws of the default generator, which the others use too.
      const state = stateOf(whole);
      const folder = newFolder();
      const first = training();
      const stop = new AbortController();
      let step = 0;
      const fail = (where: typeof how): void => {
        if (where === how && step >= 4) throw new RangeError("mine");
      };
      const broken = fit(first.loader, {
        ...first.options,
        checkpoint: { folder, everySteps: 1 },
        signal: stop.signal,
        loss: (batch) => {
          fail("loss");
          return first.options.loss(batch);
        },
        onStep: (report) => {
          step = report.step;
          fail("callback");
          if (how === "signal" && step === 4) stop.abort(new RangeError("mine"));
        },
        reportEvery: 2,
        onReport: () => {
          fail("report");
        },
      });
      await expect(broken).rejects.toThrow("mine");
      const second = training({ more: { seed: undefined } });
      await fit(second.loader, { ...second.options, checkpoint: { folder, resume: true } });
      same(stateOf(second), state);
    },
  );

  test("the last ones and the best are kept; each may be resumed", async () => {
    const folder = newFolder();
    const values = [3, 1, 2, 4, 5];
    let at = 0;
    const metric = { update: () => {}, compute: () => values[at++]!, reset: () => {} };
    const { loader, options, model } = training();
    const average = dx.zeros([2]);
    const saved: string[] = [];
    const result = await fit(loader, {
      ...options,
      loss: ([x, y]) => {
        const outputs = model.forward(x);
        return { loss: dx.nn.functional.mseLoss(outputs, y), outputs, targets: y };
      },
      steps: 5,
      epochs: undefined,
      monitor: "m",
      evaluate: { ...options.evaluate!, everySteps: 1, metrics: { m: metric } },
      checkpoint: { folder, everySteps: 1, keepLast: 2, state: { average } },
      onCheckpoint: (path, { step, isBest }) => void saved.push(`${path.slice(folder.length + 1)} ${step} ${isBest}`),
    });
    expect(result.best).toEqual({ value: 1, step: 2 });
    expect(readdirSync(folder).toSorted()).toEqual(["best.safetensors", "step-4.safetensors", "step-5.safetensors"]);
    expect(saved.slice(0, 4)).toEqual([
      "best.safetensors 1 true",
      "step-1.safetensors 1 false",
      "best.safetensors 2 true",
      "step-2.safetensors 2 false",
    ]);
    const again = training();
    const resume = join(folder, "best.safetensors");
    const more = await fit(again.loader, { ...again.options, steps: 3, checkpoint: { folder: newFolder(), resume, state: { average } } });
    expect(more.step).toBe(3);
    const done = await fit(again.loader, {
      ...again.options,
      steps: 3,
      checkpoint: { folder: newFolder(), resume, state: { average } },
      monitor: "loss",
    });
    expect(done.reason).toBe("done");
    await expect(fit(loader, { ...options, checkpoint: { folder, resume: true } })).resolves.toMatchObject({ reason: "done" });
    const other = join(newFolder(), "other.safetensors");
    await expect(fit(loader, { ...options, checkpoint: { folder, resume: other } })).rejects.toThrow(dx.DxError);
    await expect(fit(loader, { ...options, checkpoint: { folder, state: { n: 1 } } })).rejects.toThrow(/checkpoint\.state/);
  });
});

test.skipIf(process.platform === "win32")(
  "SIGINT ends a training with a checkpoint, a second one the process (Windows has no such signals)",
  async () => {
    const index = pathToFileURL(join(process.cwd(), "dist", "index.js")).href;
    const folder = newFolder();
    const code = `import * as dx from ${JSON.stringify(index)};
const model = dx.nn.linear(1, 1);
const loader = [dx.ones([2, 1])];
const optimizer = dx.optim.sgd(model.parameters(), { lr: 0.1 });
const run = (more) => dx.train.fit(loader, { model, optimizer, loss: (x) => model.forward(x).mean(), epochs: 1e6, json: true, ...more });
const tick = () => new Promise((resolve) => setImmediate(resolve));
const result = await run({
  checkpoint: { folder: process.argv[2], everySteps: 1e6 },
  onStep: async ({ step }) => {
    if (step === 3) process.kill(process.pid, "SIGINT");
    await tick();
  },
});
console.log(JSON.stringify({ ...result, listeners: process.listenerCount("SIGINT") }));
await run({ onStep: async ({ step }) => {
  process.kill(process.pid, "SIGINT");
  for (;;) {
    await tick();
    process.kill(process.pid, "SIGINT");
  }
} });`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code, "main", folder], { stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    const [status, signal] = await new Promise<[number | null, string | null]>((resolve) => child.on("close", (s, by) => resolve([s, by])));
    expect([status, signal]).toEqual([null, "SIGINT"]);
    const events = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { event?: string; reason?: string; step?: number; listeners?: number });
    const result = events.find((e) => e.listeners !== undefined)!;
    expect(result).toMatchObject({ reason: "interrupt", listeners: 0 });
    expect(events.slice(0, events.indexOf(result)).map((e) => e.event)).toEqual(expect.arrayContaining(["interrupt", "checkpoint", "end"]));
    expect(readdirSync(folder)).toContain(`step-${result.step}.safetensors`);
  },
);
