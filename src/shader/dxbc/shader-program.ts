/** A shader for launches: verified once, its container made when a device first needs it. */
import { emitShader, MAX_BUFFERS, type CompiledShader } from "./emit.ts";
import type { ShaderTraits } from "../../dml/capabilities.ts";
import { ShaderError } from "../../core/errors.ts";
import type { ShaderCall } from "../../graph/graph.ts";
import { sizeOf, type Shape } from "../../core/shape.ts";
import type { Shader, Uniform } from "../ir.ts";
import { bitsOfFloat } from "../operations.ts";
import { verifyShader } from "../validate.ts";

/** What a launch is about: shapes by the buffers' names, numbers by the parameters' names. */
export interface LaunchFacts {
  readonly shapes: { readonly [buffer: string]: Shape };
  readonly params: { readonly [name: string]: number };
}

/** Groups in one axis of a grid. */
const MAX_GROUPS = 65535;
/** Threads of a group, on every device. */
const MAX_THREADS = 1024;

let ids = 0;

export class ShaderProgram {
  readonly source: Shader;
  readonly #id = ids++;
  /** By their traits. */
  readonly #compiled: (CompiledShader | undefined)[] = [];
  readonly #writesHalves: boolean;

  /** Throws a ShaderError for what breaks the language's rules. maxBuffers: of the devices that it is for. */
  constructor(source: Shader, maxBuffers = MAX_BUFFERS) {
    const refuse = (problem: string): never => {
      throw new ShaderError(source.name, problem, "");
    };
    if (!Number.isInteger(source.threads) || source.threads < 1 || source.threads > MAX_THREADS)
      refuse(`threads is ${source.threads}; a group has 1 to ${MAX_THREADS}`);
    if (source.buffers.length > maxBuffers) refuse(`it has ${source.buffers.length} inputs and outputs; there are ${maxBuffers} at most`);
    verifyShader(source);
    this.source = source;
    this.#writesHalves = source.buffers.some((b) => b.isWritable && b.element === "f16");
  }

  /** Which of them count: how a device rounds is found out for shaders that round only. */
  #form(traits: ShaderTraits): number {
    return Number(traits.seesTexels) + (this.#writesHalves && traits.roundsHalf ? 2 : 0);
  }

  compiled(traits: ShaderTraits): CompiledShader {
    const form = this.#form(traits);
    return (this.#compiled[form] ??= emitShader(this.source, { seesTexels: (form & 1) !== 0, roundsHalf: (form & 2) !== 0 }));
  }

  /** The grid of a launch of so many groups: as few groups too many as possible. */
  grid(groups: number): readonly [number, number, number] {
    const rows = Math.ceil(groups / MAX_GROUPS);
    const { name } = this.source;
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
        if (n === undefined)
          throw new ShaderError(this.source.name, `${name} of a tensor of ${facts.shapes[source.buffer]!.length} axes`, "");
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

  call(
    traits: ShaderTraits,
    groups: number,
    facts: LaunchFacts,
    options: Partial<Pick<ShaderCall, "fills" | "inPlace" | "updates">> = {},
  ): ShaderCall {
    const { bytes, views, uniforms } = this.compiled(traits);
    const grid = this.grid(groups);
    const constants = Uint32Array.from(uniforms, (u) => {
      const n = this.uniform(u, facts, grid[0]);
      return u.type === "f32" ? bitsOfFloat(n) : n >>> 0;
    });
    return {
      id: 4 * this.#id + this.#form(traits),
      bytes,
      views,
      constants,
      groups: grid,
      fills: options.fills ?? [],
      inPlace: options.inPlace ?? false,
      updates: options.updates ?? false,
    };
  }
}
