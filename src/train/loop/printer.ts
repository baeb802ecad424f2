/** What a training prints: lines of text, or of JSON. */
import type { EpochReport, FitEnd, FitEvaluationReport, FitOptions, FitReport } from "./options.ts";

/** How long a training is: null where that is not known. */
export interface Extent {
  readonly epochs: number | null;
  readonly steps: number | null;
}

/** The beginning of a training. */
export interface Beginning extends Extent {
  /** Of the default generator, as text: it may exceed a number. */
  readonly seed: string;
  readonly device: string;
  /** The checkpoint that it resumes, and where that is. */
  readonly resumed: string | null;
  readonly step: number;
  readonly epoch: number;
}

/** The end of a training. */
export interface TrainingEnd {
  readonly reason: FitEnd;
  readonly step: number;
  readonly epochs: number;
  readonly seconds: number;
  readonly checkpoint: string | null;
}

/** Prints the events of a training. */
export interface Printer {
  begin(beginning: Beginning): void;
  report(report: FitReport): void;
  evaluation(report: FitEvaluationReport): void;
  epoch(report: EpochReport): void;
  checkpoint(path: string, step: number, isBest: boolean): void;
  interrupted(step: number): void;
  end(summary: TrainingEnd): void;
}

const digits = (value: number): string => String(Number(value.toPrecision(4)));

/** "1 h 5 min", "2 min 3 s", "4 s". */
function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole >= 3600) return `${Math.floor(whole / 3600)} h ${Math.round((whole % 3600) / 60)} min`;
  return whole >= 60 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${whole} s`;
}

const of = (n: number, total: number | null): string => (total === null ? String(n) : `${n}/${total}`);

const reasons = {
  done: "done",
  earlyStop: "stopped early",
  interrupt: "interrupted",
  callback: "stopped by a callback",
} as const satisfies Record<FitEnd, string>;

/** Lines of text. */
export class TextPrinter implements Printer {
  readonly #write: (line: string) => void;
  #extent: Extent = { epochs: null, steps: null };

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  #where({ step, epoch }: { readonly step: number; readonly epoch: number }): string {
    return `epoch ${of(epoch + 1, this.#extent.epochs)}  step ${of(step, this.#extent.steps)}`;
  }

  begin({ seed, device, resumed, ...beginning }: Beginning): void {
    this.#extent = beginning;
    const { epochs, steps } = beginning;
    const parts = [epochs === null ? [] : [`${epochs} epochs`], steps === null ? [] : [`${steps} steps`]].flat().join(", ");
    this.#write(`training: ${parts}, seed ${seed}, on ${device}`);
    if (resumed !== null) this.#write(`resumed from ${resumed}: ${this.#where(beginning)}`);
  }

  report(report: FitReport): void {
    const { loss, lr, stepsPerSecond, secondsLeft } = report;
    const left = secondsLeft === null ? "" : `  ${duration(secondsLeft)} left`;
    this.#write(`${this.#where(report)}  loss ${digits(loss)}  lr ${digits(lr)}  ${digits(stepsPerSecond)} steps/s${left}`);
  }

  evaluation(report: FitEvaluationReport): void {
    const values = Object.entries(report.values).map(([name, value]) => `${name} ${digits(value)}`);
    this.#write(`${this.#where(report)}  evaluation: ${values.join("  ")}${report.isBest ? "  (best)" : ""}`);
  }

  epoch({ epoch, loss }: EpochReport): void {
    this.#write(`epoch ${of(epoch + 1, this.#extent.epochs)} ended: mean loss ${digits(loss)}`);
  }

  checkpoint(): void {}

  interrupted(): void {
    this.#write("interrupted: the training ends after this step; a second SIGINT ends the process at once");
  }

  end({ reason, step, epochs, seconds, checkpoint }: TrainingEnd): void {
    const saved = checkpoint === null ? "" : `; checkpoint ${checkpoint}`;
    this.#write(`${reasons[reason]}: ${epochs} epochs, ${step} steps, ${duration(seconds)}${saved}`);
  }
}

/** One line of JSON for each event. NaN and infinities are null. */
export class JsonPrinter implements Printer {
  readonly #write: (line: string) => void;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  #event(event: string, data: object): void {
    this.#write(JSON.stringify({ event, ...data }));
  }

  begin(beginning: Beginning): void {
    this.#event("begin", beginning);
  }

  report(report: FitReport): void {
    this.#event("report", report);
  }

  evaluation(report: FitEvaluationReport): void {
    this.#event("evaluation", report);
  }

  epoch(report: EpochReport): void {
    this.#event("epoch", report);
  }

  checkpoint(path: string, step: number, isBest: boolean): void {
    this.#event("checkpoint", { path, step, isBest });
  }

  interrupted(step: number): void {
    this.#event("interrupt", { step });
  }

  end(summary: TrainingEnd): void {
    this.#event("end", summary);
  }
}

/** The printer that options ask for. */
export function printerOf({
  quiet = false,
  json = false,
  output = process.stdout,
}: Pick<FitOptions<never>, "quiet" | "json" | "output">): Printer {
  const write = (line: string): void => void (quiet || output.write(`${line}\n`));
  return json ? new JsonPrinter(write) : new TextPrinter(write);
}
