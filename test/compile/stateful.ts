/**
 * Random functions with state: buffers that are set, filled, copied between halves, swapped, accumulated and cast, with results that are
 * arguments, buffers and values. A program is data, so that a failing one can be printed and run again by its seed.
 *
 * All values are small integers, exact in every dtype and clamped before they could grow: eager and compiled agree bit by bit.
 */
import * as dx from "../../src/index.ts";
import { numbers } from "../device.ts";

type Chance = (below: number) => number;

/** xorshift32: the same programs everywhere. */
function chance(seed: number): Chance {
  let state = (Math.imul(seed + 1, 0x9e3779b1) ^ 0x5bd1e995) >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

const DTYPES = ["float32", "float32", "float16", "int32", "int64", "uint8"] as const;
const LENGTHS = [2, 4, 6, 64, 130, 5000] as const;
const MOST = 9;

interface StateBuffer {
  readonly dtype: dx.DType;
  /** [] for one element of rank 0. */
  readonly shape: readonly number[];
  readonly seed: number;
}

type Statement =
  | { readonly do: "zero" | "negate" | "clamp" | "transposedZero" | "viewZero"; readonly buffer: number }
  | { readonly do: "fill" | "add" | "fillPart"; readonly buffer: number; readonly value: number }
  | { readonly do: "copy" | "swap" | "accumulate" | "exchange"; readonly buffer: number; readonly other: number }
  | { readonly do: "half"; readonly buffer: number; readonly other: number; readonly from: 0 | 1; readonly to: 0 | 1 }
  | { readonly do: "take" | "addArgument"; readonly buffer: number; readonly argument: number }
  | { readonly do: "keep" | "replace"; readonly buffer: number };

type Result = { readonly of: "buffer" | "view" | "argument" | "value" | "sum"; readonly index: number };

export interface Program {
  readonly seed: number;
  readonly buffers: readonly StateBuffer[];
  readonly arguments: readonly StateBuffer[];
  readonly body: readonly Statement[];
  readonly results: readonly Result[];
  readonly regions: "whole" | "head" | "none" | undefined;
  /** Calls after which the state is changed from outside, and read. */
  readonly touched: number;
  readonly read: number;
}

export const CALLS = 5;

function buffer(random: Chance, length: number): StateBuffer {
  const dtype = DTYPES[random(DTYPES.length)]!;
  const shape = random(6) === 0 ? [] : random(3) === 0 ? [2, length / 2] : [length];
  return { dtype, shape, seed: random(1000) };
}

function statement(random: Chance, buffers: number, inputs: number): Statement {
  const [buffer, other] = [random(buffers), random(buffers)];
  switch (random(18)) {
    case 0:
    case 1:
    case 2:
      return { do: "zero", buffer };
    case 3:
      return { do: "fill", buffer, value: random(MOST) };
    case 4:
      return { do: "copy", buffer, other };
    case 5:
    case 6:
      return { do: "half", buffer, other, from: random(2) as 0 | 1, to: random(2) as 0 | 1 };
    case 7:
      return { do: "swap", buffer, other };
    case 8:
      return { do: "accumulate", buffer, other };
    case 9:
      return { do: "exchange", buffer, other };
    case 10:
      return { do: "add", buffer, value: random(3) };
    case 11:
      return { do: random(2) ? "viewZero" : "transposedZero", buffer };
    case 12:
      return { do: "take", buffer, argument: random(inputs) };
    case 13:
      return { do: "addArgument", buffer, argument: random(inputs) };
    case 14:
      return random(2) ? { do: "fillPart", buffer, value: random(MOST) } : { do: "clamp", buffer };
    default:
      return { do: (["keep", "keep", "negate", "replace", "replace"] as const)[random(5)]!, buffer };
  }
}

export function programOf(seed: number): Program {
  const random = chance(seed);
  const length = LENGTHS[random(LENGTHS.length)]!;
  const buffers = Array.from({ length: 1 + random(4) }, () => buffer(random, length));
  const inputs = Array.from({ length: 1 + random(2) }, () => buffer(random, length));
  const body = Array.from({ length: 1 + random(7) }, () => statement(random, buffers.length, inputs.length));
  const of = ["buffer", "view", "argument", "value", "value", "value", "sum"] as const;
  const results = Array.from({ length: random(4) }, () => ({ of: of[random(of.length)]!, index: random(8) }));
  const regions = ([undefined, "whole", "head", "none"] as const)[random(4)];
  return { seed, buffers, arguments: inputs, body, results, regions, touched: random(1 << CALLS), read: random(1 << CALLS) };
}

/** Elements between 0 and 8. */
function made({ dtype, shape, seed }: StateBuffer, device: string, call = 0): dx.Tensor {
  const random = chance(seed * 31 + call);
  const count = shape.reduce((a, b) => a * b, 1);
  const values = Array.from({ length: count }, () => random(MOST));
  return dx.tensor(values, { shape: [...shape], dtype: "float32", device }).to(dtype);
}

const limited = (x: dx.Tensor): dx.Tensor => dx.clamp(x, 0, MOST);

/** An expression of the shape of `like`, whatever the other's shape. */
const inShapeOf = (x: dx.Tensor, like: dx.Tensor): dx.Tensor =>
  x.shape.length === 0 || x.shape.join() === like.shape.join() ? x : like.shape.length === 0 ? limited(x.max()) : x.reshape(like.shape);

const half = (x: dx.Tensor, which: 0 | 1): dx.Tensor => {
  const flat = x.reshape([x.size]);
  const middle = Math.max(1, x.size >> 1);
  return which === 0 ? flat.slice(0, 0, middle) : flat.slice(0, x.size - middle, x.size);
};

function perform(s: Statement, buffers: readonly dx.Tensor[], inputs: readonly dx.Tensor[], values: dx.Tensor[]): void {
  const x = buffers[s.buffer]!;
  switch (s.do) {
    case "zero":
      x.zero_();
      break;
    case "viewZero":
      dx.unsqueeze(x, 0).zero_();
      break;
    case "transposedZero":
      if (x.shape.length === 2) x.t().select(0, 0).zero_();
      else x.mul_(0);
      break;
    case "negate":
      x.copy_(dx.sub(dx.full([], MOST, { dtype: x.dtype, device: x.device }), x));
      break;
    case "clamp":
      x.clamp_(1, MOST - 1);
      break;
    case "fill":
      x.fill_(s.value);
      break;
    case "fillPart":
      half(x, (s.value & 1) as 0 | 1).fill_(s.value);
      break;
    case "add":
      x.add_(s.value);
      x.clamp_(0, MOST);
      break;
    case "copy":
      x.copy_(inShapeOf(buffers[s.other]!, x));
      break;
    case "accumulate":
      x.copy_(limited(x.add(inShapeOf(buffers[s.other]!, x).to(x.dtype))));
      break;
    case "swap": {
      const kept = x.clone();
      const y = buffers[s.other]!;
      x.copy_(inShapeOf(y, x));
      y.copy_(inShapeOf(kept, y));
      break;
    }
    case "exchange": {
      const y = buffers[s.other]!;
      const [a, b] = [inShapeOf(y, x).to(x.dtype).add(0), inShapeOf(x, y).to(y.dtype).add(0)];
      x.copy_(a);
      y.copy_(b);
      break;
    }
    case "half": {
      const target = half(x, s.to);
      const source = half(buffers[s.other]!, s.from);
      if (source.size === target.size) target.copy_(source);
      else target.copy_(limited(source.max()));
      break;
    }
    case "take":
      x.copy_(inShapeOf(inputs[s.argument]!, x));
      break;
    case "addArgument":
      x.copy_(limited(x.add(inShapeOf(inputs[s.argument]!, x).to(x.dtype))));
      break;
    case "keep":
      values.push(limited(x.add(1)));
      break;
    case "replace": {
      const old = x.clone();
      values.push(old);
      x.copy_(limited(old.add(1)));
      break;
    }
    default:
      s satisfies never;
  }
}

function resultsOf(
  program: Program,
  buffers: readonly dx.Tensor[],
  inputs: readonly dx.Tensor[],
  values: readonly dx.Tensor[],
): dx.Tensor[] {
  return program.results.map(({ of, index }, i) => {
    const buffer = buffers[index % buffers.length]!;
    const result =
      of === "argument"
        ? inputs[index % inputs.length]!
        : of === "value" && values.length > 0
          ? values[index % values.length]!
          : of === "sum"
            ? buffer.to("float32").sum()
            : of === "view"
              ? dx.unsqueeze(buffer, 0)
              : buffer;
    // The first one as it is; the others differ, whatever is the same among them.
    return i === 0 ? result : result.add(i);
  });
}

export const textOf = (program: Program): string => JSON.stringify(program, null, 1);

interface Side {
  readonly buffers: readonly dx.Tensor[];
  readonly call: (...inputs: dx.Tensor[]) => dx.Tensor[];
  readonly end: () => void;
}

function sideOf(program: Program, device: string, isCompiled: boolean): Side {
  const buffers = program.buffers.map((c) => made(c, device));
  const body = (...inputs: dx.Tensor[]): dx.Tensor[] => {
    const values: dx.Tensor[] = [];
    for (const s of program.body) perform(s, buffers, inputs, values);
    return resultsOf(program, buffers, inputs, values);
  };
  if (!isCompiled) return { buffers, call: body, end: () => undefined };
  const { regions, seed } = program;
  // One in four may be run as operations are; all others are replayed.
  const lists = seed % 4 === 0 ? {} : { lists: 2 + (seed % 3) };
  const compiled = dx.compile(body, { name: `seed ${seed}`, ...lists, ...(regions === undefined ? {} : { regions }) });
  return { buffers, call: (...inputs) => compiled(...inputs), end: () => compiled.dispose() };
}

/** The first difference between eager and compiled, in words; null when there is none. */
export function difference(program: Program, device: string): string | null {
  return dx.withDevice(device, () =>
    dx.scope(() => {
      const [eager, compiled] = [sideOf(program, device, false), sideOf(program, device, true)];
      const kept: { name: string; want: dx.Tensor; got: dx.Tensor }[] = [];
      const remember = (name: string, want: readonly dx.Tensor[], got: readonly dx.Tensor[]): void =>
        want.forEach((w, i) => kept.push({ name: `${name} ${i}`, want: w.clone(), got: got[i]!.clone() }));
      try {
        for (let call = 0; call < CALLS; call++) {
          const inputs = program.arguments.map((a) => made(a, device, call));
          remember(`call ${call}, result`, eager.call(...inputs), compiled.call(...inputs));
          if ((program.read >> call) & 1) remember(`call ${call}, buffer`, eager.buffers, compiled.buffers);
          if ((program.touched >> call) & 1) for (const side of [eager, compiled]) side.buffers[call % side.buffers.length]!.fill_(call);
        }
        remember("at the end, buffer", eager.buffers, compiled.buffers);
        for (const { name, want, got } of kept) {
          const [w, g] = [numbers(want), numbers(got)];
          if (want.dtype !== got.dtype || want.shape.join() !== got.shape.join())
            return `${name}: ${got.describe()}, not ${want.describe()}`;
          const at = w.findIndex((v, i) => !Object.is(v, g[i]));
          if (at >= 0) return `${name} (${want.describe()}), element ${at}: ${g[at]}, not ${w[at]}`;
        }
        return null;
      } finally {
        compiled.end();
      }
    }),
  );
}
