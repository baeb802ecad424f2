/** Numbers of float64 on the host. */
import type { Shape } from "../../core/shape.ts";
import type { Call } from "../format/call.ts";

/** Numbers with a shape. */
export interface Numbers {
  readonly shape: Shape;
  readonly list: readonly number[];
}

export type Compute = (c: Call) => Numbers;

export const input = (c: Call, i: number): Numbers => ({ shape: c.numeric(i).shape, list: c.numbers(i) });
