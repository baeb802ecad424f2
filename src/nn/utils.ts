/** utils: clipping of gradients and other helpers of training, as in torch.nn.utils. */
export { clipGradNorm_, clipGradValue_, clipGradsWithNorm_, getTotalNorm, type NormOptions, type TensorOrTensors } from "./clip-grad.ts";
