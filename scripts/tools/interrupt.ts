// Cleans up before this process ends by a signal.
import { ScriptError } from "./project.ts";

const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Bodies that run. */
const running = new Set<AbortController>();
/** Bodies that have ended after the signal. */
const waiting: (() => void)[] = [];
let asked: NodeJS.Signals | null = null;

function forget(): void {
  for (const name of names) process.off(name, stop);
}

function stop(name: NodeJS.Signals): void {
  if (asked === null) {
    asked = name;
    for (const controller of running) controller.abort(new ScriptError("INTERRUPTED", "interrupted"));
    return;
  }
  // A second time: at once.
  forget();
  process.kill(process.pid, name);
}

/**
 * Runs body with a signal that aborts when this process is asked to end. Once all bodies have undone what they did, the process ends as it was asked
 * to; asked a second time it ends at once.
 */
export async function interruptible<T>(body: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  if (running.size === 0) for (const name of names) process.on(name, stop);
  running.add(controller);
  try {
    return await body(controller.signal);
  } finally {
    running.delete(controller);
    if (running.size > 0) {
      // A caller that continues now might end the process while others still clean up.
      if (asked !== null) await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      forget();
      const name = asked;
      asked = null;
      if (name !== null) process.kill(process.pid, name);
      // Where something else handled it, they continue.
      for (const resolve of waiting.splice(0)) resolve();
    }
  }
}
