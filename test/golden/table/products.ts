/** Products of several tensors. */
import type { Table } from "./entry.ts";

export const products: Table = {};
