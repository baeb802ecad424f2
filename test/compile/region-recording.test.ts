import { expect, it } from "vitest";
import { TapeNode } from "../../src/autograd/tape.ts";
import { RegionRecording, isApplicable } from "../../src/compile/region-recording.ts";
import * as dx from "../../src/index.ts";

it("notes the gradient of a leaf from before the region, and applies while it is as it was then", () => {
  const leaf = dx.ones([2], { requiresGrad: true });
  const recording = new RegionRecording();
  recording.noteGradient(leaf);
  leaf.grad = dx.tensor([3, 4]);
  recording.noteGradient(leaf);
  const region = recording.finish({}, [], [], [], null);
  const [effect] = region.effects;
  expect([region.effects.length, effect!.leaf === leaf, effect!.before, effect!.after === leaf.ownGrad]).toEqual([1, true, null, true]);
  expect(isApplicable(region)).toBe(false);
  leaf.grad = null;
  expect(isApplicable(region)).toBe(true);
  leaf.hooks = [() => {}];
  expect(isApplicable(region)).toBe(false);
});

it("keeps how many gradients the visited nodes retained, and applies only with as many", () => {
  const leaf = dx.ones([2], { requiresGrad: true });
  const node = new TapeNode("test", [leaf], [leaf.desc], [leaf], () => []);
  const recording = new RegionRecording();
  recording.visit(node, false);
  const region = recording.finish({}, [], [1], [], [null]);
  expect([[...region.nodes], region.retaining, region.ends]).toEqual([[[node, 0]], [], [{ node, retains: 0, isHooked: false }]]);
  expect(isApplicable(region)).toBe(true);
  node.retained = new Map([[0, leaf]]);
  expect(isApplicable(region)).toBe(false);
  node.retained = null;
  node.hooks = new Map([[0, [() => {}]]]);
  expect(isApplicable(region)).toBe(false);
});

it("frees visited nodes with the region's pass", () => {
  const leaf = dx.ones([2], { requiresGrad: true });
  const node = new TapeNode("test", [leaf], [leaf.desc], [leaf], ([dy]) => [dy!]);
  const recording = new RegionRecording();
  recording.visit(node, true);
  const { pass } = recording.finish({}, [], [], [], null);
  const backward = (): unknown => node.backward([dx.ones([2])], () => false);
  expect(backward).not.toThrow();
  pass!.isOver = true;
  expect(backward).toThrow(/a second pass through test/);
  const none = new RegionRecording();
  none.visit(node, false);
  expect(none.finish({}, [], [], [], null).pass).toBeNull();
});
