/** Calls of one axis of any size, for tests of `compile` with `dynamic`: the samples of all families, and further calls. */
import * as dx from "../../src/index.ts";
import { distinct, real, sample, whole, type Argument, type Sample } from "../../src/ops/declare/sample.ts";
import { isFloat } from "../../src/core/dtype.ts";

/** A function of tensors whose axes of one length take any size. */
export interface SizedCase {
  readonly name: string;
  readonly run: Sample["run"];
  readonly axes: readonly (readonly number[] | null)[];
  readonly inputs: (size: number, seed: number) => dx.Tensor[];
}

/** Numbers between 0 and 1 that follow from a seed. */
function random(seed: number): () => number {
  let state = (seed + 1) * 2654435761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 3266489917) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

function values({ low, high, dtype, distinct }: Argument, count: number, seed: number): number[] {
  const next = random(seed);
  if (distinct) {
    const order = Array.from({ length: count }, (_, i) => [next(), i] as const).toSorted((a, b) => a[0] - b[0]);
    return order.map(([, i]) => low + ((high - low) * i) / count);
  }
  const steps = isFloat(dtype) ? 8 : 1;
  return Array.from({ length: count }, () => low + Math.floor(next() * ((high - low) * steps + (steps === 1 ? 1 : 0))) / steps);
}

/** The case of a sample in which all axes of one length are of any size. */
export function casesOf(sample: Sample): SizedCase[] {
  const lengths = new Set(sample.inputs.flatMap((a) => [...a.shape]));
  return [...lengths].map((length) => ({
    name: `${sample.name}, ${length} of ${sample.inputs.map((a) => `[${a.shape.join(", ")}]`).join(" ")}`,
    run: sample.run,
    axes: sample.inputs.map((a) => {
      const found = a.shape.flatMap((d, i) => (d === length ? [i] : []));
      return found.length === 0 ? null : found;
    }),
    inputs: (size, seed) =>
      sample.inputs.map((a, i) => {
        const shape = a.shape.map((d) => (d === length ? size : d));
        const list = values(
          a,
          shape.reduce((n, d) => n * d, 1),
          31 * seed + i,
        );
        return dx.tensor(list, { shape, dtype: "float32" }).to(a.dtype);
      }),
  }));
}

const { functional: F } = dx.nn;
const x53 = real([5, 3]);
const ids = whole([5], 0, 0, "int64");
/** 0, 1, … n - 1, backwards. */
const backwards = (t: dx.Tensor): dx.Tensor => dx.arange(t.shape[0]!).flip(0).to("int64");
const move = (name: string, run: Sample["run"], inputs: readonly Argument[] = [x53]): Sample => sample("exact", name, inputs, run);

