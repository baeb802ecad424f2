/** The number of a function's recordings, and the warning. */
import { expect, it } from "vitest";
import { Recordings } from "../../src/compile/recordings.ts";
import * as dx from "../../src/index.ts";

/** The warnings of compile that come while something runs. */
async function warningsOf(run: () => void): Promise<readonly string[]> {
  const told: string[] = [];
  const note = ({ name, message }: Error): void => void (name === "CompileWarning" && told.push(message));
  process.on("warning", note);
  try {
    run();
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off("warning", note);
  }
  return told;
}

it("a function that is recorded again and again says where, why, and what to do, once", async () => {
  const f = dx.compile((x: dx.Tensor) => x.mul(2), { name: "doubled" });
  const told = await warningsOf(() => {
    for (let n = 1; n <= 20; n++) f(dx.ones([n]));
  });
  f.dispose();
  expect(told).toEqual([
    expect.stringMatching(
      /^doubled was recorded 16 times, the last time by the call at .*recordings\.test\.ts:\d+, because of arguments of a new kind: argument 0 has the shape \[16\] instead of \[15\]\. Each .*: compile\(fn, { dynamic: \[\[0\]\] }\) serves all sizes .*\.$/,
    ),
  ]);
});

it("what was asked for counts as no recording too many, and sizes that are not padded are named once", async () => {
  const asked = new Recordings("asked");
  const unbucketed = new Recordings("unbucketed");
  const told = await warningsOf(() => {
    for (let i = 0; i < 40; i++) asked.note(`sizes up to ${i}`, true);
    for (const reason of ["a view", "a hook"]) unbucketed.noteUnbucketed(reason);
  });
  expect(told).toEqual([expect.stringMatching(/^unbucketed is recorded for each size: a view\. Leave that axis out/)]);
  expect([asked.reasons.length, unbucketed.reasons]).toEqual([40, ["a view", "a hook"]]);
});
