/** Checks that a compiled function agrees with the eager one. */
import { expect } from "vitest";
import * as dx from "../../src/index.ts";
import { expectAsEager } from "./as-eager.ts";

type Plain = unknown;

/** Everything that a result says, as plain data: values, dtypes, shapes, and whether gradients flow. */
async function plain(value: unknown): Promise<Plain> {
  if (value instanceof dx.Tensor)
    return {
      dtype: value.dtype,
      shape: [...value.shape],
      requiresGrad: value.requiresGrad,
      values: await dx.noGrad(() => value.detach()).toArray(),
    };
  if (Array.isArray(value)) return Promise.all(value.map(plain));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(await Promise.all(Object.entries(value).map(async ([k, v]) => [k, await plain(v)] as const)));
  return value;
}

/** Runs the same five calls on fresh state, eagerly and compiled, and compares after each what was returned and what lives outside. */
export async function agrees<S extends Record<string, unknown>>(
  make: () => S,
  fn: (state: S, x: dx.Tensor) => unknown,
  input: (call: number) => dx.Tensor,
  options: { programs?: number; after?: (state: S, result: unknown) => void } = {},
): Promise<void> {
  const run = async (compiled: boolean): Promise<Plain[]> => {
    const state = make();
    const body = (x: dx.Tensor): unknown => fn(state, x);
    const call = compiled ? dx.compile(body) : body;
    const seen: Plain[] = [];
    for (let i = 0; i < 5; i++) {
      const x = input(i);
      const result = call(x);
      options.after?.(state, result);
      const gradients = Object.fromEntries(
        Object.entries(state).map(([k, v]) => [`${k}.grad`, v instanceof dx.Tensor ? (v.grad as unknown) : null] as const),
      );
      seen.push(await plain({ result, state: { ...state }, gradients, x, "x.grad": x.grad }));
    }
    if (compiled) {
      if (options.programs !== undefined) expect((call as dx.Compiled<[dx.Tensor], unknown>).programs).toBe(options.programs);
      (call as dx.Compiled<[dx.Tensor], unknown>).dispose();
    }
    return seen;
  };
  const [eager, compiled] = [await run(false), await run(true)];
  expectAsEager(compiled, eager);
}
