/** From PyTorch's names to our calls. */
import * as dx from "../../src/index.ts";
import type { Call } from "./call.ts";
import { elementwise } from "./table-elementwise.ts";
import { movement } from "./table-movement.ts";
import { network } from "./table-network.ts";
import { reduction } from "./table-reduction.ts";

/** What a call gives: a tensor, several, or plain values. */
export type Result = dx.Tensor | readonly Result[] | number | boolean | string;

export interface Entry {
  readonly run: (call: Call) => Result;
  /** The in-place form, where there is one: changes the first operand. */
  readonly inPlace?: ((call: Call) => void) | undefined;
}

/** A function of the first operand, whose method with "_" is the in-place form. */
export function unaryEntry(name: string, run: (x: dx.Tensor) => dx.Tensor): Entry {
  const method = `${name}_`;
  return { run: (c) => run(c.x), inPlace: method in dx.Tensor.prototype ? (c) => void (c.x as unknown as Record<string, () => void>)[method]!() : undefined };
}

export const table: Readonly<Record<string, Entry>> = { ...elementwise, ...movement, ...reduction, ...network };
