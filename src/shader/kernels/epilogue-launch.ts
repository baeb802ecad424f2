/** A launch with an epilogue as a node of a graph: which of the nodes that follow it can take, and the shader and inputs that it has then. */
import { packedBytes } from "../../core/dtype.ts";
import { sizeOf } from "../../core/shape.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { isWhole, packedExpr, type EpilogueOp, type Expr, type GraphNode, type ShaderCall } from "../../graph/graph.ts";
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

type More = Pick<GraphNode, "withStatistics" | "withNorm">;

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
  epilogues(inputs: Inputs, epilogue: EpilogueForm): Pick<GraphNode, "withActivation" | "withEpilogue" | "withStatistics" | "withNorm"> {
    const withEpilogue = (op: EpilogueOp): ReturnType<NonNullable<GraphNode["withEpilogue"]>> => {
      const made = this.#with(inputs, epilogue, op);
      if (made === null) return null;
      const all = Object.values(made.inputs);
      return { shader: this.call(made.inputs, made.epilogue), inputs: all, ...this.epilogues(made.inputs, made.epilogue) };
    };
    // Nothing else follows a cast.
    if (epilogue.casts === true) return {};
    const more = this.#others.more?.(inputs, epilogue) ?? {};
    if (this.#takes === "nothing" || epilogue.reluGradient !== null) return more;
    return {
      ...more,
      withActivation: (activation) => (activationCode(activation) === null ? null : this.call(inputs, { ...epilogue, activation })),
      withEpilogue,
    };
  }

  /** Null: batch norm comes before an addend, and that before relu's gradient; each comes once, and a launch has so many buffers. */
  #with(inputs: Inputs, epilogue: EpilogueForm, op: EpilogueOp): { readonly inputs: Inputs; readonly epilogue: EpilogueForm } | null {
    if (op.kind === "cast") return this.#others.casts === true ? { inputs, epilogue: { ...epilogue, casts: true } } : null;
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

/** The result of a launch, by default its buffer y, with what it takes of what follows. */
export function launched(
  g: GraphBuilder,
  kernelOf: (epilogue: EpilogueForm) => Kernel,
  inputs: Inputs,
  result: Result & { readonly name?: string },
  params: { readonly [name: string]: number },
  takes: Takes,
): Expr {
  const launch = new EpilogueLaunch(g, kernelOf, { name: "y", ...result }, params, takes);
  // The epilogue reads the inputs as they are after the builder has packed them.
  const own = Object.fromEntries(Object.entries(inputs).map(([name, x]) => [name, g.align(g.packed(x))]));
  const epilogue = { ...NO_EPILOGUE, hasBias: "bias" in own };
  return g.shader(launch.call(own, epilogue), Object.values(own), [result], launch.epilogues(own, epilogue))[0]!;
}
