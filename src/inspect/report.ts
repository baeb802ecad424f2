/** What `dxtensor inspect` finds in a file: its tensors, metadata and, of a model, its graph. Plain data. */

export interface TensorRow {
  readonly name: string;
  /** As the file's format names it: "float32", "Q4_0". */
  readonly dtype: string;
  readonly shape: readonly number[];
  /** In the file; null where it does not say. */
  readonly sizeInBytes: number | null;
}

/** An input or output of a graph: lengths, names of any length, null for unknown ones; null of any rank. */
export interface ValueRow {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly (number | string | null)[] | null;
}

export interface NodeRow {
  readonly name: string;
  readonly type: string;
  readonly domain: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: Readonly<Record<string, string>>;
}

export interface GraphReport {
  readonly inputs: readonly ValueRow[];
  readonly outputs: readonly ValueRow[];
  readonly nodes: readonly NodeRow[];
}

export interface FileReport {
  readonly format: "checkpoint" | "gguf" | "npy" | "npz" | "onnx" | "pytorch" | "safetensors" | "tfjs";
  readonly files: readonly { readonly path: string; readonly sizeInBytes: number }[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly tensors: readonly TensorRow[];
  readonly graph: GraphReport | null;
}

export interface Total {
  readonly dtype: string;
  readonly tensors: number;
  readonly elements: number;
  readonly sizeInBytes: number;
}

export const elementsOf = ({ shape }: TensorRow): number => shape.reduce((n, d) => n * d, 1);

/** Sums of each dtype, the largest first. */
export function totalsOf(tensors: readonly TensorRow[]): readonly Total[] {
  const totals = new Map<string, Total>();
  for (const t of tensors) {
    const { tensors: count, elements, sizeInBytes } = totals.get(t.dtype) ?? { tensors: 0, elements: 0, sizeInBytes: 0 };
    totals.set(t.dtype, {
      dtype: t.dtype,
      tensors: count + 1,
      elements: elements + elementsOf(t),
      sizeInBytes: sizeInBytes + (t.sizeInBytes ?? 0),
    });
  }
  return [...totals.values()].sort((a, b) => b.sizeInBytes - a.sizeInBytes || (a.dtype < b.dtype ? -1 : 1));
}

/** Whether a name contains a text, in which * stands for any characters. */
export function nameFilter(text: string): (name: string) => boolean {
  const pattern = text.split("*").map((part) => part.replaceAll(/[\\^$.+?()[\]{}|]/g, "\\$&"));
  const expression = new RegExp(pattern.join(".*"), "s");
  return (name) => expression.test(name);
}
