/** Trains and evaluates models: the loop around a loss function. */
import type { Batches, EvaluateOptions, EvaluationValues, FitOptions, FitResult } from "./loop/options.ts";

/** Loaded with the first call: importing the library takes no time for it. */
const loop = () => import("./loop/fit-loop.ts");

/**
 * Trains a model: for each batch of the loader the loss function, its gradients, and a step of the optimizer; around it progress, evaluations, early stop,
 * checkpoints, and a clean end at Ctrl-C. docs/training-loop.md has the same loop to copy.
 *
 * The loop does not wait for the device between two reports: losses are added up on the device, and read every `reportEvery` steps. The batch's type
 * is the loader's. Gradients are cleared first. Resolves to how it ended; rejects with what a loss function, a callback or the loader throws.
 * Throws DTypeError and ShapeError for losses that are no single float, ValueError for options out of their range, for a loader without batches, and
 * for a monitor that no evaluation has.
 */
export async function fit<B>(loader: Batches<B>, options: FitOptions<B>): Promise<FitResult> {
  return (await loop()).runFit(loader, options);
}

/**
 * The mean loss of a model over all samples of a loader, and metrics, in eval mode and without gradients. Batches count by their samples: the first axis
 * of the targets, or of the batch's first tensor. The losses are read once, at the end.
 *
 * Result: the values by name, "loss" first. A metric whose value is a list or an object has names with dots ("f1.0").
 * Throws ValueError for a loader without batches, and for metrics where the loss function gives no outputs and targets.
 */
export async function evaluate<B>(loader: Batches<B>, options: EvaluateOptions<B>): Promise<EvaluationValues> {
  return (await loop()).runEvaluation(loader, options);
}
