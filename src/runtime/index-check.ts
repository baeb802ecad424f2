/**
 * Whether indices are in range. On `cpu` always, elsewhere with DXTENSOR_CHECK_INDICES=1: it costs a reduction and waits for
 * it, unless the numbers came from JavaScript. Inside compile() indices have no values yet.
 */
import { isSwitchedOn } from "../host/environment.ts";
import { batching } from "../core/batching.ts";
import { define } from "../core/definition.ts";
import type { DType } from "../core/dtype.ts";
import { IndexError } from "../core/errors.ts";
import type { Expr } from "../graph/graph.ts";
import type { Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { outsideScopes } from "../core/scope.ts";
import { readBytesSync } from "./buffers.ts";
import { nativeDevice } from "./devices.ts";
import { runEager } from "./eager.ts";

interface Bounds {
  readonly low: number;
  readonly high: number;
  readonly version: number;
  /** The view that they are of; null for the whole storage. */
  readonly view: { readonly desc: object; readonly offset: number; readonly except: number | null } | null;
}

const known = new WeakMap<Storage, Bounds>();

/** More numbers than these are not looked at when a tensor is made. */
const MAX_CHECKED = 1 << 16;

/** @internal Notes the range of integers that were uploaded, so that no device has to be asked. */
export function noteIntegers(storage: Storage, data: ArrayBufferView): void {
  let low = Infinity;
  let high = -Infinity;
  if (data instanceof Int32Array) {
    if (data.length > MAX_CHECKED) return;
    for (let i = 0; i < data.length; i++) {
      const v = data[i]!;
      if (v < low) low = v;
      if (v > high) high = v;
    }
  } else if (data instanceof BigInt64Array) {
    if (data.length > MAX_CHECKED) return;
    // By halves: a bigint is dear.
    const halves = new Int32Array(data.buffer, data.byteOffset, 2 * data.length);
    for (let i = 0; i < halves.length; i += 2) {
      const [lower, upper] = [halves[i]!, halves[i + 1]!];
      const v = upper === lower >> 31 ? lower : upper < 0 ? -Infinity : Infinity;
      if (v < low) low = v;
      if (v > high) high = v;
    }
  } else return;
  known.set(storage, { low, high, version: storage.version, view: null });
}

const isLong = (dtype: DType): boolean => dtype === "int64" || dtype === "uint64";

/** Smallest and largest: as int32, those of 64 bits as uint64 in the same order. */
const boundsOp = define<{ readonly except: number | null }>({
  name: "indexBounds",
  grad: null,
  infer: ([x]) => [0, 1].map(() => ({ shape: [], dtype: isLong(x!.dtype) ? "uint64" : "int32" })),
  lower: (g, [x], { except }) => {
    const { sizes } = x!;
    const all = isLong(x!.dtype) || x!.dtype === "int32" ? x! : g.cast(x!, { output: { dtype: "int32" } });
    const number = (value: number | bigint, dtype = all.dtype): Expr => {
      const valueDataType = dtype === "int32" ? "INT32" : dtype === "int64" ? "INT64" : "UINT64";
      return g.expand(g.fillValueConstant({ output: { sizes: [1], dtype }, valueDataType, value: { dtype, value } }), sizes);
    };
    const seen =
      except === null
        ? all
        : g.elementWiseIf(g.elementWiseLogicalEquals(all, number(except), { output: { dtype: "bool" } }), number(0), all);
    // The sign bit flipped orders int64 as uint64, which Microsoft's library compares rightly.
    const keys = seen.dtype === "int64" ? g.elementWiseBitXor(g.reinterpret(seen, { dtype: "uint64" }), number(1n << 63n, "uint64")) : seen;
    const extreme = (which: "MIN" | "MAX"): Expr =>
      g.reduce(keys, { function: which, output: { sizes: sizes.map(() => 1), dtype: keys.dtype }, axes: sizes.map((_, i) => i) });
    return [extreme("MIN"), extreme("MAX")];
  },
});

/** What is known of an index without asking the device. */
function notedOf({ storage, desc, offset }: Tensor, except: number | null): Bounds | null {
  const noted = known.get(storage);
  if (noted === undefined || noted.version !== storage.version) return null;
  const { view } = noted;
  return view === null || (view.desc === desc && view.offset === offset && view.except === except) ? noted : null;
}

function measured(index: Tensor, except: number | null): Bounds {
  const native = nativeDevice(index.device);
  const [low, high] = outsideScopes(() => runEager(boundsOp, [index], { except })).map((t) => {
    const bytes = readBytesSync(native, t.storage.handle, 0, isLong(index.dtype) ? 8 : 4, "indexBounds");
    t.dispose();
    if (!isLong(index.dtype)) return new Int32Array(bytes)[0]!;
    return Number(new BigUint64Array(bytes)[0]! - (index.dtype === "int64" ? 1n << 63n : 0n));
  });
  const bounds = { low: low!, high: high!, version: index.storage.version, view: { desc: index.desc, offset: index.offset, except } };
  known.set(index.storage, bounds);
  return bounds;
}

const isChecked = ({ device: { type } }: Tensor): boolean => type === "cpu" || (type !== "meta" && isSwitchedOn("DXTENSOR_CHECK_INDICES"));

/** Whether a tensor's values may be looked at, as indices are. */
export const checksValues = (t: Tensor): boolean => tracer() === null && batching()?.owns(t) !== true && t.size > 0 && isChecked(t);

export interface IndexRange {
  /** The number of valid indices. */
  readonly length: number;
  /** Negative numbers count from the end. Default: they are refused. */
  readonly wraps?: boolean;
  readonly argument?: string;
  /** A number outside that is allowed. */
  readonly except?: number | null;
}

/** Throws IndexError when an element is out of range. */
export function requireIndices(
  operation: string,
  index: Tensor,
  { length, wraps = false, argument = "index", except = null }: IndexRange,
): void {
  const level = batching();
  if (level !== null) {
    level.below(() => {
      requireIndices(operation, level.valueOf(index), { length, wraps, argument, except });
    });
    return;
  }
  if (tracer() !== null || index.size === 0 || !isChecked(index)) return;
  const low = wraps ? -length : 0;
  const fits = (b: Bounds): boolean => b.low >= low && b.high < length;
  const noted = notedOf(index, except);
  if (noted !== null && fits(noted)) return;
  // The whole storage's range says enough when it fits; else the view's own is asked for.
  const bounds = noted === null || noted.view === null ? measured(index, except) : noted;
  if (fits(bounds)) return;
  throw new IndexError(operation, argument, `integers in [${low}, ${length - 1}]`, bounds.high >= length ? bounds.high : bounds.low);
}
