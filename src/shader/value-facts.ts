/**
 * What values may be at a statement of a shader in one launch, whose sizes and numbers are known: by the operations that make them, and by the
 * comparisons that hold there. An integer of a sum is inferred from the comparisons of its parts.
 */
import { allStatements, constantOf, type For, type Get, type Operate, type Shader, type Uniform, type Value, type Variable } from "./ir.ts";
import { newPart, type Fact, type Part } from "./comparison-facts.ts";
import { addLinear, atomAsLinear, divisorOf, isPower, numberAsLinear, scaleLinear, type Linear } from "./linear.ts";
import {
  ANY,
  between,
  bitsInBoth,
  bitsInOne,
  EMPTY,
  isEmpty,
  join,
  LARGEST,
  meet,
  only,
  gcd,
  product,
  quotientOf,
  remainderOf,
  wrapped,
  type StridedRange,
} from "./strided-range.ts";

/** A launch, as far as addresses depend on it. */
export interface LaunchNumbers {
  readonly threads: number;
  /** Groups in both axes of the grid. */
  readonly groups: readonly [number, number];
  readonly uniform: (uniform: Uniform) => number;
}

/** No bounds. */
const NOTHING: StridedRange = { low: NaN, high: NaN, step: 1 };
const isSmall = ({ low, high }: StridedRange): boolean => low > -HALF && high < HALF;
const width = ({ low, high }: StridedRange): number => (Number.isNaN(low) ? Infinity : high - low);

const isQuotient = ({ name }: Operate): boolean => name === "div.u32" || name === "shr.u32";

/** Facts that one sum is inferred from. */
const MAX_STEPS = 4;
/** Selections inside of each other whose conditions count. */
const MAX_SELECTIONS = 4;
const HALF = 2 ** 31;
/** Visits to the assignments of a variable in loops, after which its range is all numbers. */
const MAX_TRIPS = 4;
/** Variables that depend on each other. */
const MAX_OPEN = 3;

export class ValueFacts {
  readonly #launch: LaunchNumbers;
  /** By the value's id. */
  readonly #made: (Operate | For | Get | undefined)[] = [];
  readonly #sums: (Linear | undefined)[] = [];
  /** By the variable's id: what is assigned to it. */
  /** Operations that divide. */
  readonly #quotients: Operate[] = [];
  /** By the value's id: what holds of a quotient or of a remainder by its definition. */
  readonly #definitions: (Fact | null | undefined)[] = [];
  readonly #assigned = new Map<number, Value[]>();
  readonly #variables = new Map<number, StridedRange>();
  /** Parts around a statement, innermost last. */
  #parts: Part[] = [newPart()];
  #selections = 0;
  /** Variables that are looked at. */
  #open = 0;
  #isDead = false;

  constructor(shader: Shader, launch: LaunchNumbers) {
    this.#launch = launch;
    for (const s of allStatements(shader.body))
      if (s.kind === "operate" || s.kind === "get") {
        this.#made[s.result.id] = s;
        if (s.kind === "operate" && isQuotient(s)) this.#quotients.push(s);
      } else if (s.kind === "for") this.#made[s.index.id] = s;
      else if (s.kind === "declare" || s.kind === "assign") {
        const before = this.#assigned.get(s.variable.id);
        if (before === undefined) this.#assigned.set(s.variable.id, [s.value]);
        else before.push(s.value);
      }
  }

  /** Whether the comparisons that hold exclude each other: no thread comes here. */
  get isDead(): boolean {
    return this.#isDead;
  }

  /** Runs fn where a condition has a value; null: any. */
  where(condition: Value | null, isTrue: boolean, fn: () => void): void {
    const wasDead = this.#isDead;
    this.#parts.push(newPart(this.#parts.at(-1)!.known));
    try {
      if (condition !== null) this.assume(condition, isTrue);
      fn();
    } finally {
      this.#parts.pop();
      this.#isDead = wasDead;
    }
  }

  /** In the body of a loop. */
  inLoop(s: For, fn: () => void): void {
    this.where(null, true, () => {
      this.#less(s.index, s.end);
      fn();
    });
  }

