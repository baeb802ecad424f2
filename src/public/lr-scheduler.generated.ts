// Made by npm run generate from the families in src/ops.
import { checkedClass, checkMethods, factory } from "./kinds.generated.ts";
import * as $optimSchedulesScheduler from "../optim/schedules/scheduler.ts";
import * as $optimSchedulesStep from "../optim/schedules/step.ts";
import * as $optimSchedulesRamp from "../optim/schedules/ramp.ts";
import * as $optimSchedulesLambda from "../optim/schedules/lambda.ts";
import * as $optimSchedulesCosine from "../optim/schedules/cosine.ts";
import * as $optimSchedulesOneCycle from "../optim/schedules/one-cycle.ts";
import * as $optimSchedulesCyclic from "../optim/schedules/cyclic.ts";
import * as $optimSchedulesPlateau from "../optim/schedules/plateau.ts";
import * as $optimSchedulesComposed from "../optim/schedules/composed.ts";
export type { PerGroup, ScheduleOptions, ScheduleState } from "../optim/schedules/scheduler.ts";
export type { ExponentialLROptions, MultiStepLROptions, StepLROptions } from "../optim/schedules/step.ts";
export type { ConstantLROptions, LinearLROptions, PolynomialLROptions } from "../optim/schedules/ramp.ts";
export type { LambdaLROptions, RateFunction } from "../optim/schedules/lambda.ts";
export type { CosineAnnealingLROptions, CosineAnnealingWarmRestartsOptions } from "../optim/schedules/cosine.ts";
export type { OneCycleLROptions } from "../optim/schedules/one-cycle.ts";
export type { CyclicLROptions, CyclicMode } from "../optim/schedules/cyclic.ts";
export type { ReduceLROnPlateauOptions } from "../optim/schedules/plateau.ts";
export type { ChainedSchedulerOptions, SequentialLROptions } from "../optim/schedules/composed.ts";
export { LRScheduler } from "../optim/schedules/scheduler.ts";
checkMethods($optimSchedulesScheduler.LRScheduler, "step;getLastLr;stateDict;loadStateDict state:220");
/** At every step the rates are multiplied by gamma. Reference: torch.optim.lr_scheduler.ExponentialLR. */
export const ExponentialLR = checkedClass($optimSchedulesStep.ExponentialLR, "optimizer:205 gamma:221 options:222");
export type ExponentialLR = $optimSchedulesStep.ExponentialLR;
/** At each milestone the rates are multiplied by gamma. Reference: torch.optim.lr_scheduler.MultiStepLR. */
export const MultiStepLR = checkedClass($optimSchedulesStep.MultiStepLR, "optimizer:205 milestones:223 gamma:224 options:225");
export type MultiStepLR = $optimSchedulesStep.MultiStepLR;
/** Every stepSize steps the rates are multiplied by gamma. Reference: torch.optim.lr_scheduler.StepLR. */
export const StepLR = checkedClass($optimSchedulesStep.StepLR, "optimizer:205 stepSize:226 gamma:227 options:228");
export type StepLR = $optimSchedulesStep.StepLR;
/** The rates times factor for totalIters steps, then whole. Reference: torch.optim.lr_scheduler.ConstantLR. */
export const ConstantLR = checkedClass($optimSchedulesRamp.ConstantLR, "optimizer:205 factor:229 totalIters:229 options:230");
export type ConstantLR = $optimSchedulesRamp.ConstantLR;
/** The rates times a factor that goes from startFactor to endFactor. Reference: torch.optim.lr_scheduler.LinearLR. */
export const LinearLR = checkedClass($optimSchedulesRamp.LinearLR, "optimizer:205 startFactor:231 endFactor:231 options:232");
export type LinearLR = $optimSchedulesRamp.LinearLR;
/** The rates times (1 - t / totalIters)^power. Reference: torch.optim.lr_scheduler.PolynomialLR. */
export const PolynomialLR = checkedClass($optimSchedulesRamp.PolynomialLR, "optimizer:205 totalIters:233 power:233 options:234");
export type PolynomialLR = $optimSchedulesRamp.PolynomialLR;
/** The first rates times lrLambda(t). Reference: torch.optim.lr_scheduler.LambdaLR. */
export const LambdaLR = checkedClass($optimSchedulesLambda.LambdaLR, "optimizer:205 lrLambda:236 options:238");
export type LambdaLR = $optimSchedulesLambda.LambdaLR;
/** The rates before times lrLambda(t). Reference: torch.optim.lr_scheduler.MultiplicativeLR. */
export const MultiplicativeLR = checkedClass($optimSchedulesLambda.MultiplicativeLR, "optimizer:205 lrLambda:236 options:238");
export type MultiplicativeLR = $optimSchedulesLambda.MultiplicativeLR;
/** etaMin + (lr - etaMin) (1 + cos(π t / tMax)) / 2. Reference: torch.optim.lr_scheduler.CosineAnnealingLR. */
export const CosineAnnealingLR = checkedClass($optimSchedulesCosine.CosineAnnealingLR, "optimizer:205 tMax:239 etaMin:240 options:241");
export type CosineAnnealingLR = $optimSchedulesCosine.CosineAnnealingLR;
/** Half a cosine that starts anew when it has ended. Reference: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts. */
export const CosineAnnealingWarmRestarts = checkedClass($optimSchedulesCosine.CosineAnnealingWarmRestarts, "optimizer:205 t0:242 tMult:243 options:244", "step epoch:1");
export type CosineAnnealingWarmRestarts = $optimSchedulesCosine.CosineAnnealingWarmRestarts;
/**
 * Rates from maxLr / divFactor up to maxLr and down to a tiny one, momentum from maxMomentum to baseMomentum and back.
 * Reference: torch.optim.lr_scheduler.OneCycleLR.
 */
