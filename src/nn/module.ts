/** Module: the base of all layers and models, which finds its parameters, buffers and submodules. */
import { inspect } from "node:util";
import { copyMark, isForeign, ownCopy, type Copy } from "../core/copies.ts";
import { device as deviceOf, deviceNames, type DeviceLike } from "../core/device.ts";
import { dtypeNamed, isDType, isFloat, type DType } from "../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { noGrad } from "../autograd/grad-mode.ts";
import { changing, modes } from "../core/journal.ts";
import { copyInto } from "../ops/data/copy.ts";
import { empty } from "../ops/creation/creation.ts";
import { to } from "../ops/data/conversion.ts";
import { requireElements } from "../runtime/meta.ts";
import { keep, outsideScopes } from "../core/scope.ts";
import { sameShape, showShape } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { copied, copiedTensor, copyFields, type Copies } from "./clone.ts";
import {
  Hooks,
  type ForwardHook,
  type ForwardPreHook,
  type ForwardHookOptions,
  type HookGradients,
  type HookKinds,
  type HookOptions,
  type RemovableHandle,
} from "./hooks.ts";
import { INNER } from "./inner.ts";
import { Parameter } from "./parameter.ts";
import { sitesIn, type Site } from "./sites.ts";

/** Tensors by name, "0.weight": what a module knows, or a file holds. */
export type StateDict = Record<string, Tensor>;

interface Buffer {
  readonly tensor: Tensor;
  readonly persistent: boolean;
}

/** What a value of a field holds: itself, or what is in arrays, plain objects and Maps. around: those that it is in. */
function* membersIn(name: string, value: unknown, around: readonly object[]): Generator<[string, Parameter | Module]> {
  if (value instanceof Parameter || value instanceof Module || isForeignMember(value)) yield [name, value];
  else if (typeof value !== "object" || value === null) return;
  else if (!around.includes(value))
    for (const [key, inner] of entriesIn(value, around.length)) {
      const found = membersIn(`${name}.${String(key)}`, inner, [...around, value]);
      if (typeof key === "string" || typeof key === "number") yield* found;
      else if (found.next().done !== true) throw new ValueError("Module", name, "a Map of strings or numbers to what it holds", key);
    }
}

/** A module or what may be a parameter, of another copy of this package. */
const isForeignMember = (value: unknown): value is Module | Parameter =>
  isForeign(value) && (typeof value === "function" || (value as Tensor).requiresGrad);

function entriesIn(value: object, depth: number): Iterable<readonly [key: unknown, inner: unknown]> {
  // Rows of numbers are data: nobody looks through them.
  if (Array.isArray(value)) return depth > 0 && typeof value[0] !== "object" && typeof value[0] !== "function" ? [] : value.entries();
  if (value instanceof Map) return value.entries();
  if (value instanceof Set) return [...value].entries();
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? Object.entries(value) : [];
}

/** Anything that maps one tensor to one. */
export interface Layer extends Module {
  (x: Tensor): Tensor;
  /** The layer's result for x: what a call of the layer runs. */
  forward(x: Tensor): Tensor;
}

/** Objects of these classes are functions: called, they run forward(). */
abstract class Callable {
  constructor() {
    const self = (...inputs: never[]): unknown => (self as unknown as Callable).forward(...inputs);
    // A module's own fields may be called so.
    for (const name of ["name", "length"]) delete (self as unknown as Record<string, unknown>)[name];
    return Object.setPrototypeOf(self, new.target.prototype as object) as Callable;
  }

  /** What the module computes of its inputs: what a call of it runs. Each class says what it takes. */
  abstract forward(...inputs: never[]): unknown;
}

