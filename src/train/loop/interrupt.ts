/** Ctrl-C. */

/** Calls act at the first SIGINT; a second one is the process's again. Gives what ends it. */
export function onInterrupt(act: () => void): () => void {
  process.once("SIGINT", act);
  return () => process.removeListener("SIGINT", act);
}
