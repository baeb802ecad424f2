/** Where the elements of an expression lie in its value, by their index in the packed tensor of its sizes. */
import { DTYPES } from "../../../core/dtype.ts";
import type { Expr } from "../../graph.ts";

export interface Axis {
  readonly size: number;
  /** In elements; 0: broadcast. */
  readonly stride: number;
}

export interface Access {
  /** Of the first element, in elements from the value's start. */
  readonly offset: number;
  /** Outermost first, adjacent axes merged; none of length 1. */
  readonly axes: readonly Axis[];
}

export function mergedAxes(sizes: readonly number[], strides: readonly number[]): Axis[] {
  const axes: Axis[] = [];
  sizes.forEach((size, i) => {
    if (size === 1) return;
    const stride = strides[i]!;
    const last = axes.at(-1);
    if (last !== undefined && last.stride === stride * size) axes[axes.length - 1] = { size: last.size * size, stride };
    else axes.push({ size, stride });
  });
  return axes;
}

/** A cache: each region that is tried asks for the same. */
const accesses = new WeakMap<Expr, Access>();

export function accessOf(x: Expr): Access {
  let access = accesses.get(x);
  if (access === undefined)
    accesses.set(x, (access = { offset: x.byteOffset / DTYPES[x.dtype].sizeInBytes, axes: mergedAxes(x.sizes, x.strides) }));
  return access;
}

/** Element i is element i of the value. */
export const isIdentity = ({ offset, axes }: Access): boolean =>
  offset === 0 && (axes.length === 0 || (axes.length === 1 && axes[0]!.stride === 1));

/** All elements are one. */
export const isOne = ({ axes }: Access): boolean => axes.every((a) => a.stride === 0);

/** The index of the last element that is read. */
export const lastOf = ({ offset, axes }: Access): number => axes.reduce((n, a) => n + (a.size - 1) * a.stride, offset);
