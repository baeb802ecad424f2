/** Calls of modules as events, each by its dotted path. */
import { ValueError } from "../core/errors.ts";
import { watchPrototypes } from "../nn/callable.ts";
import { Module } from "../nn/module.ts";
import type { Recorder } from "./event-recorder.ts";
import { replace } from "./replace-method.ts";

/** Modules by name. */
export type ProfileModules = Readonly<Record<string, (...inputs: never[]) => unknown>>;

/** Names of modules: of the user's, and of those that are called from outside of all modules, by their class. */
export class ModuleCalls {
  readonly #recorder: Recorder;
  readonly #paths = new Map<object, string>();
  /** The module whose forward() runs. */
  #callee: Module | null = null;
  #undo: (() => void)[] = [];

  constructor(recorder: Recorder, named: ProfileModules) {
    this.#recorder = recorder;
    for (const [name, module] of Object.entries<unknown>(named)) {
      if (!(module instanceof Module)) throw new ValueError("profile", `modules.${name}`, "a module", module);
      this.#name(module, name);
    }
  }

  attach(): void {
    // oxlint-disable-next-line typescript/no-this-alias -- the methods below have another one
    const calls = this;
    watchPrototypes((prototype) => {
      if (!(prototype instanceof Module) || !Object.hasOwn(prototype, "forward")) return;
      type Forward = (...inputs: unknown[]) => unknown;
      this.#undo.push(
        replace(prototype as unknown as { forward: Forward }, "forward", (forward) => {
          return function (this: Module, ...inputs: unknown[]) {
            return calls.#call(this, () => forward.apply(this, inputs));
          };
        }),
      );
    });
  }

  detach(): void {
    watchPrototypes(null);
    for (const undo of this.#undo) undo();
    this.#undo = [];
  }

  #name(root: Module, rootName: string): void {
    for (const [name, module] of root.namedModules())
      if (!this.#paths.has(module)) this.#paths.set(module, name === "" ? rootName : `${rootName}.${name}`);
  }

  #pathOf(module: Module, outer: string | null): string {
    if (!this.#paths.has(module)) {
      // One that the module around it calls, and does not hold.
      const own = module.constructor.name;
      this.#name(module, outer === null ? own : `${outer}.${own}`);
    }
    return this.#paths.get(module)!;
  }

  #call(module: Module, forward: () => unknown): unknown {
    // super.forward()
    if (this.#callee === module) return forward();
    const recorder = this.#recorder;
    const [outerModule, outerCallee] = [recorder.module, this.#callee];
    this.#callee = module;
    recorder.module = this.#pathOf(module, outerModule);
    try {
      return recorder.within("module", recorder.module, null, forward);
    } finally {
      recorder.module = outerModule;
      this.#callee = outerCallee;
    }
  }
}
