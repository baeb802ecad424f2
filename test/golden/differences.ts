/** Cases that cannot pass, by id, each group with its reason. `npm run golden -- --differences` makes docs/differences.md of this. */
export interface Difference {
  readonly reason: string;
  readonly ids: readonly string[];
  /** What it means for a user; differences.test.ts runs it. */
  readonly example?: { readonly code: string; readonly here: string; readonly pytorch: string };
}

export const differences: readonly Difference[] = [
  {
    reason:
      "Max pooling ignores NaN, as DirectML's MAX_POOLING does: PyTorch's result would need a second pooling and a selection, at three times the cost.",
    ids: [],
    example: { code: "dx.maxPool2d(dx.tensor([[[[1, NaN], [2, 3]]]]), 2).toArraySync()", here: "[[[[3]]]]", pytorch: "[[[[nan]]]]" },
  },
  {
    reason:
      "On GPUs max pooling gives the smallest finite number for a window of -Infinity: DirectML's MAX_POOLING starts with this number.",
    ids: [],
  },
  {
    reason:
      "topk, median and nanmedian give equal values in the order of their indices, as sort does; PyTorch's order of them is not stated.",
    ids: [],
    example: { code: "dx.topk(dx.tensor([1, 2, 2, 2]), 2).indices.toArraySync()", here: "[1, 2]", pytorch: "[2, 3]" },
  },
  {
    reason: 'item() refuses a 64-bit integer beyond 2^53, which a number cannot represent; item("int64") gives it as a bigint.',
    ids: [],
    example: { code: 'dx.tensor([2n ** 53n + 1n]).itemSync("int64")', here: "9007199254740993n", pytorch: "9007199254740993" },
  },
  {
    reason: "Data of a typed array are converted like a list: numbers outside the range of the dtype are an error; NumPy's wrap.",
    ids: [],
    example: { code: 'dx.tensor([300], { dtype: "int16" }).to("uint8").toArraySync()', here: "[44]", pytorch: "[44]" },
  },
  {
    reason: "-Infinity to the power of a fraction is NaN, like that of any negative number: pow is composed of a logarithm.",
    ids: [],
    example: { code: "dx.pow(dx.tensor([-Infinity]), 0.3).toArraySync()", here: "[NaN]", pytorch: "[inf]" },
  },
  {
    reason:
      "Denormal numbers of float32 and bfloat16 count as zeros in arithmetic on cpu, as on GPUs; operations that only move elements keep them ([dtypes.md](dtypes.md)).",
    ids: [],
    example: { code: "dx.tensor([1e-40]).mul(1e30).toArraySync()", here: "[0]", pytorch: "[9.9999e-11]" },
  },
  {
    reason:
      "grad() gives an input's gradient after that tensor's hooks, whatever other inputs there are; PyTorch's leaves them out where the tensor leads to another input.",
    ids: [],
    example: {
      code: "(() => { const x = dx.tensor([1], { requiresGrad: true }); const y = x.mul(2); y.registerHook((g) => g.mul(3)); return dx.grad(y.sum(), [x, y])[1].toArraySync(); })()",
      here: "[3]",
      pytorch: "[1]",
    },
  },
  {
    reason:
      "scatterReduce without x itself divides the gradient of an extreme among the updates that equal it; PyTorch's counts the element of x that is not included as well.",
    ids: [],
    example: {
      code: '(() => { const v = dx.tensor([5], { requiresGrad: true }); return dx.grad(dx.scatterReduce(dx.tensor([5]), 0, dx.tensor([0], { dtype: "int64" }), v, "amin", { includeSelf: false }).sum(), [v])[0].toArraySync(); })()',
      here: "[1]",
      pytorch: "[0.5]",
    },
  },
  {
    reason:
      "What operations compute is contiguous: PyTorch keeps the strides of a permuted operand in onesLike, sliceScatter and others, so that view() of the result may be refused there and not here, or the reverse.",
    ids: [],
    example: { code: "dx.onesLike(dx.zeros([2, 3]).t()).strides", here: "[2, 1]", pytorch: "(1, 3)" },
  },
  {
    reason: "The imaginary parts of a conjugate that is a view are a copy: no view negates. Write to those of the tensor itself.",
    ids: [],
    example: {
      code: "(() => { const z = dx.complex(dx.tensor([1]), dx.tensor([2])); z.conj().imag.add_(1); return z.imag.toArraySync(); })()",
      here: "[2]",
      pytorch: "[1]",
    },
  },
  {
    reason:
      "save() stores a slice without the memory around it, and load() gives a tensor that had gaps back contiguous; torch.save keeps storage and strides. Tensors that share elements share them again in both ([checkpoints.md](checkpoints.md)).",
    ids: [],
  },
  {
    reason:
      "save() takes plain data and objects with stateDict(), and its files hold no code; torch.save pickles any object with the name of its class, which io.pytorch.load() refuses.",
    ids: [],
  },
  {
    reason:
      "Third derivatives of layerNorm are those of its formula; PyTorch's take the mean and the deviation in its second derivative for constants.",
    ids: [],
  },
  {
    reason:
      "The hidden state of lstmCell does not lead to the cell state of the same step: both are results of one operation, as in PyTorch on CUDA. On the CPU PyTorch computes one of the other.",
    ids: [],
  },
  {
    reason: "The second derivative of sinc at 0 is -π² / 3; PyTorch's formula divides by 0 there.",
    ids: [],
    example: {
      code: "(() => { const x = dx.tensor([0], { requiresGrad: true }); const [slope] = dx.grad(dx.sinc(x).sum(), [x], { createGraph: true }); return dx.grad(slope.sum(), [x])[0].toArraySync().map((v) => Number(v.toFixed(4))); })()",
      here: "[-3.2899]",
      pytorch: "[nan]",
    },
  },
  {
    reason: "PyTorch's __rpow__ lets no gradient through to the base; here it flows, as in pow.",
    ids: ["__rpow__:f32:a36a900b0c", "__rpow__:f32:c9259b1343"],
  },
  { reason: "add has no parameter alpha: scale the operand by mul, which promotes.", ids: ["add:err:052ebd7b07"] },
  { reason: "Indices may have any integer dtype.", ids: ["gather:err:c0ea13d30f"] },
  {
    reason: "PyTorch's Python signature refuses a number there; this library accepts it.",
    ids: [
      "logical_and:err:7120967c8f",
      "logical_or:err:7120967c8f",
      "logical_xor:err:7120967c8f",
      "maximum:err:7120967c8f",
      "minimum:err:7120967c8f",
    ],
  },
  {
    reason: "Where x is as large as its tensor of limits, each gets half of the gradient, as in PyTorch 2.15; 1.13 gave x all of it.",
    ids: ["clamp_max:f32:a36a900b0c"],
  },
  {
    reason:
      "PyTorch 1.13 gave a scalar's aminmax along an axis that is kept a shape of [1]; later versions and this library keep it a scalar.",
    ids: ["aminmax:i32:fb637722fa", "aminmax:i64:53bd8c4ddd"],
  },
  {
    reason: "polygamma is infinite at its poles; PyTorch's reflection formula gives large finite numbers there.",
    ids: [
      "polygamma/polygamma_n_1:i32:224a9dfa3f",
      "polygamma/polygamma_n_4:i32:e8c4048ff7",
      "special.polygamma/special_polygamma_n_0:i32:e8c4048ff7",
    ],
  },
  {
    reason: "The recorded gradient of log_ndtr is off by 2e-4 at -4988429, where it is 4988429 times the incoming one.",
    ids: ["special.log_ndtr:f32:bc2c4edad7"],
  },
  {
    reason: "The gradient of polar by a length below zero is the derivative; PyTorch's has the opposite sign.",
    ids: ["polar:f32:a36a900b0c"],
  },
  { reason: "A transposed convolution of float16 sums in float16.", ids: ["nn.functional.conv_transpose2d:f16:58f4449345"] },
];

