/** What a training prints: lines of text, or of JSON; a bar on a terminal in place of reports. */
import type { Bar, Terminal } from "./bar.ts";
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
  /** Address or path of its page. */
  readonly page: string | null;
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
  begin(beginning: Beginning): void | Promise<void>;
  /** A step was taken; its loss was not read. */
  step?(step: number): void;
  report(report: FitReport): void;
  evaluation(report: FitEvaluationReport): void;
  epoch(report: EpochReport): void;
  checkpoint(path: string, step: number, isBest: boolean): void;
  interrupted(step: number): void;
  end(summary: TrainingEnd): void;
  /** Called last, where the training failed too. */
  close?(): void | Promise<void>;
}

export const digits = (value: number): string => String(Number(value.toPrecision(4)));

const values = (of: Readonly<Record<string, number>>): string =>
  Object.entries(of)
    .map(([name, value]) => `${name} ${digits(value)}`)
    .join("  ");

/** "1 h 5 min", "2 min 3 s", "4 s". */
function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole >= 3600) return `${Math.floor(whole / 3600)} h ${Math.round((whole % 3600) / 60)} min`;
  return whole >= 60 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${whole} s`;
}

/** "loss 0.2206  lr 0.02  310 steps/s  4 s left". */
function factsOf({ loss, lr, stepsPerSecond, secondsLeft }: FitReport): string {
  const left = secondsLeft === null ? "" : `  ${duration(secondsLeft)} left`;
  return `loss ${digits(loss)}  lr ${digits(lr)}  ${digits(stepsPerSecond)} steps/s${left}`;
}

const of = (n: number, total: number | null): string => (total === null ? String(n) : `${n}/${total}`);

export const reasons = {
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

  begin({ seed, device, resumed, page, ...beginning }: Beginning): void {
    this.#extent = beginning;
    const { epochs, steps } = beginning;
    const parts = [epochs === null ? [] : [`${epochs} epochs`], steps === null ? [] : [`${steps} steps`]].flat().join(", ");
    this.#write(`training: ${parts}, seed ${seed}, on ${device}`);
    if (resumed !== null) this.#write(`resumed from ${resumed}: ${this.#where(beginning)}`);
    if (page !== null) this.#write(`page: ${page}`);
  }

  report(report: FitReport): void {
    this.#write(`${this.#where(report)}  ${factsOf(report)}`);
  }

  evaluation(report: FitEvaluationReport): void {
    this.#write(`${this.#where(report)}  evaluation: ${values(report.values)}${report.isBest ? "  (best)" : ""}`);
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

/** Lines of text, with a bar in place of reports: it shows steps, rate, estimate, loss, and the values of the last evaluation. */
export class BarPrinter implements Printer {
  readonly #terminal: Terminal;
  readonly #text: TextPrinter;
  #bar: Bar | null = null;
  #facts = "";
  #values = "";

  constructor(write: (line: string) => void, terminal: Terminal) {
    this.#terminal = terminal;
    this.#text = new TextPrinter((line) => (this.#bar === null ? write(line) : this.#bar.away(() => write(line))));
  }

  async begin(beginning: Beginning): Promise<void> {
    this.#text.begin(beginning);
    const { Bar: Drawn } = await import("./bar.ts");
    this.#bar = await Drawn.draw(beginning.steps, beginning.step, this.#terminal);
  }

  step(step: number): void {
    this.#bar?.update(step);
  }

  #show(step: number): void {
    this.#bar?.update(step, [this.#facts, this.#values].filter((part) => part !== "").join("  "));
  }

  report(report: FitReport): void {
    this.#facts = factsOf(report);
    this.#show(report.step);
  }

  evaluation(report: FitEvaluationReport): void {
    this.#text.evaluation(report);
    this.#values = `evaluation: ${values(report.values)}`;
    this.#show(report.step);
  }

  epoch(report: EpochReport): void {
    this.#text.epoch(report);
  }

  checkpoint(): void {}

  interrupted(): void {
    this.#text.interrupted();
  }

  end(summary: TrainingEnd): void {
    this.close();
    this.#text.end(summary);
  }

  close(): void {
    this.#bar?.stop();
    this.#bar = null;
  }
}

/** Several printers as one. */
export class Printers implements Printer {
  readonly #all: readonly Printer[];
  constructor(all: readonly Printer[]) {
    this.#all = all;
  }

  async begin(beginning: Beginning): Promise<void> {
    for (const printer of this.#all) await printer.begin(beginning);
  }
  step(step: number): void {
    for (const printer of this.#all) printer.step?.(step);
  }
  report(report: FitReport): void {
    for (const printer of this.#all) printer.report(report);
  }
  evaluation(report: FitEvaluationReport): void {
    for (const printer of this.#all) printer.evaluation(report);
  }
  epoch(report: EpochReport): void {
    for (const printer of this.#all) printer.epoch(report);
  }
  checkpoint(path: string, step: number, isBest: boolean): void {
    for (const printer of this.#all) printer.checkpoint(path, step, isBest);
  }
  interrupted(step: number): void {
    for (const printer of this.#all) printer.interrupted(step);
  }
  end(summary: TrainingEnd): void {
    for (const printer of this.#all) printer.end(summary);
  }
  async close(): Promise<void> {
    for (const printer of this.#all) await printer.close?.();
  }
}

/** The printer that options ask for. */
export function printerOf({
  quiet = false,
  json = false,
  output,
  progress = !quiet && !json && output === undefined,
}: Pick<FitOptions<never>, "quiet" | "json" | "output" | "progress">): Printer {
  const write = (line: string): void => void (quiet || (output ?? process.stdout).write(`${line}\n`));
  if (json) return new JsonPrinter(write);
  return progress && process.stderr.isTTY ? new BarPrinter(write, process.stderr) : new TextPrinter(write);
}
