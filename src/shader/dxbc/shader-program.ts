/** A shader for launches: verified once, its container made when a device first needs it, or found in the cache of earlier processes. */
import { isDeepStrictEqual } from "node:util";
import { emitShader, lowered, MAX_BUFFERS, type CompiledShader } from "./emit.ts";
import type { ShaderTraits } from "../../dml/capabilities.ts";
import { ShaderError } from "../../core/errors.ts";
import type { ShaderCall } from "../../graph/graph.ts";
import { sizeOf, type Shape } from "../../core/shape.ts";
import { inPhase } from "../../host/phases.ts";
import { isVerified, readContainer, writeContainer } from "./container-store.ts";
import type { Element, Shader, Uniform } from "../ir.ts";
import { bitsOfFloat } from "../operations.ts";
import { weight } from "../simplify.ts";
import type { Structured } from "../structured.ts";
import { verifyShader } from "../validate.ts";
import { verifyBounds } from "../verify-bounds.ts";

/** What a launch is about: shapes by the buffers' names, numbers by the parameters' names. */
export interface LaunchFacts {
  readonly shapes: { readonly [buffer: string]: Shape };
  readonly params: { readonly [name: string]: number };
}

/** Groups in one axis of a grid. */
const MAX_GROUPS = 65535;
/** Threads of a group, on every device. */
const MAX_THREADS = 1024;

const traitsOf = (form: number): ShaderTraits => ({ seesTexels: (form & 1) !== 0, roundsHalf: (form & 2) !== 0 });

let ids = 0;

/** Is told of containers that a program needs, as soon as each is there. */
export type ContainerListener = (made: CompiledShader) => void;
let listener: ContainerListener | null = null;

/** Runs fn, which makes a program: its pipelines can be begun while the next shader is emitted. */
export function announcingContainers<T>(to: ContainerListener, fn: () => T): T {
  const before = listener;
  const known = new Set<CompiledShader>();
  listener = (made) => {
    if (known.has(made)) return;
    known.add(made);
    to(made);
  };
  try {
    return fn();
  } finally {
    listener = before;
  }
}

/** A shader that is made when its code is needed: where an earlier process has compiled it, that is never. */
export interface LaterShader {
  readonly name: string;
  readonly threads: number;
  readonly buffers: readonly { readonly element: Element; readonly isWritable: boolean }[];
  /** Equal for equal code, in all processes of one version of the library. */
  readonly code: string;
  readonly make: () => Shader;
}

export class ShaderProgram {
  readonly #name: string;
  readonly #code: string | null;
  #source: Shader | null = null;
  #make: (() => Shader) | null;
  readonly #id = ids++;
  /** By their traits. */
  readonly #compiled: (CompiledShader | undefined)[] = [];
  readonly #writesHalves: boolean;
  /** Launches whose accesses were proven to be inside, and the forms that they were proven of. */
  readonly #verified = new Set<string>();
  readonly #lowered: (Structured | undefined)[] = [];

  /** Throws a ShaderError for what breaks the language's rules, of a later shader when it is made. maxBuffers: of the devices that it is for. */
  constructor(of: Shader | LaterShader, maxBuffers = MAX_BUFFERS) {
    const refuse = (problem: string): never => {
      throw new ShaderError(of.name, problem, "");
    };
    if (!Number.isInteger(of.threads) || of.threads < 1 || of.threads > MAX_THREADS)
      refuse(`threads is ${of.threads}; a group has 1 to ${MAX_THREADS}`);
    if (of.buffers.length > maxBuffers) refuse(`it has ${of.buffers.length} inputs and outputs; there are ${maxBuffers} at most`);
    this.#name = of.name;
    this.#writesHalves = of.buffers.some((b) => b.isWritable && b.element === "f16");
    this.#code = "make" in of ? of.code : null;
    this.#make = "make" in of ? of.make : null;
    if ("make" in of) return;
    verifyShader(of);
    this.#source = of;
  }