/** The same of the cases in bfloat16/. */
export const bfloat16Differences: readonly Difference[] = [
  {
    reason:
      "PyTorch rounds to bfloat16 between the steps of these (matrix_exp: to NaN); here they are computed in float32 and rounded once.",
    ids: [
      "addbmm:bf16:16156e3fdc",
      "addbmm:bf16:073726de18",
      "addbmm:bf16:411c86d0fa",
      "cross:bf16:8ef4f7154c",
      "histc:bf16:8311ff7918",
      "linalg.cross:bf16:0ffdef3134",
      "log_softmax:bf16:af48add5dd",
      "log_softmax:bf16:e0e5809e3e",
      "masked.log_softmax:bf16:5b217f9b4f",
      "masked.log_softmax:bf16:9c27bf83ae",
      "matrix_exp:bf16:98b8a2a67b",
      "native_layer_norm:bf16:ae9f5daf04",
      "nn.functional.bilinear:bf16:8562136dfb",
      "nn.functional.bilinear:bf16:895123d377",
      "nn.functional.cosine_similarity:bf16:e75addc490",
      "nn.functional.cosine_similarity:bf16:3c4dd99f4f",
      "nn.functional.grid_sample:bf16:22e5deb958",
      "nn.functional.grid_sample:bf16:4c4be3736e",
      "nn.functional.grid_sample:bf16:2c44be8152",
      "nn.functional.instance_norm:bf16:75f4a60f2c",
      "nn.functional.scaled_dot_product_attention:bf16:149469d47f",
      "nn.functional.scaled_dot_product_attention:bf16:7bae4aca1a",
      "segment_reduce:bf16:d9b1d562ef",
    ],
  },
  {
    reason:
      "LAPACK's operations take float32 and float64 only; PyTorch takes bfloat16 for matrices without elements, and to take factors apart.",
    ids: [
      "linalg.det:bf16:5f90f47d2c",
      "linalg.ldl_solve:bf16:c09b31e3d1",
      "linalg.matrix_rank:bf16:30a0cb2809",
      "linalg.matrix_rank:bf16:fe23431c93",
      "linalg.solve:bf16:3fcd63b881",
      "linalg.solve_ex:bf16:21c953e3ea",
      "lu_unpack:bf16:1d13accc7c",
      "lu_unpack:bf16:934c967fea",
      "lu_unpack:bf16:e989873ec7",
    ],
  },
  {
    reason: "Recurrent layers and cells round at other steps than PyTorch's: without gradients once for all steps of a layer.",
    ids: [
      "rnn_relu:bf16:74d6d4b7dd",
      "rnn_relu:bf16:e4b1b44a5d",
      "rnn_tanh:bf16:332b8bc943",
      "rnn_tanh:bf16:0dc743daf3",
      "gru:bf16:c04ef84d5c",
      "gru:bf16:78911a9962",
      "gru_cell:bf16:efc392dd28",
      "gru_cell:bf16:c6dc671fa2",

      "lstm_cell:bf16:a71001a3ed",
    ],
  },
  {
    reason: "The differences are divided in another order than PyTorch composes them.",
    ids: ["gradient:bf16:143c4bcbcf"],
  },
];

