/** Helpers for training, as torch.nn.utils has them. */
export { clipGradNorm_, clipGradValue_, clipGradsWithNorm_, getTotalNorm, type NormOptions, type TensorOrTensors } from "./clip-grad.ts";