  /** From here to the end of the part a condition has a value. */
  assume(condition: Value, isTrue: boolean): void {
    const n = constantOf(condition);
    if (n !== null) {
      if ((n !== 0) !== isTrue) this.#die();
      return;
    }
    const made = this.#made[condition.id];
    if (made?.kind === "get" && isTrue) {
      // Of a variable that was set to one condition and else to false.
      const possible = (this.#assigned.get(made.variable.id) ?? []).filter((v) => this.#mayBeTrue(v));
      if (possible.length === 1) this.assume(possible[0]!, true);
      return;
    }
    if (made?.kind !== "operate") return;
    const [a, b] = made.args as readonly [Value, Value];
    switch (made.name) {
      case "not.bool":
        this.assume(a, !isTrue);
        return;
      case "and.bool":
      case "or.bool":
        if ((made.name === "and.bool") !== isTrue) return;
        this.assume(a, isTrue);
        this.assume(b, isTrue);
        return;
      case "lt.u32":
      case "ge.u32":
        if ((made.name === "lt.u32") === isTrue) this.#less(a, b);
        else this.#atLeast(a, b);
        return;
      case "lt.i32":
      case "ge.i32":
        this.#signed(a, b, (made.name === "lt.i32") === isTrue);
        return;
      case "eq.u32":
      case "eq.i32":
      case "ne.u32":
      case "ne.i32":
        if (made.name.startsWith("eq") === isTrue) this.#equal(a, b);
        else this.#unequal(a, b);
        return;
      default:
    }
  }

  /** Anywhere: not by the facts that hold here. */
  #mayBeTrue(condition: Value): boolean {
    const [parts, isDead] = [this.#parts, this.#isDead];
    [this.#parts, this.#isDead] = [[newPart()], false];
    this.assume(condition, true);
    const isPossible = !this.#isDead;
    [this.#parts, this.#isDead] = [parts, isDead];
    return isPossible;
  }

  #less(a: Value, b: Value): void {
    const [x, y] = [this.range(a), this.range(b)];
    this.#bound(a, between(0, y.high - 1));
    this.#bound(b, between(x.low + 1, LARGEST));
    if (y.step !== 0) this.#learn(addLinear(this.#sum(a), this.#sum(b), -1), between(x.low - y.high, -1));
  }

  #atLeast(a: Value, b: Value): void {
    const [x, y] = [this.range(a), this.range(b)];
    this.#bound(a, between(y.low, LARGEST));
    this.#bound(b, between(0, x.high));
    if (y.step !== 0) this.#learn(addLinear(this.#sum(a), this.#sum(b), -1), between(0, x.high - y.low));
  }

  /** Of numbers whose first bit is their sign. */
  #signed(a: Value, b: Value, isLess: boolean): void {
    const [x, y] = [this.range(a), this.range(b)];
    if (isLess) {
      if (x.high < HALF && y.high < HALF) this.#less(a, b);
      else if (x.high < HALF) this.#bound(b, between(x.low + 1, HALF - 1));
    } else if (x.high < HALF && y.high < HALF) this.#atLeast(a, b);
    else if (y.high < HALF) this.#bound(a, between(y.low, HALF - 1));
  }

