/**
 * A program inside compile. Leaves that are state, and optimizers, live outside and are set back before each call; the others come as
 * fresh arguments. Values and gradients of leaves are read outside after the call, the rest is returned.
 */
import * as dx from "../../src/index.ts";
import { judgeThrown, judgeValues, passed, type Outcome } from "./judge.ts";
import { dtypes, isGradient, nameIn, optimizers, type Leaf, type Program, type Statement } from "./language.ts";
import { Machine } from "./machine.ts";
import { leafTensor, plainTensor } from "./values.ts";

type Results = readonly (dx.Tensor | null | readonly string[])[];
type AnyOptimizer = dx.optim.SGD | dx.optim.Adam;
type Saved = ReturnType<AnyOptimizer["stateDict"]>;

const calls = 3;

function savedState(optimizer: AnyOptimizer): Saved {
  const { paramGroups, state } = optimizer.stateDict();
  const copies = Object.entries(state).map(([index, own]) => [
    index,
    Object.fromEntries(Object.entries(own).map(([k, t]) => [k, t.clone()])),
  ]);
  return { paramGroups, state: Object.fromEntries(copies) as Saved["state"] };
}

class CompiledRun {
  readonly #program: Program;
  /** Statements that make optimizers, which happens before the function is compiled. */
  readonly #before: readonly Statement[];
  readonly #state: readonly Leaf[];
  readonly #args: readonly Leaf[];
  /** What is no leaf, and so has to come out of the function. */
  readonly #inner: readonly string[];
  readonly #outside = new Machine();
  readonly #initial = new Map<string, dx.Tensor>();
  readonly #saved = new Map<AnyOptimizer, Saved>();
  /** Around: results are copied to these instead of being returned. */
  #copies: readonly dx.Tensor[] | null = null;
  #inside = new Machine();
  readonly #calls: number;

  constructor(p: Program, isAround: boolean, before: readonly Statement[]) {
    this.#program = p;
    this.#before = before;
    // A gradient of a gradient that is kept outside would be another program in each call.
    this.#calls = isAround && JSON.stringify(p.body).includes('"o":"grad"') ? 1 : calls;
    this.#state = p.leaves.filter((l) => isAround || l.p === "state");
    this.#args = p.leaves.filter((l) => !this.#state.includes(l));
    const leaves = new Set(p.leaves.map((l) => l.n));
    this.#inner = p.out.filter((out) => !leaves.has(nameIn(out)));
    for (const leaf of this.#state) {
      this.#outside.tensors.set(leaf.n, leafTensor(leaf));
      this.#initial.set(leaf.n, plainTensor(leaf));
    }
    this.#outside.run(before);
    for (const made of this.#outside.optimizers.values() as Iterable<AnyOptimizer>) this.#saved.set(made, savedState(made));
    if (isAround && p.expect.refused === undefined) {
      const { ok } = p.expect;
      this.#copies = this.#inner.map((out) => (ok[out] == null ? dx.zeros([1]) : dx.zeros(ok[out].s, { dtype: dtypes[ok[out].d] })));
    }
  }

  outcome(): Outcome {
    const compiled = dx.compile((...args: dx.Tensor[]) => this.#body(args));
    try {
      let last = passed;
      for (let call = 0; call < this.#calls && last.result === "pass"; call++) last = this.#call(compiled, call);
      return last;
    } finally {
      compiled.dispose();
    }
  }

  #call(compiled: (...args: dx.Tensor[]) => Results, call: number): Outcome {
    const operands = this.#args.map(leafTensor);
    if (call > 0) dx.noGrad(() => this.#reset());
    let results: Results;
    try {
      results = compiled(...operands);
    } catch (error) {
      return judgeThrown(this.#program, error, this.#inside.path, call);
    } finally {
      for (const hook of this.#inside.hooks) hook.remove();
    }
    const find = (out: string): dx.Tensor | null => {
      const i = this.#inner.indexOf(out);
      if (i >= 0) return this.#copies !== null && results[i] !== null ? this.#copies[i]! : (results[i] as dx.Tensor | null);
      const name = nameIn(out);
      const t = this.#outside.tensors.get(name) ?? operands[this.#args.findIndex((l) => l.n === name)]!;
      return isGradient(out) ? t.grad : t;
    };
    return judgeValues(this.#program, find, { isFlagged: false, call });
  }

  /** The function that is compiled. */
  #body(args: readonly dx.Tensor[]): Results {
    const machine = new Machine(this.#before);
    this.#inside = machine;
    for (const [name, made] of this.#outside.optimizers) machine.optimizers.set(name, made);
    for (const leaf of this.#state) machine.tensors.set(leaf.n, this.#outside.tensor(leaf.n));
    for (const [i, leaf] of this.#args.entries()) machine.tensors.set(leaf.n, args[i]!);
    machine.run(this.#program.body);
    const found = this.#inner.map((out) => machine.result(out));
    const copies = this.#copies;
    if (copies === null) return found;
    return found.map((t, i) => {
      if (t === null) return null;
      dx.noGrad(() => copies[i]!.copy_(t));
      return [t.dtype, t.shape.join()];
    });
  }

  #reset(): void {
    for (const leaf of this.#state) {
      const t = this.#outside.tensor(leaf.n);
      if (!t.isLeaf) {
        // Something differentiable was written into it: another one replaces it.
        this.#outside.tensors.set(leaf.n, leafTensor(leaf));
        continue;
      }
      t.grad = null;
      t.requiresGrad_(leaf.g === 1);
      t.copy_(this.#initial.get(leaf.n)!);
    }
    for (const [made, saved] of this.#saved) made.loadStateDict(saved);
  }
}

/** isAround: without arguments and results, which are state and tensors outside instead. */
export function compiledOutcome(p: Program, { isAround }: { readonly isAround: boolean }): Outcome {
  const first = p.body.findIndex((s) => !optimizers.includes(s.o));
  const before = p.body.slice(0, first < 0 ? p.body.length : first);
  if (p.body.slice(before.length).some((s) => optimizers.includes(s.o)))
    return { result: "skipped", what: "an optimizer is made in the middle" };
  try {
    return new CompiledRun(p, isAround, before).outcome();
  } catch (error) {
    return judgeThrown(p, error, []);
  }
}
