/** Large tensors of `cpu`, which all-reduces read where they lie: what is done with them meanwhile. Over each engine: `npm run distributed`. */
import { describe, expect, it } from "vitest";
import { engines, runRanks } from "./ranks.ts";

describe.each(engines)("over $name (npm run distributed)", (engine) => {
  it(
    "an all-reduce of 1 MiB and more sends what a tensor has at the call, whatever is done with it meanwhile",
    { timeout: 60_000 },
    async () => {
      const ends = await runRanks(
        2,
        `await init();
const wrong = [], N = 300_000;
const check = (name, holds) => holds || wrong.push(name);
const only = (t, value) => { const { min, max } = { min: t.min().itemSync(), max: t.max().itemSync() }; return min === value && max === value; };
const own = rank + 1, made = () => dx.full([N], own);
const uses = {
  nothing: () => {},
  add: (x) => void x.add_(100),
  fill: (x) => void x.fill_(7),
  copy: (x) => void x.copy_(dx.zeros([N])),
  "a view": (x) => { const part = x.narrow(0, 5, 3); part.fill_(9); check("view", only(part, 9) && x.narrow(0, 8, 1).itemSync() === own); },
  read: (x) => check("read", only(x, own)),
  clone: (x) => check("clone", only(x.clone(), own)),
  twice: (x) => { x.mul_(3); x.add_(1); check("both", only(x, 3 * own + 1)); },
};
// By both ranks, and by one of them.
for (const who of [2, 0, 1])
  for (const [name, use] of Object.entries(uses)) {
    const x = made(), work = d.allReduce(x);
    if (who === 2 || who === rank) use(x);
    await work;
    check([name, who], only(x, 3));
    x.dispose();
  }
const gone = made(), lost = d.allReduce(gone);
gone.dispose();
tell((await error(() => lost)).name);
// One tensor in two calls, a tensor and a view of it, and other layouts on each rank.
const x = made(), first = d.allReduce(x), second = d.allReduce(x, { op: "max" });
await first; await second;
check("twice at once", only(x, 2));
const base = made(), view = base.reshape([2, N / 2]), work = d.allReduce(base);
view.add_(1);
check("base", only(base, own + 1));
await work;
check("view of the result", only(view, 3));
const other = rank === 0 ? dx.full([600, 500], 1).transpose(0, 1) : dx.full([500, 600], 2);
check("transposed", only(await d.allReduce(other), 3));
// A compiled program that has it as state, and a value that is saved for backward.
const state = made(), step = dx.compile(() => void state.add_(1));
step();
const summed = d.allReduce(state);
step();
await summed;
check("state", only(state, 5));
step();
check("state afterwards", only(state, 6));
const leaf = made().requiresGrad_(true), loss = leaf.mul(leaf).sum(), later = d.allReduce(leaf.detach());
loss.backward();
check("gradient", only(leaf.grad, 2 * own));
await later;
check("leaf", only(leaf, 3));
tell(wrong);
const before = dx.memoryStatistics("cpu");
const held = made();
for (let i = 0; i < 6; i++) { const work = d.allReduce(held); if (i % 2 === 0) held.fill_(1); await work; }
held.dispose();
const after = dx.memoryStatistics("cpu");
tell(after.liveInBytes <= before.liveInBytes);
await d.destroyProcessGroup();`,
        { engine },
      );
      for (const { status, stderr, told } of ends) expect([status, stderr, told]).toEqual([0, "", ["DisposedError", [], true]]);
    },
  );
});