  #equal(a: Value, b: Value): void {
    const [x, y] = [this.range(a), this.range(b)];
    this.#bound(a, y);
    this.#bound(b, x);
    if (x.step !== 0 && y.step !== 0) this.#learn(addLinear(this.#sum(a), this.#sum(b), -1), only(0));
  }

  #unequal(a: Value, b: Value): void {
    const [x, y] = [this.range(a), this.range(b)];
    const made = this.#made[a.id];
    if (y.step === 0 && y.low === 0 && made?.kind === "operate" && made.name === "and.u32") {
      const bit = constantOf(made.args[1]!);
      if (bit !== null && isPower(bit)) this.#hasBit(made.args[0]!, bit);
      return;
    }
    if (y.step !== 0 || x.step === 0) return;
    if (x.low === y.low) this.#bound(a, between(x.low + x.step, x.high));
    else if (x.high === y.low) this.#bound(a, between(x.low, x.high - x.step));
  }

  /** A bit of a mask is set: so is it in the one part of the mask that may have it. */
  #hasBit(v: Value, bit: number): void {
    const made = this.#made[v.id];
    if (made?.kind !== "operate") return;
    const { args } = made;
    if (made.name === "or.u32") {
      const parts = args.filter((x) => this.#mayHaveBit(x, bit));
      if (parts.length === 0) this.#die();
      if (parts.length === 1) this.#hasBit(parts[0]!, bit);
    } else if (made.name === "select.u32") {
      const [first, second] = [this.#mayHaveBit(args[1]!, bit), this.#mayHaveBit(args[2]!, bit)];
      if (first === second) return;
      this.assume(args[0]!, first);
      this.#hasBit(args[first ? 1 : 2]!, bit);
    }
  }

  #mayHaveBit(v: Value, bit: number): boolean {
    const n = constantOf(v);
    if (n !== null) return (n & bit) !== 0;
    const made = this.#made[v.id];
    if (made?.kind !== "operate" || (made.name !== "or.u32" && made.name !== "select.u32")) return true;
    return made.args.slice(-2).some((x) => this.#mayHaveBit(x, bit));
  }

  /** No thread comes here. Ranges are empty here; the enclosing part must not take them over. */
  #die(): void {
    this.#isDead = true;
    this.#parts.at(-1)!.known = new Map();
  }

  /** A value is in a range from here on. */
  #bound(v: Value, range: StridedRange): void {
    if (v.leaf?.kind === "constant") return;
    this.#learn(this.#sum(v), meet(this.range(v), range));
  }

  #learn(sum: Linear, range: StridedRange): void {
    if (isEmpty(range)) this.#die();
    const part = this.#parts.at(-1)!;
    if (sum.atoms.length === 0) return;
    const exact = this.#divided(sum, range);
    part.known = new Map();
    if (exact !== null) {
      this.#keep(part, ...exact);
      return;
    }
    this.#keep(part, sum, range);
  }

  /** 4 x < n says more of x, where 4 x is less than 2^32. */
  #divided(sum: Linear, range: StridedRange): [Linear, StridedRange] | null {
    const by = sum.factors.reduce(gcd, 0);
    if (by <= 1) return null;
    const constant = Math.floor(sum.constant / by);
    const rest = sum.constant - constant * by;
    const whole: Linear = { constant, atoms: sum.atoms, factors: sum.factors.map((f) => f / by) };
    const { low, high } = this.#plain(whole);
    const isExact =
      range.low >= 0
        ? low >= 0 && high * by + rest <= LARGEST
        : low * by >= -HALF && high * by + rest < HALF && range.low >= -HALF && range.high < HALF;
    return isExact ? [whole, between(Math.ceil((range.low - rest) / by), Math.floor((range.high - rest) / by))] : null;
  }

  #keep(part: Part, sum: Linear, range: StridedRange): void {
    if (isEmpty(range)) this.#die();
    if (sum.atoms.length === 1 && sum.factors[0] === 1 && sum.constant === 0) {
      const { id } = sum.atoms[0]!;
      const before = part.bounds.get(id);
      part.bounds.set(id, before === undefined ? range : meet(before, range));
      this.#keepDivided(part, sum.atoms[0]!, range);
    } else part.facts.push({ sum, range });
  }

  /** A bound of a quotient is one of what is divided. */
  #keepDivided(part: Part, v: Value, { low, high }: StridedRange): void {
    const made = this.#made[v.id];
    const definition = made?.kind === "operate" && isQuotient(made) ? this.#definitionOf(v) : null;
    if (definition === null) return;
    const by = -definition.sum.factors[definition.sum.atoms.indexOf(v)]!;
    const x = addLinear(definition.sum, atomAsLinear(v), by);
    if (high * by + by - 1 > LARGEST) return;
    this.#keep(part, x, between(low * by, high * by + by - 1));
  }

  /** What a value may be here. */
  range(v: Value): StridedRange {
    const n = constantOf(v);
    if (n !== null) return only(n >>> 0);
    if (v.leaf?.kind === "uniform") return only(this.#launch.uniform(v.leaf.uniform) >>> 0);
    const { known } = this.#parts.at(-1)!;
    let found = known.get(v.id);
    if (found === undefined) {
      // What facts say of it may depend on itself.
      known.set(v.id, ANY);
      known.set(v.id, (found = this.#range(v)));
    }
    return found;
  }

  #range(v: Value): StridedRange {
    const sum = this.#sum(v);
    if (sum.atoms.length !== 1 || sum.atoms[0] !== v) return this.rangeOfSum(sum);
    let range = this.#ofAtom(v);
    for (const { bounds } of this.#parts) {
      const bound = bounds.get(v.id);
      if (bound !== undefined) range = meet(range, bound);
    }
    return meet(range, this.#inferred(sum, range));
  }

  /** What a sum may be here. */
  rangeOfSum(sum: Linear): StridedRange {
    const plain = wrapped(this.#plain(sum));
    return meet(plain, this.#inferred(sum, plain));
  }

  #plain({ constant, atoms, factors }: Linear): StridedRange {
    let [low, high, step] = [constant, constant, 0];
    for (let i = 0; i < atoms.length; i++) {
      const r = this.range(atoms[i]!);
      const factor = factors[i]!;
      low += factor * (factor > 0 ? r.low : r.high);
      high += factor * (factor > 0 ? r.high : r.low);
      step = gcd(step, factor * r.step);
      if (low < -(2 ** 52) || high > 2 ** 52) return NOTHING;
    }
    return { low, high, step };
  }

  /** A sum by the facts, where they say more than its parts do. */
  #inferred(sum: Linear, plain: StridedRange): StridedRange {
    let best: StridedRange = plain;
    this.#eachFact(sum, (fact, times) => {
      best = meet(best, wrapped(this.#byFact(sum, fact, times, MAX_STEPS)));
    });
    return best;
  }

  /** The facts that hold, and how many times a sum may have each. */
  #eachFact(sum: Linear, visit: (fact: Fact, times: number) => void): void {
    const tell = (fact: Fact): void => {
      const { atoms, factors } = fact.sum;
      for (let i = 0; i < atoms.length; i++) {
        const at = sum.atoms.indexOf(atoms[i]!);
        const times = at < 0 ? 0 : sum.factors[at]! / factors[i]!;
        if (times !== 0 && Number.isInteger(times)) {
          visit(fact, times);
          return;
        }
      }
    };
    for (const { facts } of this.#parts) facts.forEach(tell);
    for (const v of sum.atoms) {
      const definition = this.#definitionOf(v);
      if (definition !== null) tell(definition);
    }
  }

  /** q = x / n: x - n q is less than n. r = x mod n: x - n q is r, where there is such a q. */
  #definitionOf(v: Value): Fact | null {
    const made = v.leaf === null ? this.#made[v.id] : undefined;
    if (made?.kind !== "operate" || made.args.length !== 2) return null;
    let known = this.#definitions[v.id];
    if (known === undefined) this.#definitions[v.id] = known = this.#defined(v, made);
    return known;
  }

  /** The number that an operation divides by, to a quotient or a remainder; 0: it does not. */
  #divisor({ name, args }: Operate): number {
    const { atoms, constant } = this.#sum(args[1]!);
    return atoms.length > 0 ? 0 : divisorOf(name, constant);
  }

  /** The first quotient of x and a number; later ones are equal to it. */
  #quotientOf(x: Value, by: number): Value | undefined {
    return this.#quotients.find((q) => q.args[0] === x && this.#divisor(q) === by)?.result;
  }

  #defined(v: Value, made: Operate): Fact | null {
    const by = this.#divisor(made);
    if (by <= 0) return null;
    const x = made.args[0]!;
    if (isQuotient(made)) return { sum: addLinear(this.#sum(x), atomAsLinear(v), -by), range: between(0, by - 1) };
    const quotient = this.#quotientOf(x, by);
    if (quotient === undefined) return null;
    return { sum: addLinear(addLinear(this.#sum(x), this.#sum(quotient), -by), atomAsLinear(v), -1), range: only(0) };
  }

  /** sum = times * the fact's sum + a rest, of no more values. Gives integers, not wrapped. */
  #byFact(sum: Linear, fact: Fact, times: number, steps: number): StridedRange {
    const rest = addLinear(sum, fact.sum, -times);
    const r = fact.range;
    if (rest.atoms.length > sum.atoms.length + (r.step === 0 ? 2 : 0)) return NOTHING;
    let other = this.#plain(rest);
    if (steps > 1)
      this.#eachFact(rest, (next, often) => {
        if (next === fact) return;
        const found = this.#byFact(rest, next, often, steps - 1);
        // Numbers that are the same mod 2^32 are the same where they are small.
        if (isSmall(found) && isSmall(other)) other = meet(other, found);
        else if (width(found) < width(other)) other = found;
      });
    // The facts exclude each other: no thread comes here.
    if (isEmpty(other) || isEmpty(r)) return EMPTY;
    const low = times * (times > 0 ? r.low : r.high) + other.low;
    const high = times * (times > 0 ? r.high : r.low) + other.high;
    return { low, high, step: gcd(times * r.step, other.step) };
  }

  #ofAtom(v: Value): StridedRange {
    const { leaf } = v;
    const { threads, groups } = this.#launch;
    if (leaf?.kind === "local") return between(0, threads - 1);
    if (leaf?.kind === "groupX") return between(0, groups[0] - 1);
    if (leaf?.kind === "groupY") return between(0, groups[1] - 1);
    const made = this.#made[v.id];
    if (made === undefined) return v.type === "bool" ? between(0, 1) : ANY;
    if (made.kind === "for") return this.#ofIndex(made);
    return made.kind === "get" ? this.#ofVariable(made.variable) : this.#ofOperation(made);
  }

  #ofIndex({ start, end, step }: For): StridedRange {
    const [from, to, by] = [this.range(start), this.range(end), this.range(step)];
    const each = gcd(from.step, gcd(by.low, by.step));
    // Behind the last trip the index is beyond the end; beyond all numbers it would begin again.
    if (to.high + by.high > LARGEST) return ANY;
    return meet({ low: from.low, high: Math.max(to.high - 1, from.low), step: each }, between(0, Math.max(0, to.high - 1)));
  }

  /** Whatever is assigned to it anywhere: of what depends on itself, as long as it stays so in each trip of a loop. */
  #ofVariable({ id }: Variable): StridedRange {
    const known = this.#variables.get(id);
    if (known !== undefined) return known;
    if (this.#open === MAX_OPEN) return ANY;
    const [parts, isDead] = [this.#parts, this.#isDead];
    const values = this.#assigned.get(id) ?? [];
    this.#open++;
    let found = EMPTY;
    for (let trip = 0; ; trip++) {
      this.#variables.set(id, found);
      [this.#parts, this.#isDead] = [[newPart()], false];
      const now = values.map((v) => this.range(v)).reduce(join, found);
      if (now.low === found.low && now.high === found.high && now.step === found.step) break;
      found = trip < MAX_TRIPS ? now : ANY;
      if (found === ANY) break;
    }
    this.#open--;
    [this.#parts, this.#isDead] = [parts, isDead];
    // Others may be looked at under what is only assumed of this one: they are looked at again.
    if (this.#open === 0) this.#variables.set(id, found);
    else this.#variables.delete(id);
    return found;
  }

  #ofOperation({ name, args }: Operate): StridedRange {
    const r = (i: number): StridedRange => this.range(args[i]!);
    switch (name) {
      case "mul.u32":
      case "mul.i32":
        return product(r(0), r(1));
      case "shl.u32":
      case "shl.i32": {
        const by = r(1);
        return by.high > 31 ? ANY : product(r(0), join(only(2 ** by.low), only(2 ** by.high)));
      }
      case "shr.u32": {
        const by = r(1);
        return by.high > 31
          ? between(0, r(0).high)
          : quotientOf(r(0), by.step === 0 ? only(2 ** by.low) : between(2 ** by.low, 2 ** by.high));
      }
      case "div.u32":
        return quotientOf(r(0), r(1));
      case "mod.u32":
        return remainderOf(r(0), r(1));
      case "and.u32":
      case "and.i32":
        return bitsInBoth(r(0), r(1));
      case "or.u32":
      case "or.i32":
      case "xor.u32":
      case "xor.i32":
        return bitsInOne(r(0), r(1));
      case "min.u32":
        return this.#minimum(r(0), r(1));
      case "max.u32":
        return this.#maximum(r(0), r(1));
      case "min.i32":
      case "max.i32": {
        const [x, y] = [r(0), r(1)];
        if (x.high < HALF && y.high < HALF) return name === "min.i32" ? this.#minimum(x, y) : this.#maximum(x, y);
        if (name === "min.i32" || (x.high >= HALF && y.high >= HALF)) return ANY;
        return between(x.high < HALF ? x.low : y.low, HALF - 1);
      }
      case "select.u32":
      case "select.i32":
        return this.#selected(args as readonly [Value, Value, Value]);
      case "count.u32":
        return between(0, 32);
      case "bool.to.u32":
        return between(0, 1);
      default:
        return ANY;
    }
  }

  #minimum(x: StridedRange, y: StridedRange): StridedRange {
    const both = join(x, y);
    return meet(both, between(0, Math.min(x.high, y.high)));
  }

  #maximum(x: StridedRange, y: StridedRange): StridedRange {
    const both = join(x, y);
    return meet(both, between(Math.max(x.low, y.low), LARGEST));
  }

  #selected([condition, a, b]: readonly [Value, Value, Value]): StridedRange {
    if (this.#selections === MAX_SELECTIONS) return join(this.range(a), this.range(b));
    this.#selections++;
    let range = EMPTY;
    for (const [v, isTrue] of [
      [a, true],
      [b, false],
    ] as const)
      // prettier-ignore
      this.where(condition, isTrue, () => {
        const found = this.range(v);
        if (!this.#isDead) range = join(range, found);
      });
    this.#selections--;
    return range;
  }

  /** A value as a sum of others. */
  sum(v: Value): Linear {
    return this.#sum(v);
  }

  #sum(v: Value): Linear {
    const n = constantOf(v);
    if (n !== null) return numberAsLinear(n);
    if (v.leaf?.kind === "uniform") return numberAsLinear(this.#launch.uniform(v.leaf.uniform));
    return (this.#sums[v.id] ??= this.#sumOf(v));
  }

  #sumOf(v: Value): Linear {
    const made = v.leaf === null ? this.#made[v.id] : undefined;
    if (made?.kind !== "operate") return atomAsLinear(v);
    const s = (i: number): Linear => this.#sum(made.args[i]!);
    const factor = (x: Linear): number | null => (x.atoms.length === 0 ? x.constant : null);
    switch (made.name) {
      case "add.u32":
      case "add.i32":
        return addLinear(s(0), s(1));
      case "sub.u32":
      case "sub.i32":
        return addLinear(s(0), s(1), -1);
      case "neg.i32":
        return scaleLinear(s(0), -1);
      case "not.u32":
      case "not.i32":
        return addLinear(numberAsLinear(-1), s(0), -1);
      case "i32.as.u32":
      case "u32.as.i32":
        return s(0);
      case "mul.u32":
      case "mul.i32": {
        const [x, y] = [s(0), s(1)];
        const [first, second] = [factor(x), factor(y)];
        if (first !== null) return scaleLinear(y, first);
        return second === null ? atomAsLinear(v) : scaleLinear(x, second);
      }
      case "shl.u32":
      case "shl.i32": {
        const by = factor(s(1));
        return by === null ? atomAsLinear(v) : scaleLinear(s(0), 1 << (by & 31));
      }
      default: {
        const by = isQuotient(made) ? this.#divisor(made) : 0;
        return atomAsLinear(by > 0 ? this.#quotientOf(made.args[0]!, by)! : v);
      }
    }
  }
}
