/** Runs the statements of a program with the library's public functions and methods. */
import * as dx from "../../src/index.ts";
import type { Argument, Statement } from "./language.ts";

/** The library has no operation of this name. */
export class Missing extends Error {}
/** A statement needs what an earlier one did not leave: a gradient that is null, a name without a value. */
export class MissingState extends Error {}

type Value = dx.Tensor | string | number | boolean | null | readonly Value[] | Options;
interface Options {
  readonly [name: string]: Value;
}
type Call = (...args: unknown[]) => unknown;
interface Optimizer {
  step(): void;
  zeroGrad(options: { setToNull: boolean }): void;
}

const indexOptions = { dtype: "int64" } as const;

/** Calls whose indices are int64 in PyTorch, where that is a choice here, and a method that is no function. */
const special: Readonly<Record<string, (x: dx.Tensor, ...rest: never[]) => unknown>> = {
  maxAxis: (x, axis: number, options?: object) => {
    const { values, indices } = dx.max(x, axis, { ...options, ...indexOptions });
    return [values, indices];
  },
  minAxis: (x, axis: number, options?: object) => {
    const { values, indices } = dx.min(x, axis, { ...options, ...indexOptions });
    return [values, indices];
  },
  argmax: (x, axis: number | null = null, options?: object) => dx.argmax(x, axis, { ...options, ...indexOptions }),
  argmin: (x, axis: number | null = null, options?: object) => dx.argmin(x, axis, { ...options, ...indexOptions }),
  set: (x, indices: dx.Index[], value: dx.Tensor | number) => x.set(indices, value),
};

/** Options come after the axis, which a program leaves out when it means all. */
const overAllAxes = new Set(["sum", "mean", "prod", "amax", "amin", "any", "all", "std", "var"]);

const functions = dx as unknown as Readonly<Record<string, Call | undefined>>;
const makers = dx.optim as unknown as Readonly<Record<string, Call | undefined>>;

export class Machine {
  readonly tensors = new Map<string, dx.Tensor>();
  readonly optimizers = new Map<string, Optimizer>();
  readonly hooks: { remove(): void }[] = [];
  /** Statements done beforehand. */
  readonly done: ReadonlySet<Statement>;
  /** Indices in the nested bodies of the statement that runs, or of the one that threw. */
  readonly path: number[] = [];

  constructor(done: Iterable<Statement> = []) {
    this.done = new Set(done);
  }

  tensor(name: string): dx.Tensor {
    const t = this.tensors.get(name);
    if (t === undefined) throw new MissingState(`${name} has no value`);
    return t;
  }

  /** The value of an entry of `out`. */
  result(out: string): dx.Tensor | null {
    return out.endsWith(".grad") ? this.tensor(out.slice(1, -5)).grad : this.tensor(out.slice(1));
  }

  run(body: readonly Statement[]): void {
    for (const [i, statement] of body.entries()) {
      this.path.push(i);
      if (!this.done.has(statement)) this.do(statement);
      this.path.pop();
    }
  }

  do(s: Statement): void {
    const operand = (): dx.Tensor => this.#value(s.a![0]!) as dx.Tensor;
    switch (s.o) {
      case "noGrad":
      case "enableGrad":
        dx[s.o](() => {
          this.run(s.body!);
        });
        return;
      case "sgd":
      case "adam":
      case "adamW":
        this.#make(s);
        return;
      case "step":
        this.optimizers.get(s.a![0] as string)!.step();
        return;
      case "zeroGrad":
        this.optimizers.get(s.a![0] as string)!.zeroGrad({ setToNull: s.k?.setToNull !== false });
        return;
      case "hook": {
        const scale = s.k!.scale as number;
        this.hooks.push(operand().registerHook((gradient) => dx.mul(gradient, scale)));
        return;
      }
      case "clearGrad":
        operand().grad = null;
        return;
      case "backward":
        operand().backward(this.#options(s));
        return;
      case "grad":
        this.#bind(s, dx.grad(operand(), this.#value(s.a![1]!) as unknown as dx.Tensor[], this.#options(s)));
        return;
      default:
        this.#bind(s, this.#call(s));
    }
  }

  #make(s: Statement): void {
    const make = makers[s.o];
    if (make === undefined) throw new Missing(`optim.${s.o}`);
    this.optimizers.set(s.r as string, make(this.#value(s.a![0]!), { ...s.k }) as Optimizer);
  }

  #call(s: Statement): unknown {
    const args: unknown[] = (s.a ?? []).map((a) => this.#value(a));
    if (s.k !== undefined) {
      if (overAllAxes.has(s.o) && args.length === 1) args.push(null);
      args.push({ ...s.k });
    }
    const own = special[s.o] as Call | undefined;
    if (own !== undefined) return own(...args);
    const call = s.o.endsWith("_") ? undefined : functions[s.o];
    if (typeof call === "function") return call(...args);
    const method = (args[0] as Record<string, unknown> | undefined)?.[s.o];
    if (typeof method !== "function") throw new Missing(s.o);
    return (method as Call).apply(args[0], args.slice(1));
  }

  #options(s: Statement): object {
    return Object.fromEntries(Object.entries(s.k ?? {}).map(([name, v]) => [name, name === "gradient" ? this.#value(v) : v]));
  }

  #value(a: Argument): Value {
    if (typeof a === "string" && a.startsWith("$")) {
      const found = this.result(a);
      if (found === null) throw new MissingState(`${a} is null`);
      return found;
    }
    return Array.isArray(a) ? a.map((part: Argument) => this.#value(part)) : (a as Value);
  }

  #bind(s: Statement, result: unknown): void {
    if (s.r === undefined) return;
    const names = typeof s.r === "string" ? [s.r] : s.r;
    const results = typeof s.r === "string" ? [result] : result;
    if (!Array.isArray(results) || results.length !== names.length)
      throw new MissingState(`${s.o} gave ${Array.isArray(results) ? results.length : typeof results} results, not ${names.length}`);
    for (const [i, name] of names.entries()) this.tensors.set(name, results[i] as dx.Tensor);
  }
}
