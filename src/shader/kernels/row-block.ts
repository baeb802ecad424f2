/**
 * One group of threads for each row, for four short rows, or for two rows if elements also read other operands: both rows then share one read of
 * these, and the barriers. A row that fits is read once and kept in registers; a longer one is read once for each pass.
 */
import { sizeOf } from "../../core/shape.ts";
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { Scope } from "../language.ts";
import type { Bool, Float, Uint } from "../numbers.ts";
import { isNegative, type FloatElement } from "./elementwise.ts";
import { GroupReduction, kernel, read, write, type Kernel, type Numbers } from "./kernel.ts";

export type Names = { readonly [name: string]: FloatElement | "i32" };
type RowParams = { readonly rows: "u32"; readonly eps: "f32"; readonly ignored: "u32" };
export type RowScope = Scope<Names, RowParams>;
type Values = { readonly [input: string]: Float };

/** How rows of so many columns are worked on. */
export interface Plan {
  readonly threads: number;
  /** Rows of a group. */
  readonly rows: number;
  /** Elements of one access. */
  readonly width: number;
  /** Accesses that a thread keeps of a row; 0: it reads again in each pass. */
  readonly kept: number;
  /** All that threads keep is inside of the row: nothing is asked, and a driver begins all accesses at once, for which larger groups lack registers. */
  readonly isFull: boolean;
  /** Accesses of what all rows share that begin before the threads wait for each other. */
  readonly early: number;
  /** Mean and variance come of one reduction, see Row.moments. */
  readonly isOnce: boolean;
}

/** Accesses of 16 bytes of a thread, as long as a group may have more threads. */
const EACH = 4;
/** Numbers that a thread keeps, and those of a thread that works on several rows. */
const MAX_KEPT = 64;
const MAX_KEPT_TOGETHER = 80;
/** The longest rows of which a group takes two: of longer ones they would leave no registers to a second group. */
const LONGEST_OF_TWO = 6144;
/** The bytes of rows of which it takes four: a device runs only so many groups at once. */
const SHORT = 1024;

/** inputs: how many rows are read; shared: whether all rows share inputs. Measured on an H200: docs/gpu/h200.md. */
export function planOf(columns: number, element: FloatElement, inputs: number, shared: boolean): Plan {
  const widest = element === "f16" ? 8 : 4;
  const width = columns % widest === 0 ? widest : 1;
  const accesses = Math.ceil(columns / width);
  const power = (x: number): number => 2 ** Math.ceil(Math.log2(x));
  const divides = (threads: number): boolean => accesses % threads === 0;
  const keptBy = (threads: number): number => (divides(threads) ? accesses / threads : power(Math.ceil(accesses / threads)));
  const fits = (threads: number, rows: number): boolean =>
    keptBy(threads) * width * inputs * rows <= (rows === 1 ? MAX_KEPT : MAX_KEPT_TOGETHER);
  const usual = Math.min(1024, Math.max(32, power(columns / (EACH * widest))));
  let [threads, rows] = [usual, 1];
  // So many threads that nothing is asked.
  if (!divides(usual)) threads = [512, 256, 128, 64, 32].find((n) => divides(n) && accesses / n <= 8 && fits(n, 1)) ?? usual;
  if (columns * (element === "f16" ? 2 : 4) <= SHORT && fits(threads, 4)) rows = 4;
  else if (shared && columns <= LONGEST_OF_TWO && fits(threads, 2)) rows = 2;
  else if (shared && columns > LONGEST_OF_TWO) {
    // Fewer threads that keep more: a second group works while this one waits.
    const fewer = element === "f16" ? 256 : 512;
    if (threads > fewer && fits(fewer, 1)) threads = fewer;
  }
  const isKept = fits(threads, rows);
  const kept = isKept ? keptBy(threads) : 0;
  const isFull = isKept && accesses === threads * kept && threads <= 512;
  return {
    threads,
    rows,
    width,
    kept,
    isFull,
    early: shared && isFull && kept >= 6 ? 2 : 0,
    isOnce: shared && isFull && kept >= 8 && element === "f16",
  };
}

/** What a row's part of a kernel asks of all threads together, and what it is given for it. */
type Step =
  | {
      readonly kind: "reduce";
      readonly extra: readonly string[];
      /** Stands for what is outside of the row. */
      readonly none: number;
      readonly combine: (a: Float, b: Float) => Float;
      readonly fn: (x: Values) => readonly Float[];
    }
  | { readonly kind: "write"; readonly output: string; readonly extra: readonly string[]; readonly fn: (x: Values, column: Uint) => Float };
type Reduce = Step & { readonly kind: "reduce" };
type Write = Step & { readonly kind: "write" };
const plus = (a: Float, b: Float): Float => a.add(b);
export type Steps<T> = Generator<Step, T, readonly Float[]>;

/** Part of a row: `width` elements of each input from a column on. */
interface Piece {
  readonly column: Uint;
  /** In the tensor. */
  readonly offset: Uint;
  readonly values: { readonly [input: string]: Float[] };
  /** null: surely inside of the row. */
  readonly inside: Bool | null;
}

