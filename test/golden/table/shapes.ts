/** Views, stacks and splits by other names, windows, diagonals, differences and slopes. */
import type { Table } from "./entry.ts";

export const shapes: Table = {};
