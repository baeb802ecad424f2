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
checkMethods($optimSchedulesScheduler.LRScheduler, "step;getLastLr;stateDict;loadStateDict state:224");
/** At every step the rates are multiplied by gamma. Reference: torch.optim.lr_scheduler.ExponentialLR. */
export const ExponentialLR = checkedClass($optimSchedulesStep.ExponentialLR, "optimizer:209 gamma:225 options:226");
export type ExponentialLR = $optimSchedulesStep.ExponentialLR;
/** At each milestone the rates are multiplied by gamma. Reference: torch.optim.lr_scheduler.MultiStepLR. */
export const MultiStepLR = checkedClass($optimSchedulesStep.MultiStepLR, "optimizer:209 milestones:227 gamma:228 options:229");
export type MultiStepLR = $optimSchedulesStep.MultiStepLR;
/** Every stepSize steps the rates are multiplied by gamma. Reference: torch.optim.lr_scheduler.StepLR. */
export const StepLR = checkedClass($optimSchedulesStep.StepLR, "optimizer:209 stepSize:230 gamma:231 options:232");
export type StepLR = $optimSchedulesStep.StepLR;
/** The rates times factor for totalIters steps, then whole. Reference: torch.optim.lr_scheduler.ConstantLR. */
export const ConstantLR = checkedClass($optimSchedulesRamp.ConstantLR, "optimizer:209 factor:233 totalIters:233 options:234");
export type ConstantLR = $optimSchedulesRamp.ConstantLR;
/** The rates times a factor that goes from startFactor to endFactor. Reference: torch.optim.lr_scheduler.LinearLR. */
export const LinearLR = checkedClass($optimSchedulesRamp.LinearLR, "optimizer:209 startFactor:235 endFactor:235 options:236");
export type LinearLR = $optimSchedulesRamp.LinearLR;
/** The rates times (1 - t / totalIters)^power. Reference: torch.optim.lr_scheduler.PolynomialLR. */
export const PolynomialLR = checkedClass($optimSchedulesRamp.PolynomialLR, "optimizer:209 totalIters:237 power:237 options:238");
export type PolynomialLR = $optimSchedulesRamp.PolynomialLR;
/** The first rates times lrLambda(t). Reference: torch.optim.lr_scheduler.LambdaLR. */
export const LambdaLR = checkedClass($optimSchedulesLambda.LambdaLR, "optimizer:209 lrLambda:240 options:242");
export type LambdaLR = $optimSchedulesLambda.LambdaLR;
/** The rates before times lrLambda(t). Reference: torch.optim.lr_scheduler.MultiplicativeLR. */
export const MultiplicativeLR = checkedClass($optimSchedulesLambda.MultiplicativeLR, "optimizer:209 lrLambda:240 options:242");
export type MultiplicativeLR = $optimSchedulesLambda.MultiplicativeLR;
/** etaMin + (lr - etaMin) (1 + cos(π t / tMax)) / 2. Reference: torch.optim.lr_scheduler.CosineAnnealingLR. */
export const CosineAnnealingLR = checkedClass($optimSchedulesCosine.CosineAnnealingLR, "optimizer:209 tMax:243 etaMin:244 options:245");
export type CosineAnnealingLR = $optimSchedulesCosine.CosineAnnealingLR;
/** Half a cosine that starts anew when it has ended. Reference: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts. */
export const CosineAnnealingWarmRestarts = checkedClass($optimSchedulesCosine.CosineAnnealingWarmRestarts, "optimizer:209 t0:246 tMult:247 options:248", "step epoch:1");
export type CosineAnnealingWarmRestarts = $optimSchedulesCosine.CosineAnnealingWarmRestarts;
/**
 * Rates from maxLr / divFactor up to maxLr and down to a tiny one, momentum from maxMomentum to baseMomentum and back.
 * Reference: torch.optim.lr_scheduler.OneCycleLR.
 */
export const OneCycleLR = checkedClass($optimSchedulesOneCycle.OneCycleLR, "optimizer:209 maxLr:250 totalSteps:251 options:252");
export type OneCycleLR = $optimSchedulesOneCycle.OneCycleLR;
/** baseLr + (maxLr - baseLr) * the height of a triangle; momentum against it. Reference: torch.optim.lr_scheduler.CyclicLR. */
export const CyclicLR = checkedClass($optimSchedulesCyclic.CyclicLR, "optimizer:209 baseLr:255 maxLr:256 options:257");
export type CyclicLR = $optimSchedulesCyclic.CyclicLR;
/** The rates times factor after more than `patience` steps without an improvement. Reference: torch.optim.lr_scheduler.ReduceLROnPlateau. */
export const ReduceLROnPlateau = checkedClass($optimSchedulesPlateau.ReduceLROnPlateau, "optimizer:209 mode:260 factor:261 options:262", "step metric:1");
export type ReduceLROnPlateau = $optimSchedulesPlateau.ReduceLROnPlateau;
/** All schedules in each step, each upon the rates that the one before set. Reference: torch.optim.lr_scheduler.ChainedScheduler. */
export const ChainedScheduler = checkedClass($optimSchedulesComposed.ChainedScheduler, "schedulers:265", "step", "undo;stateDict;loadStateDict state:224");
export type ChainedScheduler = $optimSchedulesComposed.ChainedScheduler;
/** One schedule after the other. Reference: torch.optim.lr_scheduler.SequentialLR. */
export const SequentialLR = checkedClass($optimSchedulesComposed.SequentialLR, "optimizer:209 schedulers:266 milestones:6", "step", "undo;stateDict;loadStateDict state:224");
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
