/** utils: clipping of gradients and other helpers of training, as in torch.nn.utils. */
export { clipGradNorm_, clipGradValue_, clipGradsWithNorm_, getTotalNorm, type NormOptions, type TensorOrTensors } from "./clip-grad.ts";
export * as parametrizations from "./parametrizations.ts";
export * as parametrize from "./parametrize.ts";
export { freeze, groups, unfreeze, type MatchedGroup, type NamePattern, type PatternGroup } from "./patterns.ts";
export { parametersToVector, vectorToParameters } from "./vector.ts";
