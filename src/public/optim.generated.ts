// Made by npm run generate from the families in src/ops.
import { checked } from "./kinds.generated.ts";
import { checkedClass } from "./kinds.generated.ts";
import { checkMethods } from "./kinds.generated.ts";
import { factory } from "./kinds.generated.ts";
import { guardedAsync } from "./kinds.generated.ts";
import * as $optimOptimizer from "../optim/optimizer.ts";
import * as $optimGroup from "../optim/group.ts";
import * as $optimSgd from "../optim/sgd.ts";
import * as $optimAdam from "../optim/adam.ts";
import * as $optimAdadelta from "../optim/adadelta.ts";
import * as $optimAdagrad from "../optim/adagrad.ts";
import * as $optimAdamax from "../optim/adamax.ts";
import * as $optimAsgd from "../optim/asgd.ts";
import * as $optimGradScaler from "../optim/grad-scaler.ts";
import * as $optimLamb from "../optim/lamb.ts";
import * as $optimLion from "../optim/lion.ts";
import * as $optimLion8bit from "../optim/lion-8bit.ts";
import * as $optimAdafactor from "../optim/adafactor.ts";
import * as $optimMuon from "../optim/muon.ts";
import * as $optimSparseAdam from "../optim/sparse-adam.ts";
import * as $optimAdam8bit from "../optim/adam-8bit.ts";
import * as $optimLbfgs from "../optim/lbfgs.ts";
import * as $optimNadam from "../optim/nadam.ts";
import * as $optimRadam from "../optim/radam.ts";
import * as $optimRmsprop from "../optim/rmsprop.ts";
import * as $optimRprop from "../optim/rprop.ts";
import * as $optimLookahead from "../optim/lookahead.ts";
import * as $optimAveragedModel from "../optim/averaged-model.ts";
import * as $nnModule from "../nn/module.ts";
export type { BaseOptions } from "../optim/group.ts";
export type { GroupInput } from "../optim/group.ts";
export type { OptimizerState } from "../optim/group.ts";
export type { ParametersInput } from "../optim/group.ts";
export type { SGDOptions } from "../optim/sgd.ts";
export type { AdamOptions } from "../optim/adam.ts";
export type { AdadeltaOptions } from "../optim/adadelta.ts";
export type { AdagradOptions } from "../optim/adagrad.ts";
export type { AdamaxOptions } from "../optim/adamax.ts";
export type { ASGDOptions } from "../optim/asgd.ts";
export type { GradScalerOptions } from "../optim/grad-scaler.ts";
export type { GradScalerState } from "../optim/grad-scaler.ts";
export type { LAMBOptions } from "../optim/lamb.ts";
export type { LionOptions } from "../optim/lion.ts";
export type { Lion8bitOptions } from "../optim/lion-8bit.ts";
export type { AdafactorOptions } from "../optim/adafactor.ts";
export type { AdjustLrFn } from "../optim/muon.ts";
export type { MuonOptions } from "../optim/muon.ts";
export type { SparseAdamOptions } from "../optim/sparse-adam.ts";
export type { Adam8bitOptions } from "../optim/adam-8bit.ts";
export type { Closure } from "../optim/lbfgs.ts";
export type { LBFGSOptions } from "../optim/lbfgs.ts";
export type { LBFGSState } from "../optim/lbfgs.ts";
export type { NAdamOptions } from "../optim/nadam.ts";
export type { RAdamOptions } from "../optim/radam.ts";
export type { RMSpropOptions } from "../optim/rmsprop.ts";
export type { RpropOptions } from "../optim/rprop.ts";
export type { LookaheadOptions } from "../optim/lookahead.ts";
export type { LookaheadState } from "../optim/lookahead.ts";
export type { AveragedModelOptions } from "../optim/averaged-model.ts";
export type { AvgFn } from "../optim/averaged-model.ts";
export type { MultiAvgFn } from "../optim/averaged-model.ts";
export { Optimizer } from "../optim/optimizer.ts";
checkMethods($optimOptimizer.Optimizer, "addParamGroup input:anything;step closure:callback?;zeroGrad options:setToNull_d4ebf9?;stateDict;loadStateDict saved:OptimizerState;toString;dispose");
/** Parameters that share options. lr may be set at any time, also between the steps of a compiled function. */
export const ParamGroup = checkedClass($optimGroup.ParamGroup, "params:tensors options:BaseOptions");
export type ParamGroup<O extends $optimGroup.BaseOptions> = $optimGroup.ParamGroup<O>;
/**
 * p <- p - lr * d with d = gradient + weightDecay * p; with momentum, buffer <- momentum * buffer + (1 - dampening) * d replaces d,
 * or d + momentum * buffer with nesterov. Reference: torch.optim.SGD.
 */
