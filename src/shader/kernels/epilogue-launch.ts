/** A launch with an epilogue as a node of a graph: which of the nodes that follow it can take, and the shader and inputs that it has then. */
import { packedBytes } from "../../core/dtype.ts";
import { sizeOf } from "../../core/shape.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { Expr, isWhole, packedExpr, type EpilogueOp, type GraphNode, type ShaderCall, type Value } from "../../graph/graph.ts";
import { MAX_BUFFERS } from "../dxbc/emit.ts";
import { activationCode } from "../operations/activations.ts";
import { NO_EPILOGUE, NORM_BUFFERS, type EpilogueForm } from "./epilogue.ts";
import { callOf, type Kernel } from "./kernel.ts";

/** By the names of the kernel's buffers, in its order. */
export type Inputs = { readonly [name: string]: Expr };

/** The result of a launch. */
export interface Result {
  readonly dtype: "float32" | "float16";
  readonly sizes: readonly number[];
}

/** What a launch takes into its epilogue: what has numbers for each channel too, what goes by elements alone, or nothing. */
export type Takes = "channels" | "elements" | "nothing";

type More = Pick<GraphNode, "withStatistics" | "withNorm" | "withColumnSums">;

/** What else its node can have. */
interface Others {
  readonly more?: (inputs: Inputs, epilogue: EpilogueForm) => More;
  /** Whether it writes the other float type too. Default: false. */
  readonly casts?: boolean;
}

/** The launch that writes a result, and its forms with what follows it. */
export class EpilogueLaunch {
  readonly #g: GraphBuilder;
  readonly #kernelOf: (epilogue: EpilogueForm) => Kernel;
  readonly #result: Result & { readonly name: string };
  readonly #params: { readonly [name: string]: number };
  readonly #takes: Takes;
  readonly #others: Others;

  constructor(
    g: GraphBuilder,
    kernelOf: (epilogue: EpilogueForm) => Kernel,
    result: Result & { readonly name: string },
    params: { readonly [name: string]: number },
    takes: Takes,
    others: Others = {},
  ) {
    this.#others = others;
    this.#g = g;
    this.#kernelOf = kernelOf;
    this.#result = result;
    this.#params = params;
    this.#takes = takes;
  }

