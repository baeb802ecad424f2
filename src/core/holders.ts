/** Objects that keep device memory as long as they live (parameters, optimizers), in weak references, for memoryStatistics(). */
import type { Device } from "./device.ts";
import type { Storage } from "./storage.ts";
import type { Tensor } from "./tensor.ts";

const parameters = new Set<WeakRef<Tensor>>();
const states = new Set<WeakRef<ReadonlyMap<string, Tensor>>>();
const gone = new FinalizationRegistry<() => void>((forget) => forget());

function remember<T extends object>(known: Set<WeakRef<T>>, holder: T): void {
  const ref = new WeakRef(holder);
  known.add(ref);
  gone.register(holder, () => known.delete(ref));
}

/** A tensor that is learned. */
export const holdParameter = (p: Tensor): void => remember(parameters, p);
/** What an optimizer keeps of its parameters. */
export const holdState = (state: ReadonlyMap<string, Tensor>): void => remember(states, state);

export interface Holdings {
  /** Of parameters. */
  readonly weightsInBytes: number;
  /** Of their gradients. */
  readonly gradientsInBytes: number;
  /** Of what optimizers keep of them. */
  readonly optimizersInBytes: number;
}

/** Bytes of a device's memory by what they are for; each once, as the first of these that it is. */
export function holdings(device: Device): Holdings {
  const seen = new Set<Storage>();
  const count = (tensors: Iterable<Tensor | null>): number => {
    let bytes = 0;
    for (const t of tensors)
      if (t !== null && t.device === device && t.storage.handle !== 0 && !seen.has(t.storage)) {
        seen.add(t.storage);
        bytes += t.storage.sizeInBytes;
      }
    return bytes;
  };
  const learned = [...parameters].flatMap((ref) => ref.deref() ?? []);
  return {
    weightsInBytes: count(learned),
    gradientsInBytes: count(learned.map((p) => p.ownGrad)),
    optimizersInBytes: count([...states].flatMap((ref) => [...(ref.deref()?.values() ?? [])])),
  };
}
