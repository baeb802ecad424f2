// The tables of names: from PyTorch's and TensorFlow.js's to those of here.
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { readTable } from "../lib/operators-page.ts";
import { ScriptError, at } from "../tools/project.ts";

/** What is known of an object by a name of it. */
type Names = Readonly<Record<string, unknown>>;

const isNames = (value: unknown): value is Names => (typeof value === "object" && value !== null) || typeof value === "function";

const code = (name: string): string => `\`${name}\``;
type Row = readonly string[];
const table = (head: Row, rows: readonly Row[]): string =>
  `| ${head.join(" | ")} |\n|${head.map(() => " --- |").join("")}\n${rows.map((r) => `| ${r.join(" | ")} |`).join("\n")}\n`;
const byName = ([a = ""]: Row, [b = ""]: Row): number => a.localeCompare(b, "en");

/** What the package exports, as a user imports it. */
const library = (): Promise<Names> => import(pathToFileURL(at("dist", "bundle", "dxtensor.js")).href);

/** "nn.functional.relu" → the value of that name, undefined for none. */
const valueOf = (dx: Names, path: string): unknown =>
  path.split(".").reduce<unknown>((object, name) => (isNames(object) ? object[name] : undefined), dx);
const namesOf = (value: unknown): readonly string[] => (isNames(value) ? Object.keys(value) : []);

/** Classes with the PyTorch class that their comments name: [torch.nn.LSTM, nn.lstm]. */
function classesOf(dx: Names, space: string, folder: readonly string[]): readonly Row[] {
  const files = readdirSync(at("src", ...folder)).filter((name) => name.endsWith(".ts"));
  return files.flatMap((name) => {
    const text = readFileSync(at("src", ...folder, name), "utf8");
    return [...text.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*?)\*\/\nexport class (\w+)/g)].flatMap(([, comment = "", own = ""]) =>
      [...comment.matchAll(/torch\.(?:nn|optim)(?:\.\w+)*\.([A-Z]\w+)/g)].slice(0, 1).map(([torch]) => {
        // conv2d() makes a Conv2d; a few classes are made by new alone.
        const make = namesOf(valueOf(dx, space)).find((n) => n.toLowerCase() === own.toLowerCase() && n !== own);
        return [code(torch), code(make === undefined ? `new dx.${space}.${own}(…)` : `dx.${space}.${make}(…)`)];
      }),
    );
  });
}

/** docs of PyTorch's names, from docs/operators.json and the comments of the classes. */
export async function pytorchPage(): Promise<string> {
  const dx = await library();
  const { families, aten } = readTable();
  const rows = families.flatMap(({ operations }) =>
    operations.flatMap((o) =>
      (o.pytorch ?? []).map((name) => [code(`torch.${name}`), code(`dx.${o.name}`), o.status === "complete" ? "" : o.status]),
    ),
  );
  const layers = classesOf(dx, "nn", ["nn"]);
  const optimizers = [...classesOf(dx, "optim", ["optim"]), ...classesOf(dx, "optim.lrScheduler", ["optim", "schedules"])];
  if (rows.length < 300 || layers.length < 50 || optimizers.length < 10)
    throw new ScriptError("NAMES", `Few names of PyTorch's were found: ${rows.length}, ${layers.length}, ${optimizers.length}.`);
  return `# From PyTorch

Names and meanings are PyTorch's, in camelCase; keyword arguments are an object at the end. What differs in results is listed in
[differences](differences.md). Made of PyTorch's recorded cases and of the sources' own references.

| PyTorch | dxtensor |
| --- | --- |
| \`x.sum(1, keepdim=True)\` | \`x.sum(1, { keepDims: true })\` |
| \`torch.zeros(2, 3, device="cuda")\` | \`dx.zeros([2, 3], { device: "dml:0" })\` |
| \`x[:, 1:3]\`, \`x[0]\` | \`x.slice(1, 1, 3)\`, \`x.select(0, 0)\`, \`x.index("…")\` |
| \`x + y * 2\` | \`x.add(y.mul(2))\` |
| \`loss.item()\`, \`x.numpy()\` | \`await loss.item()\`, \`await x.data()\`; \`itemSync()\`, \`dataSync()\` block |
| \`with torch.no_grad():\` | \`dx.noGrad(() => …)\` |
| \`torch.compile(f)\` | \`dx.compile(f)\`: forward, backward and the optimizer's step in one ([compile](compile.md)) |
| \`torch.save({"model": model.state_dict()}, f)\`, \`torch.load(f)\` | \`await dx.save(f, { model })\`, \`await dx.load(f, { into: { model } })\` ([checkpoints](checkpoints.md)) |
| \`torch.load("model.pt")\` of a file that PyTorch wrote | \`await dx.io.pytorch.load("model.pt")\` ([checkpoints](checkpoints.md#files-of-pytorch)) |
| \`torch.from_numpy(np.load("x.npy"))\`, \`np.save("x.npy", x)\` | \`await dx.io.npy.load("x.npy")\`, \`await dx.io.npy.save("x.npy", x)\` ([saving](saving.md#files-of-numpy)) |
| \`np.load("x.npz")\`, \`np.savez("x.npz", x=x)\`, \`np.savez_compressed(…)\` | \`await dx.io.npz.load("x.npz")\`, \`await dx.io.npz.save("x.npz", { x }, { compressed: true })\` ([readers](readers.md#npz-files)) |
| \`safetensors.safe_open(f, "pt")\` | \`await dx.io.safetensors.open(f)\`, of an index or a folder, too ([saving](saving.md#files-in-parts-and-folders-of-hugging-face)) |
| \`gguf.GGUFReader(f)\`, \`gguf.dequantize(…)\` | \`await dx.io.gguf.open(f)\`, \`await file.tensor(name)\` ([readers](readers.md#gguf-files)) |
| \`torchmetrics.Accuracy(task="multiclass", num_classes=10)\` | \`dx.metrics.accuracy({ numClasses: 10 })\` ([metrics](metrics.md#from-torchmetrics)) |
| \`class M(nn.Module): def forward\` | \`class M extends dx.nn.Module { forward(x) { … } }\`; call \`model(x)\` or \`model.forward(x)\` |
| \`torch.manual_seed(1)\` | \`dx.manualSeed(1)\` |
| \`model.to("cuda")\` | \`model.to("dml:0")\` |

## Functions

${table(["PyTorch", "dxtensor", "recorded cases"], rows.toSorted(byName))}
## Layers

${table(["PyTorch", "dxtensor"], layers.toSorted(byName))}
## Optimizers and schedules

${table(["PyTorch", "dxtensor"], optimizers.toSorted(byName))}
## What there is not

${table(
  ["PyTorch's operator", "why"],
  aten.flatMap(({ name, none }) => (none === undefined ? [] : [[code(name), none.replaceAll("|", "\\|")]])),
)}`;
}

