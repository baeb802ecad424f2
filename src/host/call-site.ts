/** The call site of a traced operation in the user's code. */
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { ownFolder, packageRoot, workingFolder } from "../core/home.ts";

/** This library's files; in a bundle they are the user's, and frames of both look alike. */
const own = (() => {
  const folder = ownFolder();
  return folder === null || packageRoot() === null ? null : `${folder}${sep}`;
})();
/** "(file:///C:/a.js:1:2)", "/a.js:1:2", "C:\\a.js:1:2": file and line. */
const frame = /(?:^|[\s(])((?:file:\/\/)?(?:\/|\/?[A-Za-z]:[\\/])[^():]+):(\d+):\d+\)?$/;

/** The name of a file as a frame has it, without the rest. */
const fileName = /^(?:file:\/\/)?(?:\/|\/?[A-Za-z]:[\\/])[^():]+$/;

/** Error.stackTraceLimit where programs may not assign it: frozen by --frozen-intrinsics, or by SES. */
const setLimit = (limit: number): boolean => Reflect.set(Error, "stackTraceLimit", limit);

let label: string | null = null;

/** Runs fn, whose operations a file asks for and no source line: callSite() gives `at` inside, "at node conv1 (Conv)". */
export function labelled<T>(at: string, fn: () => T): T {
  const before = label;
  label = at;
  try {
    return fn();
  } finally {
    label = before;
  }
}

/** Frames of this library above a call are fewer. */
const FEW_FRAMES = 12;
const MANY_FRAMES = 40;

const asFrames: typeof Error.prepareStackTrace = (_, frames) => frames;
const setPrepare = (prepare: typeof Error.prepareStackTrace): boolean => Reflect.set(Error, "prepareStackTrace", prepare);

/** Whether the texts of stacks have other positions than frames: those of the sources that a file was made of. Node 20.20 and later have a function of their own. */
const mapsPositions = (): boolean =>
  process.sourceMapsEnabled || ![undefined, "ErrorPrepareStackTrace"].includes(Error.prepareStackTrace?.name);

/** Frames of the callers of `below`, without a text. */
function framesOf(limit: number, below: () => unknown): readonly NodeJS.CallSite[] | null {
  const { stackTraceLimit, prepareStackTrace } = Error;
  if (!setPrepare(asFrames)) return null;
  const holder: { stack?: unknown } = {};
  try {
    if (!setLimit(limit)) return null;
    Error.captureStackTrace(holder, below);
    const { stack } = holder;
    return Array.isArray(stack) ? (stack as readonly NodeJS.CallSite[]) : null;
  } catch {
    return null;
  } finally {
    setPrepare(prepareStackTrace);
    setLimit(stackTraceLimit);
  }
}

/** By file, then by the position of a call in it: the text of its line. Of one working folder. */
const known = new Map<string, Map<number, string>>();
let knownFolder: string | null = null;

const isOwn = (file: string): boolean => (own !== null && file.startsWith(own)) || file.includes("node:internal");

/** The path of a file that frames name; null for what is none, or is the library's own. */
function pathOf(name: string): string | null {
  if (!fileName.test(name)) return null;
  const file = name.startsWith("file:") ? fileURLToPath(name) : name;
  return isOwn(file) ? null : file;
}

const paths = new Map<string, string | null>();

/** The text of the first frame of the user's; undefined where the stack has to be formatted. */
function siteOf(frames: readonly NodeJS.CallSite[]): string | null | undefined {
  for (const each of frames) {
    const name = each.getFileName();
    if (name == null) continue;
    let file = paths.get(name);
    if (file === undefined) paths.set(name, (file = pathOf(name)));
    if (file === null) continue;
    const folder = workingFolder();
    if (folder !== knownFolder) known.clear();
    knownFolder = folder;
    let sites = known.get(file);
    if (sites === undefined) known.set(file, (sites = new Map<number, string>()));
    const position = (each as NodeJS.CallSite & { getPosition?: () => number }).getPosition?.();
    if (position === undefined) return undefined;
    let site = sites.get(position);
    if (site === undefined) sites.set(position, (site = `at ${folder === null ? file : relative(folder, file)}:${each.getLineNumber()}`));
    return site;
  }
  return frames.length < MANY_FRAMES ? null : undefined;
}

/** "at train.ts:12" for the first frame outside this library, or what labelled() says; null when there is none. */
export function callSite(): string | null {
  if (label !== null) return label;
  if (!mapsPositions()) {
    for (const limit of [FEW_FRAMES, MANY_FRAMES]) {
      const frames = framesOf(limit, callSite);
      const site = frames === null ? undefined : siteOf(frames);
      if (typeof site === "string") return site;
      if (site === null && frames!.length < limit) return null;
    }
  }
  return formattedSite();
}

/** The same, by the text of the stack. */
export function formattedSite(): string | null {
  const limit = Error.stackTraceLimit;
  const isChanged = setLimit(MANY_FRAMES);
  const stack = new Error().stack ?? "";
  if (isChanged) setLimit(limit);
  for (const line of stack.split("\n").slice(1)) {
    const match = frame.exec(line.trim());
    if (match === null) continue;
    const file = match[1]!.startsWith("file:") ? fileURLToPath(match[1]!) : match[1]!;
    if (isOwn(file)) continue;
    const folder = workingFolder();
    return `at ${folder === null ? file : relative(folder, file)}:${match[2]}`;
  }
  return null;
}
