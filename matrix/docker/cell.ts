/** A command of a run in a container, which bears the run's mark. */
import { containerProblem, runContainer, type Container, type ContainerEnd } from "../../scripts/tools/docker/containers.ts";
import type { Engine } from "../../scripts/tools/docker/engine.ts";
import { ownerLabels, type Owner } from "../run/owner.ts";

export interface CellRequest {
  readonly image: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Named volumes: target → name; mounted read-only but for those in `writable`. */
  readonly volumes: Readonly<Record<string, string>>;
  readonly writable: readonly string[];
  /** Archives that are unpacked before the start: [folder that is there, tar]. */
  readonly archives?: readonly (readonly [string, Buffer])[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly owner: Owner;
  onLine(line: string): void;
  /** Called with the stopped container, before it is removed. */
  after(container: Container, end: ContainerEnd): Promise<void>;
}

const memoryInBytes = 8 * 1024 ** 3;

export const workFolder = "/srv/dxtensor";

/** How it ended, in words after the name of what ran; null when all was well. */
export async function runCell(engine: Engine, request: CellRequest, what: string): Promise<string | null> {
  const { timeoutMs, owner, volumes, ...rest } = request;
  const whole = {
    ...rest,
    mounts: volumes,
    labels: ownerLabels(owner),
    folder: workFolder,
    memoryInBytes,
    limitMs: timeoutMs,
    // Its lines are in the logs.
    keep: 0,
    onLine: (line: string) => request.onLine(line),
    after: (container: Container, end: ContainerEnd) => request.after(container, end),
  };
  const problem = containerProblem(await runContainer(engine, whole), whole);
  return problem === null ? null : `${what} ${problem}`;
}
