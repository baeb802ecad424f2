import { queryObjects } from "node:v8";
import { expect, it } from "vitest";
import { compileKeeping, executableOf } from "../../src/compile/compile.ts";
import { Step } from "../../src/compile/log.ts";
import { CompiledProgram } from "../../src/compile/program.ts";
import { Graph } from "../../src/graph/graph.ts";
import * as dx from "../../src/index.ts";

/** A graph of this adapter keeps its nodes; on a GPU they are fused to few. */
const device = "cpu";
const weight = dx.ones([4], { device });
/** Each step has nodes of its own. */
const steps = (count: number) =>
  dx.compile(
    (x: dx.Tensor) => {
      let y = x;
      for (let i = 0; i < count; i++) y = y.mul(weight).add(i).sin();
      return y;
    },
    { name: "steps", fuse: "off" },
  );
const programOf = (f: object): CompiledProgram => {
  const made = executableOf(f);
  if (!(made instanceof CompiledProgram)) throw new Error("the function has no program of its own");
  return made;
};

it("keeps the graph of a small program alone; explain() and profiles make a large one's again", () => {
  const [small, large] = [steps(4), steps(180)];
  const x = dx.tensor([1, 2, 3, 4], { device });
  const expected = large(x).dataSync();
  small(x);
  expect([programOf(small).keepsGraph, programOf(large).keepsGraph]).toEqual([true, false]);
  // Barriers are known without it.
  const { barriers } = programOf(large);
  expect(programOf(large).keepsGraph).toBe(false);
  expect(large(x).dataSync()).toEqual(expected);
  expect(programOf(large).keepsGraph).toBe(false);
  const e = large.explain();
  expect(programOf(large).keepsGraph).toBe(true);
  expect(e.nodes.length).toBeGreaterThanOrEqual(512);
  expect(e.nodes.filter((n) => n.operator === "ELEMENT_WISE_SIN")).toHaveLength(180);
  expect(e.barriers).toBe(barriers);
  // What runs is what it tells of: each kernel of the device has nodes of this graph.
  const told = new Set(e.nodes.map((n) => n.origin));
  expect(e.kernels.flatMap((k) => k.nodes).filter((n) => !told.has(n.origin))).toEqual([]);
  expect(large.profileSync().dispatches).toHaveLength(e.dispatches);
  expect(large(x).dataSync()).toEqual(expected);
  small.dispose();
  large.dispose();
});

it("makes the graph again after other calls, and where a weight is gone", () => {
  const own = dx.ones([4], { device });
  const f = dx.compile(
    (x: dx.Tensor, k: number) => {
      let y = x;
      for (let i = 0; i < 180; i++) y = y.mul(own).add(i).sin();
      own.add_(x);
      return y.mul(k);
    },
    { name: "steps", fuse: "off" },
  );
  const x = dx.tensor([1, 2, 3, 4], { device });
  f(x, 2);
  const first = String(f.explain());
  // A number that changes is an input of the next program.
  f(x, 3);
  expect(programOf(f).keepsGraph).toBe(false);
  own.dispose();
  const second = f.explain();
  expect(second.stateCells).toBe(1);
  expect(String(second).split("\n").length).toBeGreaterThanOrEqual(first.split("\n").length - 2);
  f.dispose();
});

it("leaves no graph of a large program in memory", () => {
  const x = dx.tensor([1, 2, 3, 4], { device });
  const large = steps(180);
  const before = Number(queryObjects(Graph));
  large(x).dispose();
  expect(Number(queryObjects(Graph))).toBeLessThanOrEqual(before);
  large.dispose();
});

it("keeps no path where nobody asks for graphs, and records once more when settings change", () => {
  const x = dx.tensor([1, 2, 3, 4], { device });
  const cache = dx.zeros([4], { device });
  let runs = 0;
  const made = compileKeeping(
    (t: dx.Tensor) => {
      runs++;
      let y = t;
      for (let i = 0; i < 180; i++) y = y.mul(weight).add(i).sin();
      cache.add_(y);
      return y.add(cache);
    },
    { check: false, fuse: "off" },
    false,
  );
  const before = Number(queryObjects(Step));
  const first = [...made(x).dataSync()] as number[];
  const isTimes = (y: dx.Tensor, factor: number): boolean =>
    [...y.dataSync()].every((v, i) => Math.abs(Number(v) - factor * first[i]!) < 1e-5);
  expect(isTimes(made(x), 1.5)).toBe(true);
  expect([runs, made.programs, programOf(made).keepsGraph]).toEqual([1, 1, false]);
  expect(Number(queryObjects(Step)) - before).toBeLessThan(10);
  // A module of the user's anywhere may behave in another way now.
  new dx.nn.Linear(2, 2).eval();
  expect(isTimes(made(x), 2)).toBe(true);
  new dx.nn.Linear(2, 2).eval();
  made(x).dispose();
  made(x).dispose();
  expect([runs, made.programs]).toEqual([3, 2]);
  made.dispose();
});