export class Row {
  readonly index: Uint;
  readonly columns: Uint;
  /** null: there is one, as there is of a group's first. */
  readonly isThere: Bool | null;
  readonly #s: RowScope;
  readonly #plan: Plan;
  readonly #inputs: readonly string[];
  /** Accesses of a row. */
  readonly #units: Uint;

  constructor(s: RowScope, plan: Plan, inputs: readonly string[], index: Uint, isThere: Bool | null) {
    this.#s = s;
    this.#plan = plan;
    this.#inputs = inputs;
    this.isThere = isThere;
    this.index = isThere === null ? index : isThere.select(index, 0);
    const units = plan.threads * plan.kept;
    this.columns = plan.isFull ? s.u32(units * plan.width) : s.buffers[inputs[0]!]!.dim(-1);
    this.#units = plan.isFull ? s.u32(units) : this.columns.div(plan.width);
  }

  /** unit: counts accesses. asks: whether it may be outside. */
  read(unit: Uint, asks: boolean): Piece {
    const { width } = this.#plan;
    const inside = asks ? unit.lt(this.#units) : null;
    const offset = this.index.mul(this.#units).add(unit);
    const at = (inside === null ? offset : inside.select(offset, 0)).mul(width);
    const values = Object.fromEntries(this.#inputs.map((name) => [name, read(this.#s.buffers[name] as Numbers, at, width, true)]));
    return { column: unit.mul(width), offset: offset.mul(width), values, inside };
  }

  /** Several sums at once, of what fn gives for each element. extra: of the inputs that all rows share, read at the columns. */
  *sums(extra: readonly string[], fn: (values: Values) => readonly Float[]): Steps<readonly Float[]> {
    return yield { kind: "reduce", extra, none: 0, combine: plus, fn };
  }

  *sum(fn: (values: Values) => Float): Steps<Float> {
    const [sum] = yield* this.sums([], (values) => [fn(values)]);
    return sum!;
  }

  *max(fn: (values: Values) => Float): Steps<Float> {
    const [max] = yield { kind: "reduce", extra: [], none: -Infinity, combine: (a, b) => a.max(b), fn: (values) => [fn(values)] };
    return max!;
  }

  /**
   * Mean and variance. In one reduction: sums of differences from the mean c of the row's first elements, and of their squares. As (c - mean)² is at most
   * n var / width, what cancels is at most n/width roundings of float32, less than one of float16 for rows that are kept.
   */
  *moments(input: string): Steps<{ readonly mean: Float; readonly variance: Float }> {
    const n = this.columns.toFloat();
    if (!this.#plan.isOnce) {
      const mean = (yield* this.sum((values) => values[input]!)).div(n);
      return { mean, variance: (yield* this.sum((values) => values[input]!.sub(mean).square())).div(n) };
    }
    const { width } = this.#plan;
    const first = read(this.#s.buffers[input] as Numbers, this.index.mul(this.#units).mul(width), width, true);
    const center = first.reduce(plus).mul(1 / width);
    const [sum, squares] = yield* this.sums([], (values) => {
      const distance = values[input]!.sub(center);
      return [distance, distance.square()];
    });
    const distance = sum!.div(n);
    const variance = squares!.div(n).sub(distance.square());
    return { mean: center.add(distance), variance: isNegative(variance).select(0, variance) };
  }

  /** By one thread, where the row is there. */
  once(fn: () => void): void {
    const first = this.#s.local.eq(0);
    this.#s.if(this.isThere === null ? first : first.and(this.isThere), fn);
  }

  /** Writes what fn gives for each element. */
  *write(output: string, extra: readonly string[], fn: (values: Values, column: Uint) => Float): Steps<void> {
    yield { kind: "write", output, extra, fn };
  }
}

/** The rows of a group, step by step together. */
class RowBlock {
  readonly #s: RowScope;
  readonly #plan: Plan;
  readonly #rows: readonly Row[];
  /** Of each access that a thread keeps, the rows' pieces. */
  readonly #kept: readonly (readonly Piece[])[];
  /** What all rows share of the first accesses. */
  readonly #early: readonly { readonly [name: string]: Float[] }[];
  readonly #reduction: GroupReduction<RowParams>;

  constructor(s: RowScope, plan: Plan, inputs: readonly string[], shared: readonly string[]) {
    this.#s = s;
    this.#plan = plan;
    const first = s.group.mul(plan.rows);
    this.#rows = Array.from({ length: plan.rows }, (_, r) => {
      const index = first.add(r);
      return new Row(s, plan, inputs, index, r === 0 ? null : index.lt(s.params.rows));
    });
    this.#kept = Array.from({ length: plan.kept }, (_, i) => {
      const unit = s.local.add(i * plan.threads);
      return this.#rows.map((row) => row.read(unit, !plan.isFull));
    });
    this.#early = this.#kept.slice(0, plan.early).map(([piece]) => this.#shared(shared, piece!));
    this.#reduction = new GroupReduction(s);
  }

