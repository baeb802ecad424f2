/** Where a run is in the log: it follows, leaves and records. */
import { expect, it } from "vitest";
import { CallArguments, Placeholders } from "../../src/compile/arguments.ts";
import { Step, madeAs, type Scalar } from "../../src/compile/log.ts";
import { Recorder, newRecorded, type Recorded } from "../../src/compile/recorder.ts";
import { RegionRecording } from "../../src/compile/region-recording.ts";
import * as dx from "../../src/index.ts";
import type { Tensor } from "../../src/core/tensor.ts";

/** What a run does with the log, without its tracer. */
class Probe extends Recorder {
  add(event: Scalar): void {
    this.push(event);
  }
  leaveFor(what: string): void {
    this.leave(what);
  }
  put(t: Tensor): boolean {
    return this.operand("add", t).isOuter;
  }
  noteVaried(event: Scalar, value: number): void {
    this.vary(event);
    this.note(event, value);
  }
  protected override requireReachable(): void {
    // No loops.
  }
  within(recording: RegionRecording | null): void {
    this.recording = recording;
  }
  make(): Tensor {
    return this.allocate(this.device!, { dtype: "float32", shape: [3] });
  }
}

const probe = (...args: dx.Tensor[]): { run: Probe; root: Step; recorded: Recorded } => {
  const recorded = newRecorded("f");
  const root = new Step(null, null);
  const placeholders = new Placeholders(new CallArguments(args, () => false, "any"), recorded);
  return { run: new Probe(recorded, root, placeholders, args), root, recorded };
};
const scalar = (value: number): Scalar => {
  const output = dx.tensor(value);
  return { kind: "scalar", device: output.device, dtype: "float32", value, varies: false, holder: null, output: madeAs(output, true) };
};

it("events go behind the last one, or to the region that is being recorded", () => {
  const { run, root } = probe(dx.ones([2]));
  const [first, second] = [scalar(1), scalar(2)];
  run.add(first);
  expect([run.at === root, run.at.event]).toEqual([false, first]);
  const { at } = run;
  const region = new RegionRecording();
  run.within(region);
  run.add(second);
  expect([run.at === at, region.events]).toEqual([true, [second]]);
});

it("the first reason for leaving the log stays", () => {
  const { run } = probe(dx.ones([2]));
  expect([run.reason, run.notice]).toEqual([null, null]);
  run.leaveFor("add");
  run.leaveFor("mul");
  expect(run.reason).toMatch(/^add\b/);
  expect(run.notice).not.toBe(null);
});

it("numbers of this call are noted, and told apart from those that differ", () => {
  const { run } = probe();
  expect([run.values.size, run.varied.size, run.device]).toEqual([0, 0, null]);
  const event = scalar(1);
  run.noteVaried(event, 5);
  expect([run.values.get(event), run.varied.has(event)]).toEqual([5, true]);
});

it("its own tensors are traced, others are noted, and of another device are refused", () => {
  const { run, recorded } = probe(dx.ones([2]));
  const own = run.make();
  const outside = dx.ones([2]);
  expect([run.isTraced(own), run.isTraced(outside)]).toEqual([true, false]);
  expect([run.put(own), run.put(outside), recorded.outer.has(outside.storage), recorded.outer.has(own.storage)]).toEqual([
    false,
    true,
    true,
    false,
  ]);
  expect(() => run.put(dx.ones([2], { device: "meta" }))).toThrow(dx.DeviceError);
});
