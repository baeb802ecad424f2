// Named volumes of an engine.
import { ask, labelFilter, type Engine } from "./engine.ts";
import { isGone } from "./errors.ts";

type Labels = Readonly<Record<string, string>>;

/** One that is there stays as it is. */
export async function ensureVolume(engine: Engine, name: string, labels: Labels): Promise<void> {
  await ask(engine.name, `make the volume ${name}`, () => engine.client.createVolume({ Name: name, Labels: { ...labels } }));
}

export async function listVolumes(engine: Engine, labels: Labels): Promise<string[]> {
  // The library hands the filters on as they are, and the engine wants them as text.
  const filters = JSON.stringify(labelFilter(labels)) as unknown as { label: string[] };
  const { Volumes } = await ask(engine.name, "list volumes", () => engine.client.listVolumes({ filters }));
  return (Volumes ?? []).map(({ Name }) => Name);
}

/** False for one that is gone, or that a container uses. */
export async function removeVolume(engine: Engine, name: string): Promise<boolean> {
  try {
    await ask(engine.name, `remove the volume ${name}`, () => engine.client.getVolume(name).remove());
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}
