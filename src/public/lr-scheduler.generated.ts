// Made by npm run generate from the families in src/ops.
import { checkedClass } from "./kinds.generated.ts";
import { checkMethods } from "./kinds.generated.ts";
import { factory } from "./kinds.generated.ts";
import * as $optimSchedulesScheduler from "../optim/schedules/scheduler.ts";
import * as $optimSchedulesStep from "../optim/schedules/step.ts";
import * as $optimSchedulesRamp from "../optim/schedules/ramp.ts";
import * as $optimSchedulesLambda from "../optim/schedules/lambda.ts";
import * as $optimSchedulesCosine from "../optim/schedules/cosine.ts";
import * as $optimSchedulesOneCycle from "../optim/schedules/one-cycle.ts";
import * as $optimSchedulesCyclic from "../optim/schedules/cyclic.ts";
import * as $optimSchedulesPlateau from "../optim/schedules/plateau.ts";
import * as $optimSchedulesComposed from "../optim/schedules/composed.ts";
import * as $optimSchedulesSwa from "../optim/schedules/swa.ts";
export type { PerGroup } from "../optim/schedules/scheduler.ts";
export type { ScheduleOptions } from "../optim/schedules/scheduler.ts";
export type { ScheduleState } from "../optim/schedules/scheduler.ts";
export type { ExponentialLROptions } from "../optim/schedules/step.ts";
export type { MultiStepLROptions } from "../optim/schedules/step.ts";
export type { StepLROptions } from "../optim/schedules/step.ts";
export type { ConstantLROptions } from "../optim/schedules/ramp.ts";
export type { LinearLROptions } from "../optim/schedules/ramp.ts";
export type { PolynomialLROptions } from "../optim/schedules/ramp.ts";
export type { LambdaLROptions } from "../optim/schedules/lambda.ts";
export type { RateFunction } from "../optim/schedules/lambda.ts";
export type { CosineAnnealingLROptions } from "../optim/schedules/cosine.ts";
export type { CosineAnnealingWarmRestartsOptions } from "../optim/schedules/cosine.ts";
export type { OneCycleLROptions } from "../optim/schedules/one-cycle.ts";
export type { CyclicLROptions } from "../optim/schedules/cyclic.ts";
export type { CyclicMode } from "../optim/schedules/cyclic.ts";
export type { ReduceLROnPlateauOptions } from "../optim/schedules/plateau.ts";
export type { ChainedSchedulerOptions } from "../optim/schedules/composed.ts";
export type { SequentialLROptions } from "../optim/schedules/composed.ts";
export type { SWALROptions } from "../optim/schedules/swa.ts";
export { LRScheduler } from "../optim/schedules/scheduler.ts";
checkMethods($optimSchedulesScheduler.LRScheduler, "step;getLastLr;stateDict;loadStateDict state:recordOfAnything");
/** At every step the rates are multiplied by gamma. Reference: torch.optim.lr_scheduler.ExponentialLR. */
export const ExponentialLR = checkedClass($optimSchedulesStep.ExponentialLR, "optimizer:optimizer gamma:numberOrExponentialLROptions options:PartialExponentialLROptions?");
export type ExponentialLR = $optimSchedulesStep.ExponentialLR;
/** At each milestone the rates are multiplied by gamma. Reference: torch.optim.lr_scheduler.MultiStepLR. */
export const MultiStepLR = checkedClass($optimSchedulesStep.MultiStepLR, "optimizer:optimizer milestones:numbersOrMultiStepLROptions gamma:numberOrPartialMultiStepLROptions? options:PartialMultiStepLROptions?");
export type MultiStepLR = $optimSchedulesStep.MultiStepLR;
/** Every stepSize steps the rates are multiplied by gamma. Reference: torch.optim.lr_scheduler.StepLR. */
export const StepLR = checkedClass($optimSchedulesStep.StepLR, "optimizer:optimizer stepSize:numberOrStepLROptions gamma:numberOrPartialStepLROptions? options:PartialStepLROptions?");
export type StepLR = $optimSchedulesStep.StepLR;
/** The rates times factor for totalIters steps, then whole. Reference: torch.optim.lr_scheduler.ConstantLR. */
export const ConstantLR = checkedClass($optimSchedulesRamp.ConstantLR, "optimizer:optimizer factor:numberOrConstantLROptions? totalIters:numberOrConstantLROptions? options:ConstantLROptions?");
export type ConstantLR = $optimSchedulesRamp.ConstantLR;
/** The rates times a factor that goes from startFactor to endFactor. Reference: torch.optim.lr_scheduler.LinearLR. */
export const LinearLR = checkedClass($optimSchedulesRamp.LinearLR, "optimizer:optimizer startFactor:numberOrLinearLROptions? endFactor:numberOrLinearLROptions? options:LinearLROptions?");
export type LinearLR = $optimSchedulesRamp.LinearLR;
/** The rates times (1 - t / totalIters)^power. Reference: torch.optim.lr_scheduler.PolynomialLR. */
export const PolynomialLR = checkedClass($optimSchedulesRamp.PolynomialLR, "optimizer:optimizer totalIters:numberOrPolynomialLROptions? power:numberOrPolynomialLROptions? options:PolynomialLROptions?");
export type PolynomialLR = $optimSchedulesRamp.PolynomialLR;
/** The first rates times lrLambda(t). Reference: torch.optim.lr_scheduler.LambdaLR. */
export const LambdaLR = checkedClass($optimSchedulesLambda.LambdaLR, "optimizer:optimizer lrLambda:callbackOrCallbacksOrLambdaLROptions options:PartialLambdaLROptions?");
export type LambdaLR = $optimSchedulesLambda.LambdaLR;
/** The rates before times lrLambda(t). Reference: torch.optim.lr_scheduler.MultiplicativeLR. */
export const MultiplicativeLR = checkedClass($optimSchedulesLambda.MultiplicativeLR, "optimizer:optimizer lrLambda:callbackOrCallbacksOrLambdaLROptions options:PartialLambdaLROptions?");
export type MultiplicativeLR = $optimSchedulesLambda.MultiplicativeLR;
/** etaMin + (lr - etaMin) (1 + cos(π t / tMax)) / 2. Reference: torch.optim.lr_scheduler.CosineAnnealingLR. */
export const CosineAnnealingLR = checkedClass($optimSchedulesCosine.CosineAnnealingLR, "optimizer:optimizer tMax:numberOrCosineAnnealingLROptions etaMin:numberOrPartialCosineAnnealingLROptions? options:PartialCosineAnnealingLROptions?");
export type CosineAnnealingLR = $optimSchedulesCosine.CosineAnnealingLR;
/** Half a cosine that starts again when it has ended. Reference: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts. */
export const CosineAnnealingWarmRestarts = checkedClass($optimSchedulesCosine.CosineAnnealingWarmRestarts, "optimizer:optimizer t0:numberOrCosineAnnealingW_53ddb4 tMult:numberOrPartialCosineAnn_413057? options:PartialCosineAnnealingWa_5ad029?", "step epoch:number?");
export type CosineAnnealingWarmRestarts = $optimSchedulesCosine.CosineAnnealingWarmRestarts;
/**
 * Rates from maxLr / divFactor up to maxLr and down to a tiny one, momentum from maxMomentum to baseMomentum and back.
 * Reference: torch.optim.lr_scheduler.OneCycleLR.
 */
