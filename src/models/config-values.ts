/** The values of a model's config.json, by their names there. */
import { ValueError } from "../core/errors.ts";
import type { ModelConfig } from "./options.ts";

/** Reads values of a config, and says what is wrong with them. */
export class ConfigValues {
  readonly #operation: string;
  readonly #values: ModelConfig;
  readonly #path: string;

  constructor(operation: string, values: ModelConfig, path = "config") {
    if (typeof values !== "object" || values === null || Array.isArray(values))
      throw new ValueError(operation, path, "an object, as config.json has it", values);
    this.#operation = operation;
    this.#values = values;
    this.#path = path;
  }

  /** The value as it is; null counts as absent. */
  get(name: string): unknown {
    return Object.hasOwn(this.#values, name) ? (this.#values[name] ?? undefined) : undefined;
  }

  error(name: string, expected: string): ValueError {
    return new ValueError(this.#operation, `${this.#path}.${name}`, expected, this.get(name));
  }

  /** An integer of at least `min`. */
  count(name: string, absent?: number, min = 1): number {
    const value = this.get(name) ?? absent;
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < min) throw this.error(name, `an integer of at least ${min}`);
    return value;
  }

  /** A finite number. */
  number(name: string, absent?: number): number {
    const value = this.get(name) ?? absent;
    if (typeof value !== "number" || !Number.isFinite(value)) throw this.error(name, "a number");
    return value;
  }

  flag(name: string, absent = false): boolean {
    const value = this.get(name) ?? absent;
    if (typeof value !== "boolean") throw this.error(name, "true or false");
    return value;
  }

  text(name: string, absent?: string): string {
    const value = this.get(name) ?? absent;
    if (typeof value !== "string") throw this.error(name, "text");
    return value;
  }

  /** One of these, or an error. */
  oneOf<const T extends string>(name: string, allowed: readonly T[], absent?: T): T {
    const value = this.text(name, absent);
    const found = allowed.find((a) => a === value);
    if (found === undefined) throw this.error(name, `one of ${allowed.join(", ")}`);
    return found;
  }

  /** The values of an object inside; null where it is absent. */
  inner(name: string): ConfigValues | null {
    const value = this.get(name);
    if (value === undefined) return null;
    if (typeof value !== "object" || Array.isArray(value)) throw this.error(name, "an object");
    return new ConfigValues(this.#operation, value as ModelConfig, `${this.#path}.${name}`);
  }

  /** So many numbers. */
  floats(name: string, length: number): Float32Array {
    const value = this.get(name);
    if (!(value instanceof Float32Array) || value.length !== length) throw this.error(name, `a Float32Array of ${length}`);
    return value;
  }

  /** A token, or several. */
  tokens(name: string): readonly number[] {
    const value = this.get(name) ?? [];
    const list: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (!list.every((id) => typeof id === "number" && Number.isInteger(id))) throw this.error(name, "a token, or a list of tokens");
    return list as readonly number[];
  }
}
