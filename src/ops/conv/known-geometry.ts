/** Remembers the geometry of convolutions by the descriptions of their tensors and their options, since a network asks for the same ones in every call. @package */
import type { Desc } from "../../core/storage.ts";
import type { Geometry } from "./integer-spatial.ts";
import type { ConvOptions } from "./conv.ts";

type Options = Pick<ConvOptions, "stride" | "padding" | "dilation" | "groups">;

interface Known {
  readonly weight: Desc;
  readonly bias: Desc | null;
  /** Copies: a caller may change its lists. */
  readonly options: Options;
  readonly geometry: Geometry;
}

/** How many are kept for inputs of one description; more of them replace the oldest. */
const KEPT = 16;

const known = new WeakMap<Desc, Known[]>();

type Setting = Options[keyof Options];

function isSameSetting(a: Setting, b: Setting): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** What was remembered of a call whose arguments had no error; null: nothing. */
export function knownGeometry(x: Desc, weight: Desc, bias: Desc | null, { stride, padding, dilation, groups }: Options): Geometry | null {
  const list = known.get(x);
  if (list === undefined) return null;
  for (let i = 0; i < list.length; i++) {
    const k = list[i]!;
    const o = k.options;
    if (
      k.weight === weight &&
      k.bias === bias &&
      o.groups === groups &&
      isSameSetting(o.stride, stride) &&
      isSameSetting(o.padding, padding) &&
      isSameSetting(o.dilation, dilation)
    )
      return k.geometry;
  }
  return null;
}

const copied = <S extends Setting>(setting: S): S => (typeof setting === "object" ? ([...setting] as unknown as S) : setting);
const fixed = (list: readonly number[]): readonly number[] => Object.freeze([...list]);

/** Remembers it, frozen: nobody may change what later calls get. */
export function noteGeometry(x: Desc, weight: Desc, bias: Desc | null, options: Options, found: Geometry): Geometry {
  const { input, kernel, output, stride, dilation, padding, groups } = found;
  const geometry = Object.freeze({
    input: fixed(input),
    kernel: fixed(kernel),
    output: fixed(output),
    stride: fixed(stride),
    dilation: fixed(dilation),
    padding: fixed(padding),
    groups,
  });
  let list = known.get(x);
  if (list === undefined) known.set(x, (list = []));
  if (list.length >= KEPT) list.shift();
  const own = {
    stride: copied(options.stride),
    padding: copied(options.padding),
    dilation: copied(options.dilation),
    groups: options.groups,
  };
  list.push({ weight, bias, options: own, geometry });
  return geometry;
}