export const OneCycleLR = checkedClass($optimSchedulesOneCycle.OneCycleLR, "optimizer:optimizer maxLr:numberOrNumbersOrOneCycleLROptions totalSteps:numberOrPartialOneCycleLROptions? options:PartialOneCycleLROptions?");
export type OneCycleLR = $optimSchedulesOneCycle.OneCycleLR;
/** baseLr + (maxLr - baseLr) * the height of a triangle; momentum against it. Reference: torch.optim.lr_scheduler.CyclicLR. */
export const CyclicLR = checkedClass($optimSchedulesCyclic.CyclicLR, "optimizer:optimizer baseLr:numberOrNumbersOrCyclicLROptions maxLr:numberOrNumbersOrPartialCyclicLROptions? options:PartialCyclicLROptions?");
export type CyclicLR = $optimSchedulesCyclic.CyclicLR;
/** The rates times factor after more than `patience` steps without an improvement. Reference: torch.optim.lr_scheduler.ReduceLROnPlateau. */
export const ReduceLROnPlateau = checkedClass($optimSchedulesPlateau.ReduceLROnPlateau, "optimizer:optimizer mode:min_maxOrReduceLROnPlateauOptions? factor:numberOrReduceLROnPlateauOptions? options:ReduceLROnPlateauOptions?", "step metric:number?");
export type ReduceLROnPlateau = $optimSchedulesPlateau.ReduceLROnPlateau;
/** All schedules in each step, each upon the rates that the one before set. Reference: torch.optim.lr_scheduler.ChainedScheduler. */
export const ChainedScheduler = checkedClass($optimSchedulesComposed.ChainedScheduler, "schedulers:lrSchedulersOrChainedSchedulerOptions", "step", "undo;stateDict;loadStateDict state:recordOfAnything");
export type ChainedScheduler = $optimSchedulesComposed.ChainedScheduler;
/** One schedule after the other. Reference: torch.optim.lr_scheduler.SequentialLR. */
export const SequentialLR = checkedClass($optimSchedulesComposed.SequentialLR, "optimizer:optimizer schedulers:lrSchedulersOrSequentialLROptions milestones:numbers?", "step", "undo;stateDict;loadStateDict state:recordOfAnything");
export type SequentialLR = $optimSchedulesComposed.SequentialLR;
/** From the present rates to swaLr in annealEpochs steps, constant from then on. Reference: torch.optim.swa_utils.SWALR. */
export const SWALR = checkedClass($optimSchedulesSwa.SWALR, "optimizer:optimizer swaLr:numberOrNumbersOrSWALROptions options:PartialSWALROptions?");
export type SWALR = $optimSchedulesSwa.SWALR;
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
/** Half a cosine that starts again when it has ended. Reference: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts. */
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
/** From the present rates to swaLr in annealEpochs steps, constant from then on. Reference: torch.optim.swa_utils.SWALR. */
export const swaLR = factory(SWALR, $optimSchedulesSwa.swaLR);
