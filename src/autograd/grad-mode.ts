/** Whether operations are recorded for backward(): on by default, off inside noGrad. */

let enabled = true;

export const isGradEnabled = (): boolean => enabled;

function within<T>(mode: boolean, fn: () => T): T {
  const before = enabled;
  enabled = mode;
  let result: T;
  try {
    result = fn();
  } catch (error) {
    enabled = before;
    throw error;
  }
  if (result instanceof Promise)
    return result.finally(() => {
      enabled = before;
    }) as T;
  enabled = before;
  return result;
}

/** Runs fn without recording: its results require no gradient. */
export const noGrad = <T>(fn: () => T): T => within(false, fn);

/** Runs fn with recording, inside noGrad too. */
export const enableGrad = <T>(fn: () => T): T => within(true, fn);

/** Switches recording on or off until called again. */
export function setGradEnabled(mode: boolean): void {
  enabled = mode;
}