/** What of TensorFlow.js's core is no operation for users. */
const inner =
  /_$|^(register|unregister|deregister|copyRegistered|getBackend$|getGradient|getKernel|enable|engine$|env$|ready$|setPlatform|setdiff1dAsync|buffer$|print$|nextFrame$|enclosingPowerOfTwo|deprecationWarn|upcastType|findBackend|removeBackend|sumOutType|variableGrads|backend$|getKernelsForBackend)/;

/** docs of TensorFlow.js's names: the same name where the package exports it, else a line of tfjs-names.json, else none. */
export async function tfjsPage(): Promise<string> {
  const dx = await library();
  const tf: Names = createRequire(at("package.json"))("@tensorflow/tfjs-core");
  const names: Readonly<Record<string, string>> = JSON.parse(readFileSync(at("scripts", "site", "tfjs-names.json"), "utf8"));
  const plain = Object.keys(tf).filter((n) => typeof tf[n] === "function" && /^[a-z]/.test(n) && !inner.test(n));
  const spaces = ["losses", "image", "linalg", "spectral", "train", "signal", "fused"].flatMap((s) =>
    namesOf(tf[s]).map((n) => `${s}.${n}`),
  );
  const rows = [...plain, ...spaces].map((name) => {
    const here = names[name] ?? (typeof valueOf(dx, name) === "function" ? name : undefined);
    const isName = here !== undefined && /^[\w.]+$/.test(here);
    if (isName && typeof valueOf(dx, here) !== "function")
      throw new ScriptError("NAMES", `tfjs-names.json: ${name} is said to be ${here}, which the package does not export.`);
    return [
      code(`tf.${name}`),
      here === undefined ? "–" : isName ? code(`dx.${here}`) : here.replaceAll("|", "\\|"),
      here === undefined ? "no" : "yes",
    ];
  });
  const known = rows.filter(([, , is]) => is === "yes").length;
  return `# From TensorFlow.js

Of ${rows.length} functions of \`@tensorflow/tfjs-core\` ${known} have a counterpart. Where a name is the same the meaning is PyTorch's: axes are \`[N, C, H, W]\`,
not \`[N, H, W, C]\`, and options are an object.

| TensorFlow.js | dxtensor |
| --- | --- |
| \`tf.tidy(() => …)\` | \`dx.scope(() => …)\`, which may be asynchronous |
| \`await x.data()\`, \`x.dataSync()\`, \`x.arraySync()\` | \`await x.data()\`, \`x.dataSync()\`, \`x.toArraySync()\` |
| \`tf.variable(x)\` | \`new dx.nn.Parameter(x)\`, or \`{ requiresGrad: true }\` |
| \`optimizer.minimize(() => loss)\` | \`loss.backward(); optimizer.step(); optimizer.zeroGrad();\` |
| \`tf.sequential({ layers: [tf.layers.dense({ units: 10 })] })\` | \`dx.nn.sequential(dx.nn.linear(784, 10))\` |
| \`model.fit(x, y, { epochs })\` | a loop over \`dx.data.dataLoader\` ([tour](tour.md)) |
| \`model.save("file://…")\` | \`await dx.io.safetensors.save(path, model.stateDict())\` |
| \`tf.loadGraphModel\` | \`await dx.io.onnx.load("model.onnx")\` ([onnx](onnx.md)) |

${table(
  ["TensorFlow.js", "dxtensor"],
  rows.toSorted(byName).map((row) => row.slice(0, 2)),
)}`;
}
