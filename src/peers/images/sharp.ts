/** What is used of the package sharp. */
import { loadPeer } from "../peer.ts";

/** Raw pixels, and what they are. */
export interface RawImage {
  readonly data: Uint8Array;
  readonly info: { readonly width: number; readonly height: number; readonly channels: number };
}

/** @internal One image on its way through sharp. @open */
export interface SharpImage {
  metadata(): Promise<{
    readonly autoOrient: { readonly width: number; readonly height: number };
    readonly width: number;
    readonly height: number;
    readonly depth?: string;
    readonly space?: string;
    readonly hasAlpha?: boolean;
  }>;
  resize(width: number, height: number, options: { readonly fit: "fill"; readonly kernel: string }): SharpImage;
  extract(region: { readonly left: number; readonly top: number; readonly width: number; readonly height: number }): SharpImage;
  toColourspace(space: string): SharpImage;
  removeAlpha(): SharpImage;
  ensureAlpha(): SharpImage;
  raw(options?: { readonly depth: string }): SharpImage;
  toFormat(format: string, options?: object): SharpImage;
  toBuffer(options: { readonly resolveWithObject: true }): Promise<RawImage>;
  toBuffer(): Promise<Uint8Array>;
}

/** @internal The package's function. */
export type Sharp = (input: Uint8Array | Uint16Array, options: object) => SharpImage;

/** sharp; throws MissingPackageError where it is not installed. */
export const loadSharp = async (operation: string, source: string): Promise<Sharp> =>
  (await loadPeer<{ readonly default: Sharp }>(operation, source, "sharp", () => import("sharp" as string))).default;