  call(inputs: Inputs, epilogue: EpilogueForm): ShaderCall {
    const shapes = {
      ...Object.fromEntries(Object.entries(inputs).map(([name, x]) => [name, x.sizes])),
      [this.#result.name]: this.#result.sizes,
    };
    return callOf(this.#g.capabilities, this.#kernelOf(epilogue), { shapes, params: this.#params });
  }

  /** What its node's epilogue can still have. */
  epilogues(inputs: Inputs, epilogue: EpilogueForm): Pick<GraphNode, "withActivation" | "withEpilogue" | keyof More> {
    const withEpilogue = (op: EpilogueOp): ReturnType<NonNullable<GraphNode["withEpilogue"]>> => {
      const made = this.#with(inputs, epilogue, op);
      if (made === null) return null;
      const all = Object.values(made.inputs);
      return { shader: this.call(made.inputs, made.epilogue), inputs: all, ...this.epilogues(made.inputs, made.epilogue) };
    };
    const more = this.#others.more?.(inputs, epilogue) ?? {};
    // Nothing else follows a cast.
    if (epilogue.casts === true) return more.withColumnSums === undefined ? {} : { withColumnSums: more.withColumnSums };
    if (this.#takes === "nothing" || epilogue.reluGradient !== null) return this.#others.casts === true ? { ...more, withEpilogue } : more;
    return {
      ...more,
      withActivation: (activation) => (activationCode(activation) === null ? null : this.call(inputs, { ...epilogue, activation })),
      withEpilogue,
    };
  }

  /** Null: batch norm comes before an addend, and that before relu's gradient; each comes once, and a launch has so many buffers. */
  #with(inputs: Inputs, epilogue: EpilogueForm, op: EpilogueOp): { readonly inputs: Inputs; readonly epilogue: EpilogueForm } | null {
    if (op.kind === "cast") return this.#others.casts === true ? { inputs, epilogue: { ...epilogue, casts: true } } : null;
    if (this.#takes === "nothing" || epilogue.reluGradient !== null) return null;
    if (Object.keys(inputs).length + (op.kind === "norm" ? NORM_BUFFERS.length : 1) + 1 > MAX_BUFFERS) return null;
    // The readers of a GEMM's result may see it in another shape, with the elements in the same order.
    const isLike = (x: Expr): boolean => x.dtype === this.#result.dtype && isWhole(x) && sizeOf(x.sizes) === sizeOf(this.#result.sizes);
    if (op.kind === "reluGradient")
      return isLike(op.x) ? { inputs: { ...inputs, mask: op.x }, epilogue: { ...epilogue, reluGradient: op.zero } } : null;
    if (epilogue.hasAddend) return null;
    if (op.kind === "add") {
      const { addend } = op;
      return isLike(addend) ? { inputs: { ...inputs, addend }, epilogue: { ...epilogue, hasAddend: true } } : null;
    }
    if (this.#takes === "elements") return null;
    const { dtype, sizes } = this.#result;
    const numbers = [op.mean, op.variance, op.gain, op.shift].map((x) => channelsOf(x, dtype, sizes[1]!));
    if (epilogue.epsilon !== null || numbers.some((x) => x === null)) return null;
    const named = Object.fromEntries(NORM_BUFFERS.map((name, i) => [name, numbers[i]!]));
    return { inputs: { ...inputs, ...named }, epilogue: { ...epilogue, epsilon: op.epsilon } };
  }
}

/** The numbers of the channels of [1, C, 1, ...] or [N, C, H, ...] that repeats them, as [C]; null: they do not lie so. */
function channelsOf(x: Expr, dtype: Result["dtype"], channels: number): Expr | null {
  const isRepeated = x.sizes.every((d, i) => i === 1 || d === 1 || x.strides[i] === 0);
  if (x.dtype !== dtype || x.byteOffset !== 0 || x.sizes[1] !== channels || !isRepeated) return null;
  if (x.value.sizeInBytes !== packedBytes(dtype, [channels]) || (channels > 1 && x.strides[1] !== 1)) return null;
  return packedExpr(x.value, dtype, [channels]);
}

/** What a launch casts: its operands, its result as well, or neither. */
export type Casts = "operands" | "all" | "nothing";

/** Operands that a launch can have of the other float type; others are parts of sums. */
const CAST_OPERANDS: readonly string[] = ["x", "w", "dy", "bias"];

/** The result of a launch, by default its buffer y, with what it takes of what follows, and of casts. */
export function launched(
  g: GraphBuilder,
  kernelOf: (epilogue: EpilogueForm) => Kernel,
  inputs: Inputs,
  result: Result & { readonly name?: string },
  params: { readonly [name: string]: number },
  takes: Takes,
  casts: Casts = "nothing",
): Expr {
  const launch = new EpilogueLaunch(g, kernelOf, { name: "y", ...result }, params, takes, { casts: casts === "all" });
  // The epilogue reads the inputs as they are after the builder has packed them.
  const own = Object.fromEntries(Object.entries(inputs).map(([name, x]) => [name, g.align(g.packed(x))]));
  const { shader, inputs: read, ...more } = castingNode(launch, own, { ...NO_EPILOGUE, hasBias: "bias" in own }, casts !== "nothing");
  return g.shader(shader, read as readonly Expr[], [result], more)[0]!;
}

type Launched = Omit<GraphNode, "id" | "operator" | "attributes" | "outputs" | "origin"> & { readonly shader: ShaderCall };

/** Of a launch's node: what it reads, and what it can still take. */
function castingNode(launch: EpilogueLaunch, inputs: Inputs, epilogue: EpilogueForm, casts: boolean): Launched {
  const withCast = (result: Value, x: Expr): Launched | null => {
    const { cast = [] } = epilogue;
    const names = Object.keys(inputs).filter((name) => inputs[name]!.value === result);
    const [name] = names;
    // A launch that has a tensor as two operands reads the cast's result.
    if (name === undefined || names.length > 1 || !CAST_OPERANDS.includes(name) || cast.includes(name)) return null;
    const own = inputs[name]!;
    if (!isWhole(own) || own.dtype === x.dtype || x.dtype === "bfloat16") return null;
    const next = { ...inputs, [name]: new Expr(x.value, x.dtype, own.sizes, own.strides, x.byteOffset) };
    return castingNode(launch, next, { ...epilogue, cast: [...cast, name] }, true);
  };
  const node = { shader: launch.call(inputs, epilogue), inputs: Object.values(inputs), ...launch.epilogues(inputs, epilogue) };
  return casts ? { ...node, withCast } : node;
}
