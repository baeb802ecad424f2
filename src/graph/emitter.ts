/** The part of the graph builder that all operators share: it makes a node of the graph from named arguments. */
import type { Mark } from "../core/checkpoint-marks.ts";
import { DTYPES, packedBytes, type DType } from "../core/dtype.ts";
import { UnsupportedError } from "../core/errors.ts";
import { Expr, HALF_BYTES, type Graph, packedExpr, spanInBytes, type Activation, type GraphNode, type ShaderCall } from "./graph.ts";
import { MAX_AXES, withFewerAxes } from "./many-axes.ts";
import { isPacked, packedStrides, sizeOf } from "../core/shape.ts";
import { ENUMS, OPERATORS, type OperatorName } from "../dml/operators.generated.ts";
import { supportOf, type OperatorRow } from "../dml/schema.ts";
import type { Capabilities } from "../dml/capabilities.ts";
import type { OperationDescription, OperationTensor } from "../native/binding.ts";

export { Expr, type Activation };

/** Sizes of an output whose dtype follows from the inputs; the whole specification; a number for a scalar union. */
export interface OutputSpec {
  readonly sizes: readonly number[];
  readonly dtype: DType;
}
export interface OutputSizes {
  readonly sizes: readonly number[];
  readonly dtype?: DType;
  /** Order of the axes in memory, outermost first. Default: packed in the order of `sizes`. */
  readonly order?: readonly number[];
}
/** A scalar of a DML_SCALAR_UNION, with the dtype that says how it is stored. */
export interface Scalar {
  readonly dtype: DType;
  readonly value: number | bigint | boolean;
}

/** Strides of a dense tensor with this order of axes in memory. */
function orderedStrides(sizes: readonly number[], order: readonly number[]): number[] {
  const strides = new Array<number>(sizes.length).fill(1);
  let stride = 1;
  for (const axis of order.toReversed()) {
    strides[axis] = stride;
    stride *= sizes[axis]!;
  }
  return strides;
}

/** Words that a buffer may have for a shader where Direct3D runs over Vulkan (maxTexelBufferElements of NVIDIA and lavapipe), in bytes. */
const MAX_SHADER_BYTES = 2 ** 29;

/** DML_TENSOR_DATA_TYPE_UINT4. */
const { UINT4 } = ENUMS.DML_TENSOR_DATA_TYPE;

type Named = { readonly [name: string]: unknown };

export class Emitter {
  /** The graph under construction. */
  readonly graph: Graph;
  /** What the device supports. */
  readonly capabilities: Capabilities;
  /** Written into the nodes made from now on. */
  origin = "";
  /** Written into the nodes too. */
  mark: Mark | null = null;
  /** The graph is a program of one operation, not part of a compiled function. */
  isAlone = false;
  /** The operation's result is written over its first input. */
  writesOver = false;

  constructor(graph: Graph, capabilities: Capabilities) {
    this.graph = graph;
    this.capabilities = capabilities;
  }

  /** The same bytes as another tensor: nothing is computed. Strides default to packed ones, the offset to the expression's. */
  reinterpret(
    x: Expr,
    view: {
      /** Length of each axis. Default: x's. */
      readonly sizes?: readonly number[];
      /** Distance of elements along each axis, in elements. Default: packed. */
      readonly strides?: readonly number[];
      /** Default: x's. */
      readonly dtype?: DType;
      /** Offset of the first element, in bytes. Default: x's. */
      readonly byteOffset?: number;
    },
  ): Expr {
    const sizes = view.sizes ?? x.sizes;
    return new Expr(
      x.value,
      view.dtype ?? x.dtype,
      sizes,
      view.strides ?? (view.sizes === undefined ? x.strides : packedStrides(sizes)),
      view.byteOffset ?? x.byteOffset,
    );
  }

  /** x broadcast to sizes by zero strides. */
  expand(x: Expr, sizes: readonly number[]): Expr {
    const lead = sizes.length - x.sizes.length;
    const strides = sizes.map((d, i) => (i < lead || (x.sizes[i - lead] === 1 && d !== 1) ? 0 : x.strides[i - lead]!));
    return this.reinterpret(x, { sizes, strides });
  }

