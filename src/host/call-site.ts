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

/** "at train.ts:12" for the first frame outside this library, or what labelled() says; null when there is none. */
export function callSite(): string | null {
  if (label !== null) return label;
  const limit = Error.stackTraceLimit;
  const isChanged = setLimit(40);
  const stack = new Error().stack ?? "";
  if (isChanged) setLimit(limit);
  for (const line of stack.split("\n").slice(1)) {
    const match = frame.exec(line.trim());
    if (match === null) continue;
    const file = match[1]!.startsWith("file:") ? fileURLToPath(match[1]!) : match[1]!;
    if ((own !== null && file.startsWith(own)) || file.includes("node:internal")) continue;
    const folder = workingFolder();
    return `at ${folder === null ? file : relative(folder, file)}:${match[2]}`;
  }
  return null;
}
