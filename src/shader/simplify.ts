/**
 * Simplifies a shader: loops whose trips are known are unrolled within the budget, constants folded, equal expressions merged, unused values removed.
 * `rewrite` is the same traversal for other passes.
 */
import { ShaderError } from "../core/errors.ts";
import { Builder } from "./builder.ts";
import {
  allStatements,
  blocksOf,
  constantOf,
  readsOf,
  type Block,
  type For,
  type Shader,
  type Statement,
  type Value,
  type Variable,
} from "./ir.ts";

/** Statements that a loop may become where its function does not say. */
export const UNROLL_BUDGET = 512;
/** Statements that a loop may become where its function says so. */
const MAX_UNROLLED = 2 ** 16;

export class Rewriter {
  readonly builder: Builder;
  /** By the old value's id; leaves have none. */
  readonly #values: Value[] = [];
  /** By the old variable's id. */
  readonly #variables: (Variable | undefined)[] = [];

  constructor(builder: Builder) {
    this.builder = builder;
  }

  value(v: Value): Value {
    const { leaf } = v;
    if (leaf === null) return this.#values[v.id]!;
    if (leaf.kind === "constant") return this.builder.constant(v.type, leaf.number);
    return leaf.kind === "uniform" ? this.builder.uniform(leaf.uniform) : this.builder.index(leaf.kind);
  }

  set(old: Value, now: Value): void {
    this.#values[old.id] = now;
  }

  redefine(old: Value): Value {
    const now = this.builder.value(old.type);
    this.#values[old.id] = now;
    return now;
  }

  variable(v: Variable): Variable {
    return (this.#variables[v.id] ??= this.builder.variable(v.type));
  }

  #all(values: readonly Value[]): Value[] {
    const now: Value[] = [];
    for (let i = 0; i < values.length; i++) now.push(this.value(values[i]!));
    return now;
  }

  visitBlock(block: Block): void {
    for (const s of block) this.statement(s);
  }

  inside(block: Block): Block {
    return this.builder.block(() => this.visitBlock(block));
  }

