/** The words that this project avoids, the glossary's terms for them, and where they are gone: npm run lint keeps it so. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** What a word was found in. */
export type Kind = "file name" | "identifier" | "comment" | "text" | "page";

/** A word to avoid. */
export interface Avoided {
  /** A part of every match, in lower case: a file without it is not searched. */
  readonly stem: string;
  /** Over words in lower case: `inPlace`, `in_place` and `in-place` are "in place". */
  readonly pattern: RegExp;
  /** A term of docs/glossary.md, or the field's. */
  readonly term: string;
  /** Where it is an error. Default: everywhere. */
  readonly kinds?: readonly Kind[];
  /** Files and folders without the word. The check grows by longer lists. */
  readonly paths: readonly string[];
}

export interface Hit {
  readonly file: string;
  readonly line: number;
  readonly kind: Kind;
  readonly found: string;
  readonly term: string;
}

/** Public names that stay until the next major version, and those of other libraries. */
const KNOWN_NAMES = /\bstateCells\b|\bisPaddedBeside\b|\bestree-walker\b|\bIsProcessorFeaturePresent\b/g;

/** `place` of ShaderError, Fault and ShaderRange stays as long: where they are declared, made and read, and in what measurements keep for ShaderRange. */
const PLACE = /\.place\b|\breadonly place\b|\bplace: /g;
const PLACE_FILES: ReadonlySet<string> = new Set([
  ...["core/errors", "dml/capabilities", "measure/measure", "measure/show"].map((name) => `src/${name}.ts`),
  ...["choice", "evaluate", "measured", "store"].map((name) => `src/shader/${name}.ts`),
  ...["graph/passes/fuse-epilogues", "measure/measure", "ops/kernel/shader"].map((name) => `test/${name}.test.ts`),
  ...["dxbc/shader-program", "evaluate", "language", "measured", "store"].map((name) => `test/shader/${name}.test.ts`),
]);

const NAMES: readonly Kind[] = ["file name", "identifier"];

/** The folders between operations and the addon. */
const LOWER = [
  ...["core", "dispatch", "dml", "native", "onnx", "runtime", "shader", "verify"].map((folder) => `src/${folder}`),
  ...["core", "native", "onnx", "runtime", "shader", "verify"].map((folder) => `test/${folder}`),
];
/** C++ without the fast kernels of convolutions. */
const NATIVE = [
  ...["elementwise", "gemm", "isa", "movement", "norm", "pool", "recurrent", "reduce", "tensor"].map(
    (d) => `native/software/cpu/fast/${d}`,
  ),
  ...["abi", "addon", "dml", "schema", "test", "vulkan"].map((folder) => `native/${folder}`),
  ...["bench", "compiler", "d3d12", "directml", "shader", "cpu/host", "cpu/reference"].map((folder) => `native/software/${folder}`),
  ...["kernel.h", "prepacked_inputs.cpp", "prepacked_inputs.h", "prepacking_kernel.h"].map((file) => `native/software/cpu/${file}`),
];
/** The folders above them. */
const UPPER = ["src/autograd", "src/compile", "src/complex", "src/fft", "src/graph", "src/nn", "src/ops", "src/optim", "src/public"];
const TOOLS = ["scripts", "bench", "matrix", "examples"];
const SHORT_PAGES = [".changeset", "README.md", "CONTRIBUTING.md"];
/** All TypeScript and its pages. */
const CODE = ["src", "test", ...TOOLS, ...SHORT_PAGES];
const ALL = [...CODE, "docs"];
/** ALL, native, wsl and the companion packages. */
const EVERYWHERE = [...ALL, "native", "wsl", "packages"];

