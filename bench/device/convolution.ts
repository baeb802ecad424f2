/**
 * Convolutions of networks by DirectML's operator and by the library's shaders with every tile and several splits: whether the results agree, microseconds by the
 * device's clock, TFLOP/s; then a training step of ResNet-18 by each. A plain program without dependencies.
 */
import { writeFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import * as dx from "dxtensor";
import { CASES } from "./networks.ts";
import type { DirectForm } from "../../dist/shader/kernels/convolution-direct.js";
import type * as directPlans from "../../dist/shader/kernels/convolution-direct-plan.js";
import type { DirectWeightForm } from "../../dist/shader/kernels/convolution-direct-weights.js";
import type { DepthwiseForm } from "../../dist/shader/kernels/convolution-depthwise.js";
import type { productSizes as products } from "../../dist/shader/kernels/convolution-gemm.js";
import type * as plans from "../../dist/shader/kernels/convolution-plan.js";
import type * as winogradPlans from "../../dist/shader/kernels/winograd-plan.js";
import type { PlanesForm, ResultForm } from "../../dist/shader/kernels/winograd.js";
import type { WeightGradientForm, WeightsForm } from "../../dist/shader/kernels/winograd-weights.js";
import type * as gemm from "../../dist/shader/kernels/gemm.js";
import type { SumForm as Sum } from "../../dist/shader/kernels/convolution-sum.js";
import type {
  ConvolutionForm,
  ConvolutionKind as Kind,
  ConvolutionTile as Tile,
  Pair,
} from "../../dist/shader/kernels/convolution-tiles.js";
import { deviceOf, listOf, numberOf, oneOf, optionsOf } from "./options.ts";
import { stepOf, timed } from "./steps.ts";

const help = `node build/bench/device/convolution.js [OPTIONS]

  --device NAME     device to measure (default: the default device)
  --filter TEXT     only the cases whose name contains TEXT
  --kinds LIST      of forward, inputGradient, weightGradient (default: all)
  --variants WHICH  "all" tiles and splits, a list of tiles, "direct", "winograd", or what the library would take, "chosen" (default: all)
  --budget S        begin no variant after so many seconds (default: 110)
  --rounds N        profiles of each variant, of which the fastest counts (default: 5)
  --warm MS         how long products run before the variants of a case are timed (default: 60)
  --dtype NAME      float32 or float16 (default: float32)
  --layout NAME     NCHW or NHWC, of x and dy (default: NCHW)
  --small           small sizes only
  --few             convolutions of few channels only: those of the networks quickstart and LeNet
  --no-step         leave out the training steps
  --explain         print each dispatch of the training steps, and of the variants that the sizes choose
  --json FILE       write the results as JSON
  --help            this text

Exit status 1 when a variant fails, or its results are not DirectML's.`;

const KINDS: readonly Kind[] = ["forward", "inputGradient", "weightGradient"];

type Numbers = Readonly<Record<string, number>>;
interface Described {
  readonly name: string;
  readonly inputs: Readonly<Record<string, "f32" | "f16">>;
  /** One, which is y of what shaderOf gives. */
  readonly outputs: Readonly<Record<string, "f32" | "f16">>;
  readonly params: Readonly<Record<string, "u32">>;
  readonly threads: number;
  readonly body: (s: never) => void;
}
const NO_EPILOGUE = { hasBias: false, epsilon: null, hasAddend: false, activation: null, reluGradient: null } as const;

/** src/shader/kernels/convolution*.ts. */
type Plans = typeof plans;
type Sizes = plans.ConvolutionSizes;
type SumForm = Pick<Sum, "width" | "element">;
type Made = Described & { groups(n: Numbers): number };
type Ended<F> = Omit<F, keyof typeof NO_EPILOGUE> & typeof NO_EPILOGUE;
interface Modules {
  readonly plans: Plans;
  convolutionKernel(form: ConvolutionForm, tile: Tile): Made;
  depthwiseKernel(form: DepthwiseForm): Made;
  directKernel(form: DirectForm): Made;
  directWeightKernel(form: DirectWeightForm): Made;
  readonly directPlans: typeof directPlans;
  readonly winogradPlans: typeof winogradPlans;
  readonly winograd: {
    planesKernel(form: PlanesForm): Made;
    resultKernel(form: Ended<ResultForm>): Made;
    weightsKernel(form: WeightsForm): Made;
    weightGradientKernel(form: Ended<WeightGradientForm>): Made;
  };
  readonly gemm: typeof gemm;
  sumKernel(form: SumForm): Described & { groups(size: number): number };
  readonly tiles: Readonly<Record<string, Tile>>;
  readonly productSizes: typeof products;
}

/** The library's own modules: tiles and splits are no part of what the package exports. */
async function load(): Promise<Modules> {
  const from = async <T>(name: string): Promise<T> =>
    (await import(new URL(`../../../dist/shader/kernels/${name}.js`, import.meta.url).href)) as T;
  const { convolutionKernel, productSizes } = await from<Pick<Modules, "convolutionKernel" | "productSizes">>("convolution-gemm");
  const { depthwiseKernel } = await from<Pick<Modules, "depthwiseKernel">>("convolution-depthwise");
  const { directKernel } = await from<Pick<Modules, "directKernel">>("convolution-direct");
  const { directWeightKernel } = await from<Pick<Modules, "directWeightKernel">>("convolution-direct-weights");
  const { sumKernel } = await from<Pick<Modules, "sumKernel">>("convolution-sum");
  const { CONVOLUTION_TILES: tiles } = await from<{ CONVOLUTION_TILES: Modules["tiles"] }>("convolution-tiles");
  return {
    plans: await from<Plans>("convolution-plan"),
    directPlans: await from<typeof directPlans>("convolution-direct-plan"),
    winogradPlans: await from<typeof winogradPlans>("winograd-plan"),
    winograd: { ...(await from<Modules["winograd"]>("winograd")), ...(await from<Modules["winograd"]>("winograd-weights")) },
    gemm: await from<typeof gemm>("gemm"),
    convolutionKernel,
    depthwiseKernel,
    directKernel,
    directWeightKernel,
    sumKernel,
    tiles,
    productSizes,
  };
}

interface Case {
  readonly name: string;
  readonly sizes: Omit<Sizes, "kind" | "element" | "layouts">;
}

/** A square plane and kernel; by default padded so that stride 1 keeps the size. */
function caseOf(
  images: number,
  channels: number,
  filters: number,
  size: number,
  kernel: number,
  stride = 1,
  groups = 1,
  padding = kernel >> 1,
): Case {
  const out = Math.floor((size + 2 * padding - kernel) / stride) + 1;
  const both = (n: number): Pair => [n, n];
  const [input, output] = [both(size), both(out)];
  const name = `${images} x ${channels}, ${size} x ${size}, to ${filters} by ${kernel} x ${kernel}${stride === 1 ? "" : ` / ${stride}`}${padding === kernel >> 1 ? "" : `, padded ${padding}`}${groups === 1 ? "" : ", depthwise"}`;
  const sizes = { images, groups, channels: channels / groups, filters: filters / groups, input, output, kernel: both(kernel), stride: both(stride), dilation: both(1), padding: both(padding) }; // prettier-ignore
  return { name, sizes };
}

/** The most important first: what comes after the budget's end is left out. */
const LARGE: readonly Case[] = [
  // ResNet-18 of 32 x 32.
  caseOf(16, 64, 64, 32, 3),
  caseOf(16, 128, 128, 16, 3),
  caseOf(16, 256, 256, 8, 3),
  caseOf(16, 512, 512, 4, 3),
  caseOf(16, 64, 128, 32, 3, 2),
  caseOf(16, 256, 512, 8, 3, 2),
  caseOf(16, 64, 128, 32, 1, 2),
  // ResNet-50, and ResNet-18 of 224 x 224.
  caseOf(16, 64, 64, 56, 3),
  caseOf(16, 256, 256, 14, 3),
  caseOf(16, 64, 256, 56, 1),
  caseOf(16, 1024, 256, 14, 1),
  // MobileNet.
  caseOf(16, 32, 32, 112, 3, 1, 32),
  caseOf(16, 384, 384, 14, 3, 1, 384),
  // The others.
  caseOf(16, 128, 256, 16, 3, 2),
  caseOf(16, 256, 512, 8, 1, 2),
  caseOf(16, 3, 64, 32, 3),
  caseOf(16, 512, 512, 7, 3),
  caseOf(16, 128, 128, 28, 3),
  caseOf(16, 128, 128, 56, 3, 2),
  caseOf(16, 3, 64, 224, 7, 2),
  caseOf(16, 512, 2048, 7, 1),
  caseOf(16, 144, 144, 56, 3, 2, 144),
  caseOf(16, 960, 960, 7, 3, 1, 960),
];
/** Those of the quickstart, of bench/device/networks.ts' LeNet, of LeNet-5, and of RGB images. */
const FEW: readonly Case[] = [
  caseOf(64, 1, 8, 28, 5, 1, 1, 0),
  caseOf(64, 8, 16, 12, 5, 1, 1, 0),
  caseOf(64, 1, 16, 28, 5),
  caseOf(64, 6, 16, 14, 5, 1, 1, 0),
  caseOf(64, 1, 6, 28, 5),
  caseOf(16, 3, 32, 32, 3),
];
const SMALL: readonly Case[] = [
  caseOf(2, 16, 24, 8, 3),
  caseOf(2, 40, 36, 8, 3),
  caseOf(2, 8, 8, 8, 3, 2),
  caseOf(2, 16, 64, 8, 1),
  caseOf(2, 6, 6, 8, 3, 1, 6),
  caseOf(2, 1, 8, 12, 5, 1, 1, 0),
];

interface Row {
  readonly case: string;
  readonly kind: Kind;
  readonly variant: string;
  readonly microseconds: number;
  /** Of many calls behind each other, by the wall: launches of one call wait for each other, but are not timed alone. */
  readonly queued: number;
  readonly teraflops: number;
  /** The largest, as a share of the root mean square. */
  readonly difference: number;
}

function largest(got: Float32Array, expected: Float32Array): number {
  let [error, size] = [0, 0];
  if (got.length !== expected.length) return Infinity;
  expected.forEach((x, i) => {
    const away = Math.abs(got[i]! - x);
    if (!(away <= error)) error = away;
    size += x ** 2;
  });
  return error / Math.sqrt(size / expected.length);
}

type Run = (a: dx.Tensor, b: dx.Tensor) => dx.Tensor;

function byDirectML(c: Sizes): Run {
  const { stride, padding, dilation, groups } = c;
  const options = { stride, padding, dilation, groups };
  if (c.kind === "forward") return (x, w) => dx.conv2d(x, w, null, options);
  if (c.kind === "inputGradient") {
    const outputPadding = [0, 1].map((i) => c.input[i]! - ((c.output[i]! - 1) * stride[i]! - 2 * padding[i]! + (c.kernel[i]! - 1) * dilation[i]! + 1)); // prettier-ignore
    return (dy, w) => dx.convTranspose2d(dy, w, null, { ...options, outputPadding });
  }
  return (x, dy) => {
    const w = dx.zeros([c.groups * c.filters, c.channels, ...c.kernel], { device: x.device, dtype: x.dtype }).requiresGrad_();
    return dx.grad(dx.conv2d(x, w, null, options), [w], { gradient: dy })[0]!;
  };
}

type ShaderOfTensors = (inputs: Readonly<Record<string, dx.Tensor>>, params: Numbers) => { readonly y: dx.Tensor };
const shaders = new Map<string, ShaderOfTensors>();

/** The shader of a kernel, made once: its pipeline serves all sizes. */
function shaderOf(made: Described, shape: (params: Numbers) => readonly number[], groups: (params: Numbers) => number): ShaderOfTensors {
  let found = shaders.get(made.name);
  if (found === undefined) {
    const output = Object.keys(made.outputs)[0]!;
    const spec = {
      name: made.name,
      inputs: Object.fromEntries(Object.entries(made.inputs).map(([key, element]) => [key, DTYPES[element]])),
      outputs: { [output]: { dtype: DTYPES[made.outputs[output]!], shape: (_: unknown, params: Numbers) => [...shape(params)] } },
      params: made.params,
      threads: made.threads,
      groups: (_: unknown, params: Numbers) => groups(params),
    };
    const shader = dx.shader(spec, (s) => made.body(s as never));
    found = (tensors, params) => ({ y: shader(tensors, params)[output]! });
    shaders.set(made.name, found);
  }
  return found;
}

const DTYPES = { f32: "float32", f16: "float16" } as const;
const sized = (params: Numbers): readonly number[] => [params["size"]!];

interface Variant {
  readonly name: string;
  readonly run: () => Run;
}

/** Winograd's form: transforms of both operands, 16 products in a launch, and the transform of these. */
const byWinograd = (m: Modules, c: Sizes, name: string, split: winogradPlans.WinogradSplit): Variant => ({
  name,
  run: () => {
    const { winograd: k, gemm } = m;
    const { product, source, gradient, result, hasLanes } = m.winogradPlans.winogradPlan(c, split);
    const { planes: matrices, tile, fit, rows, columns, terms } = product;
    const { size } = split;
    const count = matrices * product.split;
    const isWeight = gradient !== null;
    const shape = m.plans.resultShape(c);
    const planes = ({ form, params }: typeof source): ((x: dx.Tensor) => dx.Tensor) => {
      const made = k.planesKernel(form);
      const shader = shaderOf(
        made,
        (n) => [matrices * n["total"]! * form.width],
        (n) => made.groups(n),
      );
      return (x) => shader({ x }, params).y;
    };
    const form = { ...gemm.PLAIN, transA: !isWeight, transB: isWeight, isBatched: true };
    const multiply = dx.shader(
      {
        name: `products by ${split.tile}, ${fit}`,
        inputs: { a: "float32", b: "float32" },
        outputs: { c: { dtype: "float32", shape: () => [count, rows, columns] } },
        params: { strideA: "u32", strideB: "u32" },
        threads: gemm.threadsOfTile(tile),
        groups: ({ c: sizes }) => gemm.groupsOfTile(tile, sizes!),
      },
      (s) => gemm.gemmBody(s as never, tile, fit, form),
    );
    const strides = { strideA: terms * rows, strideB: terms * columns };
    const products = (a: dx.Tensor, b: dx.Tensor): dx.Tensor => {
      const [left, right] = isWeight ? [[count, rows, terms], [count, columns, terms]] : [[count, terms, rows], [count, terms, columns]]; // prettier-ignore
      return multiply({ a: dx.reshape(a, left!), b: dx.reshape(b, right!) }, strides).c;
    };
    const end = { element: c.element, isSplit: product.split > 1, ...NO_EPILOGUE };
    if (isWeight) {
      const made = k.weightGradientKernel({ ...end, size, hasLanes });
      const finish = shaderOf({ ...made, name: `${made.name} to ${shape.join(" x ")}` }, () => shape, (n) => made.groups(n)); // prettier-ignore
      const [ofX, ofDy] = [planes(source), planes(gradient)];
      return (x, dy) => finish({ m: products(ofDy(dy), ofX(x)) }, { kernels: rows * columns, splits: product.split }).y;
    }
    const weights = k.weightsKernel({ size, element: c.element, isRotated: c.kind === "inputGradient" });
    const ofW = shaderOf(weights, (n) => [matrices * n["filters"]! * n["channels"]!], (n) => weights.groups(n)); // prettier-ignore
    const made = k.resultKernel({ ...end, ...result!.form });
    const finish = shaderOf({ ...made, name: `${made.name} to ${shape.join(" x ")}` }, () => shape, (n) => made.groups(n)); // prettier-ignore
    const ofX = planes(source);
    const params = { ...result!.params, splits: product.split };
    return (x, w) => finish({ m: products(ofW({ w }, { filters: c.filters, channels: c.channels }).y, ofX(x)) }, params).y;
  },
});

/** The variants of a case by shaders. */
function variantsOf(m: Modules, c: Sizes, which: string): Variant[] {
  const shape = m.plans.resultShape(c);
  const size = shape.reduce((a, d) => a * d, 1);
  // A view in NHWC is packed as [N, H, W, C].
  const inMemory = (t: dx.Tensor, layout: "NCHW" | "NHWC"): dx.Tensor => (layout === "NHWC" ? t.permute(0, 2, 3, 1) : t);
  const inputs = (a: dx.Tensor, b: dx.Tensor): Readonly<Record<string, dx.Tensor>> => ({
    x: inMemory(a, c.layouts.x),
    ...(c.kind === "weightGradient" ? { dy: inMemory(b, c.layouts.dy) } : { w: b }),
  });
  const total = (parts: dx.Tensor, form: SumForm, splits: number, inner: number, channels: number): dx.Tensor => {
    const made = m.sumKernel({ ...form, ...NO_EPILOGUE });
    const add = shaderOf(made, sized, (n) => made.groups(n["size"]!));
    return dx.reshape(add({ parts }, { splits, size, inner, channels }).y, [...shape]);
  };
  if (m.plans.isDepthwise(c)) {
    const run = (): Run => {
      const { form, params, parts } = m.plans.depthwisePlan(c, NO_EPILOGUE);
      const made = m.depthwiseKernel(form);
      // The shape of the result is no parameter of the shader.
      const shader = shaderOf({ ...made, name: `${made.name} to ${parts} x ${shape.join(" x ")}` }, () => [parts * size], (n) => made.groups(n)); // prettier-ignore
      return (a, b) => {
        const { y } = shader(inputs(a, b), params);
        return parts === 1 ? dx.reshape(y, [...shape]) : total(y, { width: size % 4 === 0 ? 4 : 1, element: c.element }, parts, size, 1);
      };
    };
    return [{ name: "depthwise", run }];
  }
  const variant = (name: string, chosen?: { tile: Tile; wished: number }): Variant => ({
    name,
    run: () => {
      const { form, tile, params, splits, sum } = m.plans.tiledPlan(c, NO_EPILOGUE, chosen);
      const made = m.convolutionKernel(form, tile);
      const shader = shaderOf(made, (n) => [Math.ceil(m.productSizes(c, n as unknown as Parameters<typeof products>[1]).depth / n["perSplit"]!) * n["size"]!], (n) => made.groups(n)); // prettier-ignore
      return (a, b) => {
        const { y } = shader(inputs(a, b), params);
        return sum === null ? dx.reshape(y, [...shape]) : total(y, sum.form, splits, sum.inner, sum.channels);
      };
    },
  });
  const { directSplits, directPlan, isForDirect, usualSplit } = m.directPlans;
  const byDirect = (name: string, split: directPlans.DirectSplit): Variant => ({
    name,
    run: () => {
      const plan = directPlan(c, split);
      const made = plan.kind === "planes" ? m.directKernel(plan.form) : m.directWeightKernel(plan.form);
      const parts = plan.kind === "planes" ? 1 : split.split;
      // Neither is the shape of the result.
      const shader = shaderOf({ ...made, name: `${made.name} to ${parts} x ${shape.join(" x ")}` }, () => [parts * size], (n) => made.groups(n)); // prettier-ignore
      return (a, b) => {
        const { y } = shader(inputs(a, b), plan.params);
        return parts === 1 ? dx.reshape(y, [...shape]) : total(y, { width: size % 4 === 0 ? 4 : 1, element: c.element }, parts, size, 1);
      };
    },
  });
  const nameOfSplit = ({ block, split }: directPlans.DirectSplit): string => `direct ${block} / ${split}`;
  const isSmall = isForDirect(c);
  const directs = isSmall && (which === "all" || which.split(",").includes("direct")) ? directSplits(c) : [];
  const direct = directs.map((split) => byDirect(nameOfSplit(split), split));
  if (isSmall) {
    const split = usualSplit(c);
    const usual = byDirect(`chosen: ${nameOfSplit(split)}`, split);
    if (which !== "all") return [usual, ...direct];
    direct.unshift(usual);
  }
  const taken = m.plans.chosenTile(c);
  const nameOf = (tile: Tile): string => Object.entries(m.tiles).find(([, t]) => t === tile)![0];
  const first = variant(`${isSmall ? "tiles" : "chosen"}: ${nameOf(taken.tile)} / ${taken.wished}`);
  if (which === "chosen") return [first];
  const { isWinograd, usualWinogradSplit, winogradVariants } = m.winogradPlans;
  const isByWinograd = isWinograd(c) && ["all", "winograd"].some((word) => which.split(",").includes(word));
  const usual = isByWinograd ? [2, 4].map((size) => JSON.stringify(usualWinogradSplit(c, size as 2 | 4))) : [];
  const winograds = [...(isByWinograd ? winogradVariants(c) : [])].map(([name, split]) => byWinograd(m, c, usual.includes(JSON.stringify(split)) ? `${name}, usual` : name, split)); // prettier-ignore
  const rows = c.kind === "inputGradient" ? c.channels : c.filters;
  const all = Object.entries(m.tiles).flatMap(([name, tile]) => {
    if (which !== "all" && !which.split(",").includes(name)) return [];
    // Half of a tile is empty, or it is far too small, or too large.
    const isLong = c.kind === "inputGradient" && c.stride[0] > 1 && tile.tm * tile.tn > 32;
    if (tile.bm * tile.bn > 2 ** 13 && c.images * c.output[0] * c.output[1] < 2 ** 14) return [];
    if (isLong || tile.bm > Math.max(32, rows) || (tile.bm === 32 && rows > 64)) return [];
    const plan = (wished: number): { splits: number } => m.plans.tiledPlan(c, NO_EPILOGUE, { tile, wished });
    const groups = m.convolutionKernel(m.plans.tiledPlan(c, NO_EPILOGUE, { tile, wished: 1 }).form, tile).groups(m.plans.tiledPlan(c, NO_EPILOGUE, { tile, wished: 1 }).params); // prettier-ignore
    const wished = [264, 528].map((enough) => Math.max(1, Math.min(64, Math.round(enough / groups))));
    return [...new Set([1, ...wished].filter((n) => n * groups >= 60).map((n) => plan(n).splits))].map((n) =>
      variant(`${name} / ${n}`, { tile, wished: n }),
    );
  });
  return [...direct, first, ...winograds, ...all];
}

/** Of the largest difference from DirectML's result: each of them rounds to its dtype. */
const TOLERANCE = { f32: 1e-3, f16: 2e-2 } as const;

interface Candidate {
  readonly name: string;
  readonly compiled: dx.Compiled<[dx.Tensor, dx.Tensor], dx.Tensor>;
  readonly difference: number;
}

/** Keeps the GPU's clock up: after pauses, as when pipelines are compiled, it falls to a quarter. */
class Reference {
  readonly #device: dx.Device;
  readonly #operands: readonly [dx.Tensor, dx.Tensor];
  readonly #product = dx.compile((a: dx.Tensor, b: dx.Tensor) => dx.matmul(a, b), { name: "reference", check: false, regions: "none" });
  #best = Infinity;

  constructor(device: dx.Device, size: number) {
    this.#device = device;
    this.#operands = [1, 2].map((seed) => dx.randn([size, size], { device, generator: new dx.Generator(seed) })) as [dx.Tensor, dx.Tensor];
  }

  async busy(ms: number): Promise<void> {
    for (const start = performance.now(); performance.now() - start < ms; await dx.synchronize(this.#device))
      for (let i = 0; i < 10; i++) this.#product(...this.#operands).dispose();
  }

  /** Its time as a share of the best one, in microseconds. */
  slowness(): number {
    const found = Math.min(this.#product.profileSync().microseconds, this.#product.profileSync().microseconds);
    this.#best = Math.min(this.#best, found);
    return found / this.#best;
  }

  dispose(): void {
    this.#product.dispose();
    for (const t of this.#operands) t.dispose();
  }
}

/** How much slower the reference may be for a time to count. */
const MAX_SLOWNESS = 1.05;
const MAX_TRIES = 6;
const QUEUED_CALLS = 200;

/** Microseconds of a call among many, the fastest of three rounds. */
async function queuedTime({ compiled }: Candidate, a: dx.Tensor, b: dx.Tensor, device: dx.Device): Promise<number> {
  let best = Infinity;
  for (let round = 0; round < 3; round++) {
    await dx.synchronize(device);
    const start = performance.now();
    for (let i = 0; i < QUEUED_CALLS; i++) compiled(a, b).dispose();
    await dx.synchronize(device);
    best = Math.min(best, ((performance.now() - start) * 1000) / QUEUED_CALLS);
  }
  return best;
}

/** What forms of several launches are compared by, where it was measured. */
const inQueue = ({ queued, microseconds }: Row): number => (Number.isNaN(queued) ? microseconds : queued);

interface Options {
  readonly cases: readonly Case[];
  readonly kinds: readonly Kind[];
  readonly which: string;
  readonly rounds: number;
  readonly warm: number;
  readonly until: number;
  readonly explains: boolean;
  readonly element: "f32" | "f16";
  readonly layout: "NCHW" | "NHWC";
}

async function measureVariants(m: Modules, device: dx.Device, options: Options, isSmall: boolean): Promise<Row[]> {
  const rows: Row[] = [];
  const reference = new Reference(device, isSmall ? 64 : 2048);
  await reference.busy(4 * options.warm);
  for (const { name, sizes } of options.cases)
    for (const kind of options.kinds) {
      if (performance.now() > options.until) {
        console.log(`${name}, ${kind}: no time left`);
        continue;
      }
      const { element, layout } = options;
      const c: Sizes = { kind, element, layouts: { x: layout, dy: layout }, ...sizes };
      const random = (shape: readonly number[], seed: number): dx.Tensor =>
        dx.randn([...shape], { device, generator: new dx.Generator(seed) }).to(DTYPES[element]);
      const [ci, co] = [c.groups * c.channels, c.groups * c.filters];
      const of = { x: [c.images, ci, ...c.input], w: [co, c.channels, ...c.kernel], dy: [c.images, co, ...c.output] };
      const [a, b] = kind === "forward" ? [of.x, of.w] : kind === "inputGradient" ? [of.dy, of.w] : [of.x, of.dy];
      const inLayout = (shape: readonly number[], seed: number, isWeight: boolean): dx.Tensor => {
        if (layout === "NCHW" || isWeight) return random(shape, seed);
        const [n, channels, ...plane] = shape as [number, number, ...number[]];
        return random([n, ...plane, channels], seed).permute(0, 3, 1, 2);
      };
      const [left, right] = [inLayout(a, 1, false), inLayout(b, 2, kind !== "weightGradient")];
      const fail = (variant: string, error: unknown): void => {
        process.exitCode = 1;
        console.log(`${name} ${kind} ${variant}: ${(error as Error).stack}`);
      };
      let expected: Float32Array | null = null;
      const candidates: Candidate[] = [];
      for (const variant of [{ name: "DirectML", run: () => byDirectML(c) }, ...variantsOf(m, c, options.which)])
        try {
          const run = variant.run();
          const settings = { name: variant.name, check: false, fuse: "off", regions: "none" } as const;
          const compiled = dx.compile((x: dx.Tensor, y: dx.Tensor) => run(x, y), settings);
          const result = dx.scope(() => compiled(left, right));
          const got = result.to("float32").dataSync() as Float32Array;
          result.dispose();
          expected ??= got;
          candidates.push({ name: variant.name, compiled, difference: largest(got, expected) });
        } catch (error) {
          fail(variant.name, error);
        }
      const flop = 2 * m.plans.multiplyAdds(c);
      const own: Row[] = [];
      await reference.busy(options.warm);
      for (const candidate of candidates)
        try {
          const { name: variant, compiled, difference } = candidate;
          let [microseconds, slowness] = [Infinity, Infinity];
          for (let i = 0; i < MAX_TRIES && slowness > MAX_SLOWNESS; i++) {
            await reference.busy(i === 0 ? 5 : options.warm);
            microseconds = Infinity;
            for (let round = 0; round < options.rounds; round++) microseconds = Math.min(microseconds, compiled.profileSync().microseconds);
            slowness = reference.slowness();
          }
          const queued = isSmall ? NaN : await queuedTime(candidate, left, right, device);
          if (options.explains && /chosen|usual/.test(variant)) console.log(`${compiled.profileSync()}`);
          compiled.dispose();
          const row = { case: name, kind, variant, microseconds, queued, teraflops: flop / microseconds / 1e6, difference };
          own.push(row);
          const isWrong = !(difference <= TOLERANCE[element]);
          console.log(`${name.padEnd(36)} ${kind.padEnd(14)} ${variant.padEnd(20)} ${microseconds.toFixed(1).padStart(8)} us, queued ${queued.toFixed(1).padStart(7)} us ${row.teraflops.toFixed(2).padStart(6)} TFLOP/s  reference ${slowness.toFixed(2)}  differs by ${difference.toExponential(1)}${isWrong ? "  WRONG" : ""}`); // prettier-ignore
          if (isWrong) process.exitCode = 1;
        } catch (error) {
          fail(candidate.name, error);
        }
      const [directml, ...others] = own;
      const best = others.filter((r) => r.difference <= TOLERANCE[element]).toSorted((x, y) => inQueue(x) - inQueue(y))[0];
      if (best !== undefined && directml !== undefined)
        console.log(`${name}, ${kind}: best is ${best.variant}, ${(inQueue(directml) / inQueue(best)).toFixed(2)} times DirectML's speed`); // prettier-ignore
      rows.push(...own);
      for (const t of [left, right]) t.dispose();
    }
  reference.dispose();
  return rows;
}

interface StepRow {
  readonly form: string;
  readonly ms: number;
  readonly loss: number;
  readonly dispatches: number;
  readonly compileMs: number;
}

const MODES = {
  "DirectML's convolutions": "off",
  "as the library chooses": "only-measured",
  "all shaders": "on",
} as const;

/** A training step of ResNet-18. */
async function measureSteps(name: string, explains: boolean): Promise<StepRow[]> {
  const network = CASES.find((c) => c.name === "resnet")!;
  const rows: StepRow[] = [];
  for (const [form, mode] of Object.entries(MODES))
    try {
      process.env.DXTENSOR_SHADERS = mode;
      dx.closeDevice(dx.device(name));
      const device = dx.device(name);
      dx.manualSeed(1);
      const layers = network.build();
      layers.to(device);
      const step = dx.compile(stepOf(layers, network.optimizer(layers.parameters())), { name: form, check: false });
      const x = dx.randn([...network.input], { device, generator: new dx.Generator(7) });
      const y = dx.tensor(Int32Array.from({ length: network.input[0]! }, (_, i) => i % 10), { device }); // prettier-ignore
      const start = performance.now();
      dx.scope(() => step(x, y).dataSync());
      const compileMs = performance.now() - start;
      for (let i = 0; i < 20; i++) dx.scope(() => step(x, y));
      const loss = Number(dx.scope(() => step(x, y).dataSync())[0]);
      const { ms } = await timed(step, x, y, device, 200);
      const { dispatches } = step.explain();
      rows.push({ form, ms, loss, dispatches, compileMs });
      console.log(`ResNet-18, ${form.padEnd(28)} ${ms.toFixed(3).padStart(8)} ms  ${dispatches} dispatches  compiled in ${compileMs.toFixed(0)} ms  loss ${loss.toPrecision(5)}`); // prettier-ignore
      if (explains) console.log(`${step.profileSync()}`);
      step.dispose();
      x.dispose();
      y.dispose();
    } catch (error) {
      process.exitCode = 1;
      console.log(`ResNet-18, ${form}: ${(error as Error).stack}`);
    }
  return rows;
}

async function main(): Promise<void> {
  const values = optionsOf(help, {
    kinds: { type: "string", default: KINDS.join(",") },
    variants: { type: "string", default: "all" },
    budget: { type: "string", default: "110" },
    rounds: { type: "string", default: "5" },
    warm: { type: "string", default: "60" },
    dtype: { type: "string", default: "float32" },
    layout: { type: "string", default: "NCHW" },
    small: { type: "boolean", default: false },
    few: { type: "boolean", default: false },
    "no-step": { type: "boolean", default: false },
    explain: { type: "boolean", default: false },
  });
  const start = performance.now();
  const device = deviceOf(values);
  const modules = await load();
  const cases = (values.small ? SMALL : values.few ? FEW : LARGE).filter(({ name }) => name.includes(values.filter));
  const kinds = listOf("kinds", values.kinds, KINDS);
  const options = {
    kinds,
    which: values.variants,
    rounds: numberOf("rounds", values.rounds),
    element: oneOf("dtype", values.dtype, { float32: "f32", float16: "f16" } as const),
    layout: oneOf("layout", values.layout, { NCHW: "NCHW", NHWC: "NHWC" } as const),
    warm: numberOf("warm", values.warm),
    explains: values.explain,
    until: start + 1000 * numberOf("budget", values.budget),
  };
  const steps = values["no-step"] ? [] : await measureSteps(`${device}`, values.explain);
  // DirectML's operators are what shaders are compared with.
  process.env.DXTENSOR_SHADERS = "off";
  const rows = await measureVariants(modules, dx.device(`${device}`), { ...options, cases }, values.small);
  console.log(`${((performance.now() - start) / 1000).toFixed(0)} s`);
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ device: `${device}`, rows, steps }, null, 2));
}

await main();
