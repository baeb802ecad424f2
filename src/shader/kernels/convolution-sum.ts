/** Adds the parts of a convolution's sums in order, with the bias and the activation at the end. */
import type { Activation } from "../../graph/graph.ts";
import { keyOf } from "../../graph/key.ts";
import type { BufferElements, Scope } from "../language.ts";
import type { Float } from "../numbers.ts";
import { activationCode } from "../operations/activations.ts";
import { kernel, type Kernel } from "./kernel.ts";

export interface SumForm {
  /** Elements of a thread: 4 where four neighbours have one bias, else 1. */
  readonly width: 1 | 4;
  readonly hasBias: boolean;
  readonly activation: Activation | null;
}

/** inner: elements of a channel that are neighbours; channels: how many follow each other. */
export const SUM_PARAMS = { splits: "u32", size: "u32", inner: "u32", channels: "u32" } as const;
type S = Scope<{ readonly [name: string]: "f32" }, typeof SUM_PARAMS>;

const THREADS = 64;
/** Parts that are read at once: the loads wait together. */
const TOGETHER = 8;

function summed(s: S, { width, hasBias, activation }: SumForm): void {
  const { parts, y } = s.buffers as { readonly parts: BufferElements<"f32">; readonly y: BufferElements<"f32"> };
  const { splits, size, inner, channels } = s.params;
  const at = s.thread.mul(width);
  const curve = activation === null ? null : activationCode(activation)!;
  s.if(at.lt(size), () => {
    const sums = Array.from({ length: width }, () => s.variable(s.f32(0)));
    s.for(
      0,
      splits,
      (from) => {
        const loaded = Array.from({ length: TOGETHER }, (_, i): Float[] => {
          const part = from.add(i);
          const inside = part.lt(splits);
          const values = parts.loadsInside(inside.select(part, 0).mul(size).add(at), width);
          return i === 0 ? values : values.map((v) => inside.select(v, 0));
        });
        for (const values of loaded) values.forEach((v, q) => (sums[q]!.value = sums[q]!.value.add(v)));
      },
      { step: TOGETHER, unroll: false },
    );
    const bias = hasBias ? s.buffers["bias"]!.loadsInside(at.div(inner).mod(channels), 1)[0]! : null;
    const ended = sums.map(({ value }) => {
      const sum = bias === null ? value : value.add(bias);
      return curve === null ? sum : curve(sum, s);
    });
    y.storesInside(at, ended);
  });
}

/** @internal As convolutionKernel has it. */
export function sumKernel(form: SumForm) {
  const { width, hasBias, activation } = form;
  const inputs: { readonly [name: string]: "f32" } = hasBias ? { parts: "f32", bias: "f32" } : { parts: "f32" };
  return {
    name: `convolution sum ${width}${hasBias ? " bias" : ""}${activation === null ? "" : ` ${keyOf([activation.operator, activation.attributes])}`}`,
    inputs,
    outputs: { y: "f32" } as const,
    params: SUM_PARAMS,
    threads: THREADS,
    groups: (size: number): number => Math.ceil(size / (THREADS * width)),
    body: (s: S): void => summed(s, form),
  };
}

/** parts [splits, size], bias [channels]: y [size]. */
export function convolutionSum(form: SumForm): Kernel {
  const { name, inputs, outputs, params, threads, groups, body } = sumKernel(form);
  const isOneOfMany = form.activation !== null;
  return kernel(name, { inputs, outputs, params, threads, groups: ({ params: n }) => groups(n["size"]!), isOneOfMany }, (s) =>
    body(s as unknown as S),
  );
}
