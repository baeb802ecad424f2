/** From an address to an engine that answers. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { forward } from "../engines/forward.ts";
import { defaultAddress, namedAddress, surroundings, type Address } from "../engines/resolve.ts";
import { MatrixError, messageOf } from "../errors.ts";
import type { Owner } from "../run/owner.ts";
import { ensureEngine } from "../../scripts/tools/engine.ts";
import { demandAnswer, type Engine } from "./engine.ts";

async function open(name: string, address: Address, isDefault: boolean, owner: Owner): Promise<Engine> {
  // Half a second to import, for calls that reach no engine.
  const { default: Docker } = await import("dockerode");
  const nothing = async (): Promise<void> => undefined;
  let engine: Engine;
  if (address.kind === "socket") engine = { name, docker: new Docker({ socketPath: address.path }), isDefault, close: nothing };
  else if (address.kind === "tcp") {
    const { host, port, certificates } = address;
    const file = (which: string): Buffer | undefined => {
      const path = certificates === null ? "" : join(certificates, `${which}.pem`);
      return path !== "" && existsSync(path) ? readFileSync(path) : undefined;
    };
    const [ca, cert, key] = [file("ca"), file("cert"), file("key")];
    const tls = { ...(ca === undefined ? {} : { ca }), ...(cert === undefined ? {} : { cert }), ...(key === undefined ? {} : { key }) };
    engine = {
      name,
      docker: new Docker({ host, port, protocol: certificates === null ? "http" : "https", ...tls }),
      isDefault,
      close: nothing,
    };
  } else {
    const { socket, close } = await forward(address, owner);
    engine = { name, docker: new Docker({ socketPath: socket }), isDefault, close };
  }
  try {
    await demandAnswer(engine.docker, name);
    return engine;
  } catch (error) {
    await engine.close();
    throw error;
  }
}

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
  const around = surroundings();
  if (names.length > 0) {
    const engines: Engine[] = [];
    try {
      for (const value of names) {
        const { name, address } = value === "local" ? defaultAddress(around) : namedAddress(value, around);
        engines.push(await open(name, address, value === "local", owner));
      }
    } catch (error) {
      for (const engine of engines) await engine.close();
      throw error instanceof MatrixError ? error : new MatrixError(`an engine that was named does not answer: ${messageOf(error)}`);
    }
    return { engines, problem: null };
  }
  const { name, address, isNamed } = defaultAddress(around);
  try {
    return { engines: [await open(name, address, true, owner)], problem: null };
  } catch (error) {
    const problem = `${name} does not answer (${messageOf(error)})`;
    if (isNamed || !mayStart) return { engines: [], problem };
    try {
      await ensureEngine();
      return { engines: [await open(name, address, true, owner)], problem: null };
    } catch (second) {
      return { engines: [], problem: messageOf(second).split("\n")[0]! };
    }
  }
}
