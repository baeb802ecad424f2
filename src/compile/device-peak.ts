/** What a device reaches: the rate of a copy, and that of a large matrix product. A profile's shares are of these. */
import { Graph, packedExpr, type Expr } from "../graph/graph.ts";
import { GraphBuilder } from "../graph/builder.generated.ts";
import type { NativeDevice } from "../runtime/devices.ts";
import { matmulShader } from "../shader/kernels/select-gemm.ts";
import { unaryShader } from "../shader/kernels/select.ts";
import { DIRECTML, inForm, SHADER } from "../shader/shader-forms.ts";
import { TimedGraph } from "./timed-graph.ts";

/** Measured on the device; null: it could not be. */
export interface DevicePeak {
  /** Bytes that a copy reads and writes in a second. */
  readonly bytesPerSecond: number | null;
  /** Of a product of float32. */
  readonly flopsPerSecond: number | null;
}

/** Bytes that are copied, and rows of the product: on a CPU fewer do. */
const SIZES = { hardware: { bytes: 2 ** 28, rows: 2048 }, other: { bytes: 2 ** 24, rows: 256 } } as const;
const ROUNDS = 3;

/** Once for each open device. */
const known = new WeakMap<NativeDevice, DevicePeak>();

export function devicePeak(native: NativeDevice): DevicePeak {
  let peak = known.get(native);
  if (peak === undefined) {
    const { bytes, rows } = native.adapter.isHardware ? SIZES.hardware : SIZES.other;
    peak = { bytesPerSecond: best(native, 2 * bytes, copies(bytes)), flopsPerSecond: best(native, 2 * rows ** 3, multiplies(rows)) };
    known.set(native, peak);
  }
  return peak;
}

/** Adds the nodes of a graph. */
type Fill = (g: GraphBuilder) => void;

const copies = (bytes: number): Fill => (g) => {
  const x = packedExpr(g.graph.addInput(bytes), "float32", [bytes / 4]);
  // An activation moves what a copy does.
  g.graph.outputs = [unaryShader(g, "relu", x) ?? g.elementWiseIdentity(x)];
}; // prettier-ignore

/** Multiplies matrices of so many rows, each product with the same matrix as the one before it. */
export function product(g: GraphBuilder, n: number, count = 1): void {
  const input = (): Expr => packedExpr(g.graph.addInput(4 * n * n), "float32", [n, n]);
  const whole = (x: Expr): Expr => g.reinterpret(x, { sizes: [1, 1, n, n] });
  const [first, b] = [input(), input()];
  let a = first;
  for (let i = 0; i < count; i++)
    a =
      matmulShader(g, a, b, null, { alpha: 1, beta: 0 }) ??
      g.reinterpret(g.gemm(whole(a), whole(b), { output: { sizes: [1, 1, n, n] }, transA: "NONE", transB: "NONE", alpha: 1, beta: 0 }), { sizes: [n, n] }); // prettier-ignore
  g.graph.outputs = [a];
}

const multiplies = (n: number): Fill => (g) => product(g, n); // prettier-ignore

/** Of DirectML's operator and, on a GPU, the library's shader: over Vulkan the shader moves twice as much. */
function best(native: NativeDevice, work: number, fill: Fill): number | null {
  const forms = native.adapter.isHardware ? [DIRECTML, SHADER] : [DIRECTML];
  const rates = forms.map((form) => inForm(form, () => rate(native, work, fill)).result);
  const found = rates.filter((x) => x !== null);
  return found.length === 0 ? null : Math.max(...found);
}

function rate(native: NativeDevice, work: number, fill: Fill): number | null {
  let timed: TimedGraph | null = null;
  try {
    const g = new GraphBuilder(new Graph(), native.capabilities);
    fill(g);
    timed = new TimedGraph(native, g.graph, new Map(g.graph.inputs.map((value) => [value, "float32" as const])), "none");
    let seconds = Infinity;
    for (let i = 0; i < ROUNDS; i++) seconds = Math.min(seconds, timed.seconds());
    return seconds > 0 ? work / seconds : null;
  } catch {
    // Too little memory, or no such operator: the profile has no shares then.
    return null;
  } finally {
    timed?.dispose();
  }
}
