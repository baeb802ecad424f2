/** The current autocast region. ops/declare/autocast.ts applies it to operations. */
import { Ambient } from "./ambient.ts";
import { ValueError } from "./errors.ts";
import type { Tensor } from "./tensor.ts";

/** The dtypes that autocast() may cast to. */
export type AutocastDType = "float16" | "bfloat16";

/** Options of autocast(). Reference: torch.autocast. */
export interface AutocastOptions {
  /** false: operations inside run in the dtypes of their inputs, as outside of all regions. Default: true. */
  readonly enabled?: boolean | undefined;
  /** Whether the casts of weights are kept until the outermost region ends. Default: what the region around it says; outermost: true. */
  readonly cacheWeights?: boolean | undefined;
}

/** A weight in lower precision. */
interface CachedCast {
  readonly cast: Tensor;
  /** Of the weight when it was cast: a changed weight is cast again. */
  readonly version: number;
  readonly isRecorded: boolean;
}

/** The casts of one outermost region, by the call of a compiled function that made them (0: eager), then by weight. */
export type CastCache = Map<number, Map<Tensor, CachedCast>>;

/** An autocast region. */
export interface AutocastRegion {
  readonly dtype: AutocastDType;
  readonly isEnabled: boolean;
  readonly cachesWeights: boolean;
  /** Shared by a region and those inside it. */
  readonly cache: CastCache;
}

const ambient = new Ambient<AutocastRegion | null>(null);

/** How many regions have not ended. 0: no operation looks for a region. */
export let openRegions = 0;

/** The region that casts now, or null. */
export function castingRegion(): AutocastRegion | null {
  if (openRegions === 0) return null;
  const region = ambient.value;
  return region?.isEnabled === true ? region : null;
}

function endOutermost(cache: CastCache): void {
  for (const casts of cache.values()) for (const { cast } of casts.values()) cast.dispose();
  cache.clear();
}

/**
 * Runs fn with mixed precision: matrix products, linear layers, convolutions, attention and recurrent layers cast their inputs to dtype; losses,
 * softmax, normalizations, sums, exponentials, logarithms and powers compute in float32; a few operations take the widest dtype of their
 * inputs. Other operations run in the dtypes of their inputs. docs/mixed-precision.md lists them. Parameters stay float32: a weight that requires
 * a gradient is cast once until the outermost region ends, and its gradient is float32. backward() runs outside of the region, in the
 * dtypes of the forward operations. When fn returns a promise, the region ends when that settles, as noGrad()'s.
 *
 * dtype: "float16" (use optim.GradScaler) or "bfloat16". Regions nest; the innermost one applies. In-place operations cast nothing.
 * Throws ValueError for another dtype. Reference: torch.autocast on CUDA.
 */
export function autocast<T>(dtype: AutocastDType, fn: () => T, options: AutocastOptions = {}): T {
  if (dtype !== "float16" && dtype !== "bfloat16")
    throw new ValueError("autocast", "dtype", '"float16" or "bfloat16"', dtype, "Other dtypes are no lower precision of float32.");
  if (typeof fn !== "function") throw new ValueError("autocast", "fn", "a function", fn);
  const outer = openRegions === 0 ? null : ambient.value;
  const region: AutocastRegion = {
    dtype,
    isEnabled: options.enabled ?? true,
    cachesWeights: options.cacheWeights ?? outer?.cachesWeights ?? true,
    cache: outer?.cache ?? new Map(),
  };
  openRegions++;
  return ambient.run(region, fn, () => {
    openRegions--;
    if (outer === null) endOutermost(region.cache);
  });
}

/** Runs fn outside of all autocast regions: gradients, and user code that they call. */
export const withoutAutocast = <T>(fn: () => T): T => (openRegions === 0 || ambient.value === null ? fn() : ambient.run(null, fn));

/** Whether operations cast their inputs now: true inside autocast(), unless it says `enabled: false`. Reference: torch.is_autocast_enabled. */
export const isAutocastEnabled = (): boolean => castingRegion() !== null;

/** The dtype of the autocast region that code runs in, also of a disabled one; null outside of all. Reference: torch.get_autocast_dtype. */
export const autocastDType = (): AutocastDType | null => (openRegions === 0 ? null : (ambient.value?.dtype ?? null));

/** Whether the casts of weights are kept: false outside of autocast(). Reference: torch.is_autocast_cache_enabled. */
export const isAutocastCacheEnabled = (): boolean => castingRegion()?.cachesWeights ?? false;

/** Drops the kept casts of the region that code runs in: the next use of a weight casts it again. Reference: torch.clear_autocast_cache. */
export function clearAutocastCache(): void {
  if (openRegions > 0) ambient.value?.cache.clear();
}
