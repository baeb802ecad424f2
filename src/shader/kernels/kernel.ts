/** The common form of the library's own shaders. */
import type { ShaderTraits } from "../../dml/capabilities.ts";
import type { ShaderCall } from "../../graph/graph.ts";
import { ShaderProgram, type LaunchFacts } from "../dxbc/shader-program.ts";
import { keyOf } from "../../graph/key.ts";
import type { Element, Shader } from "../ir.ts";
import { Scope, type BufferElements, type Parameters, type SharedElements } from "../language.ts";
import { castElement, holdCast } from "./cast-buffers.ts";
import type { Float, Uint } from "../numbers.ts";

/** A shader with its launch. */
export interface Kernel {
  readonly program: ShaderProgram;
  readonly groups: (facts: LaunchFacts) => number;
  readonly inPlace: boolean;
  readonly updates: boolean;
}

type Names = { readonly [name: string]: Element };

/** Made once for each key. */
const made = new Map<string, Kernel>();
/** Of sizes that programs come with, the last ones: there is no end of them. The least recently used first. */
const recent = new Map<string, Kernel>();
const MAX_RECENT = 256;

function known(key: string): Kernel | undefined {
  const found = recent.get(key);
  if (found === undefined) return made.get(key);
  recent.delete(key);
  recent.set(key, found);
  return found;
}

function keep(key: string, of: Map<string, Kernel>, value: Kernel): void {
  of.set(key, value);
  if (recent.size > MAX_RECENT) recent.delete(recent.keys().next().value!);
}

export function kernel<const I extends Names, const O extends Names, const P extends Parameters>(
  key: string,
  spec: {
    readonly inputs: I;
    readonly outputs: O;
    readonly params?: P;
    readonly threads: number;
    readonly groups: (facts: LaunchFacts) => number;
    /** Each thread writes only what it alone has read before. */
    readonly inPlace?: boolean;
    /** The first output begins as the first input, which the shader does not read. */
    readonly updates?: boolean;
    /** Of the devices that it is for. Default: that all devices have. */
    readonly maxBuffers?: number;
    /** As Shader has it. */
    readonly isPrecise?: boolean;
    /** Whether there may be any number of them. Default: false. */
    readonly isOneOfMany?: boolean;
    /** Buffers in memory of the other float type: what the body loads and stores is cast. Default: none. */
    readonly casts?: readonly string[];
  },
  body: (s: Scope<I & O, P>) => void,
): Kernel {
  const casts = spec.casts ?? [];
  if (casts.length > 0) key += ` in memory as the other float ${casts.join(" ")}`;
  const held = (name: string, element: Element): Element => (casts.includes(name) ? castElement(element) : element);
  const buffers = {
    ...Object.fromEntries(Object.entries(spec.inputs).map(([name, element]) => [name, { element: held(name, element), isWritable: false }] as const)),
    ...Object.fromEntries(Object.entries(spec.outputs).map(([name, element]) => [name, { element: held(name, element), isWritable: true }] as const)),
  }; // prettier-ignore
  const params = spec.params ?? ({} as P);
  const isPrecise = spec.isPrecise ?? false;
  const make = (): Shader => {
    const s = new Scope<I & O, P>(key, spec.threads, buffers, params, false);
    holdCast(s.buffers, casts);
    body(s);
    return { ...s.finish(), isPrecise };
  };
  const before = known(key);
  if (before !== undefined) {
    before.program.later(make);
    return before;
  }
  const code = keyOf([key, spec.threads, Object.entries(buffers), Object.entries(params), isPrecise]);
  const result: Kernel = {
    program: new ShaderProgram({ name: key, threads: spec.threads, buffers: Object.values(buffers), code, make }, spec.maxBuffers),
    groups: spec.groups,
    inPlace: spec.inPlace ?? false,
    updates: spec.updates ?? false,
  };
  keep(key, spec.isOneOfMany === true ? recent : made, result);
  return result;
}

export const callOf = (
  traits: ShaderTraits,
  { program, groups, inPlace, updates }: Kernel,
  facts: LaunchFacts,
  options: Partial<Pick<ShaderCall, "fills" | "inPlace" | "updates">> = {},
): ShaderCall => program.call(traits, groups(facts), facts, { inPlace, updates: updates ? [[0, 0]] : [], ...options });

/** An input or output of the library's shaders. */
export type Numbers = BufferElements<"f32"> | BufferElements<"f16">;

/** `count` elements from an offset on, by the widest possible accesses. */
export function read(from: Numbers, at: Uint, count: number, isInside: boolean): Float[] {
  const widest = from.memory.element === "f16" ? 8 : 4;
  const parts: Float[] = [];
  for (let i = 0; i < count; i += widest) {
    const n = Math.min(widest, count - i);
    parts.push(...(isInside ? from.loadsInside(at.add(i), n) : from.loads(at.add(i), n)));
  }
  return parts;
}

export function write(to: Numbers, at: Uint, values: readonly Float[], isInside: boolean): void {
  const widest = to.memory.element === "f16" ? 8 : 4;
  for (let i = 0; i < values.length; i += widest) {
    const part = values.slice(i, i + widest);
    if (isInside) to.storesInside(at.add(i), part);
    else to.stores(at.add(i), part);
  }
}

/** Combines values of each thread of the group, in two steps, in an order that does not depend on timing. */
export class GroupReduction<P extends Parameters> {
  readonly #s: Scope<Names, P>;
  /** Of each value that is combined at the same time. */
  readonly #memories: { readonly all: SharedElements<"f32">; readonly some: SharedElements<"f32"> }[] = [];
  /** Threads whose values one thread gathers. */
  readonly #radix: number;
  #isUsed = false;

  constructor(s: Scope<never, P> | Scope<Names, P>) {
    this.#s = s as Scope<Names, P>;
    this.#radix = this.#s.threads > 256 ? 32 : 16;
  }

  /** The same in all threads. The threads must be a power of two, 32 to 1024. */
  reduce(values: readonly Float[], combine: (a: Float, b: Float) => Float): Float[] {
    const s = this.#s;
    const radix = this.#radix;
    const parts = s.threads / radix;
    while (this.#memories.length < values.length)
      this.#memories.push({ all: s.shared("f32", s.threads), some: s.shared("f32", Math.max(4, parts)) });
    // The last reduction's results have been read.
    if (this.#isUsed) s.barrier();
    this.#isUsed = true;
    values.forEach((value, i) => this.#memories[i]!.all.store(s.local, value));
    s.barrier();
    // Other threads gather each value, as far as there are some.
    values.forEach((_, i) => {
      const { all, some } = this.#memories[i]!;
      const from = (i % radix) * parts;
      const own = s.local.sub(from);
      s.if(own.lt(parts), () => {
        let sum = all.load(own);
        for (let k = 1; k < radix; k++) sum = combine(sum, all.load(own.add(k * parts)));
        some.store(own, sum);
      });
    });
    s.barrier();
    const width = Math.min(parts, 4);
    return values.map((_, i) => {
      const sums = Array.from({ length: parts / width }, (_, k) => this.#memories[i]!.some.loads(s.u32(k * width), width)).flat();
      return sums.reduce(combine);
    });
  }
}
