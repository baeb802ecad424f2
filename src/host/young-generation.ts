/**
 * The size of V8's young generation while much is made that lives on, as when a program is recorded or a model is read. V8 doubles it, up to 32 MB, when as
 * many bytes have survived as it holds. What survives here goes to the old generation anyway, and what V8 has taken stays the process's.
 */

/** By what V8 multiplies the size when it grows. */
const USUAL = 2;
let holders = 0;

/** Whether the user sets sizes of V8's generations. */
const isOfUser = (): boolean => /semi[-_]space|optimize[-_]for[-_]size/.test([...process.execArgv, process.env.NODE_OPTIONS].join(" "));

function setGrowth(factor: number): void {
  try {
    if (!isOfUser()) process.getBuiltinModule("node:v8").setFlagsFromString(`--semi-space-growth-factor=${factor}`);
  } catch {
    // A runtime without V8.
  }
}

/** The young generation keeps its size until the result is called, in all threads of the process. */
export function holdYoungGeneration(): () => void {
  if (holders++ === 0) setGrowth(1);
  let isReleased = false;
  return () => {
    if (isReleased) return;
    isReleased = true;
    if (--holders === 0) setGrowth(USUAL);
  };
}

let release: (() => void) | null = null;

/** The same until recordingEnds(): a recording is one synchronous call. */
export function recordingBegins(): void {
  release ??= holdYoungGeneration();
}

export function recordingEnds(): void {
  if (release === null) return;
  release();
  release = null;
}
