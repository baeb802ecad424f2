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
      "A maximum over windows leaves NaN out, as DirectML's MAX_POOLING does: to find it would take a second pooling and a choice, three times the cost.",
    ids: [],
    example: { code: "dx.maxPool2d(dx.tensor([[[[1, NaN], [2, 3]]]]), 2).toArraySync()", here: "[[[[3]]]]", pytorch: "[[[[nan]]]]" },
  },
  {
    reason: "-Infinity to the power of a fraction is NaN, as the power of any negative number is: pow is made of a logarithm.",
    ids: [],
    example: { code: "dx.pow(dx.tensor([-Infinity]), 0.3).toArraySync()", here: "[NaN]", pytorch: "[inf]" },
  },
  {
    reason: "PyTorch's __rpow__ lets no gradient through to the base; here it flows, as in pow.",
    ids: ["__rpow__:f32:a36a900b0c", "__rpow__:f32:c9259b1343"],
  },
  {
    reason: "A whole JavaScript number counts as int32 beside bool, as int64 in PyTorch.",
    ids: ["add:bool:7f13d8591f", "result_type:bool:327a2e86e1"],
    example: { code: "dx.tensor([true, false]).add(2).dtype", here: "int32", pytorch: "int64" },
  },
  { reason: "alpha is no parameter of add here: what is added is scaled by mul, which promotes.", ids: ["add:err:052ebd7b07"] },
  { reason: "Indices of any integer dtype are taken.", ids: ["gather:err:c0ea13d30f"] },
  {
    reason: "Refused in PyTorch by a Python signature that takes no number there, which is taken here.",
    ids: [
      "logical_and:err:7120967c8f",
      "logical_or:err:7120967c8f",
      "logical_xor:err:7120967c8f",
      "maximum:err:7120967c8f",
      "minimum:err:7120967c8f",
    ],
  },
  {
    reason: "A tensor of divisors is not looked through for whole numbers of 0 (0 itself as a number is refused).",
    ids: ["floor_divide:err:cc00149c6d", "fmod:err:cc00149c6d", "remainder:err:cc00149c6d"],
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

/** docs/differences.md. */
export const differencesPage = (): string =>
  [
    "# Where results differ from PyTorch's",
    "",
    "Made by `npm run golden -- --differences` of `test/golden/differences.ts`: recorded PyTorch cases that do not pass, each group with its reason.",
    "Out of scope and not listed: recorded calls that compute in float64, and those of complex numbers beyond transforms and what makes and reads them.",
    "",
    ...differences.flatMap(({ reason, ids, example }) => [
      `- ${reason}`,
      ...(example === undefined ? [] : [`  Example: \`${example.code}\` gives \`${example.here}\`; PyTorch: ${example.pytorch}.`]),
      ...ids.map((id) => `  - \`${id}\``),
    ]),
    "",
  ].join("\n");
