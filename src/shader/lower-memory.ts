/**
 * Elements become words at byte addresses. An access that is not known to be inside is guarded: a load outside gives 0 and reads the first
 * word instead, a store or atomic outside is not made. float16 becomes halves of words.
 */
import type { Builder } from "./builder.ts";
import {
  typeOfElement,
  type Atomic,
  type If,
  type For,
  type Load,
  type Memory,
  type Shader,
  type Statement,
  type Store,
  type Value,
} from "./ir.ts";
import { Alignment } from "./alignment.ts";
import { roundedHalf } from "./half.ts";
import { Ranges } from "./value-ranges.ts";
import { Rewriter, rewrite } from "./simplify.ts";
import type { Scalar } from "./operations.ts";

/** roundsHalf: as Capabilities has it. */
export const lower = (shader: Shader, roundsHalf = false): Shader => rewrite(shader, (b) => new Lowering(b, shader.threads, roundsHalf));

class Lowering extends Rewriter {
  readonly #ranges: Ranges;
  readonly #alignment: Alignment;
  readonly #roundsHalf: boolean;

  constructor(builder: Builder, threads: number, roundsHalf: boolean) {
    super(builder);
    this.#roundsHalf = roundsHalf;
    this.#ranges = new Ranges(builder, threads);
    this.#alignment = new Alignment(builder);
  }

  override statement(s: Statement): void {
    if (s.kind === "load" && !s.raw) this.#load(s);
    else if (s.kind === "store" && !s.raw) this.#store(s);
    else if (s.kind === "atomic" && !s.raw) this.#atomic(s);
    else if (s.kind === "if") this.#if(s);
    else super.statement(s);
  }