  statement(s: Statement): void {
    const b = this.builder;
    switch (s.kind) {
      case "operate":
        this.set(s.result, b.operate(s.name, ...this.#all(s.args)));
        return;
      case "load": {
        const { memory } = s;
        const at = this.value(s.at);
        const make = (): Value[] => {
          const results = s.results.map((v) => b.value(v.type));
          b.add({ ...s, at, results });
          return results;
        };
        const isConstant = memory.kind === "buffer" && !memory.isWritable && s.results.length === 1;
        const made = isConstant
          ? [b.once(`load ${memory.slot} ${at.id} ${s.raw} ${s.checked} ${s.results[0]!.type}`, () => make()[0]!)]
          : make();
        s.results.forEach((v, i) => this.set(v, made[i]!));
        return;
      }
      case "store":
        b.add({ ...s, at: this.value(s.at), values: this.#all(s.values) });
        return;
      case "atomic":
        b.add({
          ...s,
          at: this.value(s.at),
          value: this.value(s.value),
          expected: s.expected === null ? null : this.value(s.expected),
          result: s.result === null ? null : this.redefine(s.result),
        });
        return;
      case "declare":
        // Declared again in each trip of an unrolled loop.
        this.#variables[s.variable.id] = undefined;
        b.add({ kind: "declare", variable: this.variable(s.variable), value: this.value(s.value) });
        return;
      case "get":
        b.add({ kind: "get", variable: this.variable(s.variable), result: this.redefine(s.result) });
        return;
      case "assign":
        b.add({ kind: "assign", variable: this.variable(s.variable), value: this.value(s.value) });
        return;
      case "if": {
        const condition = this.value(s.condition);
        const known = constantOf(condition);
        if (known !== null) this.visitBlock(known === 0 ? s.otherwise : s.body);
        else b.add({ ...s, condition, body: this.inside(s.body), otherwise: this.inside(s.otherwise) });
        return;
      }
      case "for":
        this.loop(s);
        return;
      case "while": {
        let condition: Value | null = null;
        const head = b.block(() => {
          this.visitBlock(s.head);
          condition = this.value(s.condition);
        });
        b.add({ ...s, head, condition: condition!, body: this.inside(s.body) });
        return;
      }
      case "print":
        b.add({ ...s, values: this.#all(s.values) });
        return;
      case "barrier":
      case "break":
      case "continue":
        b.add(s);
        return;
      default:
        s satisfies never;
    }
  }

  loop(s: For): void {
    const b = this.builder;
    const [start, end, step] = [s.start, s.end, s.step].map((v) => this.value(v)) as [Value, Value, Value];
    const trips = tripsOf(s, start, end, step);
    if (trips !== null) {
      for (const index of trips) {
        this.set(s.index, b.constant("u32", index));
        this.visitBlock(s.body);
      }
      return;
    }
    const index = this.redefine(s.index);
    b.add({ ...s, index, start, end, step, body: this.inside(s.body) });
  }
}

/** The index of each trip where the loop is to be unrolled; null where it stays. */
function tripsOf(s: For, start: Value, end: Value, step: Value): number[] | null {
  const [from, to, by] = [constantOf(start), constantOf(end), constantOf(step)];
  if (from === null || to === null || by === null || s.unroll === false || jumps(s.body)) return null;
  const count = Math.max(0, Math.ceil((to - from) / by));
  const statements = count * Math.max(1, weight(s.body));
  if (s.unroll === null && statements > UNROLL_BUDGET) return null;
  if (statements > MAX_UNROLLED)
    throw new ShaderError("shader", `a loop that unrolls to ${statements} statements; ${MAX_UNROLLED} at most`, s.source);
  return Array.from({ length: count }, (_, i) => from + i * by);
}

/** Statements, those of loops that are unrolled by their trips. */
export function weight(block: Block): number {
  let n = 0;
  for (const s of block) {
    let inner = 0;
    for (const each of blocksOf(s)) inner += weight(each);
    const trips = s.kind === "for" ? tripsOf(s, s.start, s.end, s.step) : null;
    n += trips === null ? 1 + inner : trips.length * inner;
  }
  return n;
}

/** Whether a break or continue of this loop is in it. */
function jumps(block: Block): boolean {
  return block.some((s) => s.kind === "break" || s.kind === "continue" || (s.kind === "if" && (jumps(s.body) || jumps(s.otherwise))));
}

/** Without operations, loads and variables that nothing depends on. visit: is called for each statement that is left. */
function withoutDead({ statements: body, values, variables }: Builder, visit: (s: Statement) => void): Block {
  const live = new Uint8Array(values);
  const read = new Uint8Array(variables);
  const isKept = (s: Statement): boolean => {
    if (s.kind === "operate" || s.kind === "get") return live[s.result.id] !== 0;
    if (s.kind === "load") return s.results.some((v) => live[v.id] !== 0);
    return s.kind === "declare" || s.kind === "assign" ? read[s.variable.id] !== 0 : true;
  };
  // What a loop reads may be computed later in it, so until nothing more is found.
  let left = allStatements(body);
  for (let found = true; found;) {
    found = false;
    const others: Statement[] = [];
    for (let i = left.length - 1; i >= 0; i--) {
      const s = left[i]!;
      if (!isKept(s)) {
        others.push(s);
        continue;
      }
      for (const v of readsOf(s)) live[v.id] = 1;
      if (s.kind === "get") read[s.variable.id] = 1;
      found = true;
    }
    left = others.reverse();
  }
  const pruned = (s: Statement): Statement | null => {
    if (s.kind === "if") {
      const [then, otherwise] = [prune(s.body), prune(s.otherwise)];
      return then.length + otherwise.length === 0 ? null : { ...s, body: then, otherwise };
    }
    if (s.kind === "for") {
      const inner = prune(s.body);
      return inner.length === 0 ? null : { ...s, body: inner };
    }
    return s.kind === "while" ? { ...s, head: prune(s.head), body: prune(s.body) } : s;
  };
  const prune = (block: Block): Block => {
    const kept: Statement[] = [];
    for (const s of block) {
      const left = isKept(s) ? pruned(s) : null;
      if (left === null) continue;
      kept.push(left);
      visit(left);
    }
    return kept;
  };
  return prune(body);
}

/** The shader with its statements visited by a rewriter, without dead ones. */
export function rewrite(shader: Shader, make: (builder: Builder) => Rewriter): Shader {
  const builder = new Builder();
  make(builder).visitBlock(shader.body);
  const used = new Set<string>();
  const note = (v: Value): void => {
    if (v.leaf !== null && v.leaf.kind === "uniform") used.add(v.leaf.uniform.name);
  };
  const body = withoutDead(builder, (s) => {
    for (const v of readsOf(s)) note(v);
    if ((s.kind === "load" || s.kind === "store" || s.kind === "atomic") && s.memory.kind === "buffer" && !s.raw) note(s.memory.size);
  });
  return {
    ...shader,
    body,
    uniforms: shader.uniforms
      .concat(builder.uniforms)
      .filter((u, i, all) => used.has(u.name) && all.findIndex((w) => w.name === u.name) === i),
  };
}

export const simplify = (shader: Shader): Shader => rewrite(shader, (b) => new Rewriter(b));