  /** x with its axes in another order. */
  transpose(x: Expr, order: readonly number[]): Expr {
    return this.reinterpret(x, { sizes: order.map((a) => x.sizes[a]!), strides: order.map((a) => x.strides[a]!) });
  }

  /** x with other sizes of the same number of elements; copied by IDENTITY if it is not packed. */
  reshape(x: Expr, sizes: readonly number[]): Expr {
    return this.reinterpret(this.packed(x), { sizes, strides: packedStrides(sizes) });
  }

  /** x itself when it is packed, else a packed copy. */
  packed(x: Expr): Expr {
    if (isPacked(x.sizes, x.strides)) return x;
    return this.emit("ELEMENT_WISE_IDENTITY", { input: x }).output as Expr;
  }

  /** A fused activation. */
  activation(operator: OperatorName, attributes: Named = {}): Activation {
    return { operator, attributes };
  }

  /** A node of any operator: tensors, attributes and output specifications by the names of the table. Returns its outputs by name. */
  emit(operator: OperatorName, named: Named): { readonly [output: string]: Expr | Expr[] | null } {
    const row = OPERATORS[operator];
    const fewer = withFewerAxes(this, operator, named);
    if (fewer !== null) return fewer;
    const byField = row.fields.map((f) =>
      f.kind === "input" ? this.#aligned(named[f.name] as Expr | readonly Expr[] | null | undefined) : null,
    );
    this.#requireSupport(row, byField, named);
    const inputs: (Expr | null)[] = [];
    const attributes: Record<string, unknown> = {};
    row.fields.forEach((f, i) => {
      if (f.kind === "input") {
        const tensors = byField[i];
        if (Array.isArray(tensors)) inputs.push(...(tensors as Expr[]));
        else inputs.push((tensors as Expr | null | undefined) ?? null);
      } else if (f.kind === "attribute" && !row.fields.some((g) => g.count === i)) {
        attributes[f.name] = named[f.name] ?? null;
      }
    });
    const node = {
      id: this.graph.nodes.length,
      operator,
      attributes,
      inputs,
      outputs: [] as (Expr | null)[],
      origin: this.origin,
      mark: this.mark,
    };
    const results: Record<string, Expr | Expr[] | null> = {};
    row.fields.forEach((f, i) => {
      if (f.kind !== "output") return;
      const spec = named[f.name] as Partial<OutputSpec> | readonly Partial<OutputSpec>[] | undefined;
      if (f.type === "tensorArray") {
        const list = (spec as readonly Partial<OutputSpec>[]).map((s) => this.#output(node, row, i, byField, s));
        node.outputs.push(...list);
        results[f.name] = list;
      } else if (f.optional && spec === undefined) {
        node.outputs.push(null);
        results[f.name] = null;
      } else {
        const out = this.#output(node, row, i, byField, (spec ?? {}) as Partial<OutputSpec>);
        node.outputs.push(out);
        results[f.name] = out;
      }
    });
    this.graph.nodes.push(node);
    return results;
  }

  /** A launch of a compute shader over packed tensors, as u0, u1, … in this order, its outputs behind them. */
  shader(
    call: ShaderCall,
    tensors: readonly Expr[],
    outputs: readonly OutputSpec[],
    more: Pick<GraphNode, "withActivation" | "withEpilogue" | "withPrologue" | "withStatistics" | "withNorm" | "withColumnSums" | "withCast" | "isCast" | "asPrologue" | "asNorm" | "joins" | "asGemm" | "asOperator"> = {}, // prettier-ignore
  ): Expr[] {
    const refuse = (expected: string, received: string): never => {
      throw new UnsupportedError({ operation: this.origin, argument: "shader", expected, received });
    };
    if (!this.capabilities.runsShaders) refuse("on a device that runs compute shaders", this.capabilities.describe());
    const inputs = tensors.map((x) => this.align(this.packed(x)));
    const node = {
      id: this.graph.nodes.length,
      operator: "SHADER" as const,
      shader: call,
      attributes: {},
      inputs,
      outputs: [] as Expr[],
      origin: this.origin,
      mark: this.mark,
      ...more,
    };
    for (const { dtype, sizes } of outputs) {
      const seen = sizes.length === 0 ? [1] : sizes;
      node.outputs.push(packedExpr(this.graph.newValue(packedBytes(dtype, seen), node), dtype, seen));
    }
    for (const x of [...inputs, ...node.outputs]) {
      const bytes = spanInBytes(x.dtype, x.sizes, x.strides);
      if (bytes > MAX_SHADER_BYTES) refuse(`over tensors of at most ${MAX_SHADER_BYTES} bytes`, `${bytes} bytes`);
    }
    this.graph.nodes.push(node);
    return node.outputs;
  }

  /**
   * An operation by the device's own kernel: over the tensors as they are, or over packed copies where the device has a kernel for these alone. Null
   * where it has none.
   */
  operation(operation: string, attributes: Named, tensors: readonly Expr[], outputs: readonly OutputSpec[]): Expr[] | null {
    const kernels = this.capabilities.operationKernels;
    if (kernels === null || !kernels.has(operation)) return null;
    const results = outputs.map(({ dtype, sizes }) => {
      const seen = sizes.length === 0 ? [1] : sizes;
      return { dtype, sizes: seen, strides: packedStrides(seen) };
    });
    const describe = ({ dtype, sizes, strides }: Expr): OperationTensor => ({ dtype, sizes, strides });
    const prepare = (inputs: readonly OperationTensor[]): OperationDescription | null =>
      kernels.prepare({ operation, attributes, inputs, outputs: results });
    let found = prepare(tensors.map(describe));
    const isStrided = (x: Expr): boolean => !isPacked(x.sizes, x.strides);
    let operands = tensors;
    if (found === null && tensors.some(isStrided)) {
      found = prepare(tensors.map((x) => ({ ...describe(x), strides: packedStrides(x.sizes) })));
      if (found !== null) operands = tensors.map((x) => this.packed(x));
    }
    if (found === null) return null;
    const node = {
      id: this.graph.nodes.length,
      operator: "OPERATION" as const,
      operation: found,
      attributes: {},
      inputs: operands.map((x) => this.align(x)),
      outputs: [] as Expr[],
      origin: this.origin,
      mark: this.mark,
    };
    for (const { dtype, sizes } of results)
      node.outputs.push(packedExpr(this.graph.newValue(packedBytes(dtype, sizes), node), dtype, sizes));
    this.graph.nodes.push(node);
    return node.outputs;
  }

  #output(node: GraphNode, row: OperatorRow, field: number, byField: readonly unknown[], spec: Partial<OutputSpec & OutputSizes>): Expr {
    const agree = (groups: readonly (readonly number[])[] | undefined): Expr | null => {
      for (const group of groups ?? []) {
        if (!group.includes(field)) continue;
        for (const other of group) {
          const tensors = byField[other];
          const first = Array.isArray(tensors) ? (tensors[0] as Expr | undefined) : (tensors as Expr | null);
          if (first) return first;
        }
      }
      return null;
    };
    const sizes = spec.sizes ?? agree(row.same.sizes)?.sizes;
    const dtype = spec.dtype ?? agree(row.same.dataType)?.dtype;
    if (sizes === undefined || dtype === undefined)
      throw new TypeError(`${row.name}: ${row.fields[field]!.name} needs ${sizes === undefined ? "sizes" : "a dtype"}`);
    const seen = sizes.length === 0 ? [1] : sizes;
    const value = this.graph.newValue(packedBytes(dtype, seen), node);
    return spec.order === undefined ? packedExpr(value, dtype, seen) : new Expr(value, dtype, seen, orderedStrides(seen, spec.order), 0);
  }