  #if(s: If): void {
    const condition = this.value(s.condition);
    if (condition.leaf?.kind === "constant") {
      super.statement(s);
      return;
    }
    const then = this.#ranges.where(condition, () => this.inside(s.body));
    this.builder.add({ ...s, condition, body: then, otherwise: this.inside(s.otherwise) });
  }

  override loop(s: For): void {
    // Unrolling was done before, where it was to be done.
    const b = this.builder;
    const index = this.redefine(s.index);
    const [start, end, step] = [this.value(s.start), this.value(s.end), this.value(s.step)];
    this.#ranges.below(index, end);
    this.#alignment.ofLoop(index, start, step);
    b.add({ ...s, index, start, end, step, body: this.inside(s.body) });
  }

  #u(n: number): Value {
    return this.builder.constant("u32", n);
  }

  #count(memory: Memory): Value {
    return memory.kind === "buffer" ? this.value(memory.size) : this.#u(memory.length);
  }

  /** Whether `count` elements from an index on are in bounds; null: they surely are. */
  #isInside(memory: Memory, at: Value, count: number, checked: boolean): Value | null {
    if (!checked || this.#ranges.isInside(memory, at, count, this.#count(memory))) return null;
    const b = this.builder;
    const size = this.#count(memory);
    const first = b.operate("lt.u32", at, size);
    return count === 1 ? first : b.operate("and.bool", first, b.operate("ge.u32", b.operate("sub.u32", size, at), this.#u(count)));
  }

  /** An access to words from a byte address on. What is unchecked begins at a multiple of its size, which no sum on the way passes. */
  #known({ checked }: { readonly checked: boolean }, address: Value, words: number): Pick<Load, "raw" | "checked" | "aligned" | "exact"> {
    const aligned = words === 1 || !checked || 2 ** this.#alignment.of(address) % (4 * words) === 0;
    return { raw: true, checked: false, aligned, exact: !checked || this.#ranges.isExact(address) };
  }

  #words(s: Load, address: Value, types: readonly Scalar[]): Value[] {
    const results = types.map((t) => this.builder.value(t));
    const bounds = s.byView === true ? { byView: s.byView } : {};
    this.builder.add({
      kind: "load",
      memory: s.memory,
      at: address,
      ...this.#known(s, address, types.length),
      ...bounds,
      results,
      source: s.source,
    });
    return results;
  }

  #writeWords(s: Store, address: Value, values: readonly Value[]): void {
    this.builder.add({ kind: "store", memory: s.memory, at: address, ...this.#known(s, address, values.length), values, source: s.source });
  }

  #zero(type: Scalar): Value {
    return this.builder.constant(type, 0);
  }

  /** Elements that are inside. */
  #read(s: Load, at: Value, count: number): Value[] {
    const b = this.builder;
    const { element } = s.memory;
    if (element !== "f16")
      return this.#words(
        s,
        b.operate("shl.u32", at, this.#u(2)),
        Array.from({ length: count }, () => element),
      );
    if (count === 1) {
      const word = this.#words(s, this.#halfAddress(at), ["u32"])[0]!;
      return [b.operate("half.to.f32", b.operate("shr.u32", word, this.#halfShift(at)))];
    }
    const words = this.#words(
      s,
      b.operate("shl.u32", at, this.#u(1)),
      Array.from({ length: count / 2 }, () => "u32" as const),
    );
    return words.flatMap((w) => [b.operate("half.to.f32", w), b.operate("half.to.f32", b.operate("shr.u32", w, this.#u(16)))]);
  }

  #halfAddress(at: Value): Value {
    const b = this.builder;
    return b.operate("shl.u32", b.operate("shr.u32", at, this.#u(1)), this.#u(2));
  }

  #halfShift(at: Value): Value {
    const b = this.builder;
    return b.operate("shl.u32", b.operate("and.u32", at, this.#u(1)), this.#u(4));
  }

  /** One element, 0 outside. */
  #readGuarded(s: Load, at: Value): Value {
    const b = this.builder;
    const inside = this.#isInside(s.memory, at, 1, s.checked);
    if (inside === null) return this.#read(s, at, 1)[0]!;
    const type = typeOfElement(s.memory.element);
    const found = this.#read(s, b.operate("select.u32", inside, at, this.#u(0)), 1)[0]!;
    return b.operate(`select.${type}`, inside, found, this.#zero(type));
  }

  #load(s: Load): void {
    const b = this.builder;
    const at = this.value(s.at);
    const count = s.results.length;
    const inside = count === 1 ? null : this.#isInside(s.memory, at, count, s.checked);
    let made: readonly Value[];
    if (count === 1) made = [this.#readGuarded(s, at)];
    else if (inside === null) made = this.#read(s, at, count);
    else {
      const type = typeOfElement(s.memory.element);
      const variables = s.results.map(() => b.variable(type));
      for (const variable of variables) b.add({ kind: "declare", variable, value: this.#zero(type) });
      const assign = (values: readonly Value[]): void =>
        variables.forEach((variable, i) => b.add({ kind: "assign", variable, value: values[i]! }));
      const then = b.block(() => assign(this.#read(s, at, count)));
      const otherwise = b.block(() => assign(variables.map((_, i) => this.#readGuarded(s, b.operate("add.u32", at, this.#u(i))))));
      b.add({ kind: "if", condition: inside, body: then, otherwise, source: s.source });
      made = variables.map((variable) => {
        const result = b.value(type);
        b.add({ kind: "get", variable, result });
        return result;
      });
    }
    s.results.forEach((v, i) => this.set(v, made[i]!));
  }

  /** Elements that are inside. */
  #write(s: Store, at: Value, values: readonly Value[]): void {
    const b = this.builder;
    if (s.memory.element !== "f16") {
      this.#writeWords(s, b.operate("shl.u32", at, this.#u(2)), values);
      return;
    }
    const halves = values.map((v) => (this.#roundsHalf ? b.operate("f32.to.half", v) : roundedHalf(b, v)));
    if (halves.length === 1) {
      // Its neighbour may be written by another thread.
      const [address, shift] = [this.#halfAddress(at), this.#halfShift(at)];
      const rest = b.operate("not.u32", b.operate("shl.u32", this.#u(0xffff), shift));
      const atomic = (name: "and" | "or", value: Value): void => {
        b.add({
          kind: "atomic",
          name,
          memory: s.memory,
          at: address,
          raw: true,
          checked: false,
          value,
          expected: null,
          result: null,
          source: s.source,
        });
      };
      atomic("and", rest);
      atomic("or", b.operate("shl.u32", halves[0]!, shift));
      return;
    }
    const words: Value[] = [];
    for (let i = 0; i < halves.length; i += 2)
      words.push(b.operate("or.u32", halves[i]!, b.operate("shl.u32", halves[i + 1]!, this.#u(16))));
    this.#writeWords(s, b.operate("shl.u32", at, this.#u(1)), words);
  }

  #writeGuarded(s: Store, at: Value, values: readonly Value[]): void {
    const b = this.builder;
    const inside = this.#isInside(s.memory, at, values.length, s.checked);
    if (inside === null) {
      this.#write(s, at, values);
      return;
    }
    const then = b.block(() => this.#write(s, at, values));
    const otherwise = b.block(() => {
      if (values.length > 1) values.forEach((v, i) => this.#writeGuarded(s, b.operate("add.u32", at, this.#u(i)), [v]));
    });
    b.add({ kind: "if", condition: inside, body: then, otherwise, source: s.source });
  }

  #store(s: Store): void {
    this.#writeGuarded(
      s,
      this.value(s.at),
      s.values.map((v) => this.value(v)),
    );
  }

  #atomic(s: Atomic): void {
    const b = this.builder;
    const at = this.value(s.at);
    const inside = this.#isInside(s.memory, at, 1, s.checked);
    const type = typeOfElement(s.memory.element);
    const make = (): Value => {
      const result = b.value(type);
      const expected = s.expected === null ? null : this.value(s.expected);
      b.add({ ...s, at: b.operate("shl.u32", at, this.#u(2)), raw: true, checked: false, value: this.value(s.value), expected, result });
      return result;
    };
    if (inside === null) {
      const made = make();
      if (s.result !== null) this.set(s.result, made);
      return;
    }
    const variable = b.variable(type);
    b.add({ kind: "declare", variable, value: this.#zero(type) });
    const then = b.block(() => b.add({ kind: "assign", variable, value: make() }));
    b.add({ kind: "if", condition: inside, body: then, otherwise: [], source: s.source });
    if (s.result === null) return;
    const result = b.value(type);
    b.add({ kind: "get", variable, result });
    this.set(s.result, result);
  }
}
