/** Friedman's first problem: ten columns of which five matter, not one of them alone. https://doi.org/10.1214/aos/1176347963 */
import * as dx from "dxtensor";

export interface Table {
  /** [rows, 10], each in [0, 1). */
  readonly x: dx.Tensor;
  /** [rows, 1]. */
  readonly y: dx.Tensor;
}

export function friedman(rows: number, noise: number, generator: dx.Generator): Table {
  return dx.scope(() => {
    const x = dx.rand([rows, 10], { generator });
    const [a, b, c, d, e] = [0, 1, 2, 3, 4].map((i) => x.slice(1, i, i + 1)) as [dx.Tensor, dx.Tensor, dx.Tensor, dx.Tensor, dx.Tensor];
    const y = a.mul(b).mul(Math.PI).sin().mul(10).add(c.sub(0.5).square().mul(20)).add(d.mul(10)).add(e.mul(5));
    return { x, y: y.add(dx.randn([rows, 1], { generator }).mul(noise)) };
  });
}
