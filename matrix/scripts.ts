/** The scripts of the repository that the matrix uses: an engine where none runs, a base image where no registry is reached. */
import { pathToFileURL } from "node:url";
import { at } from "./root.ts";

export interface EngineScript {
  ensureEngine(): Promise<{ readonly version: string; readonly host: string; readonly started: boolean }>;
  stopEngine(): Promise<{ readonly stopped: boolean; readonly reason: string }>;
}

export interface BaseScript {
  baseName(suite: string): string;
  ensureBase(suite: string): Promise<{ readonly image: string; readonly id: string }>;
}

export interface LockScript {
  withLock<T>(file: string, body: () => Promise<T>): Promise<T>;
}

const load = (name: string): Promise<unknown> => import(pathToFileURL(at("scripts", name)).href);

export const scripts = {
  engine: (): Promise<EngineScript> => load("docker-engine.mjs") as Promise<EngineScript>,
  lock: (): Promise<LockScript> => load("lib/lock.mjs") as Promise<LockScript>,
  base: (): Promise<BaseScript> => load("base-image.mjs") as Promise<BaseScript>,
};
