/** Orders of samples: src/data/sampler.ts. Orders that are defined by law are PyTorch's; those that a generator draws obey its laws. */
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";

const { data } = dx;
const seeded = (seed = 5): dx.Generator => new dx.Generator(seed);
const sorted = (list: Iterable<number>): number[] => [...list].sort((a, b) => a - b);
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

describe("orders that are the same each time", () => {
  it("SequentialSampler and BatchSampler", () => {
    const all = new data.SequentialSampler(10);
    expect([...all, ...all]).toEqual([...upTo(10), ...upTo(10)]);
    expect(new data.SequentialSampler([7, 8]).length).toBe(2);
    const batches = new data.BatchSampler(all, 3);
    expect([batches.length, [...batches]]).toEqual([4, [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]]); // prettier-ignore
    const full = new data.BatchSampler(all, 3, true);
    expect([full.length, [...full]]).toEqual([3, [[0, 1, 2], [3, 4, 5], [6, 7, 8]]]); // prettier-ignore
    expect([...new data.BatchSampler(new data.SequentialSampler(0), 3)]).toEqual([]);
  });

  // [samples, processes, dropLast, the order of each process] as PyTorch 2.15 has them.
  it.each([
    [10, 3, false, [[0, 3, 6, 9], [1, 4, 7, 0], [2, 5, 8, 1]]],
    [10, 3, true, [[0, 3, 6], [1, 4, 7], [2, 5, 8]]],
    [2, 5, false, [[0], [1], [0], [1], [0]]],
    [2, 5, true, [[], [], [], [], []]],
    [9, 3, false, [[0, 3, 6], [1, 4, 7], [2, 5, 8]]],
    [0, 2, false, [[], []]],
  ] as const)("DistributedSampler of %i samples in %i processes, dropLast %s", (n, numReplicas, dropLast, want) => {
    want.forEach((order, rank) => {
      const sampler = new data.DistributedSampler(n, { numReplicas, rank, shuffle: false, dropLast });
      expect([sampler.length, [...sampler]]).toEqual([order.length, order]);
    });
  }); // prettier-ignore
});

async function all(loader: AsyncIterable<readonly number[]>): Promise<number[]> {
  const found: number[] = [];
  for await (const batch of loader) found.push(...batch);
  return found;
}

