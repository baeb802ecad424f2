/**
 * Random programs whose compiled function gets arguments that have a history of their own: made outside of leaves, by operations that save
 * what they read, by views, in place, by another compiled function, by earlier calls of the same one. A program is data, so that a failing one can
 * be printed and run again by its seed, and so that PyTorch runs it too (record.py).
 */
import * as dx from "../../../src/index.ts";

/** [4], [2] and [2, 2]. */
type Shape = "4" | "2" | "22";

const UNARY = ["tanh", "sin", "square", "sigmoid", "half", "next", "clone", "detach"] as const;
const BINARY = ["mul", "add", "sub"] as const;
const VIEWS = ["low", "high", "even", "square", "flat", "reversed"] as const;
const WRITES = ["double", "next", "tanh", "sin", "zero", "add", "mul", "copy"] as const;
const EDITS = ["double", "zero", "clip", "drop"] as const;

export type Step =
  | { readonly do: "unary"; readonly fn: (typeof UNARY)[number]; readonly x: string; readonly out: string }
  | { readonly do: "binary"; readonly fn: (typeof BINARY)[number]; readonly x: string; readonly y: string; readonly out: string }
  | { readonly do: "view"; readonly fn: (typeof VIEWS)[number]; readonly x: string; readonly out: string; readonly silent: boolean }
  | { readonly do: "write"; readonly fn: (typeof WRITES)[number]; readonly x: string; readonly y: string; readonly silent: boolean }
  | { readonly do: "backward"; readonly x: string; readonly y: string | null; readonly retain: boolean; readonly create: boolean }
  | { readonly do: "grad"; readonly x: string; readonly of: readonly string[]; readonly retain: boolean; readonly out: readonly string[] }
  | { readonly do: "edit"; readonly fn: (typeof EDITS)[number]; readonly x: string }
  | { readonly do: "hook" | "retainGrad"; readonly x: string }
  /** Another function, compiled too where this one is. */
  | { readonly do: "other"; readonly x: string; readonly out: string };

interface Round {
  readonly before: readonly Step[];
  readonly args: readonly string[];
  readonly after: readonly Step[];
}

export interface Program {
  readonly seed: number;
  /** Names and values of leaves that require gradients, and of buffers that do not. */
  readonly leaves: Readonly<Record<string, readonly number[]>>;
  readonly buffers: Readonly<Record<string, readonly number[]>>;
  readonly body: readonly Step[];
  readonly results: readonly string[];
  readonly rounds: readonly Round[];
}

