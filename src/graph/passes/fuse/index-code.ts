/** The shader code of sums and writes by index in a region. */
import { Bool, Int, type Float, type Uint } from "../../../shader/numbers.ts";
import type { Code, Scattered, Summed } from "../../../shader/operations/code.ts";
import { eachOfRow } from "../../../shader/operations/summed-rows.ts";
import type { Expr } from "../../graph.ts";
import { accessOf } from "./access.ts";
import { isUniform, laneOf, type AnyScope, type Lanes } from "./lanes.ts";

/** What computes nodes of the region at lanes: see RegionCode. */
interface Reader {
  read(x: Expr, lanes: Lanes): readonly Code[];
  inBlock<T>(fn: () => T): T;
}

/** Where an update is written. */
export interface Target {
  readonly at: Uint;
  readonly isWritten: Bool;
}

/** Adjacent elements of a row together. */
export function summedElements(
  s: AnyScope,
  code: Reader,
  { values, indices, k, columns }: Summed,
  lanes: Lanes,
  width: number,
): readonly Code[] {
  const isTogether = lanes.kind === "run" && lanes.step === 1 && lanes.alignment % width === 0 && columns % width === 0;
  const each = isTogether ? width : 1;
  return Array.from({ length: width / each }, (_, lane) => {
    const at = laneOf(lanes, lane * each);
    const [row, column] = columns === 1 ? [at, s.u32(0)] : [at.div(columns), at.mod(columns)];
    const sums = Array.from({ length: each }, () => s.variable(s.f32(0)));
    const indexAt = (i: Uint): Uint => asUnsigned(code.read(indices, { kind: "run", base: i, step: 0, alignment: 1 })[0]!);
    const add = (i: Uint): void => {
      const base = i.mul(columns).add(column);
      const found = code.read(values, { kind: "run", base, step: each === 1 ? 0 : 1, alignment: each });
      sums.forEach((sum, j) => (sum.value = sum.value.add(found[found.length === 1 ? 0 : j] as Float)));
    };
    eachOfRow(s, { k, indexAt, row }, add, (fn) => code.inBlock(fn));
    return sums.map((sum) => sum.value);
  }).flat();
}

/** Elements of a tensor, or the last update of theirs: adjacent ones that share an index together. */
export function replacedElements(
  s: AnyScope,
  code: Reader,
  { x, indices, updates, isSigned, n, k, inner }: Scattered,
  lanes: Lanes,
  width: number,
): readonly Code[] {
  const before = code.read(x, lanes);
  const isTogether =
    lanes.kind === "run" && lanes.step === 1 && lanes.alignment % width === 0 && inner % width === 0 && isRepeated(indices, inner);
  const each = isTogether ? width : 1;
  return Array.from({ length: width / each }, (_, lane) => {
    const at = laneOf(lanes, lane * each);
    const [row, column] = inner === 1 ? [at, s.u32(0)] : [at.div(inner), at.mod(inner)];
    const [outer, own] = [row.div(n), row.mod(n)];
    const first = outer.mul(k);
    const baseOf = (j: Uint): Uint => first.add(j).mul(inner).add(column);
    const found = Array.from({ length: each }, (__, i) => s.variable(numberOf(before[before.length === 1 ? 0 : lane * each + i]!)));
    const indexAt = (j: Uint): Uint =>
      indexOf(code.read(indices, { kind: "run", base: baseOf(j), step: 0, alignment: 1 })[0]!, n, isSigned);
    const put = (j: Uint): void => {
      const values = code.read(updates, { kind: "run", base: baseOf(j), step: each === 1 ? 0 : 1, alignment: each });
      found.forEach((variable, i) => (variable.value = numberOf(values[values.length === 1 ? 0 : i]!)));
    };
    eachOfRow(s, { k, indexAt, row: own }, put, (fn) => code.inBlock(fn));
    return found.map((variable) => variable.value);
  }).flat();
}

/** Adjacent updates of one index are written together. */
export function targetsOf(s: AnyScope, code: Reader, scattered: Scattered, lanes: Lanes, laneCount: number): readonly Target[] {
  const { indices, inner } = scattered;
  const width = isUniform(lanes) ? 1 : laneCount;
  const found = code.read(indices, lanes);
  const isTogether = found.length === 1 && (width === 1 || (lanes.kind === "run" && lanes.alignment % width === 0 && inner % width === 0));
  return Array.from({ length: isTogether ? 1 : width }, (_, k) =>
    targetOf(s, code, scattered, laneOf(lanes, k), found[found.length === 1 ? 0 : k]!),
  );
}

/** at: the index of the update. */
function targetOf(s: AnyScope, code: Reader, { indices, isSigned, n, k, inner }: Scattered, at: Uint, found: Code): Target {
  const index = indexOf(found, n, isSigned);
  const row = inner === 1 ? at : at.div(inner);
  const outer = row.div(k);
  const isWritten = s.variable(index.lt(n));
  // The last of equal ones wins.
  if (k > 1)
    s.for(row.mod(k).add(1), k, (later) =>
      code.inBlock(() => {
        const base = outer
          .mul(k)
          .add(later)
          .mul(inner)
          .add(inner === 1 ? 0 : at.mod(inner));
        const other = code.read(indices, { kind: "run", base, step: 0, alignment: 1 })[0]!;
        s.if(indexOf(other, n, isSigned).eq(index), () => {
          isWritten.value = s.bool(false);
        });
      }),
    );
  const to = outer.mul(n).add(index).mul(inner);
  return { at: inner === 1 ? to : to.add(at.mod(inner)), isWritten: isWritten.value };
}

/** As an unsigned number. isSigned: one below 0 counts from the end of n. */
const indexOf = (x: Code, n: number, isSigned: boolean): Uint =>
  x instanceof Int ? (isSigned ? x.lt(0).select(x.add(n), x) : x).bits() : (x as Uint);

/** A truth value as a number, as variables have them. */
const numberOf = (x: Code): Float => (x instanceof Bool ? x.toUint() : x) as Float;

/** Whether so many adjacent elements are one. */
const isRepeated = (x: Expr, count: number): boolean => {
  const last = accessOf(x).axes.at(-1);
  return last === undefined || (last.stride === 0 && last.size % count === 0);
};

const asUnsigned = (x: Code): Uint => (x instanceof Int ? x.bits() : (x as Uint));
