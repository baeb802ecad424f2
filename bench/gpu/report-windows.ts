// The section of a report on Microsoft's DirectML.dll in the Wine cell. Pure.
import type { Counts } from "./program.ts";
import type { Figures, WindowsPart, WindowsStep } from "./results.ts";
import { number, table } from "./table.ts";

/** The GPU as Vulkan's driver calls it inside the cell. */
export const windowsDevice = (part: WindowsPart | undefined) => part?.steps?.find(({ key }) => key === "vulkan")?.device;

const SHOWN = 40;

function result({ code, counts, seconds, note }: WindowsStep) {
  const how = code === 0 ? "passed" : "**failed**";
  return `${how}: ${counts.passed} passed, ${counts.failed} failed, ${seconds.toFixed(0)} s${note ? ` (${note})` : ""}`;
}

/** Parts of verify that ran in parallel, as one line. */
function gathered(steps: readonly WindowsStep[]): readonly WindowsStep[] {
  const shards = steps.filter(({ key }) => key.startsWith("verify-"));
  const sum = (key: "passed" | "failed") => shards.reduce((n, { counts }) => n + counts[key], 0);
  const one = {
    key: "verify",
    title: `\`dxtensor verify\` against the software adapter${shards.length > 1 ? `, in ${shards.length} processes` : ""}`,
    code: shards.find(({ code }) => code !== 0)?.code ?? 0,
    counts: { passed: sum("passed"), failed: sum("failed") },
    seconds: Math.max(...shards.map(({ seconds }) => seconds)),
    note: [...new Set(shards.map(({ note }) => note).filter((note) => note !== ""))].join("; "),
  };
  const first = steps.findIndex(({ key }) => key.startsWith("verify-"));
  return first < 0 ? steps : steps.toSpliced(first, shards.length, one);
}

const oneLine = (text: string) => text.split("\n")[0]!.slice(0, 300);

/** A part that ran. */
type Whole = WindowsPart & Required<Pick<WindowsPart, "steps" | "versions">> & { readonly counts: Counts };

/** linuxFigures: the figures of bench on libdirectml.so in the same run, if it ran. */
export function windowsSection({ versions, steps, counts, seconds }: Whole, linuxFigures?: Pick<Figures, "kernels"> | null) {
  const step = (key: string) => steps.find((one) => one.key === key);
  const vulkan = step("vulkan");
  const linux = new Map((linuxFigures?.kernels ?? []).map((k) => [k.name, k.value]));
  const sections = [
    `## DirectML.dll ${versions.directml} under Wine on this GPU`,
    `Windows' node.exe ${versions.node}, the library's Windows build and Microsoft's DirectML.dll ${versions.directml} (feature level 6.4; SHA-256 ${versions.sha256.slice(0, 16)}…, ${versions.isDirectmlRight ? "as pinned" : "**not the one that is pinned**"}) in Wine ${versions.wine} over libvkd3d ${versions.libvkd3d} and this machine's Vulkan driver: ${vulkan?.device ?? "no device"}${vulkan?.driver ? `, driver ${vulkan.driver}` : ""}. ${counts.passed} passed, ${counts.failed} failed, ${seconds.toFixed(0)} s.`,
    table(
      ["step", "result"],
      gathered(steps).map((one) => [one.title, result(one)]),
    ),
  ];
  const failures = steps.flatMap(({ title, failures: found }) =>
    (found ?? []).map((failure) => `- ${title}, failed: ${failure.name}: ${oneLine(failure.message)}`),
  );
  if (failures.length > 0)
    sections.push([...failures.slice(0, SHOWN), ...(failures.length > SHOWN ? [`- and ${failures.length - SHOWN} more`] : [])].join("\n"));
  const done = step("quickstart")?.summary;
  if (done)
    sections.push(
      `The quickstart under node.exe reached ${(done.accuracy * 100).toFixed(2)} % of the held-out digits at ${Math.round(done.imagesPerSecondEager)} images a second eager, ${Math.round(done.imagesPerSecondCompiled)} compiled, in ${number(done.seconds)} s.`,
    );
  const kernels = step("bench")?.figures?.kernels;
  if (kernels)
    sections.push(
      table(
        ["measurement", "unit", "DirectML.dll in Wine", "libdirectml.so"],
        kernels.map((k) => [k.name, k.unit, number(k.value), number(linux.get(k.name))]),
      ),
    );
  return sections.join("\n\n");
}