  /** Bindings start at multiples of 16 bytes: a tensor that starts elsewhere is first cut out of its flat range by SLICE1. */
  #aligned<T extends Expr | readonly Expr[] | null | undefined>(tensors: T): Expr | readonly Expr[] | null | undefined {
    if (tensors === null || tensors === undefined) return tensors;
    if (Array.isArray(tensors)) return tensors.map((x) => this.align(x as Expr));
    return this.align(tensors as Expr);
  }

  /** x, starting at a multiple of 16 bytes of its value. */
  align(x: Expr): Expr {
    const rest = x.byteOffset % 16;
    if (rest === 0) return x;
    let span = 1;
    for (let i = 0; i < x.sizes.length; i++) span += (x.sizes[i]! - 1) * x.strides[i]!;
    const skip = rest / DTYPES[x.dtype].sizeInBytes;
    const flat = this.reinterpret(x, { sizes: [skip + span], strides: [1], byteOffset: x.byteOffset - rest });
    const cut = this.emit("SLICE1", {
      input: flat,
      output: { sizes: [span] },
      inputWindowOffsets: [skip],
      inputWindowSizes: [span],
      inputWindowStrides: [1],
    }).output as Expr;
    return this.reinterpret(cut, { sizes: x.sizes, strides: x.strides, byteOffset: 0 });
  }

  /** True when the device's feature level has the operator with these dtypes on the tensor of that name (default: every input's). */
  supports(operator: OperatorName, dtype?: DType, tensor?: string): boolean {
    if (!this.capabilities.hasOperator(operator)) return false;
    if (dtype === undefined) return true;
    const row = OPERATORS[operator];
    return row.fields.every((f, i) => {
      if (f.kind === "attribute" || (tensor !== undefined ? f.name !== tensor : f.kind !== "input")) return true;
      const support = supportOf(row, i, this.capabilities.featureLevel);
      return support === null || support.dataTypes === 0 || ((support.dataTypes >> DTYPES[dtype].dml) & 1) === 1;
    });
  }

  /** True when the device dequantizes codes of so many bits. */
  supportsCodes(bits: 4 | 8): boolean {
    return this.supports("DEQUANTIZE") && (bits === 8 || ((this.capabilities.dataTypes >> UINT4) & 1) === 1);
  }

  /**
   * DEQUANTIZE by scales alone: of int8, of uint8 around 128, or of 4 bits around 8, two in a byte, the low half first. codes: packed, of bytes. scales:
   * of the output's dtype.
   */
  dequantizeCodes(
    codes: Expr,
    scales: Expr,
    {
      bits,
      output,
    }: {
      /** Of a code. */
      readonly bits: 4 | 8;
      /** Sizes and dtype of the values. */
      readonly output: OutputSpec;
    },
  ): Expr {
    const made = this.emit("DEQUANTIZE", { input: codes, quantizations: [scales], quantizationType: "SCALE", output }).output as Expr;
    if (bits === 8) return made;
    const node = made.value.producer!;
    Object.assign(node.attributes, { [HALF_BYTES]: true });
    return made;
  }

  #requireSupport(row: OperatorRow, byField: readonly unknown[], named: Named): void {
    const operator = row.name as OperatorName;
    const refuse = (expected: string, received: string): never => {
      throw new UnsupportedError({ operation: this.origin || operator, argument: operator, expected, received });
    };
    const { fallsBackByNode } = this.capabilities;
    if (!this.capabilities.hasOperator(operator) && !fallsBackByNode)
      refuse(
        `an operator of the device (${this.capabilities.describe()})`,
        `feature level ${(row.featureLevel >> 12).toString()}.${((row.featureLevel >> 8) & 15).toString()} or a device without it`,
      );
    const fn =
      typeof named.function === "string" && operator === "REDUCE"
        ? ENUMS.DML_REDUCE_FUNCTION[named.function as keyof typeof ENUMS.DML_REDUCE_FUNCTION]
        : -1;
    row.fields.forEach((f, i) => {
      const tensors = f.kind === "input" ? byField[i] : null;
      if (!tensors) return;
      const support = supportOf(row, i, this.capabilities.featureLevel, fn);
      if (support === null || support.dataTypes === 0) return;
      for (const x of (Array.isArray(tensors) ? tensors : [tensors]) as Expr[]) {
        if (((support.dataTypes >> DTYPES[x.dtype].dml) & 1) === 0)
          refuse(`of a data type that ${this.capabilities.describe()} supports for ${f.name}`, x.dtype);
        if (!this.capabilities.hasDType(x.dtype) && !fallsBackByNode) refuse(`of a data type that the device supports`, x.dtype);
        if (x.sizes.length > MAX_AXES || sizeOf(x.sizes) === 0) refuse("of 1 to 8 axes without empty ones", `[${x.sizes.join(", ")}]`);
      }
    });
  }
}
