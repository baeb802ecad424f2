/** The page of a training: what it records while the training runs, served or written as a file. */
import { rename, writeFile } from "node:fs/promises";
import type { DeviceLike } from "../../core/device.ts";
import { memoryStatistics } from "../../runtime/device-statistics.ts";
import { pathOf } from "../../host/source.ts";
import type { EpochReport, FitEvaluationReport, FitOptions, FitReport } from "../loop/options.ts";
import { reasons, type Beginning, type Printer, type TrainingEnd } from "../loop/printer.ts";
import { apply, point, type PageChange, type PagePoint, type PageState } from "./page-data.ts";
import { PageServer } from "./server.ts";
import { pageText } from "./page-html.ts";

type Options<B> = FitOptions<B>;

/** Options that say something by their values. */
const SHOWN = ["accumulate", "clipNorm", "clipValue", "autocast", "compile", "scheduleEach", "monitor", "mode", "reportEvery"] as const;

function configurationOf<B>(options: Options<B>, { seed, device }: Beginning): PageState["configuration"] {
  const { model, optimizer, schedule, earlyStop } = options;
  const count = [...model.parameters()].reduce((sum, { size }) => sum + size, 0);
  return [
    ["device", device],
    ["seed", seed],
    ["parameters", count.toLocaleString("en")],
    ...SHOWN.flatMap((name) => {
      const value = options[name];
      return value === undefined ? [] : [[name, typeof value === "object" ? JSON.stringify(value) : String(value)] as const];
    }),
    ...(earlyStop === undefined ? [] : [["earlyStop", JSON.stringify(earlyStop)] as const]),
    ...(schedule === undefined ? [] : [["schedule", schedule.constructor.name] as const]),
    ["optimizer", String(optimizer)],
    ["model", String(model)],
  ];
}

class Page<B> implements Printer {
  readonly #options: Options<B>;
  readonly #state: PageState;
  #device = "";
  #server: PageServer | null = null;
  readonly #file: string | null;
  /** Writes of the file, one after the other, and the first that failed. */
  #written: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | null = null;

  constructor(options: Options<B>, file: string | null) {
    this.#options = options;
    this.#file = file;
    this.#state = {
      title: `Training of ${options.model.constructor.name}`,
      status: "running",
      step: 0,
      epoch: 0,
      epochs: null,
      steps: null,
      secondsLeft: null,
      configuration: [],
      curves: {},
      best: null,
    };
  }

  async serve(port: number): Promise<void> {
    this.#server = await PageServer.open(
      port,
      () => pageText(this.#state, true),
      () => this.#state,
    );
  }

  /** Address or path. */
  get address(): string {
    return this.#server?.address ?? this.#file!;
  }

  #change(change: PageChange): void {
    apply(this.#state, change);
    this.#server?.send(change);
  }

  #write(): void {
    const file = this.#file;
    if (file === null) return;
    this.#written = this.#replace(file, pageText(this.#state, false), this.#written);
  }

  async #replace(file: string, text: string, before: Promise<void>): Promise<void> {
    await before;
    try {
      // A reader never sees half a page.
      await writeFile(`${file}.new`, text);
      await rename(`${file}.new`, file);
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  begin(beginning: Beginning): void {
    const { epochs, steps, step, epoch } = beginning;
    this.#device = beginning.device;
    this.#change({ fields: { epochs, steps, step, epoch, configuration: configurationOf(this.#options, beginning) } });
  }

  report({ step, epoch, loss, lr, stepsPerSecond, secondsLeft }: FitReport): void {
    const bytes = memoryOf(this.#device);
    this.#change({
      fields: { step, epoch, secondsLeft },
      points: [
        ["loss", "training", point(step, loss)],
        ["learning rate", "learning rate", point(step, lr)],
        ["steps per second", "steps per second", point(step, stepsPerSecond)],
        ...(bytes === null ? [] : [["memory of tensors in MiB", "memory", point(step, bytes / 2 ** 20)] as const]),
      ],
    });
  }

  evaluation({ step, epoch, values, isBest }: FitEvaluationReport): void {
    const { monitor = "loss" } = this.#options;
    const best: { best?: PagePoint } = isBest ? { best: point(step, values[monitor]!) } : {};
    this.#change({
      fields: { step, epoch, ...best },
      points: Object.entries(values).map(([name, value]) => [name, "evaluation", point(step, value)] as const),
    });
  }

  epoch({ step, epoch, loss }: EpochReport): void {
    this.#change({ fields: { step, epoch: epoch + 1 }, points: [["loss", "mean of an epoch", point(step, loss)]] });
    this.#write();
  }

  checkpoint(): void {}

  interrupted(): void {
    this.#change({ fields: { status: "interrupted: ends after this step" } });
  }

  end({ reason, step, epochs, seconds }: TrainingEnd): void {
    this.#change({ fields: { step, secondsLeft: null, status: `${reasons[reason]} after ${epochs} epochs, ${seconds.toFixed(1)} s` } });
  }

  async close(): Promise<void> {
    if (this.#state.status === "running") this.#change({ fields: { status: "failed", secondsLeft: null } });
    this.#write();
    await Promise.all([this.#server?.close(), this.#written]);
    if (this.#failure !== null) throw this.#failure.error;
  }
}

/** Bytes of a device's tensors; null for devices that do not say. */
function memoryOf(device: string): number | null {
  try {
    return memoryStatistics(device as DeviceLike).liveInBytes;
  } catch {
    return null;
  }
}

/** The page that options ask for. Throws ValueError where its port is taken. */
export async function openPage<B>(options: Options<B>): Promise<Printer & { readonly address: string }> {
  const { page } = options;
  const isFile = typeof page === "string" || page instanceof URL;
  const made = new Page(options, isFile ? pathOf("fit", "page", page) : null);
  if (!isFile) await made.serve(typeof page === "object" ? page.port : 0);
  return made;
}
