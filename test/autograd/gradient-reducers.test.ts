/** What a backward pass tells reducers: when a leaf's gradient is complete, before the pass is over. */
import { afterEach, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { addReducer, type GradientReducer } from "../../src/autograd/gradient-reducers.ts";

let remove = (): void => {};
afterEach(() => remove());

/** Notes what a reducer is told, in order. */
function noting(leaves: Readonly<Record<string, dx.Tensor>>): string[] {
  const events: string[] = [];
  const nameOf = (leaf: dx.Tensor): string => Object.entries(leaves).find(([, t]) => t === leaf)![0];
  const reducer: GradientReducer = {
    leaves: new Set(Object.values(leaves)),
    ready: (leaf, gradient) => void events.push(`${nameOf(leaf)} ${String(gradient.toArraySync())}`),
    finish: () =>
      void events.push(
        `over ${Object.entries(leaves)
          .map(([name, t]) => `${name}=${t.grad === null ? "null" : String(t.grad.toArraySync())}`)
          .join(" ")}`,
      ),
  };
  remove = addReducer(reducer);
  return events;
}

const leaf = (...values: number[]): dx.Tensor => dx.tensor(values, { requiresGrad: true });

it("tells of the last layer while the first one is still to come", () => {
  const [first, last] = [leaf(2), leaf(3)];
  const events = noting({ first, last });
  const middle = first.mul(5);
  middle.registerHook(() => void events.push("middle"));
  middle.mul(last).sum().backward();
  expect(events).toEqual(["last 10", "middle", "first 15", "over first=15 last=10"]);
});

it("tells once of a leaf that is used often, by slices too, with all of its gradient", () => {
  const [tied, sliced, unused] = [leaf(2), leaf(1, 2, 3), leaf(1)];
  const events = noting({ tied, sliced, unused });
  tied
    .mul(3)
    .mul(tied)
    .add(sliced.slice(0, 0, 1).mul(2).sum())
    .add(sliced.slice(0, 1, 3).mul(4).sum())
    .sum()
    .backward();
  expect(events.slice(0, -1).toSorted()).toEqual(["sliced 2,4,4", "tied 12"]);
  expect(events.at(-1)).toBe("over tied=12 sliced=2,4,4 unused=null");
});

it("tells nothing of passes without its leaves, of grad(), and after it was removed", () => {
  const [own, other] = [leaf(2), leaf(3)];
  const events = noting({ own });
  other.mul(2).sum().backward();
  dx.grad(own.mul(2).sum(), [own]);
  expect(events).toEqual([]);
  own
    .sum()
    .add(own)
    .backward({ retainGraph: true, gradient: dx.ones([1]) });
  expect(events).toEqual(["own 2", "over own=2"]);
  remove();
  own.mul(1).sum().backward();
  expect(events.length).toBe(2);
});