/** xorshift32: the same programs everywhere. */
function chance(seed: number): (below: number) => number {
  let state = (Math.imul(seed + 1, 0x9e3779b1) ^ 0x5bd1e995) >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

class Writer {
  readonly steps: Step[] = [];
  readonly random: (below: number) => number;
  readonly shapes: Map<string, Shape>;
  /** Leaves and views of them: not to be written to while gradients are recorded. */
  readonly leaves: Set<string>;
  readonly #prefix: string;
  #count = 0;

  constructor(random: (below: number) => number, shapes: ReadonlyMap<string, Shape>, leaves: ReadonlySet<string>, prefix: string) {
    this.random = random;
    this.shapes = new Map(shapes);
    this.leaves = new Set(leaves);
    this.#prefix = prefix;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.random(list.length)]!;
  }

  /** A tensor; those made last, and those of the prefix, more often. */
  any(shape?: Shape): string {
    const names = [...this.shapes].filter(([, s]) => shape === undefined || s === shape).map(([n]) => n);
    const own = names.filter((n) => n.startsWith(this.#prefix) || n.startsWith("a"));
    return own.length > 0 && this.random(3) > 0 ? this.pick(own.slice(-4)) : this.pick(names);
  }

  #new(shape: Shape): string {
    const name = `${this.#prefix}${this.#count++}`;
    this.shapes.set(name, shape);
    return name;
  }

  /** One that makes a tensor. */
  make(): void {
    const x = this.any();
    const shape = this.shapes.get(x)!;
    switch (this.random(8)) {
      case 0:
      case 1:
      case 2:
        this.steps.push({ do: "unary", fn: this.pick(UNARY), x, out: this.#new(shape) });
        return;
      case 3:
      case 4:
      case 5:
        this.steps.push({ do: "binary", fn: this.pick(BINARY), x, y: this.any(shape), out: this.#new(shape) });
        return;
      default: {
        const fns = { 4: ["low", "high", "even", "square", "reversed"], 2: ["reversed", "flat"], 22: ["flat"] } as const;
        const fn = this.pick(fns[shape]);
        const to = fn === "square" ? "22" : fn === "flat" ? (shape === "22" ? "4" : "2") : fn === "reversed" ? shape : "2";
        const out = this.#new(to);
        this.steps.push({ do: "view", fn, x, silent: this.random(8) === 0, out });
        if (this.leaves.has(x)) this.leaves.add(out);
      }
    }
  }

  write(): void {
    const x = this.any();
    // Most refusals are of no interest.
    const silent = this.random(5) === 0 || (this.leaves.has(x) && this.random(16) > 0);
    this.steps.push({ do: "write", fn: this.pick(WRITES), x, y: this.any(this.shapes.get(x)), silent });
  }

  gradients(inside: boolean): void {
    const x = this.any();
    const retain = this.random(4) > 0;
    if (inside && this.random(3) === 0) {
      const of = [...new Set([this.any(), this.any()])];
      this.steps.push({ do: "grad", x, of, retain, out: of.map((n) => this.#new(this.shapes.get(n)!)) });
      return;
    }
    const y = this.random(4) === 0 ? this.any(this.shapes.get(x)) : null;
    this.steps.push({ do: "backward", x, y, retain, create: this.random(16) === 0 });
  }

  edit(leaves: readonly string[]): void {
    this.steps.push({ do: "edit", fn: this.pick(EDITS), x: this.pick(leaves) });
  }

  look(): void {
    this.steps.push({ do: this.random(2) ? "hook" : "retainGrad", x: this.any() });
  }

  other(): void {
    const x = this.any("4");
    this.steps.push({ do: "other", x, out: this.#new("4") });
  }
}

export function programOf(seed: number): Program {
  const random = chance(seed);
  const values = (): number[] => Array.from({ length: 4 }, () => (random(31) - 15) / 10);
  const leaves = Object.fromEntries(["w0", "w1"].map((n) => [n, values()]));
  const buffers = { b0: values() };
  const names = Object.keys(leaves);
  const outside = new Map<string, Shape>([...names, "b0"].map((n) => [n, "4"]));

  const making = new Writer(random, outside, new Set(names), "m");
  for (let i = 2 + random(4); i > 0; i--) {
    making.make();
    if (random(4) === 0) making.write();
    if (random(6) === 0) making.other();
    if (random(12) === 0) making.look();
  }
  // The same function may find one of them by closure.
  const made = [...making.shapes.keys()].filter((n) => n.startsWith("m"));
  const reached = random(4) === 0 ? [making.pick(made)] : [];
  const count = 1 + random(2);
  const args = Array.from({ length: count }, () => (random(8) === 0 ? making.any() : making.pick(made)));
  const argShapes = args.map((n) => making.shapes.get(n)!);

  const known = new Map<string, Shape>(outside);
  for (const n of reached) known.set(n, making.shapes.get(n)!);
  argShapes.forEach((s, i) => known.set(`a${i}`, s));
  const leaf = new Set(making.leaves);
  args.forEach((n, i) => making.leaves.has(n) && leaf.add(`a${i}`));
  const body = new Writer(random, known, leaf, "i");
  for (let i = 1 + random(4); i > 0; i--) {
    body.make();
    if (random(4) === 0) body.write();
    if (random(10) === 0) body.look();
    if (random(12) === 0) body.other();
  }
  const passes = random(3);
  for (let i = 0; i < passes; i++) {
    body.gradients(true);
    if (random(3) === 0) body.edit(names);
    if (random(4) === 0) body.make();
    if (random(6) === 0) body.write();
  }
  const inner = [...body.shapes.keys()].filter((n) => n.startsWith("i") || n.startsWith("a"));
  const results = Array.from({ length: random(3) }, () => body.pick(inner));

  const rounds: Round[] = [];
  const renamed = new Map<string, Shape>(making.shapes);
  for (let call = 0; call < 3; call++) {
    const before: Step[] = [];
    const again = call === 0 || random(3) > 0;
    if (again) before.push(...making.steps);
    const callArgs = args.map((n, i) => {
      // A result of the call before.
      const fits = results.flatMap((r, k) => (body.shapes.get(r) === argShapes[i] ? [`r${k}`] : []));
      return call > 0 && fits.length > 0 && random(3) === 0 ? making.pick(fits) : n;
    });
    results.forEach((r, k) => renamed.set(`r${k}`, body.shapes.get(r)!));
    const then = new Writer(random, renamed, making.leaves, "r");
    if (random(3) === 0) then.gradients(false);
    if (random(6) === 0) then.write();
    if (random(6) === 0) then.gradients(false);
    if (random(4) === 0) then.edit(names);
    rounds.push({ before, args: callArgs, after: then.steps });
  }
  return { seed, leaves, buffers, body: body.steps, results, rounds };
}

type Tensors = Map<string, dx.Tensor>;
type Other = (x: dx.Tensor) => dx.Tensor;

const quietly = <T>(silent: boolean, fn: () => T): T => (silent ? dx.noGrad(fn) : fn());

function perform(step: Step, t: Tensors, other: Other): void {
  const x = t.get(step.x)!;
  switch (step.do) {
    case "unary": {
      const { fn } = step;
      t.set(step.out, fn === "half" ? x.mul(0.5) : fn === "next" ? x.add(1) : x[fn]());
      return;
    }
    case "binary":
      t.set(step.out, x[step.fn](t.get(step.y)!));
      return;
    case "view": {
      const fns = {
        low: () => x.slice(0, 0, 2),
        high: () => x.slice(0, 2, 4),
        even: () => x.slice(0, 0, 4, 2),
        square: () => x.view([2, 2]),
        flat: () => x.view([x.size]),
        reversed: () => x.narrow(0, 0, x.size).unsqueeze(0).select(0, 0),
      };
      t.set(step.out, quietly(step.silent, fns[step.fn]));
      return;
    }
    case "write": {
      const y = t.get(step.y)!;
      const fns = {
        double: () => x.mul_(2),
        next: () => x.add_(1),
        tanh: () => x.tanh_(),
        sin: () => x.sin_(),
        zero: () => x.zero_(),
        add: () => x.add_(y),
        mul: () => x.mul_(y),
        copy: () => x.copy_(y),
      };
      quietly(step.silent, fns[step.fn]);
      return;
    }
    case "backward": {
      if (!x.requiresGrad) return;
      const options = { retainGraph: step.retain || step.create, createGraph: step.create };
      if (step.y === null) x.sum().backward(options);
      else x.backward({ ...options, gradient: t.get(step.y)!.detach().clone() });
      return;
    }
    case "grad": {
      const inputs = step.of.map((n) => t.get(n)!);
      const wanted = x.requiresGrad ? inputs.filter((i) => i.requiresGrad) : [];
      const grads = wanted.length === 0 ? [] : dx.grad(x.sum(), wanted, { retainGraph: step.retain, allowUnused: true });
      inputs.forEach((input, i) => t.set(step.out[i]!, grads[wanted.indexOf(input)] ?? input.detach().mul(0)));
      return;
    }
    case "edit":
      if (x.grad === null) return;
      if (step.fn === "double") dx.noGrad(() => x.grad!.mul_(2));
      else if (step.fn === "zero") dx.noGrad(() => x.grad!.zero_());
      else if (step.fn === "clip") dx.nn.utils.clipGradValue_([x], 0.5);
      else x.grad = null;
      return;
    case "hook":
      if (x.requiresGrad) x.registerHook((g) => g.mul(3));
      return;
    case "retainGrad":
      if (x.requiresGrad) x.retainGrad();
      return;
    case "other":
      t.set(step.out, other(x));
      return;
    default:
      step satisfies never;
  }
}

/** What is there after a call: values, gradients, whether gradients flow; or that it was refused. */
export type Seen = { readonly refused: string } | Readonly<Record<string, readonly (number | string)[] | boolean | null>>;

function look(t: Tensors): Seen {
  const seen: Record<string, readonly number[] | boolean | null> = {};
  const read = (x: dx.Tensor): number[] => Array.from(x.detach().contiguous().dataSync() as Float32Array);
  for (const [name, x] of t) {
    seen[name] = read(x);
    seen[`${name}.requiresGrad`] = x.requiresGrad;
    seen[`${name}.grad`] = x.grad === null ? null : read(x.grad);
  }
  return seen;
}

/** After each round; the last one is a refusal where something was refused. */
export function run(program: Program, isCompiled: boolean): Seen[] {
  const t: Tensors = new Map();
  for (const [n, data] of Object.entries(program.leaves)) t.set(n, dx.tensor(data, { requiresGrad: true }));
  for (const [n, data] of Object.entries(program.buffers)) t.set(n, dx.tensor(data));
  const swish: Other = (x) => x.mul(x.sigmoid());
  const other = isCompiled ? dx.compile(swish) : swish;
  const body = (...args: dx.Tensor[]): dx.Tensor[] => {
    const inner: Tensors = new Map(t);
    args.forEach((a, i) => inner.set(`a${i}`, a));
    for (const step of program.body) perform(step, inner, other);
    return program.results.map((n) => inner.get(n)!);
  };
  const call = isCompiled ? dx.compile(body, { name: `seed ${program.seed}` }) : body;
  const seen: Seen[] = [];
  try {
    for (const round of program.rounds) {
      for (const step of round.before) perform(step, t, other);
      const results = call(...round.args.map((n) => t.get(n)!));
      results.forEach((r, k) => t.set(`r${k}`, r));
      for (const step of round.after) perform(step, t, other);
      seen.push(look(t));
    }
  } catch (error) {
    if (!(error instanceof dx.DxError)) throw error;
    seen.push({ refused: `${error.name}: ${error.message}` });
  } finally {
    if (isCompiled) (call as dx.Compiled<dx.Tensor[], dx.Tensor[]>).dispose();
  }
  return seen;
}

const close = (a: number, b: number): boolean => Object.is(a, b) || Math.abs(a - b) <= 1e-4 * Math.max(1, Math.abs(a), Math.abs(b));

/** The first difference, in words; null when there is none. */
export function difference(want: readonly Seen[], got: readonly Seen[]): string | null {
  for (const [i, w] of want.entries()) {
    const g = got[i];
    if (g === undefined) return `round ${i} is missing`;
    if ("refused" in w || "refused" in g) {
      if ("refused" in w && "refused" in g) continue;
      return `round ${i}: ${"refused" in g ? `refused, ${String(g.refused)}` : `not refused, ${String((w as { refused: string }).refused)}`}`;
    }
    for (const [name, value] of Object.entries(w)) {
      const other = (g as Record<string, unknown>)[name];
      const same =
        Array.isArray(value) && Array.isArray(other)
          ? value.length === other.length && value.every((v, k) => close(Number(v), Number(other[k])))
          : value === other;
      if (!same) return `round ${i}, ${name}: ${JSON.stringify(other)}, not ${JSON.stringify(value)}`;
    }
  }
  return null;
}

export const textOf = (program: Program): string => JSON.stringify(program, null, 1);
