/** Questions of dtypes, and windows. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import type { Entry, Table } from "./entry.ts";

const dtypeAt = (c: Call, i: number): dx.DType => (c.positional[i] as { readonly dtype: dx.DType }).dtype;
const window = (f: (length: number, options: dx.WindowOptions) => dx.Tensor, more: (c: Call) => object = () => ({})): Entry => ({
  run: (c) => f(c.positional[0] as number, { periodic: c.given<boolean>("periodic") ?? (typeof c.positional[1] === "boolean" ? c.positional[1] : undefined), dtype: c.dtype(), ...more(c) }),
});

export const rules: Table = {
  result_type: { run: (c) => dx.resultType(...(c.positional as (dx.Tensor | number)[])) }, can_cast: { run: (c) => dx.canCast(dtypeAt(c, 0), dtypeAt(c, 1)) },
  hann_window: window(dx.hannWindow), bartlett_window: window(dx.bartlettWindow), blackman_window: window(dx.blackmanWindow),
  hamming_window: window(dx.hammingWindow, (c) => ({ alpha: c.given("alpha"), beta: c.given("beta") })), kaiser_window: window(dx.kaiserWindow, (c) => ({ beta: c.given("beta") })),
  logspace: { run: (c) => dx.logspace(c.positional[0] as number, c.positional[1] as number, c.positional[2] as number, { base: c.given("base") ?? (typeof c.positional[3] === "number" ? c.positional[3] : undefined), dtype: c.dtype() }) },
};
