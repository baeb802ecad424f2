/** Hooks of modules: functions that run before or after forward(), with gradients, and when a state is made or loaded. */
import { defineFunction } from "../autograd/function.ts";
import { AutogradError, ValueError } from "../core/errors.ts";
import { changing, modes } from "../core/journal.ts";
import { Tensor } from "../core/tensor.ts";

/** The handle of a module's hook. `using handle = …` removes the hook at the end of the block. Reference: torch.utils.hooks.RemovableHandle. */
export interface RemovableHandle {
  /** Removes the hook. A second call does nothing. */
  remove(): void;
  /** Removes the hook: for `using`. */
  [Symbol.dispose](): void;
}

/** Where a hook stands among those of its kind. */
export interface HookOptions {
  /** Whether it runs before the hooks that are there already. Default: false. */
  readonly prepend?: boolean | undefined;
}

/** Options of registerForwardHook(). */
export interface ForwardHookOptions extends HookOptions {
  /** Whether it also runs where forward() or an earlier hook throws, with the output undefined. What it throws then is not seen. Default: false. */
  readonly alwaysCall?: boolean | undefined;
}

/** Gradients by position; null for what is no tensor or requires no gradient. */
export type HookGradients = readonly (Tensor | null)[];

/** What a hook may return: nothing, or what replaces the value. */
type Returned<T> = T | null | void;

/** Of a class that is more special, hooks take more special values: hooks' types do not keep its modules from being taken for the others. */
type Loose<F extends { hook: unknown }> = F["hook"] & {
  /** Marks the type; hooks do not have it. */
  readonly isHook?: undefined;
};

/** What registerForwardPreHook() takes: it gives nothing, or what replaces the inputs, a list or one value. */
export type ForwardPreHook<M, Inputs> = Loose<{
  hook(module: M, inputs: Inputs): readonly unknown[] | Tensor | null | void;
}>;

/** What registerForwardHook() takes: it gives nothing, or what replaces the output. */
export type ForwardHook<M, Inputs, Output> = Loose<{
  hook(module: M, inputs: Inputs, output: Output): Output | null | void;
}>;

/** @internal The kinds of hooks, as a module keeps them. `never` stands for the module and its values. */
export interface HookKinds {
  forwardPre: (module: never, inputs: never) => unknown;
  forward: (module: never, inputs: never, output: never) => unknown;
  backwardPre: (module: never, gradOutput: HookGradients) => Returned<Tensor | HookGradients>;
  backward: (module: never, gradInput: HookGradients, gradOutput: HookGradients) => Returned<Tensor | HookGradients>;
  stateDictPre: (module: never, prefix: string) => void;
  stateDictPost: (module: never, state: Record<string, Tensor>, prefix: string) => Returned<Record<string, Tensor>>;
  loadStateDictPre: (module: never, state: Record<string, Tensor>, prefix: string) => void;
  loadStateDictPost: (module: never, keys: { readonly missing: string[]; readonly unexpected: string[] }) => void;
}

type Kind = keyof HookKinds;

interface Entry {
  readonly hook: (...values: never[]) => unknown;
  readonly alwaysCall: boolean;
}

/** What hooks need of a module. */
interface Hooked {
  forward(...inputs: never[]): unknown;
}

const FORWARD: readonly Kind[] = ["forwardPre", "forward", "backwardPre", "backward"];

/** @internal The hooks of one module. While there are hooks of forward(), the module has a forward() of its own that runs them: others pay nothing. */
export class Hooks {
  /** The module that they belong to. */
  readonly module: Hooked;
  #lists: Readonly<Partial<Record<Kind, readonly Entry[]>>> = {};
  /** The module's own field `forward`, where its class has one. */
  #own: PropertyDescriptor | undefined;
  #isInstalled = false;

  constructor(module: Hooked) {
    this.module = module;
  }

  get isInstalled(): boolean {
    return this.#isInstalled;
  }

  /** The module's own field `forward`, without hooks. */
  get ownForward(): PropertyDescriptor | undefined {
    return this.#own;
  }

