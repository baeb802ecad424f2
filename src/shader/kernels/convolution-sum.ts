/** Adds the parts of a convolution's sums in order, with the epilogue at the end. */
import type { Scope } from "../language.ts";
import { castBuffers, epilogueBuffers, epilogueOf, epilogueName, type EpilogueForm } from "./epilogue.ts";
import type { ConvolutionElement } from "./convolution-tiles.ts";
import { kernel, type Kernel, type Numbers } from "./kernel.ts";
import { sumOfParts } from "./sum-of-parts.ts";

export interface SumForm extends EpilogueForm {
  /** Of the result and what the epilogue reads; parts are float32. */
  readonly element: ConvolutionElement;
  /** Elements of a thread: 4 where four neighbours have one bias, else 1. */
  readonly width: 1 | 4;
}

/** inner: elements of a channel that are neighbours; channels: how many follow each other. */
export const SUM_PARAMS = { splits: "u32", size: "u32", inner: "u32", channels: "u32" } as const;
type S = Scope<{ readonly [name: string]: ConvolutionElement }, typeof SUM_PARAMS>;

const THREADS = 64;

function summed(s: S, form: SumForm): void {
  const { width } = form;
  const { parts, y } = s.buffers as { readonly parts: Numbers; readonly y: Numbers };
  const { splits, size, inner, channels } = s.params;
  const at = s.thread.mul(width);
  s.if(at.lt(size), () => {
    const sums = sumOfParts(s, parts, { count: splits, first: at, stride: size, width });
    const epilogue = epilogueOf(s, form)(() => at.div(inner).mod(channels));
    y.storesInside(at, epilogue(sums, at));
  });
}

/** @internal As convolutionKernel has it. */
export function sumKernel(form: SumForm) {
  const { width, element } = form;
  const inputs: { readonly [name: string]: ConvolutionElement } = {
    parts: "f32",
    ...Object.fromEntries(epilogueBuffers(form).map((name) => [name, element])),
  };
  return {
    name: [`convolution sum ${width}`, element === "f16" ? "halves" : "", ...epilogueName(form)].filter(Boolean).join(" "),
    inputs,
    outputs: { y: element },
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
  return kernel(
    name,
    { inputs, outputs, params, threads, groups: ({ params: n }) => groups(n["size"]!), isOneOfMany, casts: castBuffers(form) },
    (s) => body(s as unknown as S),
  );
}
