/** A file name has one meaning in the tree. */
import { readdirSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

/** File names that stand in several folders on purpose, by the reason: the same name means the same thing in each of them. */
const mirrored: Record<string, readonly string[]> = {
  "opens its folder": ["index.ts"],
  "a family of operations in ops, and what nn, optim, complex, metrics, shader, onnx, train, verify or autograd has of the same": [
    "activation.ts",
    "adam-8bit.ts",
    "arithmetic.ts",
    "attention.ts",
    "bits.ts",
    "conv.ts",
    "creation.ts",
    "dropout.ts",
    "elementary.ts",
    "elementwise.ts",
    "embedding.ts",
    "histogram.ts",
    "indexing.ts",
    "instance-norm.ts",
    "linear.ts",
    "loss.ts",
    "margin-loss.ts",
    "movement.ts",
    "normalization.ts",
    "pad.ts",
    "pool.ts",
    "promotion.ts",
    "quantize.ts",
    "quantized.ts",
    "recurrent.ts",
    "reduction.ts",
    "regression.ts",
    "scatter.ts",
    "shapes.ts",
    "unary.ts",
  ],
  "what several families have, each its own: other names, helpers, methods": [
    "aliases.ts",
    "support.ts",
    "methods.ts",
    "methods.generated.ts",
    "kinds.generated.ts",
  ],
  "a part of each file format's reader and writer": [
    "convert.ts",
    "dataset.ts",
    "decode.ts",
    "encode.ts",
    "header.ts",
    "load.ts",
    "model.ts",
    "read.ts",
    "types.ts",
    "wire.ts",
    "write.ts",
  ],
  "what a folder's functions take, or what its runs found": ["options.ts", "report.ts"],
  "a feature, and its command, its compiled form or its application to operations": [
    "autocast.ts",
    "backend.ts",
    "backward.ts",
    "inspect.ts",
    "profile.ts",
    "telemetry.ts",
  ],
  "a kernel in plain loops, and its fast form": [
    "batch_norm.cpp",
    "convolution.cpp",
    "cumulative.cpp",
    "gather.cpp",
    "gemm.cpp",
    "mean_variance.cpp",
    "movement.cpp",
    "pooling.cpp",
    "random.cpp",
    "recurrent.cpp",
    "reduce.cpp",
    "regions.cpp",
    "resample.cpp",
    "softmax.cpp",
  ],
  "a part of the library over DirectX, and the same part of the software adapter or the Vulkan adapter": [
    "adapters.h",
    "device.cpp",
    "device.h",
    "guids.cpp",
    "kernel_times.cpp",
    "kernel_times.h",
    "program.cpp",
    "program.h",
    "trace.h",
  ],
};

it("a file name has one meaning in the tree", () => {
  const paths = new Map<string, string[]>();
  for (const root of ["src", "native"]) {
    const folder = fileURLToPath(new URL(`../${root}`, import.meta.url));
    for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      if (!/\.(ts|cpp|h|inl)$/.test(file)) continue;
      const path = `${root}/${file.replaceAll("\\", "/")}`;
      paths.set(basename(path), [...(paths.get(basename(path)) ?? []), path]);
    }
  }
  const names = Object.values(mirrored).flat();
  const found = [...paths].filter(([, of]) => of.length > 1);
  expect(found.length).toBeGreaterThan(50);
  const double = found.filter(([file]) => !names.includes(file)).map(([, of]) => of.join(", "));
  expect(double, "Rename all but one by what is in it; only if the name means the same in each, add it to `mirrored`").toEqual([]);
  const single = names.filter((file, i) => (paths.get(file)?.length ?? 0) < 2 || names.indexOf(file) !== i);
  expect(single, "These stand in one folder, or twice in the list: remove them from `mirrored`").toEqual([]);
});
