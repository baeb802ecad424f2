/** From names to engines that answer. */
import { defaultAddress, namedAddress, engineEnvironment } from "../../scripts/tools/docker/address.ts";
import { openDefaultEngine, openEngine, type Engine } from "../../scripts/tools/docker/engine.ts";
import { EngineError } from "../../scripts/tools/docker/errors.ts";
import type { Mark } from "../../scripts/tools/docker/forward.ts";
import { ensureEngine } from "../../scripts/tools/docker/serve.ts";
import { MatrixError, messageOf } from "../errors.ts";
import { folderName, variable, variableValue, type Owner } from "../run/owner.ts";

export interface Engines {
  readonly engines: readonly Engine[];
  /** Why there is none. */
  readonly problem: string | null;
}

/**
 * The default engine, or those that are named. Where none answers and none is named, one is started if `mayStart` and if the script
 * for it can. A named engine that does not answer is an error: it was asked for.
 */
export async function connect(names: readonly string[], mayStart: boolean, owner: Owner): Promise<Engines> {
  const around = engineEnvironment();
  const mark: Mark = { folder: folderName(owner), env: { [variable]: variableValue(owner) } };
  if (names.length > 0) {
    const engines: Engine[] = [];
    try {
      for (const value of names) {
        if (value === "local") engines.push(await openDefaultEngine(mark));
        else {
          const { name, address } = namedAddress(value, around);
          engines.push(await openEngine(name, address, mark));
        }
      }
    } catch (error) {
      for (const engine of engines) await engine.close();
      if (!(error instanceof EngineError)) throw error;
      throw new MatrixError(`an engine that was named can't be used: ${error.problem}`);
    }
    return { engines, problem: null };
  }
  const { isNamed } = defaultAddress(around);
  try {
    return { engines: [await openDefaultEngine(mark)], problem: null };
  } catch (error) {
    const problem = error instanceof EngineError ? error.problem : messageOf(error);
    if (isNamed || !mayStart) return { engines: [], problem };
    try {
      await ensureEngine();
      return { engines: [await openDefaultEngine(mark)], problem: null };
    } catch (second) {
      return { engines: [], problem: messageOf(second).split("\n")[0]! };
    }
  }
}
