/** Gradients of first and second order compared with finite differences. */
import * as dx from "../src/index.ts";

/** fn's gradients at leaves, and those of its gradients. */
export function gradgradcheck(
  fn: (...inputs: dx.Tensor[]) => dx.Tensor,
  inputs: readonly dx.Tensor[],
  options: dx.GradcheckOptions = {},
): true {
  dx.gradcheck(fn, inputs, options);
  const twice = (...args: dx.Tensor[]): readonly dx.Tensor[] =>
    dx.enableGrad(() => {
      const leaves = args.map((t, i) => (inputs[i]!.requiresGrad && !t.requiresGrad ? t.detach().requiresGrad_() : t));
      const wanting = leaves.filter((_, i) => inputs[i]!.requiresGrad);
      const found = dx.grad(
        fn(...leaves)
          .square()
          .sum(),
        wanting,
        { createGraph: true, allowUnused: true },
      );
      return found.map((g, i) => g ?? dx.zerosLike(wanting[i]!));
    });
  return dx.gradcheck(twice, inputs, { absolute: 1e-2, relative: 2e-2, ...options });
}

/** A leaf of irregular numbers of order 1, no two alike. */
export function leaf(shape: readonly number[], { from = 0 }: { readonly from?: number } = {}): dx.Tensor {
  const size = shape.reduce((n, d) => n * d, 1);
  const data = Float32Array.from({ length: size }, (_, i) => Math.sin(7.13 * (i + 1 + from)) * 1.5 + 0.137 * ((i * 5) % 7) - 0.4);
  return dx.tensor(data, { shape, requiresGrad: true });
}