/** One row a word. A row begins where its word is gone, and grows by more paths until it says ALL, and native. */
export const AVOIDED: readonly Avoided[] = [
  { stem: "ghost", pattern: /\bghosts?\b/, term: "placeholder", paths: [...ALL, "native"] },
  { stem: "whole", pattern: /\bwhole numbers?\b/, term: "integer", paths: [...ALL, "native"] },
  { stem: "demand", pattern: /(?<!\bon )\bdemand(?:s|ed|ing)?\b/, term: "require", paths: [...CODE, "native"] },
  { stem: "walk", pattern: /\bwalk(?:s|ed|ing)?\b/, term: "traverse, visit, trace again", paths: [...CODE, "native"] },
  { stem: "side", pattern: /\bside by side\b/, term: "contiguous, channels-last, in parallel", paths: [...ALL, "native"] },
  { stem: "noisy", pattern: /\bnoisy\b/, term: "what it is", kinds: NAMES, paths: [...ALL, "native"] },
  { stem: "pairing", pattern: /\bpairings?\b/, term: "trace matching", paths: [...CODE, "native"] },
  { stem: "ending", pattern: /\bendings?\b/, term: "trace exit", kinds: NAMES, paths: ["src", "docs", ...SHORT_PAGES] },
  {
    stem: "given",
    pattern: /\bgiven\b/,
    term: "call arguments, or what the value is",
    kinds: NAMES,
    paths: [...CODE, ...NATIVE],
  },
  {
    stem: "fit",
    pattern: /\b(?:fitted|fitting|unfit)\b/,
    term: "bucketing (of sizes), conform (of a value)",
    kinds: NAMES,
    paths: [...CODE, "native"],
  },
  {
    stem: "cell",
    pattern: /(?<!\b(?:lstm|gru|rnn|recurrent) )\bcells?\b/,
    term: "mutable buffer, state, tap (of a filter)",
    paths: [
      ...[
        "compile",
        "graph",
        "autograd",
        "core",
        "dispatch",
        "dml",
        "native",
        "runtime",
        "shader",
        "onnx/format",
        "complex",
        "data",
        "doctor",
        "fetch",
        "fft",
        "host",
        "io",
        "measure",
        "optim",
        "public",
      ].map((folder) => `src/${folder}`),
      ...["compile", "graph", "core", "native", "runtime", "shader", "complex", "data", "fft", "io", "optim", "properties"].map(
        (folder) => `test/${folder}`,
      ),
      ...NATIVE.filter((path) => !/test|directml|reference/.test(path)),
    ],
  },
  { stem: "beside", pattern: /\bbeside\b/, term: "with, next to, in addition to, compared with", paths: [...ALL, "wsl"] },
  {
    stem: "place",
    pattern: /(?<!\b(?:in|of|last|takes?|took) )\bplaces?\b/,
    term: "index, position, offset, slot, call site, gradient edge",
    paths: [...CODE, "native"],
  },
  // keep_aspect_ratio_policy of ONNX's Resize may be "stretch".
  { stem: "stretch", pattern: /(?<!")\bstretch(?:es|ed)?\b/, term: "span, segment", paths: [...ALL, "native"] },
  {
    stem: "room",
    pattern: /\brooms?\b/,
    term: "padding, scratch, workspace, capacity",
    paths: ["src", "docs", ...TOOLS, ...SHORT_PAGES, ...LOWER, "native"],
  },
  { stem: "turned", pattern: /\bturned\b(?! o(?:n|ff)\b)/, term: "transposed, repacked", paths: [...ALL, "native"] },
  {
    stem: "st",
    pattern: /(?<!\bat )\b(?:most|least(?! squares\b))\b/,
    term: "max, min",
    kinds: NAMES,
    paths: [...LOWER, ...UPPER, "scripts", "matrix", "examples", ...NATIVE],
  },
  {
    stem: "line",
    pattern: /(?<!\bcache )\blines?\b/,
    term: "row, slice",
    paths: [
      "src/shader/kernels",
      "src/onnx/operators",
      ...["compiler", "directml", "shader", "cpu/reference"].map((folder) => `native/software/${folder}`),
    ],
  },
  {
    stem: "fresh",
    pattern: /\bfresh\b/,
    term: "new, or what it is",
    kinds: NAMES,
    // Other scripts have an option --fresh.
    paths: ["src", "test", "bench", "matrix", "examples", "scripts/cells", "scripts/lib", "scripts/tools", "native"],
  },
  { stem: "processor", pattern: /\bprocessors?\b/, term: "CPUs", paths: [...LOWER, ...UPPER, "native"] },
  {
    stem: "prepared",
    pattern: /\bprepared\b/,
    term: "prepacked",
    kinds: NAMES,
    // What the matrix and measurements prepare is no input of a kernel.
    paths: [...LOWER, ...UPPER, "test", "scripts", "bench", "examples", "docs", "native"],
  },
  { stem: "anew", pattern: /\banew\b/, term: "again", paths: EVERYWHERE },
  { stem: "hand", pattern: /\bat hand\b/, term: "available", paths: EVERYWHERE },
  { stem: "go", pattern: /\bgo(?:es|ing)? on\b/, term: "continue, resume", paths: EVERYWHERE },
  { stem: "surrounding", pattern: /\bsurroundings?\b/, term: "environment", paths: EVERYWHERE },
  { stem: "control group", pattern: /\bcontrol groups?\b/, term: "cgroup", paths: [...ALL, "native"] },
];

/** Words in lower case: identifiers are taken apart. */
export const wordsOf = (text: string): string =>
  text
    .replace(KNOWN_NAMES, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .replace(/[_-]+/g, " ")
    .toLowerCase();

/** Comments, strings and regular expressions of TypeScript, JavaScript and C++; the rest is identifiers. */
const PARTS =
  /(?<comment>\/\*[\s\S]*?\*\/|\/\/[^\n]*)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\[\s\S]|[^`\\])*`|(?<=[(,=:[!&|?]\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n])+\//g;

/** Pieces of a file, each of one kind, with the offset at which it begins. */
function* piecesOf(file: string, text: string): Generator<{ readonly kind: Kind; readonly at: number; readonly piece: string }> {
  yield { kind: "file name", at: 0, piece: file.slice(file.lastIndexOf("/") + 1) };
  if (!/\.(?:ts|mts|js|mjs|h|cpp|c|inc|inl)$/.test(file)) {
    yield { kind: "page", at: 0, piece: text };
    return;
  }
  let at = 0;
  for (const m of text.matchAll(PARTS)) {
    if (m.index > at) yield { kind: "identifier", at, piece: text.slice(at, m.index) };
    yield { kind: m.groups!.comment === undefined ? "text" : "comment", at: m.index, piece: m[0] };
    at = m.index + m[0].length;
  }
  if (at < text.length) yield { kind: "identifier", at, piece: text.slice(at) };
}

/** Words to avoid in one file. */
export function hitsOf(file: string, text: string, avoided: readonly Avoided[] = AVOIDED): Hit[] {
  const lower = `${file}\n${text}`.toLowerCase();
  const own = avoided.filter((a) => lower.includes(a.stem) && a.paths.some((p) => file === p || file.startsWith(`${p}/`)));
  if (own.length === 0) return [];
  const searched = PLACE_FILES.has(file) ? text.replace(PLACE, "") : text;
  const hits: Hit[] = [];
  for (const { kind, at, piece } of piecesOf(file, searched)) {
    const entries = own.filter((a) => a.kinds?.includes(kind) !== false);
    const found = (row: string): Avoided[] => {
      const small = row.toLowerCase();
      return entries.filter(({ stem, pattern }) => small.includes(stem) && pattern.test(wordsOf(row)));
    };
    if (found(piece).length === 0) continue;
    const first = searched.slice(0, at).split("\n").length;
    piece.split("\n").forEach((row, i) => {
      for (const { pattern, term } of found(row)) hits.push({ file, line: first + i, kind, found: pattern.exec(wordsOf(row))![0], term });
    });
  }
  return hits;
}

/** They list the words. */
const DEFINING: ReadonlySet<string> = new Set(["scripts/lib/words.ts", "test/words.test.ts", "docs/glossary.md"]);

/** Files below a path that people write: no generated ones, no data. */
function filesBelow(root: string, path: string): string[] {
  const full = join(root, path);
  if (statSync(full).isFile()) return [path];
  return readdirSync(full, { recursive: true, encoding: "utf8" })
    .map((name) => `${path}/${name.replaceAll("\\", "/")}`)
    .filter(
      (file) =>
        /\.(?:ts|mts|mjs|h|cpp|c|inl|md|py|yaml|yml)$/.test(file) &&
        !/\.generated\.|\/node_modules\/|^docs\/api\//.test(file) &&
        !DEFINING.has(file),
    );
}

/** Every word to avoid in the repository. */
export function findAvoided(root: string, avoided: readonly Avoided[] = AVOIDED): Hit[] {
  const files = new Set(avoided.flatMap((a) => a.paths).flatMap((path) => filesBelow(root, path)));
  return [...files].toSorted().flatMap((file) => hitsOf(file, readFileSync(join(root, file), "utf8"), avoided));
}
