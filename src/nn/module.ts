/** Module: the base of all layers and models, which finds its parameters, buffers and submodules. */
import { inspect } from "node:util";
import { copyMark, isForeign, ownCopy, type Copy } from "../core/copies.ts";
import type { DeviceLike } from "../core/device.ts";
import type { DType } from "../core/dtype.ts";
import { DTypeError, ValueError } from "../core/errors.ts";
import { keep } from "../core/scope.ts";
import { Tensor } from "../core/tensor.ts";
import { Callable, type ForwardInputs } from "./callable.ts";
import { copyModule } from "./clone.ts";
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
import { INNER, KEEPS_DTYPES, OWN } from "./inner.ts";
import { membersIn, requireOutside } from "./members.ts";
import { setTraining } from "./mode.ts";
import { Parameter, setRequiresGrad } from "./parameter.ts";
import { sitesIn, type Site } from "./sites.ts";
import { loadsAsAWhole, loadState, readState, stateOf, type StateDict } from "./module-state.ts";
import { clearGradient, emptyTensors, moveTensors } from "./module-tensors.ts";
import { treeOf } from "./module-tree.ts";

interface Buffer {
  readonly tensor: Tensor;
  readonly persistent: boolean;
}

const isModule = (value: object): value is Module => value instanceof Module;

/** Anything that maps one tensor to one. */
export interface Layer extends Module {
  (x: Tensor): Tensor;
  /** The layer's result for x: what a call of the layer runs. */
  forward(x: Tensor): Tensor;
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

  /** @internal What the files of this folder read. */
  get [OWN](): { readonly buffers: Map<string, Buffer>; readonly hooks: Hooks | null } {
    return { buffers: this.#buffers, hooks: this.#hooks };
  }

  /** @internal Whether a cast leaves its buffers' dtypes: those of a metric. */
  get [KEEPS_DTYPES](): boolean {
    return false;
  }

  /** @internal Own parameters and modules by name. */
  *members(): Generator<[string, Parameter | Module]> {
    for (const name of Object.keys(this)) {
      const value = (this as unknown as Record<string, unknown>)[name];
      if ((typeof value !== "object" && typeof value !== "function") || value === null) continue;
      for (const member of membersIn(name, value, [], isModule)) {
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
    // Of this class, without its constructor: that of Module makes what Module has of its own.
    const copy = Reflect.construct(Module, [], this.constructor as new () => object) as this;
    copies.set(this, copy);
    copyModule(this, copy, copies, isModule);
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
    setTraining(this, mode);
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
    setRequiresGrad("requiresGrad_", [...this.parameters()], mode);
    return this;
  }

  /**
   * Moves parameters, gradients and buffers to a device, or casts the floating ones to a dtype. The tensors stay the same
   * objects, so an optimizer that holds them continues to work. Returns the module.
   */
  to(target: DeviceLike | DType): this {
    moveTensors(this, target);
    return this;
  }

  /**
   * Gives parameters, gradients and buffers memory on a device, filled with zeros: for a module that was made on `meta`, before its state is loaded.
   * Shapes, dtypes and the tensors as objects stay. Returns the module. Reference: torch.nn.Module.to_empty.
   */
  toEmpty(target: DeviceLike): this {
    emptyTensors(this, target);
    return this;
  }

  /** Parameters and persistent buffers by dotted name. The tensors share the module's storage. */
  stateDict(): StateDict {
    return readState(this);
  }

  /** @internal Whether loadStateDict() does more than copying tensors. */
  get loadsAsAWhole(): boolean {
    return loadsAsAWhole(this);
  }

  /** @internal What stateDict() gives without hooks: the tensors themselves. */
  stateTensors(): Generator<[string, Tensor]> {
    return stateOf(this);
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
    return loadState(this, state, strict, assign);
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
    const state = Object.fromEntries([...stateOf(this)].map(([name, t]) => [name, t.describe()]));
    return { module: this.constructor.name, state };
  }

  /** The tree of modules with their settings, as console.log shows it. */
  override toString(): string {
    return treeOf(this, Module.prototype.toString, (module) => module.describeOptions());
  }
}

export interface Module {
  /** Runs forward(): takes what it takes, and gives what it gives. */
  (...inputs: ForwardInputs<this["forward"]>): ReturnType<this["forward"]>;
}