export const SGD = checkedClass($optimSgd.SGD, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialSGDOptions? options:PartialSGDOptions?");
export type SGD = $optimSgd.SGD;
/**
 * m <- beta1 m + (1 - beta1) g; v <- beta2 v + (1 - beta2) g^2;
 * p <- p - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps), with g = gradient + weightDecay * p.
 * Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-8, weightDecay 0. Reference: torch.optim.Adam.
 */
export const Adam = checkedClass($optimAdam.Adam, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialAdamOptions? options:PartialAdamOptions? name:string? weightDecay:number?");
export type Adam = $optimAdam.Adam;
/** Adam whose weight decay shrinks the parameters by lr * weightDecay (default 0.01) instead. Reference: torch.optim.AdamW. */
export const AdamW = checkedClass($optimAdam.AdamW, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialAdamOptions? options:PartialAdamOptions?");
export type AdamW = $optimAdam.AdamW;
/**
 * v <- rho v + (1 - rho) g^2; d = sqrt(u + eps) / sqrt(v + eps) * g; u <- rho u + (1 - rho) d^2; p <- p - lr * d.
 * Defaults: lr 1, rho 0.9, eps 1e-6. Reference: torch.optim.Adadelta.
 */
export const Adadelta = checkedClass($optimAdadelta.Adadelta, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialAdadeltaOptions? options:PartialAdadeltaOptions?");
export type Adadelta = $optimAdadelta.Adadelta;
/**
 * s <- s + g^2; p <- p - lr / (1 + (t - 1) lrDecay) * g / (sqrt(s) + eps), with g = gradient + weightDecay * p.
 * Defaults: lr 0.01, lrDecay 0, initialAccumulatorValue 0, eps 1e-10. Reference: torch.optim.Adagrad.
 */
export const Adagrad = checkedClass($optimAdagrad.Adagrad, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialAdagradOptions? options:PartialAdagradOptions?");
export type Adagrad = $optimAdagrad.Adagrad;
/**
 * m <- beta1 m + (1 - beta1) g; u <- max(beta2 u, |g| + eps); p <- p - lr / (1 - beta1^t) * m / u.
 * Defaults: lr 2e-3, betas [0.9, 0.999], eps 1e-8. Reference: torch.optim.Adamax.
 */
export const Adamax = checkedClass($optimAdamax.Adamax, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialAdamaxOptions? options:PartialAdamaxOptions?");
export type Adamax = $optimAdamax.Adamax;
/**
 * p <- (1 - lambd * eta) p - eta * g; ax <- ax + mu * (p - ax), with eta = lr / (1 + lambd * lr * t)^alpha and mu = 1 / max(1, t - t0),
 * both of the step before. Defaults: lr 0.01, lambd 1e-4, alpha 0.75, t0 1e6. Reference: torch.optim.ASGD.
 */
export const ASGD = checkedClass($optimAsgd.ASGD, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialASGDOptions? options:PartialASGDOptions?");
export type ASGD = $optimAsgd.ASGD;
/**
 * The scale of losses in mixed precision. In a step: `scaler.scale(loss).backward()`, `await scaler.step(optimizer)` (which leaves the step
 * out where a gradient is infinite or NaN), `scaler.update()`. To clip gradients, call unscale(optimizer) before.
 *
 * scale(), unscale(), stepOnDevice() and update() compute on the device alone, also inside `compile`; step() reads one number back, stepSync() blocks
 * for it.
 * Reference: torch.amp.GradScaler.
 */
export const GradScaler = checkedClass($optimGradScaler.GradScaler, "options:PartialGradScalerOptions?", "scale outputs:tensorOrTensors;unscale optimizer:optimizer;step optimizer:optimizer;stepSync optimizer:optimizer;stepOnDevice optimizer:optimizer;update newScale:number?;getScale;getScaleSync;stateDict;loadStateDict state:GradScalerState;dispose");
export type GradScaler = $optimGradScaler.GradScaler;
/**
 * tensors * factor in place, and whether any element was infinite or NaN before: 1 or 0, float32, on the device. As PyTorch's
 * _amp_foreach_non_finite_check_and_unscale_.
 */
export const unscale = checked($optimGradScaler.unscale, "unscale", "tensors:tensors factor");
/**
 * r = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + weightDecay p; p <- p - lr |p| / |r| r, with m and v as Adam's. The norms are of each parameter, so that each is a
 * program's operation of its own; 1 stands for |p| / |r| where one of them is 0.
 * Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-6, weightDecay 0. Reference: You et al., Large Batch Optimization for Deep Learning, 2020, algorithm 2.
 */
export const LAMB = checkedClass($optimLamb.LAMB, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialLAMBOptions? options:PartialLAMBOptions?");
export type LAMB = $optimLamb.LAMB;
/**
 * p <- p (1 - lr weightDecay) - lr sign(beta1 m + (1 - beta1) g); m <- beta2 m + (1 - beta2) g.
 * Defaults: lr 1e-4, betas [0.9, 0.99], weightDecay 0. Reference: Chen et al., Symbolic Discovery of Optimization Algorithms, 2023, program 1.
 */
export const Lion = checkedClass($optimLion.Lion, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialLionOptions? options:PartialLionOptions?");
export type Lion = $optimLion.Lion;
/**
 * Lion's step, with the average kept as uint8 codes in blocks of 256 elements, each with its largest absolute value as a float32 scale: about 1 byte of state for an
 * element where Lion has 4. Codes are as in Adam8bit: bitsandbytes' signed dynamic code book, rounded to the nearest; a step is computed in float32.
 * Parameters of fewer than min8bitSize elements have a float32 average. State: exp_avg (uint8), exp_avg_absmax (float32 [ceil(size / 256)]).
 * Defaults: lr 1e-4, betas [0.9, 0.99], weightDecay 0, min8bitSize 4096. Reference: bitsandbytes.optim.Lion8bit.
 */
export const Lion8bit = checkedClass($optimLion8bit.Lion8bit, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialLion8bitOptions? options:PartialLion8bitOptions?");
export type Lion8bit = $optimLion8bit.Lion8bit;
/**
 * p <- p (1 - lr weightDecay) - max(eps2, rms(p)) min(lr, 1 / sqrt(t)) u / max(1, rms(u) / d), with u = g / max(sqrt(v), eps1) and v <- v + t^beta2Decay (g² - v). Of a parameter with two
 * axes or more v is R C / max(mean(R), eps1), where R and C are averages of the means of g² along the last and the second to last axis: state of A + B
 * elements for a matrix [A, B].
 * Defaults: lr 0.01, beta2Decay -0.8, eps [null, 1e-3], d 1, weightDecay 0. Reference: torch.optim.Adafactor.
 */
export const Adafactor = checkedClass($optimAdafactor.Adafactor, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialAdafactorOptions? options:PartialAdafactorOptions?");
export type Adafactor = $optimAdafactor.Adafactor;
/**
 * B <- momentum B + (1 - momentum) g; p <- p (1 - lr weightDecay) - lr adjust(A, B) NS(momentum B + (1 - momentum) g), or NS(B) without nesterov. NS divides by the
 * Euclidean norm and applies aX + b(XXᵀ)X + c(XXᵀ)²X nsSteps times, which brings the singular values near 1.
 *
 * Parameters have two axes: ShapeError otherwise. Give embeddings, biases and the last layer to adamW. NS is computed in float32, for every dtype of the parameters;
 * PyTorch's runs in bfloat16, so that its steps differ by that dtype's roundings (about 1 %).
 * Defaults: lr 1e-3, weightDecay 0.1, momentum 0.95, nesterov, nsCoefficients [3.4445, -4.775, 2.0315], eps 1e-7, nsSteps 5, adjustLrFn "original". Reference: torch.optim.Muon.
 */
export const Muon = checkedClass($optimMuon.Muon, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialMuonOptions? options:PartialMuonOptions?");
export type Muon = $optimMuon.Muon;
/**
 * Adam's step of those rows (of the first axis) whose gradient is not entirely 0: m <- beta1 m + (1 - beta1) g; v <- beta2 v + (1 - beta2) g²;
 * p <- p - lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps). Parameter and averages of the other rows keep their values to the bit. t counts all steps. The
 * device finds the rows, so that nothing is read back, and a compiled function needs one program whatever rows there are.
 *
 * Gradients are dense, as those of nn.embedding are. PyTorch's sparse gradient has the rows that were looked up: one whose values are all 0 decays its averages there and moves
 * the row, while it is left alone here.
 * Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-8. Reference: torch.optim.SparseAdam.
 */
export const SparseAdam = checkedClass($optimSparseAdam.SparseAdam, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialSparseAdamOptions? options:PartialSparseAdamOptions?");
export type SparseAdam = $optimSparseAdam.SparseAdam;
/**
 * Adam's step, with the averages kept as uint8 codes in blocks of 256 elements, each with its largest absolute value as a float32 scale: about 2 bytes of state for an element where
 * Adam has 8. The codes are bitsandbytes' dynamic code books (signed for the average of gradients, unsigned for that of squares), rounded to the nearest. A step is computed in
 * float32 from the decoded averages, and rounds them again afterwards. Parameters of fewer than min8bitSize elements have float32 averages.
 * State: exp_avg and exp_avg_sq (uint8), exp_avg_absmax and exp_avg_sq_absmax (float32 [ceil(size / 256)]).
 * Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-8, weightDecay 0, min8bitSize 4096. Reference: bitsandbytes.optim.Adam8bit.
 */
export const Adam8bit = checkedClass($optimAdam8bit.Adam8bit, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialAdam8bitOptions? options:PartialAdam8bitOptions? name:string? weightDecay:number?");
export type Adam8bit = $optimAdam8bit.Adam8bit;
/** Adam8bit whose weight decay shrinks the parameters by lr * weightDecay (default 0.01) instead. Reference: bitsandbytes.optim.AdamW8bit. */
export const AdamW8bit = checkedClass($optimAdam8bit.AdamW8bit, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialAdam8bitOptions? options:PartialAdam8bitOptions?");
export type AdamW8bit = $optimAdam8bit.AdamW8bit;
/**
 * Minimises by the two-loop recursion over the last `historySize` changes of gradients and parameters. One group of float32 parameters on
 * one device. A step evaluates the loss several times and reads numbers back, so it takes a closure, which computes the gradients again, and is
 * no part of a compiled function (the closure may call one). Reference: torch.optim.LBFGS.
 */
export const LBFGS = checkedClass($optimLbfgs.LBFGS, "params:iterableOfTensor lr:numberOrPartialLBFGSOptions? options:PartialLBFGSOptions?", "toString;step closure:callback;stepSync closure:callback;zeroGrad options:setToNull_d4ebf9?;stateDict;loadStateDict state:LBFGSState;dispose");
export type LBFGS = $optimLbfgs.LBFGS;
/**
 * Adam with mu_t = beta1 * (1 - 0.96^(t * momentumDecay) / 2): p <- p - lr * ((1 - mu_t) g / (1 - Π mu) + mu_(t+1) m / (1 - Π mu * mu_(t+1)))
 * / (sqrt(v / (1 - beta2^t)) + eps). Defaults: lr 2e-3, betas [0.9, 0.999], eps 1e-8, momentumDecay 4e-3. Reference: torch.optim.NAdam.
 */
export const NAdam = checkedClass($optimNadam.NAdam, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialNAdamOptions? options:PartialNAdamOptions?");
export type NAdam = $optimNadam.NAdam;
/**
 * Adam once the average of squares has a length above 5, corrected by the variance of what it divides by; before that
 * p <- p - lr * m / (1 - beta1^t). Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-8. Reference: torch.optim.RAdam.
 */
export const RAdam = checkedClass($optimRadam.RAdam, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialRAdamOptions? options:PartialRAdamOptions?");
export type RAdam = $optimRadam.RAdam;
/**
 * v <- alpha v + (1 - alpha) g^2; p <- p - lr * g / (sqrt(v) + eps), with g = gradient + weightDecay * p; with momentum a buffer of
 * these quotients replaces them. Defaults: lr 0.01, alpha 0.99, eps 1e-8. Reference: torch.optim.RMSprop.
 */
export const RMSprop = checkedClass($optimRmsprop.RMSprop, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialRMSpropOptions? options:PartialRMSpropOptions?");
export type RMSprop = $optimRmsprop.RMSprop;
/**
 * p <- p - sign(g) * size; an element's size is multiplied by etas[1] while its gradient keeps its sign and by etas[0] when it
 * changes, which also leaves that step out. lr is the first size. Defaults: lr 0.01, etas [0.5, 1.2], stepSizes [1e-6, 50].
 * Reference: torch.optim.Rprop.
 */
export const Rprop = checkedClass($optimRprop.Rprop, "params:iterableOfTensorOrIterableOfAnything lr:numberOrPartialRpropOptions? options:PartialRpropOptions?");
export type Rprop = $optimRprop.Rprop;
export * as lrScheduler from "./lr-scheduler.generated.ts";
/**
 * Wraps an optimizer: after every k of its steps slow <- slow + alpha (p - slow), and p <- slow. The slow weights begin as the parameters are when it is made. Schedules take
 * the optimizer inside. Steps are counted on the device, so that a compiled function needs one program. Defaults: k 5, alpha 0.5.
 * Reference: Zhang et al., Lookahead Optimizer: k steps forward, 1 step back, 2019, algorithm 1.
 */
export const Lookahead = checkedClass($optimLookahead.Lookahead, "optimizer:optimizer options:LookaheadOptions?", "step closure:callback?;zeroGrad options:setToNull_d4ebf9?;stateDict;loadStateDict state:LookaheadState;dispose");
export type Lookahead<O extends $optimGroup.BaseOptions = $optimGroup.BaseOptions> = $optimLookahead.Lookahead<O>;
/**
 * A copy of a model whose parameters are averages of the model's: called, it runs the copy. `module` is the copy, `n_averaged` (int64, part of the state) the
 * number of updates. The first update copies. Nothing is read back, so updateParameters() may be called in a compiled function. Reference:
 * torch.optim.swa_utils.AveragedModel.
 */
export const AveragedModel = checkedClass($optimAveragedModel.AveragedModel, "model:module options:AveragedModelOptions?", "forward ...inputs:anything;updateParameters model:module", "registerBuffer name:string tensor options:persistent_d9ad21?;clone copies:anything;registerForwardPreHook hook:anything options:HookOptions?;registerForwardHook hook:anything options:ForwardHookOptions?;registerFullBackwardPreHook hook:callback options:HookOptions?;registerFullBackwardHook hook:callback options:HookOptions?;registerStateDictPreHook hook:callback;registerStateDictPostHook hook:callback;registerLoadStateDictPreHook hook:callback;registerLoadStateDictPostHook hook:callback;children;modules;parameters;buffers;train mode:boolean?;eval;apply fn:callback;zeroGrad options:setToNull_d4ebf9?;requiresGrad_ mode:boolean?;to target:deviceOrStringOrDtype;toEmpty target:deviceOrString;stateDict;loadStateDict state:recordOfTensor options:strict_b521a7?;dispose;toString");
export type AveragedModel<M extends $nnModule.Module = $nnModule.Module> = $optimAveragedModel.AveragedModel<M>;
/** decay * averaged + (1 - decay) * current. Throws ValueError for a decay outside of [0, 1]. Reference: torch.optim.swa_utils.get_ema_avg_fn. */
export const getEmaAvgFn = checked($optimAveragedModel.getEmaAvgFn, "getEmaAvgFn", "decay:number?");
/** getEmaAvgFn() for all parameters, in place. Reference: torch.optim.swa_utils.get_ema_multi_avg_fn. */
export const getEmaMultiAvgFn = checked($optimAveragedModel.getEmaMultiAvgFn, "getEmaMultiAvgFn", "decay:number?");
/** The mean of all values so far: averaged + (current - averaged) / (numAveraged + 1). Reference: torch.optim.swa_utils.get_swa_avg_fn. */
export const getSwaAvgFn = checked($optimAveragedModel.getSwaAvgFn, "getSwaAvgFn", "");
/** getSwaAvgFn() for all parameters, in place. Reference: torch.optim.swa_utils.get_swa_multi_avg_fn. */
export const getSwaMultiAvgFn = checked($optimAveragedModel.getSwaMultiAvgFn, "getSwaMultiAvgFn", "");
/**
 * Sets the running statistics of a model's BatchNorm layers to the average over all batches of a loader, by running the model on each without gradients. A batch is a
 * tensor, or a list whose first element is one. Modes and momenta are as before afterwards. Reference: torch.optim.swa_utils.update_bn.
 */
export const updateBn = guardedAsync($optimAveragedModel.updateBn, "updateBn", "loader:anything model:module options:device_94a0e5?");
/**
 * p <- p - lr * d with d = gradient + weightDecay * p; with momentum, buffer <- momentum * buffer + (1 - dampening) * d replaces d,
 * or d + momentum * buffer with nesterov. Reference: torch.optim.SGD.
 */
export const sgd = factory(SGD, $optimSgd.sgd);
/**
 * m <- beta1 m + (1 - beta1) g; v <- beta2 v + (1 - beta2) g^2;
 * p <- p - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps), with g = gradient + weightDecay * p.
 * Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-8, weightDecay 0. Reference: torch.optim.Adam.
 */
export const adam = factory(Adam, $optimAdam.adam);
/** Adam whose weight decay shrinks the parameters by lr * weightDecay (default 0.01) instead. Reference: torch.optim.AdamW. */
export const adamW = factory(AdamW, $optimAdam.adamW);
/**
 * v <- rho v + (1 - rho) g^2; d = sqrt(u + eps) / sqrt(v + eps) * g; u <- rho u + (1 - rho) d^2; p <- p - lr * d.
 * Defaults: lr 1, rho 0.9, eps 1e-6. Reference: torch.optim.Adadelta.
 */
export const adadelta = factory(Adadelta, $optimAdadelta.adadelta);
/**
 * s <- s + g^2; p <- p - lr / (1 + (t - 1) lrDecay) * g / (sqrt(s) + eps), with g = gradient + weightDecay * p.
 * Defaults: lr 0.01, lrDecay 0, initialAccumulatorValue 0, eps 1e-10. Reference: torch.optim.Adagrad.
 */
export const adagrad = factory(Adagrad, $optimAdagrad.adagrad);
/**
 * m <- beta1 m + (1 - beta1) g; u <- max(beta2 u, |g| + eps); p <- p - lr / (1 - beta1^t) * m / u.
 * Defaults: lr 2e-3, betas [0.9, 0.999], eps 1e-8. Reference: torch.optim.Adamax.
 */
export const adamax = factory(Adamax, $optimAdamax.adamax);
/**
 * p <- (1 - lambd * eta) p - eta * g; ax <- ax + mu * (p - ax), with eta = lr / (1 + lambd * lr * t)^alpha and mu = 1 / max(1, t - t0),
 * both of the step before. Defaults: lr 0.01, lambd 1e-4, alpha 0.75, t0 1e6. Reference: torch.optim.ASGD.
 */
export const asgd = factory(ASGD, $optimAsgd.asgd);
/**
 * The scale of losses in mixed precision. In a step: `scaler.scale(loss).backward()`, `await scaler.step(optimizer)` (which leaves the step
 * out where a gradient is infinite or NaN), `scaler.update()`. To clip gradients, call unscale(optimizer) before.
 *
 * scale(), unscale(), stepOnDevice() and update() compute on the device alone, also inside `compile`; step() reads one number back, stepSync() blocks
 * for it.
 * Reference: torch.amp.GradScaler.
 */
export const gradScaler = factory(GradScaler, $optimGradScaler.gradScaler);
/**
 * r = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + weightDecay p; p <- p - lr |p| / |r| r, with m and v as Adam's. The norms are of each parameter, so that each is a
 * program's operation of its own; 1 stands for |p| / |r| where one of them is 0.
 * Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-6, weightDecay 0. Reference: You et al., Large Batch Optimization for Deep Learning, 2020, algorithm 2.
 */
export const lamb = factory(LAMB, $optimLamb.lamb);
/**
 * p <- p (1 - lr weightDecay) - lr sign(beta1 m + (1 - beta1) g); m <- beta2 m + (1 - beta2) g.
 * Defaults: lr 1e-4, betas [0.9, 0.99], weightDecay 0. Reference: Chen et al., Symbolic Discovery of Optimization Algorithms, 2023, program 1.
 */
export const lion = factory(Lion, $optimLion.lion);
/**
 * Lion's step, with the average kept as uint8 codes in blocks of 256 elements, each with its largest absolute value as a float32 scale: about 1 byte of state for an
 * element where Lion has 4. Codes are as in Adam8bit: bitsandbytes' signed dynamic code book, rounded to the nearest; a step is computed in float32.
 * Parameters of fewer than min8bitSize elements have a float32 average. State: exp_avg (uint8), exp_avg_absmax (float32 [ceil(size / 256)]).
 * Defaults: lr 1e-4, betas [0.9, 0.99], weightDecay 0, min8bitSize 4096. Reference: bitsandbytes.optim.Lion8bit.
 */
export const lion8bit = factory(Lion8bit, $optimLion8bit.lion8bit);
/**
 * p <- p (1 - lr weightDecay) - max(eps2, rms(p)) min(lr, 1 / sqrt(t)) u / max(1, rms(u) / d), with u = g / max(sqrt(v), eps1) and v <- v + t^beta2Decay (g² - v). Of a parameter with two
 * axes or more v is R C / max(mean(R), eps1), where R and C are averages of the means of g² along the last and the second to last axis: state of A + B
 * elements for a matrix [A, B].
 * Defaults: lr 0.01, beta2Decay -0.8, eps [null, 1e-3], d 1, weightDecay 0. Reference: torch.optim.Adafactor.
 */
export const adafactor = factory(Adafactor, $optimAdafactor.adafactor);
/**
 * B <- momentum B + (1 - momentum) g; p <- p (1 - lr weightDecay) - lr adjust(A, B) NS(momentum B + (1 - momentum) g), or NS(B) without nesterov. NS divides by the
 * Euclidean norm and applies aX + b(XXᵀ)X + c(XXᵀ)²X nsSteps times, which brings the singular values near 1.
 *
 * Parameters have two axes: ShapeError otherwise. Give embeddings, biases and the last layer to adamW. NS is computed in float32, for every dtype of the parameters;
 * PyTorch's runs in bfloat16, so that its steps differ by that dtype's roundings (about 1 %).
 * Defaults: lr 1e-3, weightDecay 0.1, momentum 0.95, nesterov, nsCoefficients [3.4445, -4.775, 2.0315], eps 1e-7, nsSteps 5, adjustLrFn "original". Reference: torch.optim.Muon.
 */
export const muon = factory(Muon, $optimMuon.muon);
/**
 * Adam's step of those rows (of the first axis) whose gradient is not entirely 0: m <- beta1 m + (1 - beta1) g; v <- beta2 v + (1 - beta2) g²;
 * p <- p - lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps). Parameter and averages of the other rows keep their values to the bit. t counts all steps. The
 * device finds the rows, so that nothing is read back, and a compiled function needs one program whatever rows there are.
 *
 * Gradients are dense, as those of nn.embedding are. PyTorch's sparse gradient has the rows that were looked up: one whose values are all 0 decays its averages there and moves
 * the row, while it is left alone here.
 * Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-8. Reference: torch.optim.SparseAdam.
 */
export const sparseAdam = factory(SparseAdam, $optimSparseAdam.sparseAdam);
/**
 * Adam's step, with the averages kept as uint8 codes in blocks of 256 elements, each with its largest absolute value as a float32 scale: about 2 bytes of state for an element where
 * Adam has 8. The codes are bitsandbytes' dynamic code books (signed for the average of gradients, unsigned for that of squares), rounded to the nearest. A step is computed in
 * float32 from the decoded averages, and rounds them again afterwards. Parameters of fewer than min8bitSize elements have float32 averages.
 * State: exp_avg and exp_avg_sq (uint8), exp_avg_absmax and exp_avg_sq_absmax (float32 [ceil(size / 256)]).
 * Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-8, weightDecay 0, min8bitSize 4096. Reference: bitsandbytes.optim.Adam8bit.
 */
export const adam8bit = factory(Adam8bit, $optimAdam8bit.adam8bit);
/** Adam8bit whose weight decay shrinks the parameters by lr * weightDecay (default 0.01) instead. Reference: bitsandbytes.optim.AdamW8bit. */
export const adamW8bit = factory(AdamW8bit, $optimAdam8bit.adamW8bit);
/**
 * Minimises by the two-loop recursion over the last `historySize` changes of gradients and parameters. One group of float32 parameters on
 * one device. A step evaluates the loss several times and reads numbers back, so it takes a closure, which computes the gradients again, and is
 * no part of a compiled function (the closure may call one). Reference: torch.optim.LBFGS.
 */
export const lbfgs = factory(LBFGS, $optimLbfgs.lbfgs);
/**
 * Adam with mu_t = beta1 * (1 - 0.96^(t * momentumDecay) / 2): p <- p - lr * ((1 - mu_t) g / (1 - Π mu) + mu_(t+1) m / (1 - Π mu * mu_(t+1)))
 * / (sqrt(v / (1 - beta2^t)) + eps). Defaults: lr 2e-3, betas [0.9, 0.999], eps 1e-8, momentumDecay 4e-3. Reference: torch.optim.NAdam.
 */
export const nadam = factory(NAdam, $optimNadam.nadam);
/**
 * Adam once the average of squares has a length above 5, corrected by the variance of what it divides by; before that
 * p <- p - lr * m / (1 - beta1^t). Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-8. Reference: torch.optim.RAdam.
 */
export const radam = factory(RAdam, $optimRadam.radam);
/**
 * v <- alpha v + (1 - alpha) g^2; p <- p - lr * g / (sqrt(v) + eps), with g = gradient + weightDecay * p; with momentum a buffer of
 * these quotients replaces them. Defaults: lr 0.01, alpha 0.99, eps 1e-8. Reference: torch.optim.RMSprop.
 */
export const rmsprop = factory(RMSprop, $optimRmsprop.rmsprop);
/**
 * p <- p - sign(g) * size; an element's size is multiplied by etas[1] while its gradient keeps its sign and by etas[0] when it
 * changes, which also leaves that step out. lr is the first size. Defaults: lr 0.01, etas [0.5, 1.2], stepSizes [1e-6, 50].
 * Reference: torch.optim.Rprop.
 */
export const rprop = factory(Rprop, $optimRprop.rprop);
/**
 * Wraps an optimizer: after every k of its steps slow <- slow + alpha (p - slow), and p <- slow. The slow weights begin as the parameters are when it is made. Schedules take
 * the optimizer inside. Steps are counted on the device, so that a compiled function needs one program. Defaults: k 5, alpha 0.5.
 * Reference: Zhang et al., Lookahead Optimizer: k steps forward, 1 step back, 2019, algorithm 1.
 */
export const lookahead = factory(Lookahead, $optimLookahead.lookahead);
/**
 * A copy of a model whose parameters are averages of the model's: called, it runs the copy. `module` is the copy, `n_averaged` (int64, part of the state) the
 * number of updates. The first update copies. Nothing is read back, so updateParameters() may be called in a compiled function. Reference:
 * torch.optim.swa_utils.AveragedModel.
 */
export const averagedModel = factory(AveragedModel, $optimAveragedModel.averagedModel);