  /** Takes over the hooks of a module of which `#module` is a copy. */
  copyFrom(other: Hooks): void {
    this.#set(other.#lists);
  }

  add(
    operation: string,
    kind: Kind,
    hook: HookKinds[Kind],
    { prepend = false, alwaysCall = false }: ForwardHookOptions = {},
  ): RemovableHandle {
    if (typeof hook !== "function") throw new ValueError(operation, "hook", "a function", hook);
    const entry: Entry = { hook, alwaysCall };
    const before = this.#lists[kind] ?? [];
    this.#change({ ...this.#lists, [kind]: prepend ? [entry, ...before] : [...before, entry] });
    const remove = (): void => {
      const left = (this.#lists[kind] ?? []).filter((e) => e !== entry);
      if (left.length !== (this.#lists[kind] ?? []).length) this.#change({ ...this.#lists, [kind]: left });
    };
    return { remove, [Symbol.dispose]: remove };
  }

  run<K extends Kind>(kind: K, each: (hook: HookKinds[K]) => void): void {
    for (const { hook } of this.#lists[kind] ?? []) each(hook as HookKinds[K]);
  }

  has(kind: Kind): boolean {
    return (this.#lists[kind] ?? []).length > 0;
  }

  /** A call of a compiled function that fails takes its hooks back. */
  #change(lists: Readonly<Partial<Record<Kind, readonly Entry[]>>>): void {
    changing(this, () => {
      const before = this.#lists;
      return () => {
        this.#set(before);
      };
    });
    this.#set(lists);
  }

  #set(lists: Readonly<Partial<Record<Kind, readonly Entry[]>>>): void {
    this.#lists = lists;
    modes.changes++;
    const isNeeded = FORWARD.some((kind) => this.has(kind));
    if (isNeeded === this.#isInstalled) return;
    const module = this.module;
    if (isNeeded) {
      this.#own = Object.getOwnPropertyDescriptor(module, "forward");
      const value = (...inputs: unknown[]): unknown => this.#forward(inputs);
      Object.defineProperty(module, "forward", { value, configurable: true, enumerable: false, writable: true });
    } else if (this.#own === undefined) delete (module as Partial<Hooked>).forward;
    else Object.defineProperty(module, "forward", this.#own);
    this.#isInstalled = isNeeded;
  }

  #forward(received: readonly unknown[]): unknown {
    const done = new Set<Entry>();
    try {
      return this.#hookedForward(received, done);
    } catch (error) {
      for (const entry of this.#lists.forward ?? []) {
        if (!entry.alwaysCall || done.has(entry)) continue;
        try {
          entry.hook(this.module as never, received as never, undefined as never);
        } catch {
          // The first error is what the caller has to see.
        }
      }
      throw error;
    }
  }

  #hookedForward(received: readonly unknown[], done: Set<Entry>): unknown {
    const module = this.module as never;
    let inputs: readonly unknown[] = received;
    for (const { hook } of this.#lists.forwardPre ?? []) {
      const next = hook(module, inputs as never);
      if (next !== undefined && next !== null) inputs = Array.isArray(next) ? (next as unknown[]) : [next];
    }
    const backward = this.has("backward") || this.has("backwardPre") ? new BackwardHooks(this.module, this) : null;
    if (backward !== null) inputs = backward.watchInputs(inputs);
    const own = this.#own?.value as Hooked["forward"] | undefined;
    const forward = own ?? (Object.getPrototypeOf(this.module) as Hooked).forward;
    let output: unknown = forward.apply(this.module, inputs as never[]);
    for (const entry of this.#lists.forward ?? []) {
      done.add(entry);
      const next = entry.hook(module, inputs as never, output as never);
      if (next !== undefined && next !== null) output = next;
    }
    return backward === null ? output : backward.watchOutput(output);
  }
}

/** One call of a module whose gradients hooks see: identities around it, whose backward passes run them. */
class BackwardHooks {
  readonly #module: Hooked;
  readonly #hooks: Hooks;
  #inputs = 0;
  /** Positions of the inputs whose gradients come. */
  #watched: readonly number[] = [];
  #gradOutput: HookGradients = [];

  constructor(module: Hooked, hooks: Hooks) {
    this.#module = module;
    this.#hooks = hooks;
  }

  watchInputs(inputs: readonly unknown[]): readonly unknown[] {
    this.#inputs = inputs.length;
    const watched = inputs.flatMap((x, i) => (x instanceof Tensor && x.requiresGrad ? [i] : []));
    if (watched.length === 0) return inputs;
    this.#watched = watched;
    const pass = identityOf("moduleInputs", (gradients) => {
      const all = this.#spread(this.#inputs, watched, gradients);
      return this.#hooked(all);
    });
    const passed = pass(...watched.map((i) => inputs[i] as Tensor));
    const next = [...inputs];
    watched.forEach((i, k) => (next[i] = passed[k]));
    return next;
  }

  watchOutput(output: unknown): unknown {
    const isOne = output instanceof Tensor;
    const values: Readonly<Record<string, unknown>> = isOne
      ? { 0: output }
      : typeof output === "object" && output !== null
        ? { ...output }
        : {};
    const names = Object.keys(values);
    const watched = names.flatMap((name, i) => (values[name] instanceof Tensor && values[name].requiresGrad ? [i] : []));
    if (watched.length === 0) return output;
    const pass = identityOf("moduleOutputs", (gradients) => {
      let all: HookGradients = this.#spread(names.length, watched, gradients);
      this.#hooks.run("backwardPre", (hook) => {
        all = this.#returned("registerFullBackwardPreHook", hook(this.#module as never, all), all);
      });
      this.#gradOutput = all;
      // Without an input that requires a gradient no later one comes.
      if (this.#watched.length === 0) this.#hooked(this.#spread(this.#inputs, [], []));
      return watched.map((i) => all[i] ?? null);
    });
    const passed = pass(...watched.map((i) => values[names[i]!] as Tensor));
    if (isOne) return passed[0];
    const next = Array.isArray(output) ? [...(output as unknown[])] : { ...values };
    watched.forEach((i, k) => ((next as Record<string, unknown>)[names[i]!] = passed[k]));
    return next;
  }

  #spread(length: number, at: readonly number[], gradients: readonly Tensor[]): (Tensor | null)[] {
    const all = new Array<Tensor | null>(length).fill(null);
    at.forEach((i, k) => (all[i] = gradients[k]!));
    return all;
  }

  /** The gradients of the watched inputs after all hooks. */
  #hooked(gradInput: HookGradients): (Tensor | null)[] {
    let all = gradInput;
    this.#hooks.run("backward", (hook) => {
      const returned = hook(this.#module as never, all, this.#gradOutput);
      if (this.#watched.length === 0 && returned !== undefined && returned !== null)
        throw new AutogradError({
          operation: "registerFullBackwardHook",
          argument: "what the hook returned",
          expected: "nothing where no input of the module requires a gradient",
          received: returned instanceof Tensor ? returned.describe() : "gradients",
        });
      all = this.#returned("registerFullBackwardHook", returned, all);
    });
    return this.#watched.map((i) => all[i] ?? null);
  }

  #returned(operation: string, returned: unknown, before: HookGradients): HookGradients {
    if (returned === undefined || returned === null) return before;
    const next = (returned instanceof Tensor ? [returned] : returned) as HookGradients;
    if (!Array.isArray(next) || next.length !== before.length || next.some((g) => g !== null && !(g instanceof Tensor)))
      throw new AutogradError({
        operation,
        argument: "what the hook returned",
        expected: `nothing, or ${before.length} gradients (tensors or null)`,
        received: Array.isArray(next) ? `${next.length} values` : typeof returned,
      });
    return next;
  }
}

/** Passes tensors on; backward gives their gradients to `seen`, and its result to what comes before. */
const identityOf = (
  name: string,
  seen: (gradients: readonly Tensor[]) => (Tensor | null)[],
): ((...tensors: Tensor[]) => readonly Tensor[]) =>
  defineFunction<Tensor[], readonly Tensor[]>({
    name,
    forward: (_, ...tensors) => tensors,
    backward: (_, ...gradients) => seen(gradients),
  });
