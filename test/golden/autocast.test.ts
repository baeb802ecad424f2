/** Inside autocast(), result dtypes and training runs are PyTorch's. */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { readFamilies } from "../../scripts/lib/families.ts";
import { clean, eachDevice } from "../device.ts";
import { compared, readRecorded } from "./autocast/dtypes.ts";
import { readRuns, train } from "./autocast/runs.ts";

test("results of 450 operations have the dtypes of PyTorch's CUDA autocast", { timeout: 120_000 }, () => {
  const { asked, operations, differences } = compared();
  expect(asked).toBeGreaterThan(3700);
  expect(operations.size).toBeGreaterThan(450);
  // x.__rdiv__(2) is reciprocal(x) times 2 in PyTorch; div(2, x), one division, stays on no list.
  expect(differences.filter(({ op }) => op !== "__rdiv__").map(({ text }) => text)).toEqual([]);
  expect(differences).toHaveLength(4);
});

/** Names of PyTorch's lists whose operation has another name here, or is not there. */
const OTHERWISE: { readonly [name: string]: string | null } = {
  // Internal forms of convolutions, cells, norms and attention.
  _convolution: "conv2d",
  convolution: "conv2d",
  _thnn_fused_lstm_cell: "recurrentCell",
  _thnn_fused_gru_cell: "recurrentCell",
  lstm_cell: "recurrentCell",
  gru_cell: "recurrentCell",
  rnn_tanh_cell: "recurrentCell",
  rnn_relu_cell: "recurrentCell",
  _scaled_dot_product_flash_attention: "scaledDotProductAttention",
  nll_loss2d: "nllLoss",
  grid_sampler: "gridSample",
  upsample_nearest1d: "interpolate",
  _upsample_nearest_exact1d: "interpolate",
  upsample_nearest2d: "interpolate",
  _upsample_nearest_exact2d: "interpolate",
  upsample_nearest3d: "interpolate",
  _upsample_nearest_exact3d: "interpolate",
  upsample_linear1d: "interpolate",
  upsample_bilinear2d: "interpolate",
  _upsample_bilinear2d_aa: "interpolate",
  upsample_trilinear3d: "interpolate",
  upsample_bicubic2d: "interpolate",
  _upsample_bicubic2d_aa: "interpolate",
  linalg_vecdot: "vecdot",
  linalg_multi_dot: "multiDot",
  linalg_matrix_norm: "matrixNorm",
  linalg_vector_norm: "norm",
  frobenius_norm: "norm",
  nuclear_norm: "norm",
  // No such operation here.
  conv_tbc: null,
};
const LISTS = {
  AT_FORALL_LOWER_PRECISION_FP: "lower",
  AT_FORALL_FP32: "float32",
  AT_FORALL_FP32_SET_OPT_DTYPE: "float32",
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE: "float32",
  AT_FORALL_PROMOTE: "widest",
} as const;

test("every operation of PyTorch's lists has the list's tag", () => {
  const tags = new Map(readFamilies().flatMap((f) => [...f.autocast]));
  const { torch, lists } = readRecorded();
  expect(torch).toMatch(/^2\.15\./);
  const wrong: string[] = [];
  let count = 0;
  for (const [macro, list] of Object.entries(LISTS))
    for (const name of lists[macro]!) {
      count++;
      const own = name in OTHERWISE ? OTHERWISE[name]! : name.replaceAll(/_(\w)/g, (_, c: string) => c.toUpperCase());
      if (own !== null && tags.get(own) !== list) wrong.push(`${name}: ${tags.get(own)} instead of ${list}`);
    }
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(105);
});

test("docs/mixed-precision.md has the lists", () => {
  const page = readFileSync(new URL("../../docs/mixed-precision.md", import.meta.url), "utf8");
  const rows = { lower: "to the region's dtype", float32: "to float32", widest: "to float32 if", refused: "refused" };
  const others: { readonly [name: string]: string } = { "linalg/functions.ts norm": "linalg.norm", "reduce/masked.ts prod": "masked.prod" };
  const families = readFamilies();
  for (const [list, text] of Object.entries(rows)) {
    const row = page.split("\n").find((line) => line.startsWith(`| ${text} |`) || (list === "widest" && line.startsWith(`| ${text}`)))!;
    const own = families.flatMap((f) =>
      f.file === "recurrent/recurrent.ts"
        ? []
        : [...f.autocast].flatMap(([name, l]) => (l === list ? [others[`${f.file} ${name}`] ?? name] : [])),
    );
    const listed = [
      ...row
        .split("|")[2]!
        .replace(/\(.*\)/, "")
        .matchAll(/`([^`]+)`/g),
    ].map(([, name]) => name!);
    expect(listed).toEqual(own.toSorted((a, b) => listed.indexOf(a) - listed.indexOf(b)));
    expect(own.length).toBeGreaterThan(0);
  }
});

eachDevice("training runs", (device) => {
  // The default generator keeps its state.
  beforeAll(() => dx.withDevice(device, () => dx.randn([1]).dispose()));
  describe.each(Object.keys(readRuns()))("%s", (name) => {
    for (const dtype of ["float16", "bfloat16"] as const)
      for (const isCompiled of [false, true])
        test(`${dtype}, ${isCompiled ? "compiled" : "eager"}: losses as PyTorch's`, { timeout: 120_000 }, () =>
          clean(
            device,
            async () => {
              const run = readRuns()[name]!;
              const losses = await train(name, run, dtype, isCompiled);
              const expected = run.losses[dtype];
              // Sums of half-precision products in another order: a few units of the last place of each activation.
              const tolerance = dtype === "float16" ? 2 ** -11 * 16 : 2 ** -8 * 8;
              expect(losses).toHaveLength(24);
              const worst = Math.max(...losses.map((l, i) => Math.abs(l - expected[i]!) / Math.abs(expected[i]!)));
              expect(worst).toBeLessThan(tolerance);
              expect(losses.at(-1)!).toBeLessThan(losses[0]!);
            },
            { collect: true },
          ),
        );
  });
});