/**
 * Called like a function, `model(x)` runs `model.forward(x)`.
 *
 * Parameters and modules in the object's own fields (also in arrays, plain objects, Maps and Sets there, at any depth) are found and named
 * by the field: `this.fc1 = linear(2, 3)` gives "fc1.weight", `this.heads = { a: linear(2, 3) }` "heads.a.weight". Every field counts, whatever
 * its name, but private ones: what a class holds as `#teacher` is invisible from outside, so it is no part of the module, for `parameters()`, `eval()`,
 * `to()` and `stateDict()` alike. That is the way to hold a module without registering it. Buffers (state that no gradient changes) are registered by
 * registerBuffer(). Reference: torch.nn.Module.
 */
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging -- the way to say that objects of a class can be called
export abstract class Module extends Callable {
  /** Whether layers such as dropout behave as in training. Set by train() and eval(). */
  training = true;
  readonly #buffers = new Map<string, Buffer>();
  #hooks: Hooks | null = null;

  /** @internal */
  get [copyMark](): Copy {
    return ownCopy();
  }

  /** @internal Own parameters and modules by name. */
  *members(): Generator<[string, Parameter | Module]> {
    for (const [name, value] of Object.entries(this) as [string, unknown][]) {
      for (const member of membersIn(name, value, [])) {
        if (isForeign(member[1])) throw new DTypeError(this.constructor.name, member[0], "a module or parameter", member[1]);
        yield member;
      }
    }
  }

