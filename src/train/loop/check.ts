/** Checks of fit()'s options that their types do not say. */
import { DTypeError, ValueError } from "../../core/errors.ts";
import { ReduceLROnPlateau } from "../../optim/schedules/plateau.ts";
import type { FitOptions } from "./options.ts";
import { isStateful } from "./batches.ts";
import { requireMetrics } from "./evaluator.ts";

function requireCount(argument: string, value: number | undefined, min = 1): void {
  if (value !== undefined && !(Number.isSafeInteger(value) && value >= min))
    throw new ValueError("fit", argument, `an integer of at least ${min}`, value);
}

/** Throws for a loader that cannot be read. */
export function requireBatches(operation: string, argument: string, loader: unknown): void {
  const isIterable = typeof loader === "object" && loader !== null && (Symbol.iterator in loader || Symbol.asyncIterator in loader);
  if (!isIterable) throw new DTypeError(operation, argument, "a loader, an array or another iterable of batches", loader);
}

function requirePage(page: FitOptions<never>["page"]): void {
  if (page === undefined || typeof page === "boolean" || typeof page === "string" || page instanceof URL) return;
  if (typeof page !== "object" || page === null) throw new DTypeError("fit", "page", "true, { port } or a path", page);
  const { port } = page;
  if (!(Number.isInteger(port) && port >= 0 && port <= 65535)) throw new ValueError("fit", "page.port", "an integer from 0 to 65535", port);
}

export function requireOptions<B>(loader: unknown, options: FitOptions<B>): void {
  const {
    epochs,
    steps,
    accumulate,
    clipNorm,
    clipValue,
    evaluate,
    checkpoint,
    earlyStop,
    monitor = "loss",
    schedule,
    optimizer,
  } = options;
  requireBatches("fit", "loader", loader);
  if (epochs === undefined && steps === undefined) throw new ValueError("fit", "epochs", "there where steps is not", undefined);
  requireCount("epochs", epochs, 0);
  requireCount("steps", steps, 0);
  requireCount("accumulate", accumulate);
  requireCount("reportEvery", options.reportEvery);
  if (clipNorm !== undefined && clipValue !== undefined) throw new ValueError("fit", "clipValue", "left out with clipNorm", clipValue);
  for (const [name, value] of Object.entries({ clipNorm, clipValue }))
    if (value !== undefined && !(value >= 0)) throw new ValueError("fit", name, "a number of at least 0", value);
  for (const [name, of] of Object.entries({ evaluate, checkpoint })) {
    requireCount(`${name}.everyEpochs`, of?.everyEpochs);
    requireCount(`${name}.everySteps`, of?.everySteps);
  }
  requireCount("checkpoint.keepLast", checkpoint?.keepLast);
  requireCount("earlyStop.patience", earlyStop?.patience, 0);
  const { minDelta = 0 } = earlyStop ?? {};
  if (!(minDelta >= 0)) throw new ValueError("fit", "earlyStop.minDelta", "a number of at least 0", minDelta);
  requirePage(options.page);
  if (evaluate !== undefined) {
    requireBatches("fit", "evaluate.loader", evaluate.loader);
    if (evaluate.loader === loader && isStateful(evaluate.loader))
      throw new ValueError("fit", "evaluate.loader", "another loader than the training's, whose position a pass would change", "the same");
    requireMetrics("fit", "evaluate.metrics", evaluate.metrics);
  }
  if (evaluate === undefined && monitor !== "loss")
    throw new ValueError("fit", "monitor", '"loss" without evaluate, which has the metrics', monitor);
  if (schedule !== undefined && schedule.optimizer !== optimizer) throw new ValueError("fit", "schedule", "one of the optimizer", schedule);
  if (schedule instanceof ReduceLROnPlateau && options.scheduleEach !== undefined)
    throw new ValueError(
      "fit",
      "scheduleEach",
      "left out for ReduceLROnPlateau, which steps with each value of monitor",
      options.scheduleEach,
    );
}
