/** How tensors are written: like PyTorch's. */
import { inspect } from "node:util";
import { isFloat } from "./dtype.ts";
import { DTypeError, DxError } from "./errors.ts";
import { tracer } from "./tracer.ts";
import type { Tensor } from "./tensor.ts";

/** Digits after the point, elements beyond which a tensor is summarized, elements printed at each end then, characters of a text line. */
export interface PrintOptions {
  /** Digits behind the point. Default: 4. */
  readonly precision?: number;
  /** Elements above which a tensor is summarised. Default: 1000. */
  readonly threshold?: number;
  /** Elements that are printed at each end of an axis then. Default: 3. */
  readonly edgeItems?: number;
  /** Characters of a line. Default: 80. */
  readonly lineWidth?: number;
}
type Settings = Required<PrintOptions>;
const DEFAULTS: Settings = { precision: 4, threshold: 1000, edgeItems: 3, lineWidth: 80 };
let defaults = DEFAULTS;

/** Changes how tensors are written from now on; null: as at the start. */
export function setPrintOptions(options: PrintOptions | null): void {
  defaults = options === null ? DEFAULTS : { ...defaults, ...options };
}

export type Element = number | bigint | boolean;

function exponential(x: number, precision: number): string {
  const [mantissa, exponent] = x.toExponential(precision).split("e") as [string, string];
  const sign = exponent.startsWith("-") ? "-" : "+";
  return `${mantissa}e${sign}${exponent.replace(/^[+-]/, "").padStart(2, "0")}`;
}

/** How the elements of a tensor are written: all in one manner, padded to one width. */
function formatter(elements: readonly Element[], float: boolean, { precision }: Settings): (x: Element) => string {
  let write: (x: Element) => string;
  if (!float) {
    write = (x) => (typeof x === "boolean" ? (x ? "true" : "false") : String(x));
  } else {
    const numbers = elements as readonly number[];
    const magnitudes = numbers.filter((x) => Number.isFinite(x) && x !== 0).map(Math.abs);
    const largest = magnitudes.reduce((a, b) => Math.max(a, b), 0);
    const smallest = magnitudes.reduce((a, b) => Math.min(a, b), Infinity);
    const whole = magnitudes.every(Number.isInteger);
    const scientific = magnitudes.length > 0 && (largest / smallest > 1000 || largest > 1e8 || (!whole && smallest < 1e-4));
    write = (v) => {
      const x = v as number;
      if (Number.isNaN(x)) return "nan";
      if (!Number.isFinite(x)) return x < 0 ? "-inf" : "inf";
      if (scientific) return exponential(x, precision);
      const text = whole ? `${x.toFixed(0)}.` : x.toFixed(precision);
      return Object.is(x, -0) && !text.startsWith("-") ? `-${text}` : text;
    };
  }
  const width = elements.reduce<number>((w, x) => Math.max(w, write(x).length), 0);
  return (x) => write(x).padStart(width);
}

/** A tensor of `shape` and the elements of `summaryShape`: the middle of an axis that is longer is left out. */
export interface Summary {
  readonly shape: readonly number[];
  readonly elements: readonly Element[];
  readonly summaryShape: readonly number[];
}

function body({ shape, elements, summaryShape: printedShape }: Summary, write: (x: Element) => string, settings: Settings): string {
  let at = 0;
  const indentOf = (depth: number): string => " ".repeat("tensor(".length + depth);
  const level = (axis: number): string => {
    if (axis === shape.length) return write(elements[at++]!);
    const parts: string[] = [];
    const n = printedShape[axis]!;
    const cut = n < shape[axis]!;
    for (let i = 0; i < n; i++) {
      if (cut && i === n / 2) parts.push("...");
      parts.push(level(axis + 1));
    }
    if (axis < shape.length - 1) return `[${parts.join(`,${"\n".repeat(shape.length - 1 - axis)}${indentOf(axis + 1)}`)}]`;
    // The last axis fills lines.
    const width = Math.max(1, ...parts.map((p) => p.length)) + 2;
    const perLine = Math.max(1, Math.floor((settings.lineWidth - "tensor(".length - axis - 1) / width));
    const lines: string[] = [];
    for (let i = 0; i < parts.length; i += perLine) lines.push(parts.slice(i, i + perLine).join(", "));
    return `[${lines.join(`,\n${indentOf(axis + 1)}`)}]`;
  };
  if (shape.length === 0) return write(elements[0]!).trimStart();
  return shape.includes(0) ? "[]" : level(0);
}

