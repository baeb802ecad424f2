/** What each rank has of its own in a checkpoint. */
import { processRanks } from "../../core/process-ranks.ts";
import { Tensor } from "../../core/tensor.ts";
import { copyInto } from "../../ops/data/copy.ts";
import { Generator, type GeneratorState } from "../../ops/random/random.ts";
import { isPlainObject } from "./encode.ts";

/** The values of all ranks by their numbers. */
export interface PerRankState<T> {
  /** By rank. */
  readonly ranks: Readonly<Record<string, T>>;
}

/** A state of which a part is taken. */
interface Loading {
  loadStateDict(state: unknown): unknown;
}

const canLoad = (value: object): value is Loading => "loadStateDict" in value && typeof value.loadStateDict === "function";
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;

async function take(target: unknown, state: unknown): Promise<void> {
  if (target instanceof Generator) target.setState(state as GeneratorState);
  else if (target instanceof Tensor) copyInto("load", target, state as Tensor);
  else if (!isRecord(target) || !isRecord(state)) return;
  else if (canLoad(target)) await target.loadStateDict(state);
  else if (Array.isArray(target) || isPlainObject(target))
    for (const [key, inner] of Object.entries(target)) if (Object.hasOwn(state, key)) await take(inner, state[key]);
}

/**
 * A value of which each rank saves its own: a generator that draws dropout. With `into`, a rank takes that of its number; a further rank, of a larger group
 * than the one that saved, keeps what it has. A state that was saved without it goes to all ranks.
 */
export class PerRank<T> {
  /** This rank's: a generator, an object with stateDict() and loadStateDict(), a tensor, or objects and lists of these. */
  readonly value: T;

  constructor(value: T) {
    this.value = value;
  }

  /** This rank's value under its number. */
  stateDict(): PerRankState<T> {
    return { ranks: { [processRanks()?.rank ?? 0]: this.value } };
  }

  /** The value takes this rank's state. */
  async loadStateDict(state: unknown): Promise<void> {
    const isOfRanks = isRecord(state) && isRecord(state.ranks) && Object.keys(state).length === 1;
    if (!isOfRanks) return take(this.value, state);
    const own = (state.ranks as Readonly<Record<string, unknown>>)[processRanks()?.rank ?? 0];
    if (own !== undefined) await take(this.value, own);
  }
}

/** Makes a PerRank. */
export const perRank = <T>(value: T): PerRank<T> => new PerRank(value);