  /**
   * Makes a tensor part of the state: it moves with the module and, if persistent, is saved with it. `this[name]` is the tensor, and takes
   * another one. Returns it. Throws ValueError for a name that the module uses otherwise.
   */
  registerBuffer(
    name: string,
    tensor: Tensor,
    {
      persistent = true,
    }: {
      /** Whether it is part of stateDict(). Default: true. */
      readonly persistent?: boolean;
    } = {},
  ): Tensor {
    if (name === "" || name.includes(".")) throw new ValueError("registerBuffer", "name", "not empty and without a dot", name);
    const before = (this as unknown as Record<string, unknown>)[name];
    if (before !== undefined && before !== null && before !== tensor && !this.#buffers.has(name))
      throw new ValueError("registerBuffer", "name", "one that the module does not use yet", name);
    this.#buffers.set(name, { tensor: keep(tensor), persistent });
    Object.defineProperty(this, name, {
      get: () => this.#buffers.get(name)?.tensor,
      set: (next: unknown) => {
        if (!(next instanceof Tensor)) throw new DTypeError(this.constructor.name, name, "a tensor, since it is a buffer", next);
        this.#buffers.set(name, { tensor: keep(next), persistent });
      },
      enumerable: true,
      configurable: true,
    });
    return tensor;
  }

  /** @internal Where the module itself holds tensors: its fields, arrays, objects, Maps and Sets there, and buffers. */
  *sites(): Generator<Site> {
    const own = this as unknown as Record<PropertyKey, unknown>;
    for (const key of Object.keys(this)) {
      if (this.#buffers.has(key)) continue;
      yield* sitesIn(own[key], (next) => (own[key] = next), []);
    }
    if (INNER in this) yield* sitesIn(own[INNER], () => {}, []);
    for (const [name, { tensor, persistent }] of this.#buffers)
      yield { tensor, put: (next) => void this.#buffers.set(name, { tensor: next, persistent }) };
  }

  /**
   * A copy that shares nothing with the module: parameters are new leaves with the same values and gradients, buffers are copied, and what is held
   * twice (tied weights) is held twice in the copy. Hooks are taken over. Generators, functions and objects of other classes in fields are shared.
   * A class with private fields (`#name`) of its own overrides clone(), since nobody else can copy them.
   * copies: what is copied already, with its copy. Throws AutogradError for a field that holds the result of an operation that requires a gradient.
   * Reference: copy.deepcopy of a torch.nn.Module.
   */
  clone(copies: Map<object, unknown> = new Map()): this {
    if (!(copies instanceof Map)) throw new ValueError("clone", "copies", "a Map of objects to their copies", copies);
    const known: Copies = copies;
    // Of this class, without its constructor: that of Module makes what Module has of its own.
    const copy = Reflect.construct(Module, [], this.constructor as new () => object) as this;
    known.set(this, copy);
    const isModule = (value: object): value is Module => value instanceof Module;
    const leftOut = new Set<PropertyKey>(this.#buffers.keys());
    if (this.#hooks?.isInstalled === true) leftOut.add("forward");
    copyFields(this, copy, (value) => copied(value, known, isModule), leftOut);
    for (const [name, { tensor, persistent }] of this.#buffers) copy.registerBuffer(name, copiedTensor(tensor, known), { persistent });
    if (this.#hooks !== null) {
      const { ownForward } = this.#hooks;
      if (ownForward !== undefined) Object.defineProperty(copy, "forward", ownForward);
      copy.#hooked.copyFrom(this.#hooks);
    }
    return copy;
  }

  get #hooked(): Hooks {
    return (this.#hooks ??= new Hooks(this as unknown as { forward: (...inputs: never[]) => unknown }));
  }

  /**
   * Calls hook before forward(), with the list of inputs. What it returns, a list or one value, replaces them. Hooks run in the order of their
   * registration, whether the module is called or its forward(). Returns a handle that removes the hook. Throws ValueError for what is no function.
   * Reference: torch.nn.Module.register_forward_pre_hook.
   */
  registerForwardPreHook(hook: ForwardPreHook<this, ForwardInputs<this["forward"]>>, options: HookOptions = {}): RemovableHandle {
    return this.#hooked.add("registerForwardPreHook", "forwardPre", hook as HookKinds["forwardPre"], options);
  }

  /**
   * Calls hook behind forward(), with the list of inputs and the output. What it returns replaces the output.
   * Reference: torch.nn.Module.register_forward_hook.
   */
  registerForwardHook(
    hook: ForwardHook<this, ForwardInputs<this["forward"]>, ReturnType<this["forward"]>>,
    options: ForwardHookOptions = {},
  ): RemovableHandle {
    return this.#hooked.add("registerForwardHook", "forward", hook as HookKinds["forward"], options);
  }

  /**
   * Calls hook with the gradients of the outputs (a tensor, a list, or an object of tensors) before the module's backward pass, by position. What it
   * returns replaces them. Reference: torch.nn.Module.register_full_backward_pre_hook.
   */
  registerFullBackwardPreHook(
    hook: (module: this, gradOutput: HookGradients) => Tensor | HookGradients | null | void,
    options: HookOptions = {},
  ): RemovableHandle {
    return this.#hooked.add("registerFullBackwardPreHook", "backwardPre", hook as HookKinds["backwardPre"], options);
  }

  /**
   * Calls hook when the gradients of the inputs are known, with them and those of the outputs. What it returns replaces the inputs'
   * gradients; the parameters' are not changed by it. Where no input requires a gradient it is called with nulls, and may return nothing.
   * Inputs that are tensors themselves count, not those in lists. Reference: torch.nn.Module.register_full_backward_hook.
   */
  registerFullBackwardHook(
    hook: (module: this, gradInput: HookGradients, gradOutput: HookGradients) => Tensor | HookGradients | null | void,
    options: HookOptions = {},
  ): RemovableHandle {
    return this.#hooked.add("registerFullBackwardHook", "backward", hook as HookKinds["backward"], options);
  }

  /** Calls hook before stateDict() reads this module. prefix: the module's name in the state, with a dot, or "". Reference: torch.nn.Module.register_state_dict_pre_hook. */
  registerStateDictPreHook(hook: (module: this, prefix: string) => void): RemovableHandle {
    return this.#hooked.add("registerStateDictPreHook", "stateDictPre", hook as HookKinds["stateDictPre"]);
  }

  /**
   * Calls hook when stateDict() has read this module and those inside, with the state so far, which it may change. At the module whose stateDict() was
   * called, what it returns replaces the state. Reference: torch.nn.Module.register_state_dict_post_hook.
   */
  registerStateDictPostHook(hook: (module: this, state: StateDict, prefix: string) => StateDict | null | void): RemovableHandle {
    return this.#hooked.add("registerStateDictPostHook", "stateDictPost", hook as HookKinds["stateDictPost"]);
  }

  /**
   * Calls hook before loadStateDict() loads this module, with a copy of the whole state, in which it may rename or remove entries.
   * Reference: torch.nn.Module.register_load_state_dict_pre_hook.
   */
  registerLoadStateDictPreHook(hook: (module: this, state: StateDict, prefix: string) => void): RemovableHandle {
    return this.#hooked.add("registerLoadStateDictPreHook", "loadStateDictPre", hook as HookKinds["loadStateDictPre"]);
  }

  /**
   * Calls hook when loadStateDict() has copied the values, with the names that were missing or unknown. It may remove names from the lists: what is left
   * is the result, and with strict an error. Reference: torch.nn.Module.register_load_state_dict_post_hook.
   */
  registerLoadStateDictPostHook(
    hook: (module: this, keys: { readonly missing: string[]; readonly unexpected: string[] }) => void,
  ): RemovableHandle {
    return this.#hooked.add("registerLoadStateDictPostHook", "loadStateDictPost", hook as HookKinds["loadStateDictPost"]);
  }

  /** The modules directly inside, by name. */
  *namedChildren(): Generator<[string, Module]> {
    for (const [name, member] of this.members()) if (member instanceof Module) yield [name, member];
  }

  /** The modules directly inside. Reference: torch.nn.Module.children. */
  children(): Module[] {
    return [...this.namedChildren()].map(([, m]) => m);
  }

  /** This module ("" ) and all inside it, each once, by dotted name. */
  *namedModules(prefix = "", seen: Set<Module> = new Set()): Generator<[string, Module]> {
    if (seen.has(this)) return;
    seen.add(this);
    yield [prefix, this];
    for (const [name, child] of this.namedChildren()) yield* child.namedModules(prefix === "" ? name : `${prefix}.${name}`, seen);
  }

  /** This module and all inside it, each once. Reference: torch.nn.Module.modules. */
  modules(): Module[] {
    return [...this.namedModules()].map(([, m]) => m);
  }

  /** All parameters by dotted name; one that is shared appears once, under its first name. */
  *namedParameters(): Generator<[string, Parameter]> {
    const seen = new Set<Parameter>();
    for (const [prefix, module] of this.namedModules()) {
      for (const [name, member] of module.members()) {
        if (!(member instanceof Parameter) || seen.has(member)) continue;
        seen.add(member);
        yield [prefix === "" ? name : `${prefix}.${name}`, member];
      }
    }
  }

  /** All parameters of this module and of those inside, each once: what an optimizer takes. Reference: torch.nn.Module.parameters. */
  parameters(): Parameter[] {
    return [...this.namedParameters()].map(([, p]) => p);
  }

  /** All buffers by dotted name. */
  *namedBuffers(): Generator<[string, Tensor]> {
    for (const [name, { tensor }] of this.#allBuffers()) yield [name, tensor];
  }

  *#allBuffers(): Generator<[string, Buffer]> {
    for (const [prefix, module] of this.namedModules())
      for (const [name, buffer] of module.#buffers) yield [prefix === "" ? name : `${prefix}.${name}`, buffer];
  }

  /** All buffers of this module and of those inside. Reference: torch.nn.Module.buffers. */
  buffers(): Tensor[] {
    return [...this.namedBuffers()].map(([, t]) => t);
  }

  /** Sets the mode of this module and all inside. Returns the module. */
  train(mode = true): this {
    for (const m of this.modules()) {
      if (m.training === mode) continue;
      modes.changes++;
      changing(m, () => {
        const before = m.training;
        return () => {
          m.training = before;
          modes.changes++;
        };
      });
      m.training = mode;
    }
    return this;
  }

  /** Sets the mode of use, train(false): dropout passes its input on, batch norm takes its running statistics. Returns the module. Reference: torch.nn.Module.eval. */
  eval(): this {
    return this.train(false);
  }

  /** Calls fn with every module inside, and then with this one. Returns the module. Reference: torch.nn.Module.apply. */
  apply(fn: (module: Module) => void): this {
    const visit = (module: Module, around: readonly Module[]): void => {
      for (const [name, child] of module.namedChildren()) visit(requireOutside("apply", name, child, around), [...around, child]);
      fn(module);
    };
    visit(this, [this]);
    return this;
  }

  /** Takes the gradients away; with setToNull false fills them with zeros. */
  zeroGrad({
    setToNull = true,
  }: {
    /** Whether gradients become null; false fills them with zeros. Default: true. */
    readonly setToNull?: boolean;
  } = {}): void {
    for (const p of this.parameters()) clearGradient(p, setToNull);
  }

  /** Whether the parameters require gradients. Returns the module. */
  requiresGrad_(mode = true): this {
    for (const p of this.parameters()) p.leafRequiresGrad = mode;
    return this;
  }

  /**
   * Moves parameters, gradients and buffers to a device, or casts the floating ones to a dtype. The tensors stay the same
   * objects, so an optimizer that holds them goes on working. Returns the module.
   */
  to(target: DeviceLike | DType): this {
    const meant = typeof target === "string" ? dtypeNamed(target) : undefined;
    if (meant !== undefined)
      throw new DTypeError(
        "Module.to",
        "target",
        `a dtype's name, or a device: ${deviceNames((k) => k.hasElements)}`,
        target,
        `Did you mean ${meant}?`,
      );
    if (isDType(target) && !isFloat(target)) throw new DTypeError("Module.to", "dtype", "a floating one", target);
    const device = isDType(target) ? target : deviceOf(target);
    noGrad(() =>
      outsideScopes(() => {
        for (const t of new Set<Tensor>([...this.parameters(), ...this.buffers()])) {
          for (const each of t.grad === null ? [t] : [t, t.grad])
            if (!isDType(device) || isFloat(each.dtype)) replace(each, to(each, device));
        }
      }),
    );
    return this;
  }

  /**
   * Gives parameters, gradients and buffers memory on a device, filled with zeros: for a module that was made on `meta`, before its state is loaded.
   * Shapes, dtypes and the tensors as objects stay. Returns the module. Reference: torch.nn.Module.to_empty.
   */
  toEmpty(target: DeviceLike): this {
    const device = deviceOf(target);
    noGrad(() =>
      outsideScopes(() => {
        for (const t of new Set<Tensor>([...this.parameters(), ...this.buffers()]))
          for (const each of t.grad === null ? [t] : [t, t.grad]) replace(each, empty(each.shape, { dtype: each.dtype, device: device }));
      }),
    );
    return this;
  }

  /** Parameters and persistent buffers by dotted name. The tensors share the module's storage. */
  stateDict(): StateDict {
    const modules = this.#withHooks(["stateDictPre", "stateDictPost"]);
    for (const [prefix, hooks] of modules) hooks.run("stateDictPre", (hook) => hook(hooks.module as never, prefix));
    let state: StateDict = {};
    for (const [name, t] of this.#state()) state[name] = new Tensor(t.storage, t.desc, t.offset);
    // Inner modules come first, and this one last.
    for (const [prefix, hooks] of modules.toReversed())
      hooks.run("stateDictPost", (hook) => {
        const next = hook(hooks.module as never, state, prefix);
        if (next !== undefined && next !== null && prefix === "") state = next;
      });
    return state;
  }

  /** The modules that have hooks of these kinds, outer ones first, by their prefix in the state. */
  #withHooks(kinds: readonly (keyof HookKinds)[]): (readonly [prefix: string, hooks: Hooks])[] {
    const found: (readonly [string, Hooks])[] = [];
    for (const [name, m] of this.namedModules())
      if (m.#hooks !== null && kinds.some((kind) => m.#hooks!.has(kind))) found.push([name === "" ? "" : `${name}.`, m.#hooks]);
    return found;
  }

  /** @internal Whether hooks see what stateDict() gives, or what loadStateDict() takes. */
  get hasStateHooks(): boolean {
    return this.#withHooks(["stateDictPre", "stateDictPost", "loadStateDictPre", "loadStateDictPost"]).length > 0;
  }

  /** @internal What stateDict() gives without hooks: the tensors themselves. */
  stateTensors(): Generator<[string, Tensor]> {
    return this.#state();
  }

  /** Names and tensors of the state, shared ones under each of their names. */
  *#state(): Generator<[string, Tensor]> {
    const seen = new Set<string>();
    const visit = function* (module: Module, prefix: string, around: readonly Module[]): Generator<[string, Tensor]> {
      for (const [name, member] of module.members()) if (member instanceof Parameter) yield [`${prefix}${name}`, member];
      for (const [name, { tensor, persistent }] of module.#buffers) if (persistent) yield [`${prefix}${name}`, tensor];
      for (const [name, child] of module.namedChildren())
        yield* visit(requireOutside("stateDict", `${prefix}${name}`, child, around), `${prefix}${name}.`, [...around, child]);
    };
    for (const [name, t] of visit(this, "", [this])) {
      if (seen.has(name)) throw new ValueError("stateDict", "name", "used once", name);
      seen.add(name);
      yield [name, t];
    }
  }

  /**
   * Copies values into parameters and buffers; dtypes and devices are converted. With strict (default), names that are missing
   * or unknown are an error; shapes that differ always are. Nothing is copied when it throws. With assign the module takes the tensors
   * themselves, which then share their memory, dtype and device with those given: how a module made on `meta` is filled without memory
   * of its own. Reference: torch.nn.Module.load_state_dict.
   */
  loadStateDict(
    state: Readonly<StateDict>,
    {
      strict = true,
      assign = false,
    }: {
      /** Whether names that are missing or unknown are an error. Default: true. */
      readonly strict?: boolean; /** Whether the module takes the tensors themselves instead of their values. Default: false. */
      readonly assign?: boolean;
    } = {},
  ): { readonly missing: string[]; readonly unexpected: string[] } {
    const hooked = this.#withHooks(["loadStateDictPre"]);
    if (hooked.length > 0) state = { ...state };
    for (const [prefix, hooks] of hooked) hooks.run("loadStateDictPre", (hook) => hook(hooks.module as never, state, prefix));
    const own = new Map(this.#state());
    const missing = [...own.keys()].filter((name) => !Object.hasOwn(state, name));
    const unexpected = Object.keys(state).filter((name) => !own.has(name));
    // Hooks that run when the values are copied may allow what is missing.
    const after = this.#withHooks(["loadStateDictPost"]);
    if (strict && after.length === 0) requireNames(missing, unexpected);
    const wrong = [...own].flatMap(([name, t]) => {
      const value = state[name];
      return value !== undefined && !sameShape(value.shape, t.shape) ? [`${name} ${showShape(t.shape)} got ${showShape(value.shape)}`] : [];
    });
    if (wrong.length > 0) throw new ShapeError("loadStateDict", "tensors", "of the module's shapes", wrong.join("; "));
    const entries = [...own].flatMap(([name, t]) => (Object.hasOwn(state, name) ? [[t, state[name]!] as const] : []));
    for (const [t, value] of entries) {
      value.requireLive("loadStateDict", "state");
      if (!assign && t.device !== value.device) requireElements("loadStateDict", t);
    }
    for (const [t, value] of entries) {
      if (assign) outsideScopes(() => replace(t, new Tensor(value.storage, value.desc, value.offset)));
      else copyInto("loadStateDict", t, value);
    }
    for (const [, hooks] of after.toReversed())
      hooks.run("loadStateDictPost", (hook) => hook(hooks.module as never, { missing, unexpected }));
    if (strict && after.length > 0) requireNames(missing, unexpected);
    return { missing, unexpected };
  }

  /** Frees all parameters, gradients and buffers. */
  dispose(): void {
    for (const t of [...this.parameters(), ...this.buffers()]) {
      t.grad?.dispose();
      t.dispose();
    }
  }

  /** What toString() shows behind the name: "in=2, out=3". */
  protected describeOptions(): string {
    return "";
  }

  /** @internal console.log shows the tree. */
  [inspect.custom](): string {
    return this.toString();
  }

  /** What JSON.stringify() shows: the tree's names and its state's shapes. The values are in stateDict(), files in io.safetensors. */
  toJSON(): { readonly module: string; readonly state: Readonly<Record<string, string>> } {
    const state = Object.fromEntries([...this.#state()].map(([name, t]) => [name, t.describe()]));
    return { module: this.constructor.name, state };
  }

  /** The tree of modules with their settings, as console.log shows it. */
  override toString(): string {
    const text = (module: Module, around: readonly Module[]): string => {
      const head = `${module.constructor.name}(${module.describeOptions()}`;
      const inner = [...module.namedChildren()].map(([name, m]) => {
        if (around.includes(m)) return `  (${name}): ${m.constructor.name}(…)`;
        const child = m.toString === Module.prototype.toString ? text(m, [...around, m]) : m.toString();
        return `  (${name}): ${child.replaceAll("\n", "\n  ")}`;
      });
      return inner.length === 0 ? `${head})` : `${head}\n${inner.join("\n")}\n)`;
    };
    return text(this, [this]);
  }
}

function requireNames(missing: readonly string[], unexpected: readonly string[]): void {
  if (missing.length + unexpected.length === 0) return;
  const parts = [
    missing.length > 0 ? `without ${missing.join(", ")}` : "",
    unexpected.length > 0 ? `with unknown ${unexpected.join(", ")}` : "",
  ].filter((p) => p !== "");
  throw new ValueError(
    "loadStateDict",
    "state",
    "of exactly the module's names",
    `one ${parts.join(" and ")}`,
    "Pass strict: false to load what fits.",
  );
}

/** A child that is none of the modules around it: a tree that holds itself has no end. */
function requireOutside(operation: string, name: string, child: Module, around: readonly Module[]): Module {
  if (!around.includes(child)) return child;
  const hint = "Hold a reference to an outer module in a private field: this.#outer.";
  throw new ValueError(operation, name, "a module that does not hold the one it is in", child.constructor.name, hint);
}

/** @internal The tensor object shows another tensor's elements from now on; `next` is given up. */
export function replace(t: Tensor, next: Tensor): void {
  if (next === t) return;
  next.storage.retain();
  t.storage.release();
  t.storage = next.storage;
  t.desc = next.desc;
  t.offset = next.offset;
  next.dispose();
}

/** @internal Takes a gradient away, or fills it with zeros. */
export function clearGradient(p: Tensor, setToNull: boolean): void {
  const t = tracer();
  if (setToNull) {
    t?.touchGradient(p);
    t?.dropGradient(p);
  }
  if (p.grad === null) return;
  if (setToNull) {
    if (t === null) p.grad.dispose();
    p.grad = null;
  } else {
    const { grad } = p;
    // Of what it was the sum is no longer of interest.
    grad.node = null;
    grad.leafRequiresGrad = false;
    noGrad(() => grad.zero_());
  }
}

/** What a forward() takes; anything for a value of which no more is known than that it is a module, since a subclass may take anything. */
type ForwardInputs<F extends (...inputs: never[]) => unknown> = [Parameters<F>[number]] extends [never]
  ? number extends Parameters<F>["length"]
    ? // oxlint-disable-next-line typescript/no-explicit-any -- unknown[] would make no subclass a Module
      any[]
    : Parameters<F>
  : Parameters<F>;

export interface Module {
  /** Runs forward(): takes what it takes, and gives what it gives. */
  (...inputs: ForwardInputs<this["forward"]>): ReturnType<this["forward"]>;
}
