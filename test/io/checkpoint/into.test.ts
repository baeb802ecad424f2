/** load() with `into`: objects take the state, with all names or with those that fit. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean as cleanOf, eachDevice, storageOf } from "../../device.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-into-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});
/** Generators are freed by the collector. */
const clean = (device: string, fn: () => Promise<void>): Promise<void> => cleanOf(device, fn, { collect: true });
const at = (name: string): string => join(folder, name);

const net = (seed: number): dx.nn.Sequential => {
  const generator = new dx.Generator(seed);
  return dx.nn.sequential(dx.nn.linear(3, 4, { generator }), dx.nn.batchNorm1d(4), dx.nn.linear(4, 1, { generator }));
};
const valuesOf = (module: dx.nn.Module): unknown =>
  dx.scope(() => Object.fromEntries(Object.entries(module.stateDict()).map(([name, t]) => [name, t.toArraySync()])));
const errorOf = async (run: Promise<unknown>): Promise<unknown> =>
  run.then(
    () => null,
    (error: unknown) => error,
  );

eachDevice("load into", (device) => {
  test("modules, optimizers, schedules, GradScaler, generators, loaders and tensors, as they were saved", () =>
    clean(device, async () => {
      const made = (seed: number) => {
        const model = net(seed);
        const optimizer = dx.optim.adam(model.parameters(), { lr: 0.01 * seed });
        const schedule = new dx.optim.lrScheduler.StepLR(optimizer, { stepSize: 1, gamma: 0.5 });
        const generator = new dx.Generator(seed);
        const loader = dx.data.dataLoader([1, 2, 3, 4, 5], { shuffle: true, generator });
        const scaler = dx.optim.gradScaler({ initScale: 4 * seed });
        return { models: { student: model }, training: [optimizer, schedule], generator, loader, scaler, average: dx.full([2], seed) };
      };
      const one = made(1);
      const [optimizer, schedule] = one.training as [dx.optim.Adam, dx.optim.lrScheduler.StepLR];
      one.models
        .student(dx.randn([8, 3], { generator: one.generator }))
        .sum()
        .backward();
      optimizer.step();
      schedule.step();
      optimizer.zeroGrad();
      for await (const _ of one.loader) break;
      await dx.save(at("all"), { ...one, step: 3, history: [1, 2] });

      const two = made(2);
      const { step, history, ...into } = { ...two, step: 0, history: [] };
      const result = await dx.load<{ step: number; history: number[] }>(at("all"), { into });
      expect(result).toEqual({ state: { step: 3, history: [1, 2] }, missing: [], unexpected: [], unread: [] });
      expect([step, history]).toEqual([0, []]);
      expect(valuesOf(two.models.student)).toEqual(valuesOf(one.models.student));
      const [optimizer2, schedule2] = two.training as [dx.optim.Adam, dx.optim.lrScheduler.StepLR];
      const moments = (o: dx.optim.Adam): unknown =>
        dx.scope(() => Object.values(o.stateDict().state).map((slots) => Object.values(slots).map((t) => t.toArraySync())));
      expect(moments(optimizer2)).toEqual(moments(optimizer));
      expect([optimizer2.lr, schedule2.lastEpoch, schedule2.getLastLr()]).toEqual([optimizer.lr, 1, schedule.getLastLr()]);
      expect(await two.generator.getState()).toEqual(await one.generator.getState());
      expect(two.loader.stateDict()).toEqual(one.loader.stateDict());
      expect(two.scaler.getScaleSync()).toBe(4);
      expect(two.average.toArraySync()).toEqual([1, 1]);
      for (const all of [one, two]) {
        all.models.student.zeroGrad();
        all.models.student.dispose();
        (all.training[0] as dx.optim.Adam).dispose();
        all.scaler.dispose();
        all.generator.manualSeed(1);
      }
    }));

  test("state dicts that were saved as such, into modules; one alone; and by PyTorch's way", () =>
    clean(device, async () => {
      const [one, two] = [net(1), net(2)];
      await dx.save(at("dict"), { model: one.stateDict(), step: 1 });
      await dx.load(at("dict"), { into: { model: two } });
      expect(valuesOf(two)).toEqual(valuesOf(one));
      const [three, four] = [net(3), net(4)];
      await dx.save(at("alone"), three);
      await dx.load(at("alone"), { into: four });
      expect(valuesOf(four)).toEqual(valuesOf(three));
      const saved = await dx.load<{ model: dx.nn.Module; step: number }>(at("dict"));
      four.loadStateDict(saved.model);
      expect(valuesOf(four)).toEqual(valuesOf(one));
      for (const t of Object.values(saved.model)) t.dispose();
      for (const module of [one, two, three, four]) module.dispose();
    }));

  test("what was saved and has no target is not read; what is no state is in the result", () =>
    clean(device, async () => {
      const model = net(1);
      await dx.save(at("f"), {
        model,
        optimizer: dx.optim.sgd(model.parameters(), { lr: 1 }),
        nested: { a: net(5), b: 2 },
        t: dx.ones([2]),
      });
      const reads: string[] = [];
      const { state, unread } = await dx.load<{ nested: { b: number }; t: dx.Tensor }>(at("f"), {
        into: { model, nested: {} },
        onProgress: ({ name }) => reads.push(name),
      });
      expect(unread).toEqual(["optimizer", "nested.a"]);
      expect(state.nested).toEqual({ b: 2 });
      expect(state.t.toArraySync()).toEqual([1, 1]);
      expect(reads.filter((name) => !name.startsWith("model."))).toEqual(["t"]);
      state.t.dispose();
      model.dispose();
    }));

  test("names that do not fit are all named, and nothing is changed; strict: false loads what fits", () =>
    clean(device, async () => {
      const generator = new dx.Generator(1);
      const one = dx.nn.sequential(dx.nn.linear(3, 4, { generator }), dx.nn.relu(), dx.nn.linear(4, 1, { generator }));
      const two = dx.nn.sequential(dx.nn.linear(3, 4, { generator }), dx.nn.linear(4, 1, { generator }));
      await dx.save(at("names"), { model: one });
      const before = valuesOf(two);
      const error = await errorOf(dx.load(at("names"), { into: { model: two, optimizer: dx.optim.sgd(two.parameters(), { lr: 1 }) } }));
      expect(error).toBeInstanceOf(dx.ValueError);
      expect((error as Error).message).toContain(
        "without optimizer, model.1.weight, model.1.bias and with unknown model.2.weight, model.2.bias",
      );
      expect(valuesOf(two)).toEqual(before);
      const { missing, unexpected } = await dx.load(at("names"), { into: { model: two, other: two }, strict: false });
      expect(missing).toEqual(["other", "model.1.weight", "model.1.bias"]);
      expect(unexpected).toEqual(["model.2.weight", "model.2.bias"]);
      const [mine, theirs] = [valuesOf(two), valuesOf(one)] as Record<string, unknown>[];
      expect(mine!["0.weight"]).toEqual(theirs!["0.weight"]);
      expect(mine!["1.weight"]).toEqual((before as Record<string, unknown>)["1.weight"]);
      for (const module of [one, two]) module.dispose();
    }));

  test("shapes that differ are named, strict or not, and nothing is changed", () =>
    clean(device, async () => {
      const generator = new dx.Generator(1);
      const [one, two] = [dx.nn.linear(3, 4, { generator }), dx.nn.linear(5, 4, { generator })];
      await dx.save(at("shapes"), { model: one, t: dx.ones([2]) });
      const before = valuesOf(two);
      for (const strict of [true, false]) {
        const error = await errorOf(dx.load(at("shapes"), { into: { model: two, t: dx.zeros([3]) }, strict }));
        expect(error).toBeInstanceOf(dx.ShapeError);
        expect((error as Error).message).toContain("model.weight [4, 5] got [4, 3]; t [3] got [2]");
      }
      expect(valuesOf(two)).toEqual(before);
      for (const module of [one, two]) module.dispose();
    }));

  test("a module on meta takes the tensors themselves, as one with assign does", () =>
    clean(device, async () => {
      const one = net(1);
      await dx.save(at("m"), { model: one });
      const two = dx.withDevice("meta", () => net(2));
      const parameters = two.parameters();
      await dx.load(at("m"), { into: { model: two } });
      expect(two.parameters().every((p, i) => p === parameters[i])).toBe(true);
      expect(parameters.map((p) => String(p.device))).toEqual(one.parameters().map((p) => String(p.device)));
      expect(valuesOf(two)).toEqual(valuesOf(one));
      const three = net(3);
      const storages = three.parameters().map(storageOf);
      await dx.load(at("m"), { into: { model: three }, assign: true });
      expect(three.parameters().some((p, i) => storageOf(p) === storages[i])).toBe(false);
      await dx.load(at("m"), { into: { model: three }, assign: false });
      expect(valuesOf(three)).toEqual(valuesOf(one));
      for (const module of [one, two, three]) module.dispose();
    }));

  test("hooks of a module see its state once, and may rename and allow", () =>
    clean(device, async () => {
      const [one, two] = [net(1), net(2)];
      const seen: string[] = [];
      one.registerStateDictPostHook((_module, state) => {
        seen.push("saved");
        return Object.fromEntries(Object.entries(state).map(([name, t]) => [`old.${name}`, t]));
      });
      await dx.save(at("hooks"), { model: one });
      expect(seen).toEqual(["saved"]);
      two.registerLoadStateDictPreHook((_module, state) => {
        seen.push("loaded");
        for (const [name, t] of Object.entries(state)) {
          delete state[name];
          if (name !== "old.2.bias") state[name.slice(4)] = t;
        }
      });
      two.registerLoadStateDictPostHook((_module, { missing }) => {
        seen.push(...missing.splice(0));
      });
      const { missing, unexpected } = await dx.load(at("hooks"), { into: { model: two } });
      expect([seen, missing, unexpected]).toEqual([["saved", "loaded", "2.bias"], [], []]);
      const names = (await dx.load<{ model: dx.nn.Module }>(at("hooks"), { device: "meta" })).model;
      expect(Object.keys(names)).toContain("old.0.weight");
      const weight = (module: dx.nn.Sequential): unknown => (module.at(0) as dx.nn.Linear).weight.toArraySync();
      expect(weight(two)).toEqual(weight(one));
      for (const module of [one, two]) module.dispose();
    }));

  test("a class of the user's: its own loadStateDict, awaited, and what it says of names", () =>
    clean(device, async () => {
      class Average {
        mean = dx.zeros([2]);
        stateDict(): { mean: dx.Tensor; n: number } {
          return { mean: this.mean, n: 7 };
        }
        async loadStateDict(state: { mean: dx.Tensor; n: number }): Promise<{ missing: string[] }> {
          await Promise.resolve();
          this.mean = state.mean;
          return { missing: [`n is ${state.n}`] };
        }
      }
      await dx.save(at("u"), { average: Object.assign(new Average(), { mean: dx.ones([2]) }) });
      const average = new Average();
      const { missing } = await dx.load(at("u"), { into: { average } });
      expect(missing).toEqual(["average.n is 7"]);
      expect(average.mean.toArraySync()).toEqual([1, 1]);
      average.mean.dispose();
    }));

  test("what cannot take a state is refused by name", () =>
    clean(device, async () => {
      await dx.save(at("r"), { a: 1, t: { x: 1 } });
      for (const [into, argument] of [
        [{ a: 3 }, "into.a"],
        [{ a: new Date() }, "into.a"],
        [{ a: null }, "into.a"],
        [{ t: dx.ones([1]) }, "into.t"],
      ] as const) {
        const error = await errorOf(dx.load(at("r"), { into }));
        expect([error instanceof dx.DTypeError, (error as dx.DxError).argument]).toEqual([true, argument]);
      }
      for (const into of [null, 3, "x"]) expect(await errorOf(dx.load(at("r"), { into: into as never }))).toBeInstanceOf(dx.DxError);
    }));
});

describe("types", () => {
  test("what load gives follows from what was saved", async () => {
    await dx.save(at("types"), { step: 1, model: net(1), list: [new dx.Generator(1)], map: new Map([["a", 1n]]) });
    const state = await dx.load<{ step: number; model: dx.nn.Module; list: dx.Generator[]; map: Map<string, bigint> }>(at("types"));
    const step: number = state.step;
    const weight: dx.Tensor = state.model["0.weight"]!;
    const seed: string = state.list[0]!.seed;
    const big: bigint | undefined = state.map.get("a");
    expect([step, weight.shape, seed, big]).toEqual([1, [4, 3], "1", 1n]);
    const any = await dx.load(at("types"));
    expect(any.step.toFixed(1)).toBe("1.0");
  });
});