describe("orders that are drawn", () => {
  it("RandomSampler: a permutation in each pass, another one in the next, the same from the same seed", () => {
    const sampler = new data.RandomSampler(50, { generator: seeded() });
    const [first, second] = [[...sampler], [...sampler]];
    expect(sorted(first)).toEqual(upTo(50));
    expect(sorted(second)).toEqual(upTo(50));
    expect(second).not.toEqual(first);
    expect([...new data.RandomSampler(50, { generator: seeded() })]).toEqual(first);
  });

  it("RandomSampler of more samples than there are: permutations one after the other", () => {
    const order = [...new data.RandomSampler(4, { numSamples: 10, generator: seeded() })];
    expect(order.length).toBe(10);
    expect([sorted(order.slice(0, 4)), sorted(order.slice(4, 8))]).toEqual([upTo(4), upTo(4)]);
    expect(new Set(order.slice(8)).size).toBe(2);
  });

  it("with replacement: each index as often as others", () => {
    const counts = new Array<number>(8).fill(0);
    for (const i of new data.RandomSampler(8, { replacement: true, numSamples: 80_000, generator: seeded() })) counts[i]!++;
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500); // five standard deviations
  });

  it("WeightedRandomSampler: in proportion to the weights, never one of weight 0", () => {
    const weights = [0, 1, 3, 0, 6, 0];
    const counts = weights.map(() => 0);
    for (const i of new data.WeightedRandomSampler(weights, 100_000, { generator: seeded() })) counts[i]!++;
    weights.forEach((weight, i) => expect(Math.abs(counts[i]! - weight * 10_000)).toBeLessThan(weight === 0 ? 1 : 800));
  });

  it("WeightedRandomSampler without replacement: each once, heavy ones first more often", () => {
    const weights = Float32Array.of(1, 0, 4, 1);
    const generator = seeded();
    let first = 0;
    for (let i = 0; i < 3000; i++) {
      const order = [...new data.WeightedRandomSampler(weights, 3, { replacement: false, generator })];
      expect(sorted(order)).toEqual([0, 2, 3]);
      if (order[0] === 2) first++;
    }
    expect(Math.abs(first / 3000 - 4 / 6)).toBeLessThan(0.045);
  });

  it("SubsetRandomSampler: just those", () => {
    expect(sorted(new data.SubsetRandomSampler([9, 4, 4, 7], { generator: seeded() }))).toEqual([4, 4, 7, 9]);
  });

  it("DistributedSampler: the processes share an order, which the epoch and the seed decide", () => {
    const pass = (epoch: number, seed = 0): number[][] =>
      [0, 1, 2].map((rank) => {
        const sampler = new data.DistributedSampler(12, { numReplicas: 3, rank, seed });
        sampler.setEpoch(epoch);
        return [...sampler];
      });
    expect(sorted(pass(0).flat())).toEqual(upTo(12));
    expect(pass(1)).toEqual(pass(1));
    expect(pass(1)).not.toEqual(pass(0));
    expect(pass(0, 1)).toEqual(pass(1, 0));
  });

  it("DistributedSampler: what is left after some samples is the same for any number of processes, in the order of one", () => {
    const order = [...new data.DistributedSampler(24, { seed: 3 })];
    for (const [before, after, count] of [
      [2, 3, 4],
      [4, 1, 3],
      [3, 4, 0],
      [1, 2, 24],
      [2, 2, 6],
    ] as const) {
      // prettier-ignore
      const state = new data.DistributedSampler(24, { numReplicas: before, rank: 0, seed: 3 }).rest("0", count);
      const passes = Array.from({ length: after }, (_, rank) => {
        const sampler = new data.DistributedSampler(24, { numReplicas: after, rank, seed: 3 });
        expect(sampler.before(state)).toBe(Math.floor((before * count) / after));
        return [...sampler.pass(state)];
      });
      const merged = passes[0]!.flatMap((_, i) => passes.map((pass) => pass[i]!));
      const left = order.slice(before * count);
      expect(merged.slice(0, left.length)).toEqual(left);
      // Padded from the beginning of the order, as a whole pass is.
      expect(merged.slice(left.length)).toEqual(order.slice(0, merged.length - left.length));
    }
    for (const state of ["0:25", "0:1:2", ":1", "x", "0:-1"])
      expect(() => new data.DistributedSampler(24).pass(state)).toThrow(dx.ValueError);
    expect(new data.DistributedSampler(5, { numReplicas: 2, rank: 0, dropLast: true }).pass("0:2")).toHaveLength(1);
  });

  it("a loader over DistributedSampler resumes with another batch size and number of processes", async () => {
    const make = (numReplicas: number, rank: number, batchSize: number) =>
      data.dataLoader(upTo(24), {
        batchSize,
        sampler: new data.DistributedSampler(24, { numReplicas, rank, seed: 1 }),
        collateFn: (x) => x,
      });
    const first = make(2, 1, 3);
    const seen: number[][] = [];
    for await (const batch of first) if (seen.push(batch) === 2) break;
    const state = first.stateDict();
    expect(state).toMatchObject({ position: 2, rest: "0:12" });
    const order = [...new data.DistributedSampler(24, { seed: 1 })];
    for (const [ranks, size] of [
      [1, 5],
      [3, 2],
      [2, 3],
    ] as const) {
      // prettier-ignore
      const rest: number[] = [];
      for (let rank = 0; rank < ranks; rank++) {
        const loader = make(ranks, rank, size);
        loader.loadStateDict(JSON.parse(JSON.stringify(state)) as typeof state);
        expect(loader.stateDict()).toEqual(state);
        let batches = 0;
        for await (const batch of loader) {
          rest.push(...batch);
          expect(loader.stateDict().position).toBe(2 + ++batches);
          expect(loader.stateDict().rest).toBe(`0:${Math.min(24, 12 + batches * size * ranks)}`);
        }
        expect(loader.stateDict().position).toBe(0);
        expect((await all(loader)).length).toBe(24 / ranks);
      }
      expect(sorted(rest)).toEqual(sorted(order.slice(12)));
    }
  });

  it("a pass is drawn again from its state, and the generator continues as if nothing had happened", () => {
    const generator = seeded();
    for (const sampler of [
      new data.RandomSampler(20, { generator }),
      new data.RandomSampler(20, { generator, replacement: true }),
      new data.SubsetRandomSampler(upTo(20), { generator }),
      new data.WeightedRandomSampler(upTo(20), 20, { generator }),
      new data.BatchSampler(new data.RandomSampler(20, { generator }), 3),
      new data.LengthBatchSampler(upTo(20), { batchSize: 3, shuffle: true, generator }),
    ]) {
      const state = sampler.state();
      const pass = [...sampler];
      const after = generator.hostState;
      expect([...sampler.pass(state)]).toEqual(pass);
      expect(generator.hostState).toBe(after);
      expect([...sampler.pass(sampler.state())]).not.toEqual(pass);
    }
  });
});

