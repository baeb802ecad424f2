/** Questions of dtypes, and windows. */
import * as dx from "../../../src/index.ts";
import type { Table } from "./entry.ts";

export const rules: Table = {
  result_type: { run: (c) => dx.resultType(...(c.positional as (dx.Tensor | number)[])) },
};
