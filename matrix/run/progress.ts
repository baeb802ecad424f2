/** Progress of a run: one line a cell in a terminal, plain lines in a pipe. */
import { MultiBar, Presets, type SingleBar } from "cli-progress";
import { duration } from "../report/time.ts";
import type { RunResult } from "../types.ts";

export interface Progress {
  begin(id: string): void;
  /** What the cell says at the moment. */
  note(id: string, line: string): void;
  end(result: RunResult, done: number, total: number): void;
  say(line: string): void;
  close(): void;
}

const marks = { passed: "✓", failed: "✗", "not run": "–" } as const;

/** "✓ linux-glibc-2.31/node-20/software: 640 passed (43 s)" */
export function describeResult({ id, status, reason, counts, startedAt, endedAt }: RunResult): string {
  const count = counts.passed + counts.failed > 0 ? `${counts.passed} passed, ${counts.failed} failed` : "";
  return `${marks[status]} ${id}: ${[count, status === "passed" ? null : (reason ?? status)].filter(Boolean).join("; ")} (${duration(endedAt - startedAt)})`;
}

export function plainProgress(write: (text: string) => void): Progress {
  return {
    begin: (id) => write(`  ${id}: started\n`),
    note: () => undefined,
    end: (result, done, total) => write(`${describeResult(result)} [${done}/${total}]\n`),
    say: (line) => write(`${line}\n`),
    close: () => undefined,
  };
}

function terminalProgress(stream: NodeJS.WriteStream): Progress {
  const bars = new MultiBar(
    { format: "  {id}  {time}  {note}", hideCursor: true, stream, fps: 5, clearOnComplete: true, linewrap: false, forceRedraw: true },
    Presets.shades_grey,
  );
  const running = new Map<string, { readonly bar: SingleBar; readonly start: number; note: string }>();
  const refresh = (): void => {
    for (const [id, { bar, start, note }] of running) {
      const width = Math.max((stream.columns || 80) - id.length - 16, 10);
      bar.update(0, { id, time: duration(Date.now() - start), note: note.slice(0, width) });
    }
  };
  const timer = setInterval(refresh, 500);
  return {
    begin(id) {
      running.set(id, { bar: bars.create(1, 0, { id, time: duration(0), note: "" }), start: Date.now(), note: "" });
    },
    note(id, line) {
      const entry = running.get(id);
      if (entry !== undefined && line.trim() !== "") entry.note = line.trim();
    },
    end(result, done, total) {
      const entry = running.get(result.id);
      if (entry !== undefined) bars.remove(entry.bar);
      running.delete(result.id);
      bars.log(`${describeResult(result)} [${done}/${total}]\n`);
      refresh();
    },
    say: (line) => bars.log(`${line}\n`),
    close() {
      clearInterval(timer);
      bars.stop();
    },
  };
}

export const makeProgress = (stream: NodeJS.WriteStream): Progress =>
  stream.isTTY ? terminalProgress(stream) : plainProgress((text) => void stream.write(text));