/** What stands behind the elements. */
function suffix(t: Tensor): string {
  const parts: string[] = [];
  if (t.size === 0 && t.rank !== 1) parts.push(`size=[${t.shape.join(", ")}]`);
  if (t.dtype !== "float32" && t.dtype !== "int64" && t.dtype !== "bool") parts.push(`dtype=${t.dtype}`);
  else if (t.size === 0 && t.dtype !== "float32") parts.push(`dtype=${t.dtype}`);
  if (t.device.type !== "cpu") parts.push(`device=${t.device}`);
  if (t.node !== null) parts.push(`gradFn=<${t.node.name}>`);
  else if (t.requiresGrad) parts.push("requiresGrad=true");
  return parts.map((p) => `, ${p}`).join("");
}

/** Makes a small tensor of the ends of a large one; set by ops/declare/wiring.ts. */
let endsOf: (t: Tensor, edgeItems: number) => Tensor;
let readAll: (t: Tensor) => Promise<Element[]>;
let readAllSync: (t: Tensor) => Element[];
/** Whether reading a tensor takes no longer than this many milliseconds. */
let isReadableWithin: (t: Tensor, milliseconds: number) => boolean;

export function setPrinter(
  ends: typeof endsOf,
  read: typeof readAll,
  readSync: typeof readAllSync,
  readableWithin: typeof isReadableWithin,
): void {
  endsOf = ends;
  readAll = read;
  readAllSync = readSync;
  isReadableWithin = readableWithin;
}

/** Complex elements: their real and imaginary parts, each written as a tensor's are. */
function complexBody(drawn: Omit<Summary, "elements">, re: readonly Element[], im: readonly Element[], settings: Settings): string {
  const writeRe = formatter(re, true, settings);
  const writeIm = formatter(im, true, settings);
  const write = (i: Element): string => {
    const imaginary = writeIm(im[i as number]!);
    return `${writeRe(re[i as number]!)}${imaginary.trimStart().startsWith("-") ? "" : "+"}${imaginary.trimStart()}j`;
  };
  return body({ ...drawn, elements: re.map((_, i) => i) }, write, settings);
}

function complexParts(
  { real, imag }: { readonly real: Tensor; readonly imag: Tensor },
  dtype: string,
  options: PrintOptions,
): { sources: readonly [Tensor, Tensor]; done: (re: Element[], im: Element[]) => string } {
  const settings: Settings = { ...defaults, ...options };
  for (const t of [real, imag]) t.requireLive("format");
  const ends = (t: Tensor): Tensor => (t.size > settings.threshold ? endsOf(t, settings.edgeItems) : t);
  const sources = [ends(real), ends(imag)] as const;
  const done = (re: Element[], im: Element[]): string => {
    const text = complexBody({ shape: real.shape, summaryShape: sources[0].shape }, re, im, settings);
    for (const [i, t] of [real, imag].entries()) if (sources[i] !== t) sources[i]!.dispose();
    const rest = suffix(real).replace(/, dtype=\w+/, "");
    return `tensor(${text}${dtype === "complex64" ? "" : `, dtype=${dtype}`}${rest})`;
  };
  return { sources, done };
}

interface ComplexParts {
  readonly real: Tensor;
  readonly imag: Tensor;
  readonly dtype: string;
}

/** A complex tensor as PyTorch writes it: `tensor([1.+2.j, 3.-4.j])`. */
export async function formatComplex(z: ComplexParts, options: PrintOptions = {}): Promise<string> {
  const { sources, done } = complexParts(z, z.dtype, options);
  return done(await readAll(sources[0]), await readAll(sources[1]));
}

/** formatComplex(), blocking. */
export function formatComplexSync(z: ComplexParts, options: PrintOptions = {}): string {
  const { sources, done } = complexParts(z, z.dtype, options);
  return done(readAllSync(sources[0]), readAllSync(sources[1]));
}