/** What reads, writes and makes parts of an axis of length 5, and what puts a size into an operation. */
const parts: readonly Sample[] = [
  move("slice from the end", (x) => x!.slice(0, -1)),
  move("slice without the last", (x) => x!.slice(0, 0, -1)),
  move("slice from an index to one before the end", (x) => x!.slice(0, 1, -1)),
  move("slice of every second", (x) => x!.slice(0, 0, undefined, 2)),
  move("slice up to the size", (x) => x!.slice(0, 0, x!.shape[0])),
  move("differences of neighbours", (x) => x!.slice(0, 1).sub(x!.slice(0, 0, -1))),
  move("narrow to the end", (x) => x!.narrow(0, 1, x!.shape[0]! - 1)),
  move("narrow the last", (x) => x!.narrow(0, x!.shape[0]! - 1, 1)),
  move("select the last", (x) => x!.select(0, -1)),
  move("select the last after a transpose", (x) => x!.transpose(0, 1).select(1, -1)),
  move("split in two", (x) => x!.split([x!.shape[0]! - 1, 1], 0)),
  move("chunk along another axis", (x) => x!.chunk(3, 1)),
  move("halves", (x) => x!.slice(0, 0, x!.shape[0]! >> 1)),
  move("reshape to one axis", (x) => x!.reshape([-1])),
  move("reshape to one axis after a transpose", (x) => x!.transpose(0, 1).reshape([-1])),
  move("two axes as one", (x) => x!.reshape([x!.shape[0]! * x!.shape[1]!, 4]), [real([5, 7, 4])]),
  move("two padded axes as one, and a sum of it", (x) => x!.reshape([-1, 4]).cumsum(0), [real([5, 5, 4])]),
  move("two padded axes as one, and back", (x) => x!.reshape([-1, 4]).exp().reshape(x!.shape), [real([5, 5, 4])]),
  move("view of a size", (x) => x!.view(x!.shape[0]!, 1, 3)),
  move("unflatten", (x) => x!.unflatten(1, [2, 3]), [real([5, 6])]),
  move("expand to a size", (x) => dx.expand(x!.select(0, 0), [x!.shape[0]!, 3])),
  move("transpose and matmul", (x) => x!.transpose(0, 1).matmul(x!)),
  move("diagonal", (x) => dx.diagonal(x!, {}), [real([5, 5])]),
  move("diagonal above the main one", (x) => dx.diagonal(x!, { offset: 1 }), [real([5, 5])]),
  move("diagEmbed", (x) => dx.diagEmbed(x!), [real([3, 5])]),
  move("flip", (x) => x!.flip(0).mul(x!)),
  move("roll", (x) => x!.roll(1, 0).sub(x!)),
  move("roll backwards along all", (x) => x!.roll(-1)),
  move("cat with itself", (x) => dx.cat([x!, x!.mul(2)], 0)),
  move("cat with one behind", (x) => dx.cat([x!, x!.slice(0, 0, 1)], 0).cumsum(0)),
  move("cat with one before", (x) => dx.cat([x!.slice(0, -1), x!], 0)),
  move("cat along another axis", (x) => dx.cat([x!, x!], 1)),
  move("stack", (x) => dx.stack([x!, x!.neg()])),
  move("repeat", (x) => x!.repeat([2, 1])),
  move("repeatInterleave", (x) => dx.repeatInterleave(x!, 2, 0)),
  ...(["constant", "reflect", "replicate", "circular"] as const).map((mode) =>
    move(`pad, ${mode}`, (x) => dx.pad(x!, [1, 1], { mode }), [real([2, 3, 5])]),
  ),
  move("cut by pad", (x) => dx.pad(x!, [-1, -1]), [real([2, 3, 5])]),
  move("arange of a size", (x) => x!.mul(dx.arange(x!.shape[0]!).unsqueeze(1))),
  move("arange that ends at a size", (x) => dx.arange(x!.shape[0]!, x!.shape[0]! + 3).mul(x!)),
  move("arange backwards", (x) => x!.mul(dx.arange(x!.shape[0]!, 0, -1).unsqueeze(1))),
  move("linspace of a size", (x) => x!.mul(dx.linspace(0, 1, x!.shape[0]!).unsqueeze(1))),
  move("zeros, ones and full of a size", (x) => [dx.zeros([x!.shape[0]!, 2]), dx.onesLike(x!), dx.full(x!.shape, 2)]),
  move("eye of a size", (x) => dx.eye(x!.shape[0]!).matmul(x!)),
  move("tril and triu", (x) => [dx.tril(x!), dx.triu(x!, 1)], [real([5, 5])]),
  move("tril from the end", (x) => dx.tril(x!, x!.shape[1]! - x!.shape[0]!), [real([7, 5])]),
  move("a causal mask by tril", (x) => dx.where(dx.tril(dx.onesLike(x!)).gt(0), x!, -Infinity).softmax(-1), [real([5, 5])]),
  move("an upper mask", (x) => x!.add(dx.triu(dx.full(x!.shape, -1e4), 1)).softmax(1), [real([5, 5])]),
  move("divided by a size", (x) => x!.sum(0).div(x!.shape[0]!)),
  move("a root of a size", (x) => x!.mul(1 / Math.sqrt(x!.shape[0]!))),
  move("indexCopy", (x) => dx.indexCopy(dx.zeros([9, 3]), 0, dx.arange(x!.shape[0]! < 9 ? x!.shape[0]! : 9), x!.slice(0, 0, 9))),
  move("indexCopy into itself", (x) => dx.indexCopy(x!.mul(2), 0, backwards(x!), x!)),
  move("indexAdd", (x) => dx.indexAdd(x!, 0, backwards(x!), x!)),
  move("indexFill", (x) => dx.indexFill(x!, 0, backwards(x!).slice(0, 0, 1), 7)),
  move("indexSelect", (x) => dx.indexSelect(x!, 0, backwards(x!))),
  move("gather", (x) => dx.gather(x!, 0, dx.zerosLike(x!, { dtype: "int64" }))),
  move("take along", (x) => dx.takeAlongDim(x!, dx.argsort(x!, 0), 0), [distinct([5, 3])]),
  move("scatter", (x) => dx.scatter(x!.mul(0), 0, dx.argsort(x!, 0).to("int64"), x!), [distinct([5, 3])]),
  move("scatter along another axis", (x) => dx.scatter(dx.zeros([x!.shape[0]!, 4]), 1, dx.argsort(x!, 1).to("int64"), x!), [
    distinct([5, 3]),
  ]),
  move("scatterAdd", (x) => dx.scatterAdd(x!, 0, dx.zerosLike(x!, { dtype: "int64" }), x!)),
  ...(["prod", "amax", "amin", "mean", "sum"] as const).map((reduce) =>
    move(`scatterReduce, ${reduce}`, (x) => dx.scatterReduce(dx.zeros([2, 3]), 0, dx.zerosLike(x!, { dtype: "int64" }), x!, reduce)),
  ),
  move("set by index", (x) => dx.set(x!.mul(1), [0], 5)),
  move("set the last", (x) => dx.set(x!.mul(1), [-1], 5)),
  move("indexPut", (x) => dx.indexPut(x!.mul(1), [backwards(x!)], x!.mul(3))),
  move("in place on a part", (x) => {
    const y = x!.mul(1);
    y.slice(0, 1).mul_(2);
    y.slice(0, 0, -1).add_(1);
    return y;
  }),
  move("in place on the last", (x) => {
    const y = x!.mul(1);
    y.select(0, -1).fill_(3);
    return y.cumsum(0);
  }),
  move("a range of another tensor in place", (x) => {
    const y = dx.ones([16, 3]);
    y.slice(0, 0, x!.shape[0]!).copy_(x!);
    return y;
  }),
  move("columns of another tensor in place", (x) => {
    const y = dx.ones([3, 16]);
    y.slice(1, 1, 1 + x!.shape[0]!).copy_(x!.transpose(0, 1));
    return y;
  }),
  move("sort", (x) => Object.values(dx.sort(x!, 0)), [distinct([5, 3])]),
  move("sort, descending", (x) => Object.values(dx.sort(x!, 0, { descending: true })), [distinct([5, 3])]),
  move("sort of integers", (x) => Object.values(dx.sort(x!, 0)), [whole([5, 3], 0, 3)]),
  move("topk", (x) => Object.values(dx.topk(x!, 2, 0)), [distinct([5, 3])]),
  move("topk of a share", (x) => Object.values(dx.topk(x!, Math.ceil(x!.shape[0]! / 2), 0)), [distinct([5, 3])]),
  move("median and kthvalue", (x) => Object.values(dx.kthvalue(x!, 1, 0)), [distinct([5, 3])]),
  move("searchsorted", (x) => dx.searchsorted(dx.sort(x!, 0).values, x!), [distinct([5])]),
  move("sums, means and products", (x) => [x!.sum(0), x!.mean(0), x!.prod(0), x!.mean(), x!.var(0), x!.std(0)]),
  move("extremes", (x) => [x!.amax(0), x!.amin(0), x!.argmax(0), x!.argmin(0)], [distinct([5, 3])]),
  move("running sums", (x) => [x!.cumsum(0), x!.cumprod(0), dx.logcumsumexp(x!, 0), dx.cummax(x!, 0).values]),
  move("softmax", (x) => [x!.softmax(0), x!.logSoftmax(0), dx.logsumexp(x!, 0), dx.norm(x!), dx.norm(x!, -2)]),
  move("layerNorm and rmsNorm", (x) => [F.layerNorm(x!, [3]), dx.rmsNorm(x!, [3])]),
  move("batchNorm", (x) => F.batchNorm(x!, null, null, null, null, { training: true })),
  move("groupNorm and instanceNorm over an axis", (x) => [F.groupNorm(x!, 2), F.instanceNorm(x!)], [real([2, 4, 5])]),
  move("crossEntropy", (x) => F.crossEntropy(x!, dx.zeros([x!.shape[0]!], { dtype: "int64" }))),
  move("mseLoss", (x) => F.mseLoss(x!, x!.detach().mul(2))),
  move("embedding", (i, w) => F.embedding(i!, w!), [ids, real([7, 3])]),
  move("embedding of a table of any size", (w) => F.embedding(dx.zeros([2], { dtype: "int64" }), w!)),
  move("oneHot", (i) => dx.oneHot(i!, 4), [ids]),
  move("dropout", (x) => F.dropout(x!, { p: 0.5 })),
  move("masked", (x) => [dx.maskedFill(x!, x!.gt(0), 2), dx.where(x!.gt(0), x!, 0)]),
  move("einsum", (x) => dx.einsum("ij,kj->ik", x!, x!)),
  move("outer and kron", (x) => [dx.outer(x!, x!), dx.kron(x!, dx.ones([2]))], [real([5])]),
  move("conv1d", (x, w) => F.conv1d(x!, w!, null, { padding: 1 }), [real([2, 3, 5]), real([4, 3, 2])]),
  move("conv2d, strided", (x, w) => F.conv2d(x!, w!, null, { padding: 1, stride: 2 }), [real([2, 3, 5, 6]), real([4, 3, 3, 3])]),
  move("convTranspose1d", (x, w) => F.convTranspose1d(x!, w!, null, { stride: 2 }), [real([2, 3, 5]), real([3, 4, 2])]),
  move("maxPool2d", (x) => F.maxPool2d(x!, 2), [real([2, 3, 5, 6])]),
  move("avgPool2d", (x) => F.avgPool2d(x!, 2), [real([2, 3, 5, 6])]),
  move("avgPool1d with padding", (x) => F.avgPool1d(x!, 2, { padding: 1 }), [real([2, 3, 5])]),
  move("adaptiveAvgPool1d", (x) => F.adaptiveAvgPool1d(x!, 1), [real([2, 3, 5])]),
  move("interpolate", (x) => F.interpolate(x!, { scaleFactor: 2 }), [real([2, 3, 5])]),
  move("pixelShuffle", (x) => dx.pixelShuffle(x!, 2), [real([2, 4, 5, 3])]),
  move("cdist", (x) => dx.cdist(x!, x!.mul(2).add(1))),
  move("cosineSimilarity", (x) => F.cosineSimilarity(x!, x!.mul(2).add(1))),
  move("unbind", (x) => x!.unbind(0)),
  move("a size as the value of full", (x) => dx.full([2], x!.shape[0]!)),
  move("meshgrid", (x) => dx.meshgrid([x!, x!], { indexing: "ij" }), [real([5])]),
  move("quantile", (x) => dx.quantile(x!, 0.5, { axis: 0 }), [distinct([5, 3])]),
  move("rotaryEmbedding", (x) => dx.rotaryEmbedding(x!, dx.ones([x!.shape[1]!, 2]), dx.zeros([x!.shape[1]!, 2])), [real([2, 5, 4])]),
  move("histogram", (x) => dx.histc(x!, { bins: 4, min: -2, max: 2 }), [real([5])]),
  move("unfold of a tensor", (x) => F.unfold(x!, [2, 1]), [real([1, 2, 5, 3])]),
  move("fft", (x) => dx.fft.fft(x!, { axis: 0 }).real),
];

/** Those of the table: the axes of length 5. */
export const partCases = (): SizedCase[] => parts.flatMap((s) => casesOf(s).filter((c) => c.name.startsWith(`${s.name}, 5 of`)));
