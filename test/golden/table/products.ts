/** Products of several tensors. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import { op, type Entry, type Table } from "./entry.ts";

const two = (f: (a: dx.Tensor, b: dx.Tensor) => dx.Tensor): Entry => op((c) => f(c.x, c.tensor(c.positional[1])));
type Added = (c: dx.Tensor, a: dx.Tensor, b: dx.Tensor, o: { alpha: number; beta: number }) => dx.Tensor;
const added = (f: Added, name: string): Entry => {
  const rest = (c: Call): [dx.Tensor, dx.Tensor, { alpha: number; beta: number }] => [c.tensor(c.positional[1]), c.tensor(c.positional[2]), { alpha: c.number("alpha", 1), beta: c.number("beta", 1) }];
  return op((c) => f(c.x, ...rest(c)), (c) => void (c.x as unknown as Record<string, (...a: unknown[]) => void>)[name]!(...rest(c)));
};
const axes = (c: Call): number | [number[], number[]] => {
  const dims = c.get("dims") ?? 2;
  return (Array.isArray(dims) ? dims.map((a) => (Array.isArray(a) ? a : [a])) : dims) as number;
};

export const products: Table = {
  einsum: op((c) => dx.einsum(c.positional[0] as string, ...((Array.isArray(c.positional[1]) ? c.positional[1] : c.positional.slice(1)) as dx.Tensor[]))),
  tensordot: op((c) => dx.tensordot(c.x, c.tensor(c.positional[1]), axes(c))), kron: two(dx.kron),
  "linalg.vecdot": op((c) => dx.vecdot(c.x, c.tensor(c.positional[1]), c.number("dim", -1))),
  "linalg.cross": op((c) => dx.cross(c.x, c.tensor(c.positional[1]), c.number("dim", -1))),
  "linalg.multi_dot": op((c) => dx.multiDot(...c.several())), chain_matmul: op((c) => dx.chainMatmul(...c.several())),
  addbmm: { run: added(dx.addbmm, "addbmm_").run },
};
