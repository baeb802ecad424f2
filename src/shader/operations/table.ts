/** How a node of the graph reads as shader code. */
import { isOperator, type GraphNode } from "../../graph/graph.ts";
import { ACTIVATIONS } from "./activations.ts";
import type { Reading, Scattered, Summed } from "./code.ts";
import { DRAWS } from "./draws.ts";
import { ELEMENTWISE } from "./elementwise.ts";
import { GATHERS } from "./gathers.ts";
import { INDEXED } from "./indexed.ts";
import { PRODUCTS } from "./products.ts";
import { SCATTERS } from "./scatters.ts";
import { SUMMED_ROWS } from "./summed-rows.ts";
import { WINDOWS } from "./windows.ts";

/** Of several readings the first that accepts a node. */
const TABLE: { readonly [operator: string]: Reading | readonly Reading[] | undefined } = {
  ...ELEMENTWISE,
  ...ACTIVATIONS,
  ...INDEXED,
  ...GATHERS,
  ...SCATTERS,
  ...SUMMED_ROWS,
  ...DRAWS,
  ...PRODUCTS,
  ...WINDOWS,
};

/** A cache: each region that is tried asks for the same. */
const readings = new WeakMap<GraphNode, Reading | null>();

/** Null: there is no code of it, or not of these dtypes and attributes. */
export function readingOf(node: GraphNode): Reading | null {
  let reading = readings.get(node);
  if (reading === undefined) readings.set(node, (reading = readingIn(node)));
  return reading;
}

function readingIn(node: GraphNode): Reading | null {
  if (!isOperator(node.operator)) return null;
  const { [node.operator]: found } = TABLE;
  if (found === undefined) return null;
  return ("code" in found ? [found] : found).find((reading) => isAccepted(node, reading)) ?? null;
}

function isAccepted(node: GraphNode, reading: Reading): boolean {
  const has = (x: { readonly dtype: Parameters<Reading["dtypes"]["has"]>[0] } | null): boolean => x === null || reading.dtypes.has(x.dtype);
  return node.inputs.every(has) && node.outputs.every(has) && (reading.accepts === undefined || reading.accepts(node));
}

/** What a node writes by index; null: it writes all of its output. */
export function scatteredBy(node: GraphNode): Scattered | null {
  const code = readingOf(node)?.code;
  return code !== undefined && "scattered" in code ? code.scattered(node) : null;
}

/** What a node adds by index; null: it does something else. */
export function summedBy(node: GraphNode): Summed | null {
  const code = readingOf(node)?.code;
  return code !== undefined && "summed" in code ? code.summed(node) : null;
}

/** What a node puts into a copy by index, each element of which looks for it; null: it does something else. */
export function replacedBy(node: GraphNode): Scattered | null {
  const code = readingOf(node)?.code;
  return code !== undefined && "replaced" in code ? code.replaced(node) : null;
}

/** Whether elements of a node are read at addresses that depend on data. */
export function gathers(node: GraphNode): boolean {
  const code = readingOf(node)?.code;
  return code !== undefined && "gathered" in code;
}