const listed = ({ reason, ids, example }: Difference): string[] => [
  `- ${reason}`,
  ...(example === undefined ? [] : [`  Example: \`${example.code}\` gives \`${example.here}\`; PyTorch: ${example.pytorch}.`]),
  ...ids.map((id) => `  - \`${id}\``),
];

/** docs/differences.md. */
export const differencesPage = (): string =>
  [
    "# Where results differ from PyTorch's",
    "",
    "Made by `npm run golden -- --differences` of `test/golden/differences.ts`: recorded PyTorch cases that do not pass, each group with its reason.",
    "Out of scope and not listed: recorded calls that compute in float64, and those of complex numbers beyond transforms and what makes and reads them.",
    "",
    ...differences.flatMap(listed),
    "",
    "## Names of options",
    "",
    "Options have PyTorch's names in camelCase (`T_max` is `tMax`, `UPLO` is `uplo`); `axis`, `axes` and `keepDims` are the same as `dim`, `dims` and `keepdim`. Other differences:",
    "",
    "- `prefetch` of a data loader counts batches in all; `prefetch_factor` counts those of each worker, of which there are none here.",
    '- `weights` of attention is `"average"`, `"each"` or `"none"`, in place of `need_weights` and `average_attn_weights`.',
    "- `distanceFunction` of tripletMarginLoss is TripletMarginWithDistanceLoss's.",
    "- A TransformerEncoder takes a function that makes each layer, not a layer that is copied.",
    "- Masks of torch.masked are the option `mask`; `generator` is an option of all that draws numbers.",
    "",
    "## bfloat16",
    "",
    "Arithmetic is float32's, rounded once at the end of each operation ([dtypes.md](dtypes.md)). Of the cases recorded in bfloat16 these differ:",
    "",
    ...bfloat16Differences.flatMap(listed),
    "",
  ].join("\n");
