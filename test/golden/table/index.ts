/** From PyTorch's names to our calls. A call that differs by more than its name has a line in its theme's file. */
import { arithmetic } from "./arithmetic.ts";
import { variantOf } from "./copies.ts";
import { complexTable } from "./complex.ts";
import { derivedEntry } from "./derived.ts";
import { elementwise } from "./elementwise.ts";
import type { Entry, Table } from "./entry.ts";
import { indexing } from "./indexing.ts";
import { layers } from "./layers.ts";
import { linalgTable } from "./linalg.ts";
import { maskedTable } from "./masked.ts";
import { movement } from "./movement.ts";
import { network } from "./network.ts";
import { products } from "./products.ts";
import { random } from "./random.ts";
import { reduction } from "./reduction.ts";
import { rules } from "./rules.ts";
import { shapes } from "./shapes.ts";
import { sorting } from "./sorting.ts";
import { special } from "./special.ts";
import { statistics } from "./statistics.ts";

export type { Entry, Result } from "./entry.ts";

const table: Table = {
  ...elementwise,
  ...movement,
  ...reduction,
  ...network,
  ...sorting,
  ...indexing,
  ...shapes,
  ...products,
  ...arithmetic,
  ...statistics,
  ...special,
  ...layers,
  ...maskedTable,
  ...rules,
  ...complexTable,
  ...linalgTable,
  ...random,
};

/** What is run for PyTorch's operation of this name, or null where there is none. */
export const entryOf = (name: string): Entry | null => table[name] ?? derivedEntry(name) ?? variantOf(name, entryOf);
