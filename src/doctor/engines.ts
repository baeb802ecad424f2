/** The engines of `dx.distributed`: which are there, their versions, and the network. In the child, which loads them. */
import { networkInterfaces } from "node:os";
import { hasGloo, loadGloo, type Gloo } from "../distributed/gloo.ts";
import { loadMpi } from "../distributed/mpi.ts";

export interface ProbedEngine {
  readonly name: "gloo" | "mpi";
  /** "0.5.0", "Open MPI v4.1.4"; null where it was not loaded. */
  readonly version: string | null;
  /** Of MPI: the library. */
  readonly file: string | null;
  /** Of Gloo: the interfaces, or the one that GLOO_SOCKET_IFNAME names. MPI chooses for itself. */
  readonly network: readonly string[];
  /** Why it was not loaded, or cannot be used; null else. */
  readonly problem: string | null;
}

/** "eth0 10.0.0.4": all addresses of version 4, or all of one interface. */
function networkOf(chosen: string): string[] {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    chosen === "" || name === chosen
      ? addresses.filter(({ family }) => family === "IPv4" || chosen !== "").map(({ address }) => `${name} ${address}`)
      : [],
  );
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Without the package: none. */
export function probeEngines(env: Readonly<Record<string, string | undefined>>): ProbedEngine[] {
  if (!hasGloo()) return [];
  const chosen = env["GLOO_SOCKET_IFNAME"] ?? "";
  const network = networkOf(chosen);
  let addon: Gloo;
  try {
    addon = loadGloo("doctor");
  } catch (error) {
    return [{ name: "gloo", version: null, file: null, network, problem: messageOf(error) }];
  }
  const missing = network.length === 0 ? `GLOO_SOCKET_IFNAME is ${chosen}, and there is no such interface with an address` : null;
  const gloo: ProbedEngine = { name: "gloo", version: addon.version, file: null, network, problem: missing };
  try {
    const { version, file } = loadMpi("doctor", addon);
    return [gloo, { name: "mpi", version, file, network: [], problem: null }];
  } catch (error) {
    return [gloo, { name: "mpi", version: null, file: null, network: [], problem: messageOf(error) }];
  }
}