  #shared(names: readonly string[], { column, inside }: Piece): { readonly [name: string]: Float[] } {
    const at = inside === null ? column : inside.select(column, 0);
    return Object.fromEntries(names.map((name) => [name, read(this.#s.buffers[name] as Numbers, at, this.#plan.width, true)]));
  }

  /** Once for each access of this thread, with the rows' pieces. */
  #pass(fn: (pieces: readonly Piece[], access: number | null) => void): void {
    const { threads, kept } = this.#plan;
    if (kept > 0) this.#kept.forEach(fn);
    else {
      const units = this.#rows[0]!.columns.div(this.#plan.width);
      this.#s.for(
        this.#s.local,
        units,
        (unit) =>
          fn(
            this.#rows.map((row) => row.read(unit, false)),
            null,
          ),
        { step: threads },
      );
    }
  }

  #elements({ values, column }: Piece, more: { readonly [name: string]: Float[] } = {}): (readonly [Values, Uint])[] {
    const all = { ...values, ...more };
    return Array.from({ length: this.#plan.width }, (_, k) => [
      Object.fromEntries(Object.entries(all).map(([name, list]) => [name, list[k]!])),
      column.add(k),
    ]);
  }

  /** Of an access, where it was not begun early. */
  #more(extra: readonly string[], piece: Piece, access: number | null): { readonly [name: string]: Float[] } {
    return (access === null ? undefined : this.#early[access]) ?? this.#shared(extra, piece);
  }

  #reduce(steps: readonly Reduce[]): Float[][] {
    const s = this.#s;
    const { none, combine, extra } = steps[0]!;
    const results: { value: Float }[][] = steps.map(() => []);
    this.#pass((pieces, access) => {
      const more = this.#more(extra, pieces[0]!, access);
      pieces.forEach((piece, r) => {
        for (const [values] of this.#elements(piece, more))
          steps[r]!.fn(values).forEach((x, i) => {
            const result = (results[r]![i] ??= s.variable(s.f32(none)));
            result.value = combine(result.value, piece.inside === null ? x : piece.inside.select(x, none));
          });
      });
    });
    const all = this.#reduction.reduce(results.flat().map((v) => v.value), combine); // prettier-ignore
    let taken = 0;
    return results.map(({ length }) => all.slice(taken, (taken += length)));
  }

  #write(steps: readonly Write[]): void {
    const s = this.#s;
    this.#pass((pieces, access) => {
      const writeRows = (): void => {
        const more = this.#more(steps[0]!.extra, { ...pieces[0]!, inside: null }, access);
        pieces.forEach((piece, r) => {
          const made = this.#elements(piece, more).map(([values, column]) => steps[r]!.fn(values, column));
          const store = (): void => write(s.buffers[steps[r]!.output] as Numbers, piece.offset, made, true);
          const { isThere } = this.#rows[r]!;
          if (isThere === null) store();
          else s.if(isThere, store);
        });
      };
      const { inside } = pieces[0]!;
      if (inside === null) writeRows();
      else s.if(inside, writeRows);
    });
  }

  run(body: (row: Row) => Steps<void>): void {
    const running = this.#rows.map(body);
    let reduced: readonly (readonly Float[])[] = running.map(() => []);
    for (;;) {
      const steps = running.map((each, r) => each.next(reduced[r]!));
      if (steps[0]!.done === true) return;
      const asked = steps.map(({ value }) => value as Step);
      if (asked[0]!.kind === "reduce") reduced = this.#reduce(asked as Reduce[]);
      else {
        this.#write(asked as Write[]);
        reduced = running.map(() => []);
      }
    }
  }
}

/** rowInputs: those of which each row has its own; shared: those that all rows have in common, one element for each column. */
export function rowKernel(
  name: string,
  columns: number,
  element: FloatElement,
  inputs: Names,
  outputs: Names,
  { rowInputs, shared = [] }: { readonly rowInputs: readonly string[]; readonly shared?: readonly string[] },
  body: (row: Row, s: RowScope) => Steps<void>,
): Kernel {
  const plan = planOf(columns, element, rowInputs.length, shared.length > 0);
  const groups = ({ shapes }: LaunchFacts): number => {
    const shape = shapes[rowInputs[0]!]!;
    return Math.ceil(sizeOf(shape) / shape.at(-1)! / plan.rows);
  };
  const key = `${name} ${element} ${Object.values(plan).join(" ")}`;
  return kernel(key, { inputs, outputs, params: { rows: "u32", eps: "f32", ignored: "u32" }, threads: plan.threads, groups }, (s) => {
    const scope = s as unknown as RowScope;
    // A large grid has a few groups too many.
    scope.if(scope.group.mul(plan.rows).lt(scope.params.rows), () =>
      new RowBlock(scope, plan, rowInputs, shared).run((row) => body(row, scope)),
    );
  });
}