export const OneCycleLR = checkedClass($optimSchedulesOneCycle.OneCycleLR, "optimizer:205 maxLr:246 totalSteps:247 options:248");
export type OneCycleLR = $optimSchedulesOneCycle.OneCycleLR;
/** baseLr + (maxLr - baseLr) * the height of a triangle; momentum against it. Reference: torch.optim.lr_scheduler.CyclicLR. */
export const CyclicLR = checkedClass($optimSchedulesCyclic.CyclicLR, "optimizer:205 baseLr:251 maxLr:252 options:253");
export type CyclicLR = $optimSchedulesCyclic.CyclicLR;
/** The rates times factor after more than `patience` steps without an improvement. Reference: torch.optim.lr_scheduler.ReduceLROnPlateau. */
export const ReduceLROnPlateau = checkedClass($optimSchedulesPlateau.ReduceLROnPlateau, "optimizer:205 mode:256 factor:257 options:258", "step metric:1");
export type ReduceLROnPlateau = $optimSchedulesPlateau.ReduceLROnPlateau;
/** All schedules in each step, each upon the rates that the one before set. Reference: torch.optim.lr_scheduler.ChainedScheduler. */
export const ChainedScheduler = checkedClass($optimSchedulesComposed.ChainedScheduler, "schedulers:261", "step", "undo;stateDict;loadStateDict state:220");
export type ChainedScheduler = $optimSchedulesComposed.ChainedScheduler;
/** One schedule after the other. Reference: torch.optim.lr_scheduler.SequentialLR. */
export const SequentialLR = checkedClass($optimSchedulesComposed.SequentialLR, "optimizer:205 schedulers:262 milestones:6", "step", "undo;stateDict;loadStateDict state:220");
export type SequentialLR = $optimSchedulesComposed.SequentialLR;
/** At every step the rates are multiplied by gamma. Reference: torch.optim.lr_scheduler.ExponentialLR. */
export const exponentialLR = factory(ExponentialLR, $optimSchedulesStep.exponentialLR);
/** At each milestone the rates are multiplied by gamma. Reference: torch.optim.lr_scheduler.MultiStepLR. */
export const multiStepLR = factory(MultiStepLR, $optimSchedulesStep.multiStepLR);
/** Every stepSize steps the rates are multiplied by gamma. Reference: torch.optim.lr_scheduler.StepLR. */
export const stepLR = factory(StepLR, $optimSchedulesStep.stepLR);
/** The rates times factor for totalIters steps, then whole. Reference: torch.optim.lr_scheduler.ConstantLR. */
export const constantLR = factory(ConstantLR, $optimSchedulesRamp.constantLR);
/** The rates times a factor that goes from startFactor to endFactor. Reference: torch.optim.lr_scheduler.LinearLR. */
export const linearLR = factory(LinearLR, $optimSchedulesRamp.linearLR);
/** The rates times (1 - t / totalIters)^power. Reference: torch.optim.lr_scheduler.PolynomialLR. */
export const polynomialLR = factory(PolynomialLR, $optimSchedulesRamp.polynomialLR);
/** The first rates times lrLambda(t). Reference: torch.optim.lr_scheduler.LambdaLR. */
export const lambdaLR = factory(LambdaLR, $optimSchedulesLambda.lambdaLR);
/** The rates before times lrLambda(t). Reference: torch.optim.lr_scheduler.MultiplicativeLR. */
export const multiplicativeLR = factory(MultiplicativeLR, $optimSchedulesLambda.multiplicativeLR);
/** etaMin + (lr - etaMin) (1 + cos(π t / tMax)) / 2. Reference: torch.optim.lr_scheduler.CosineAnnealingLR. */
export const cosineAnnealingLR = factory(CosineAnnealingLR, $optimSchedulesCosine.cosineAnnealingLR);
/** Half a cosine that starts anew when it has ended. Reference: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts. */
export const cosineAnnealingWarmRestarts = factory(CosineAnnealingWarmRestarts, $optimSchedulesCosine.cosineAnnealingWarmRestarts);
/**
 * Rates from maxLr / divFactor up to maxLr and down to a tiny one, momentum from maxMomentum to baseMomentum and back.
 * Reference: torch.optim.lr_scheduler.OneCycleLR.
 */
export const oneCycleLR = factory(OneCycleLR, $optimSchedulesOneCycle.oneCycleLR);
/** baseLr + (maxLr - baseLr) * the height of a triangle; momentum against it. Reference: torch.optim.lr_scheduler.CyclicLR. */
export const cyclicLR = factory(CyclicLR, $optimSchedulesCyclic.cyclicLR);
/** The rates times factor after more than `patience` steps without an improvement. Reference: torch.optim.lr_scheduler.ReduceLROnPlateau. */
export const reduceLROnPlateau = factory(ReduceLROnPlateau, $optimSchedulesPlateau.reduceLROnPlateau);
/** All schedules in each step, each upon the rates that the one before set. Reference: torch.optim.lr_scheduler.ChainedScheduler. */
export const chainedScheduler = factory(ChainedScheduler, $optimSchedulesComposed.chainedScheduler);
/** One schedule after the other. Reference: torch.optim.lr_scheduler.SequentialLR. */
export const sequentialLR = factory(SequentialLR, $optimSchedulesComposed.sequentialLR);
