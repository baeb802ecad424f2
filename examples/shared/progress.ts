/** A progress bar in the terminal, on standard error: results stay alone on standard output. */
import { SingleBar } from "cli-progress";

export interface Bar {
  /** `facts` are shown after the count: {loss: "0.12"}. */
  update(done: number, facts: Readonly<Record<string, string>>): void;
  stop(): void;
}

/** Nothing where `quiet` is set, or where standard error is no terminal. */
export function progress(total: number, quiet: boolean): Bar {
  if (quiet || !process.stderr.isTTY) return { update: () => {}, stop: () => {} };
  const bar = new SingleBar({ format: "{bar} {value}/{total}  {facts}", hideCursor: true, clearOnComplete: false, stream: process.stderr });
  bar.start(total, 0, { facts: "" });
  return {
    update: (done, facts) =>
      bar.update(done, {
        facts: Object.entries(facts)
          .map(([name, value]) => `${name} ${value}`)
          .join("  "),
      }),
    stop: () => bar.stop(),
  };
}
