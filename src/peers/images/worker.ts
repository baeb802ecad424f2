/** The data set of images in this thread or in a loader's worker. `npm run generate` makes worker.generated.ts of it. */
import { decode, type DecodeOptions, type DecodedImage } from "./decode.ts";
import type { Sharp } from "./sharp.ts";

/** @internal Plain data that a thread can be sent. sharp: the address of that package's module. */
export interface ImageSource {
  readonly sharp: string;
  readonly operation: string;
  readonly paths: readonly string[];
  readonly labels: readonly unknown[];
  readonly options: DecodeOptions;
}

/** Frames of this module have its whole text as their file's name. */
function shortenStack(error: unknown): void {
  for (let e = error; e instanceof Error; e = e.cause)
    if (e.stack !== undefined) e.stack = e.stack.replaceAll(import.meta.url, "dxtensor/images");
}

export default async function images({ sharp: address, operation, paths, labels, options }: ImageSource) {
  const { default: sharp } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ address)) as { readonly default: Sharp };
  return {
    length: paths.length,
    async get(index: number, { random }: { readonly random: () => number }): Promise<[DecodedImage, unknown]> {
      try {
        return [await decode(sharp, paths[index]!, options, { operation, random }), labels[index]];
      } catch (error) {
        shortenStack(error);
        throw error;
      }
    },
  };
}
