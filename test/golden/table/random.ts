/** Numbers that are drawn: shapes and dtypes alone are PyTorch's. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import { op, type Table } from "./entry.ts";

const generator = (): dx.Generator => new dx.Generator(1);
const options = (c: Call): dx.RandomOptions => ({ generator: generator(), ...(c.dtype() === undefined ? {} : { dtype: c.dtype() }) });
const isList = (v: unknown): v is readonly number[] => Array.isArray(v);

/** randint(high, size) or randint(low, high, size): the size is the list, the numbers before it are the bounds. */
const bounds = (numbers: readonly unknown[]): [number, number] => {
  const [first, second] = numbers.filter((v): v is number => typeof v === "number");
  return second === undefined ? [0, first!] : [first!, second];
};
/** PyTorch's default is int64. */
const whole = (c: Call): dx.RandomOptions => ({ dtype: "int64", ...options(c) });

export const random: Table = {
  randint: op((c) => {
    const args = [...c.positional, ...Object.keys(c.case.kwargs).map((name) => (name === "dtype" || name === "layout" || name === "device" ? null : c.get(name)))];
    return dx.randint(...bounds(args), args.find(isList) as number[], whole(c));
  }),
  randint_like: op((c) => dx.randintLike(c.x, ...bounds([...c.positional.slice(1), ...Object.keys(c.case.kwargs).filter((name) => name === "low" || name === "high").map((name) => c.get(name))]), options(c))),
  randn: op((c) => dx.randn(isList(c.positional[0]) ? c.positional[0] : (c.positional as number[]), options(c))),
  randn_like: op((c) => dx.randnLike(c.x, options(c))),
  rand_like: op((c) => dx.randLike(c.x, options(c))),
  normal: op((c) => dx.normal(c.positional[0] as dx.Tensor | number, (c.positional[1] ?? c.get("std") ?? 1) as dx.Tensor | number, { ...options(c), ...(c.has("size") ? { shape: c.list("size") } : {}) })),
  multinomial: { counts: true, run: (c) => dx.multinomial(c.x, c.number("num_samples", 1), { replacement: c.bool("replacement"), generator: generator() }) },
  bernoulli: op((c) => (c.has("p") ? dx.bernoulli(dx.fullLike(c.x, c.number("p", 0.5)), { generator: generator() }) : dx.bernoulli(c.x, { generator: generator() }))),
};
