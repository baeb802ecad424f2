// Made by npm run generate from the families in src/ops.
import { checked } from "./kinds.generated.ts";
import { checkedClass } from "./kinds.generated.ts";
import { checkMethods } from "./kinds.generated.ts";
import { factory } from "./kinds.generated.ts";
import * as $optimOptimizer from "../optim/optimizer.ts";
import * as $optimGroup from "../optim/group.ts";
import * as $optimSgd from "../optim/sgd.ts";
import * as $optimAdam from "../optim/adam.ts";
import * as $optimAdadelta from "../optim/adadelta.ts";
import * as $optimAdagrad from "../optim/adagrad.ts";
import * as $optimAdamax from "../optim/adamax.ts";
import * as $optimAsgd from "../optim/asgd.ts";
import * as $optimGradScaler from "../optim/grad-scaler.ts";
import * as $optimLbfgs from "../optim/lbfgs.ts";
import * as $optimNadam from "../optim/nadam.ts";
import * as $optimRadam from "../optim/radam.ts";
import * as $optimRmsprop from "../optim/rmsprop.ts";
import * as $optimRprop from "../optim/rprop.ts";
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
export type { Closure } from "../optim/lbfgs.ts";
export type { LBFGSOptions } from "../optim/lbfgs.ts";
export type { LBFGSState } from "../optim/lbfgs.ts";
export type { NAdamOptions } from "../optim/nadam.ts";
export type { RAdamOptions } from "../optim/radam.ts";
export type { RMSpropOptions } from "../optim/rmsprop.ts";
export type { RpropOptions } from "../optim/rprop.ts";
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
 * scale() and update() and unscale() compute on the device alone, also inside `compile`; step() reads one number back, stepSync() blocks for it.
 * Reference: torch.amp.GradScaler.
 */
export const GradScaler = checkedClass($optimGradScaler.GradScaler, "options:PartialGradScalerOptions?", "scale outputs:tensorOrTensors;unscale optimizer:optimizer;step optimizer:optimizer;stepSync optimizer:optimizer;update newScale:number?;getScale;getScaleSync;stateDict;loadStateDict state:GradScalerState;dispose");
export type GradScaler = $optimGradScaler.GradScaler;
/**
 * tensors * factor in place, and whether any element was infinite or NaN before: 1 or 0, float32, on the device. As PyTorch's
 * _amp_foreach_non_finite_check_and_unscale_.
 */
export const unscale = checked($optimGradScaler.unscale, "unscale", "tensors:tensors factor");
/**
 * Minimises by the two-loop recursion over the last `historySize` changes of gradients and parameters. One group of float32 parameters on
 * one device. A step evaluates the loss several times and reads numbers back, so it takes a closure, which makes the gradients anew, and is
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
 * scale() and update() and unscale() compute on the device alone, also inside `compile`; step() reads one number back, stepSync() blocks for it.
 * Reference: torch.amp.GradScaler.
 */
export const gradScaler = factory(GradScaler, $optimGradScaler.gradScaler);
/**
 * Minimises by the two-loop recursion over the last `historySize` changes of gradients and parameters. One group of float32 parameters on
 * one device. A step evaluates the loss several times and reads numbers back, so it takes a closure, which makes the gradients anew, and is
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
