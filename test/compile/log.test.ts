import { expect, it } from "vitest";
import { TapeNode } from "../../src/autograd/tape.ts";
import { Step, allEvents, pathTo, renew, revive, madeAs, wrote, type Event } from "../../src/compile/log.ts";
import * as dx from "../../src/index.ts";

const event = (kind: "retraced"): Event => ({
  kind,
  owner: {},
  tensors: [],
  guards: [],
});

it("a path has the events from the root on, those inside regions too, and none of other branches", () => {
  const root = new Step(null, null);
  const [a, b, c] = [event("retraced"), event("retraced"), event("retraced")];
  const first = root.add(a);
  const [left, right] = [first.add(b), first.add(c)];
  expect([pathTo(root), pathTo(left), pathTo(right)]).toEqual([[], [a, b], [a, c]]);
  expect([first.first, right.sibling, left.sibling]).toEqual([right, left, null]);
  const rewrite = {
    kind: "rewrite",
    inner: [b, c],
    nodes: [],
    after: [],
  } as unknown as Event;
  expect([...allEvents([a, rewrite])]).toEqual([a, b, c]);
});

it("what a run has done to a traced tensor is undone for the next", () => {
  const t = dx.tensor([1, 2]);
  const made = madeAs(t, true);
  wrote(t.storage);
  t.leafRequiresGrad = true;
  t.node = new TapeNode("test", [], [t.desc], [], () => []);
  t.dispose();
  renew();
  expect(t.storage.version).toBe(0);
  const again = revive(made);
  expect([again.isDisposed, again.requiresGrad, again.node]).toEqual([false, false, null]);
});
