/** The checkpoints of a training: its whole state, saved and resumed. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DTypeError, ValueError } from "../../core/errors.ts";
import { processRanks } from "../../core/process-ranks.ts";
import { Tensor } from "../../core/tensor.ts";
import { pathOf } from "../../host/source.ts";
import { latest, load } from "../../io/checkpoint/load.ts";
import { PerRank } from "../../io/checkpoint/per-rank.ts";
import { saveOverRanks } from "../../io/checkpoint/save-over-ranks.ts";
import { save } from "../../io/checkpoint/save.ts";
import { Generator, defaultGenerator } from "../../ops/random/random.ts";
import type { GradScaler } from "../../optim/grad-scaler.ts";
import type { Batches, EpochReport, EvaluationValues, FitCheckpoint, FitOptions } from "./options.ts";
import { isStateful } from "./batches.ts";
import type { BestState } from "./best.ts";
import { firstRanks, isOverRanks } from "./over-ranks.ts";

/** Where a training is, between two steps. */
export interface Position {
  readonly step: number;
  readonly epoch: number;
  /** Batches of the epoch so far. */
  readonly batch: number;
  /** Whether all batches of the epoch were read, so that the loader begins the next pass. Absent in older checkpoints: false. */
  readonly isPassOver?: boolean;
  /** Losses of the epoch that were read, and how many. */
  readonly epochLoss: number;
  readonly epochBatches: number;
  /** Losses that were not read: their sum on the device, and how many. */
  readonly lossSum: Tensor | null;
  readonly lossCount: number;
  readonly best: BestState;
  /** The last evaluation. */
  readonly evaluated: { readonly step: number; readonly values: EvaluationValues } | null;
  readonly history: readonly EpochReport[];
}

const canResume = (value: unknown): boolean =>
  value instanceof Tensor || value instanceof Generator || (typeof value === "object" && value !== null && isStateful(value));

export class Checkpoints<B> {
  readonly #options: FitCheckpoint;
  readonly #folder: string;
  readonly #signal: AbortSignal | undefined;
  readonly #state: Readonly<Record<string, unknown>>;
  readonly #generators: readonly Generator[];
  /** The path of the last checkpoint of this training, and its step. */
  last: { readonly path: string; readonly step: number } | null = null;

  constructor(options: FitCheckpoint, loader: Batches<B>, fit: FitOptions<B>, scaler: GradScaler | null) {
    this.#options = options;
    this.#folder = pathOf("fit", "checkpoint.folder", options.folder);
    this.#signal = fit.signal;
    const { model, optimizer, schedule, generators = [] } = fit;
    for (const [name, value] of Object.entries(options.state ?? {}))
      if (!canResume(value))
        throw new DTypeError(
          "fit",
          `checkpoint.state.${name}`,
          "a tensor, a generator, or an object with stateDict() and loadStateDict()",
          value,
        );
    const own = [defaultGenerator(), ...generators];
    this.#generators = own;
    this.#state = {
      model,
      optimizer,
      // Each rank has its own; the state of one process goes to all.
      generators: new PerRank(own),
      ...(schedule === undefined ? {} : { schedule }),
      ...(scaler === null ? {} : { scaler }),
      ...(isStateful(loader) ? { loader } : {}),
      ...(options.state === undefined ? {} : { state: options.state }),
    };
  }

  async #save(name: string, position: Position, keepLast?: number): Promise<string> {
    await mkdir(this.#folder, { recursive: true });
    const path = join(this.#folder, name);
    const options = { keepLast, signal: this.#signal };
    if (isOverRanks()) await saveOverRanks("fit", processRanks()!, path, { ...this.#state, fit: position }, options);
    else await save(path, { ...this.#state, generators: this.#generators, fit: position }, options);
    return path;
  }

  /** Saves "step-N.safetensors", once for a step. */
  async saveLast(position: Position): Promise<string> {
    const path = await this.#save(`step-${position.step}.safetensors`, position, this.#options.keepLast ?? 1);
    this.last = { path, step: position.step };
    return path;
  }

  /** Saves "best.safetensors"; null where that is not wanted. */
  async saveBest(position: Position): Promise<string | null> {
    return this.#options.best === false ? null : this.#save("best.safetensors", position);
  }

  /** Loads the checkpoint that the options name; null where there is none. */
  async resume(): Promise<{ readonly path: string; readonly position: Position } | null> {
    const { resume = false } = this.#options;
    if (resume === false) return null;
    const path = resume === true ? await firstRanks(await latest(this.#folder)) : pathOf("fit", "checkpoint.resume", resume);
    if (path === null) return null;
    const { state } = await load<{ fit?: Position }>(path, { into: this.#state, signal: this.#signal });
    const position = state.fit;
    if (typeof position?.step !== "number") throw new ValueError("fit", "checkpoint.resume", "a checkpoint of fit()", path);
    this.last = { path, step: position.step };
    return { path, position };
  }
}