  /** What it is made of. Of a later shader that was found compiled only behind later(). */
  get source(): Shader {
    if (this.#source === null) {
      if (this.#make === null) throw new ShaderError(this.#name, "it was found compiled, without its source", "");
      const made = this.#make();
      verifyShader(made);
      this.#source = made;
      this.#make = null;
    }
    return this.#source;
  }

  get hasSource(): boolean {
    return this.#source !== null;
  }

  /** Sets the function that builds the shader, unless its code is there: such a function may keep a whole graph alive. */
  later(make: () => Shader): this {
    if (this.#source === null) this.#make = make;
    return this;
  }

  /** Which of them count: how a device rounds is found out for shaders that round only. */
  #form(traits: ShaderTraits): number {
    return Number(traits.seesTexels) + (this.#writesHalves && traits.roundsHalf ? 2 : 0);
  }

  compiled(traits: ShaderTraits): CompiledShader {
    return this.compiledForm(this.#form(traits));
  }

  /** @internal */
  compiledForm(form: number): CompiledShader {
    const compiled = (this.#compiled[form] ??= inPhase("emit", () => this.#compile(form)));
    this.#make = null;
    listener?.(compiled);
    return compiled;
  }

  /** @internal Whether it has been compiled in a form, by an earlier process too. */
  isKnown(form: number): boolean {
    if (this.#compiled[form] !== undefined) return true;
    return (
      this.#code !== null && !isVerified() && inPhase("emit", () => (this.#compiled[form] = this.#stored(form) ?? undefined)) !== undefined
    );
  }

  #stored(form: number): CompiledShader | null {
    return this.#code === null ? null : readContainer(`${form} ${this.#code}`);
  }

  #compile(form: number): CompiledShader {
    const emit = (): CompiledShader => emitShader(this.source, traitsOf(form));
    if (this.#code === null) return emit();
    const stored = this.#stored(form);
    if (stored === null) {
      const made = emit();
      writeContainer(`${form} ${this.#code}`, made);
      return made;
    }
    if (isVerified() && !isDeepStrictEqual(emit(), stored)) throw new ShaderError(this.#name, "the cache has other code for it", "");
    return stored;
  }

  /** @internal Throws a ShaderError where an access is not proven to be inside of its memory. */
  verifyLaunch(form: number, groups: readonly [number, number, number], facts: LaunchFacts): void {
    const { uniforms } = this.compiledForm(form);
    const uniform = (u: Uniform): number => this.uniform(u, facts, groups[0]);
    const key = JSON.stringify([form, groups, facts.shapes, uniforms.map(uniform)]);
    if (this.#verified.has(key)) return;
    const { shader, strides } = (this.#lowered[form] ??= lowered(this.source, traitsOf(form)));
    verifyBounds(shader, strides, { threads: shader.threads, groups: [groups[0], groups[1]], uniform });
    this.#verified.add(key);
  }

  /** The grid of a launch of so many groups: as few groups too many as possible. */
  grid(groups: number): readonly [number, number, number] {
    const rows = Math.ceil(groups / MAX_GROUPS);
    const name = this.#name;
    if (!Number.isSafeInteger(groups) || groups < 1) throw new ShaderError(name, `a launch of ${groups} groups`, "");
    if (rows > MAX_GROUPS) throw new ShaderError(name, `a launch of ${groups} groups; there are ${MAX_GROUPS ** 2} at most`, "");
    return [Math.ceil(groups / rows), rows, 1];
  }

  /** The number that a uniform is in a launch. */
  uniform({ source, name }: Uniform, facts: LaunchFacts, grid: number): number {
    switch (source.kind) {
      case "size":
        return sizeOf(facts.shapes[source.buffer]!);
      case "dimension": {
        const n = facts.shapes[source.buffer]!.at(source.axis);
        if (n === undefined) throw new ShaderError(this.#name, `${name} of a tensor of ${facts.shapes[source.buffer]!.length} axes`, "");
        return n;
      }
      case "parameter":
        return facts.params[source.name]!;
      case "grid":
        return grid;
      default:
        return source satisfies never;
    }
  }

  /** Its code is made when it is asked for: passes replace launches by others. */
  call(traits: ShaderTraits, groups: number, facts: LaunchFacts, options: CallOptions = {}): ShaderCall {
    const form = this.#form(traits);
    return new Call(this, 4 * this.#id + form, form, this.grid(groups), facts, options);
  }
}

type CallOptions = Partial<Pick<ShaderCall, "fills" | "inPlace" | "updates">>;

class Call implements ShaderCall {
  readonly id: number;
  readonly groups: ShaderCall["groups"];
  readonly fills: ShaderCall["fills"];
  readonly inPlace: ShaderCall["inPlace"];
  readonly updates: ShaderCall["updates"];
  readonly #program: ShaderProgram;
  readonly #form: number;
  readonly #facts: LaunchFacts;
  #constants: Uint32Array | null = null;

  constructor(
    program: ShaderProgram,
    id: number,
    form: number,
    groups: ShaderCall["groups"],
    facts: LaunchFacts,
    { fills = [], inPlace = false, updates = [] }: CallOptions,
  ) {
    this.#program = program;
    this.id = id;
    this.#form = form;
    this.groups = groups;
    this.#facts = facts;
    this.fills = fills;
    this.inPlace = inPlace;
    this.updates = updates;
  }

  get bytes(): Uint8Array {
    return this.#program.compiledForm(this.#form).bytes;
  }

  get isKnown(): boolean {
    return this.#program.isKnown(this.#form);
  }

  /** Statements of its shader. */
  get length(): number {
    return weight(this.#program.source.body);
  }

  get views(): Uint8Array {
    return this.#program.compiledForm(this.#form).views;
  }

  get constants(): Uint32Array {
    if (this.#constants !== null) return this.#constants;
    if (isVerified()) this.#program.verifyLaunch(this.#form, this.groups, this.#facts);
    const { uniforms } = this.#program.compiledForm(this.#form);
    return (this.#constants = Uint32Array.from(uniforms, (u) => {
      const n = this.#program.uniform(u, this.#facts, this.groups[0]);
      return u.type === "f32" ? bitsOfFloat(n) : n >>> 0;
    }));
  }
}

/** Makes the code of launches: first what is known, then the longest shader first, since its pipeline takes longest. */
export function makeCode(calls: Iterable<ShaderCall>): void {
  const unknown: Call[] = [];
  for (const call of new Map([...calls].map((c) => [c.id, c])).values())
    if (call instanceof Call && !call.isKnown) unknown.push(call);
    else void call.bytes;
  const lengths = new Map(unknown.map((call) => [call, inPhase("emit", () => call.length)]));
  for (const call of unknown.sort((a, b) => lengths.get(b)! - lengths.get(a)!)) void call.bytes;
}