describe("LengthBatchSampler", () => {
  const lengths = Array.from({ length: 1000 }, (_, i) => (i * 617) % 500);
  const spread = (batch: readonly number[]): number => {
    const all = batch.map((i) => lengths[i]!);
    return Math.max(...all) - Math.min(...all);
  };

  it("puts samples of similar lengths together, each sample once", () => {
    const sampler = new data.LengthBatchSampler(lengths, { batchSize: 8, shuffle: true, generator: seeded() });
    const batches = [...sampler];
    expect([batches.length, sampler.length]).toEqual([125, 125]);
    expect(sorted(batches.flat())).toEqual(upTo(1000));
    expect(Math.max(...batches.map(spread))).toBeLessThan(60);
    expect(batches.map((b) => lengths[b[0]!])).not.toEqual([...sampler].map((b) => lengths[b[0]!]));
  });

  it("with boundaries no batch has samples of two buckets", () => {
    for (const shuffle of [false, true]) {
      const sampler = new data.LengthBatchSampler(lengths, { batchSize: 32, boundaries: [100, 300], shuffle, generator: seeded() });
      const batches = [...sampler];
      expect(batches.length).toBe(sampler.length);
      expect(sorted(batches.flat())).toEqual(upTo(1000));
      const bucket = (i: number): number => (lengths[i]! <= 100 ? 0 : lengths[i]! <= 300 ? 1 : 2);
      for (const batch of batches) expect(new Set(batch.map(bucket)).size).toBe(1);
    }
    const full = new data.LengthBatchSampler(lengths, { batchSize: 32, boundaries: [100, 300], dropLast: true });
    expect([...full].every((batch) => batch.length === 32)).toBe(true);
    expect([...full].length).toBe(full.length);
  });

  it("of none, and of one length", () => {
    expect([...new data.LengthBatchSampler([], { batchSize: 4 })]).toEqual([]);
    expect([...new data.LengthBatchSampler([5, 5, 5], { batchSize: 2 })]).toEqual([[0, 1], [2]]);
  });
});

describe("refused, with what was expected", () => {
  it.each([
    [() => new data.SequentialSampler(-1), /SequentialSampler: dataset must be an integer of at least 0; received -1/],
    [() => new data.RandomSampler(0, { numSamples: 1 }), /RandomSampler: dataset must be at least one sample; received 0/],
    [() => new data.RandomSampler(4, { numSamples: 0 }), /numSamples must be an integer of at least 1; received 0/],
    [() => new data.WeightedRandomSampler([1, -1], 1), /weights must be finite numbers of at least 0; received -1/],
    [() => new data.WeightedRandomSampler([1, NaN], 1), /weights must be finite numbers of at least 0; received NaN/],
    [() => new data.WeightedRandomSampler([0, 0], 1), /weights must be a positive one; received 0/],
    [() => new data.WeightedRandomSampler([0, 1], 2, { replacement: false }), /weights must be 2 positive ones; received 1/],
    [() => new data.WeightedRandomSampler(dx.ones([3]) as never, 2), /weights must be an array or typed array of numbers/],
    [() => new data.WeightedRandomSampler(["1"] as never, 2), /weights must be an array or typed array of numbers; received "1"/],
    [() => new data.SubsetRandomSampler([0.5]), /indices must be an integer of at least 0; received 0.5/],
    [() => new data.DistributedSampler(4, { numReplicas: 2, rank: 2 }), /rank must be in \[0, 2\); received 2/],
    [() => new data.DistributedSampler(4, { numReplicas: 0, rank: 0 }), /numReplicas must be an integer of at least 1; received 0/],
    [() => new data.BatchSampler(new data.SequentialSampler(3), 0), /batchSize must be an integer of at least 1; received 0/],
    [() => new data.LengthBatchSampler([1], { batchSize: 1, boundaries: [3, 3] }), /boundaries must be increasing numbers/],
    [() => new data.LengthBatchSampler([NaN], { batchSize: 1 }), /lengths must be numbers of at least 0; received NaN/],
  ])("%s", (make, message) => {
    expect(make).toThrow(dx.ValueError);
    expect(make).toThrow(message);
  });
});