function parts(t: Tensor, options: PrintOptions): { source: Tensor; done: (elements: Element[]) => string } {
  const settings: Settings = { ...defaults, ...options };
  t.requireLive("format");
  const source = t.size > settings.threshold ? endsOf(t, settings.edgeItems) : t;
  return {
    source,
    done: (elements) => {
      const write = formatter(elements, isFloat(t.dtype), settings);
      const printed = `tensor(${body({ shape: t.shape, elements, summaryShape: source.shape }, write, settings)}`;
      const rest = suffix(t);
      // Text that does not fit after the last line gets its own line.
      const fits = printed.length - printed.lastIndexOf("\n") + rest.length <= settings.lineWidth;
      const text = `${printed}${fits ? rest : rest.replace(", ", `,\n${" ".repeat("tensor(".length)}`)})`;
      if (source !== t) source.dispose();
      return text;
    },
  };
}

/** The tensor as PyTorch writes it: `tensor([[1., 2.], [3., 4.]])`. Of a large one, only the ends are read. */
export async function format(t: Tensor, options: PrintOptions = {}): Promise<string> {
  const { source, done } = parts(t, options);
  return done(await readAll(source));
}

/** format(), blocking. */
export function formatSync(t: Tensor, options: PrintOptions = {}): string {
  const { source, done } = parts(t, options);
  return done(readAllSync(source));
}

/** Writes the tensor to the console. */
export async function print(t: Tensor, options: PrintOptions = {}): Promise<void> {
  console.log(await format(t, options));
}

/** The same of complex numbers. */
export async function printComplex(z: ComplexParts, options: PrintOptions = {}): Promise<void> {
  console.log(await formatComplex(z, options));
}

/** "Tensor float32[2, 3] on dml:0": what is known without reading the elements. */
export function summary(t: Tensor): string {
  const grad = t.node !== null ? `, gradFn=<${t.node.name}>` : t.requiresGrad ? ", requiresGrad" : "";
  return `Tensor ${t.describe()} on ${t.device}${grad}${t.isDisposed ? ", disposed" : ""}`;
}

/** How long console.log may wait for a tensor's values. */
const PATIENCE_MS = 10;
/** Beyond this many elements a tensor inside of something else is summarised. */
const INNER = 16;

/** @internal What console.log shows of something made of tensors: `show`, its values, where they are on the host, else the rest. */
export function inspected(known: string, tensors: readonly Tensor[], show: () => string, isInner: boolean): string {
  if (
    tracer() !== null ||
    tensors.some(
      (t) => t.isDisposed || (t.storage.trace !== null && t.storage.handle === 0) || !t.device.hasElements || (isInner && t.size > INNER),
    )
  )
    return known;
  try {
    if (tensors.every((t) => isReadableWithin(t, PATIENCE_MS))) return show();
  } catch (error) {
    if (!(error instanceof DxError)) throw error;
    return `${known}: ${error.message}`;
  }
  return `${known}, not computed yet: await it.print() waits and shows the values`;
}

/** @internal toString() shows the summary, console.log the values. methods: those that stand for JavaScript's operators. */
export function installPrinting<T extends object>(
  prototype: object,
  text: (t: T) => string,
  inside: (t: T, isInner: boolean) => string,
  methods: string,
): void {
  // Objects without a rule of their own become NaN or text in an expression, without a word.
  Object.defineProperty(prototype, Symbol.toPrimitive, {
    value(this: T, kind: "string" | "number" | "default") {
      if (kind === "string") return this.toString();
      const hint = `Call methods: ${methods}. x.itemSync() is the number in a tensor of one element.`;
      throw new DTypeError("tensor", "operand", "a number, a bigint or a string for JavaScript's operators", text(this), hint);
    },
    writable: true,
    configurable: true,
  });
  Object.defineProperty(prototype, "toString", {
    value(this: T) {
      return text(this);
    },
    writable: true,
    configurable: true,
  });
  Object.defineProperty(prototype, inspect.custom, {
    value(this: T, depth: number, options: { readonly depth?: number | null }) {
      return inside(this, depth < (options.depth ?? Infinity));
    },
    writable: true,
    configurable: true,
  });
}
