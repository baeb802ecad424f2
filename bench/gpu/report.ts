// The page that a run on a GPU makes of its results. Pure.
import type { Figures, Part, Parts, Report, TorchFigures, TrainingStep } from "./results.ts";
import { number, table } from "./table.ts";
import { windowsDevice, windowsSection } from "./report-windows.ts";

/** The replayed forms of a program of bench/peers/directml: {list, groups, graph} in ms. */
export function replayedForms(text: string | undefined) {
  const line = text?.split("\n").find((l) => l.includes("steps in flight")) ?? "";
  const form = (name: string) => {
    const found = new RegExp(`${name} replayed ([0-9.]+) ms`).exec(line);
    return found === null ? null : Number(found[1]);
  };
  return { list: form("list"), groups: form("groups"), graph: form("graph") };
}

/** What raw DirectML takes, under the names of bench/device. */
export function rawFigures(text: string | undefined) {
  const figures = new Map<string, number>();
  const take = (pattern: RegExp, name: (match: RegExpExecArray) => string) => {
    for (const match of (text ?? "").matchAll(pattern)) figures.set(name(match), Number(match.at(-1)));
  };
  take(/^GEMM f32 (\d+): [0-9.]+ ms, ([0-9.]+) TFLOP/gm, (m) => `gemm float32 ${m[1]}`);
  take(/^CONVOLUTION f32 (\S+) (\d+x\d+): ([0-9.]+) ms/gm, (m) => `conv2d float32 ${m[1]} ${m[2]}`);
  for (const [name, here] of [
    ["RELU", "relu"],
    ["IDENTITY", "clone"],
    ["SUM", "sum"],
  ])
    take(new RegExp(`^${name} f32 (\\d+): [0-9.]+ ms, ([0-9.]+) GB`, "gm"), (m) => `${here} float32 ${m[1]}`);
  take(/^ADD f32 (\d{6,}): [0-9.]+ ms, ([0-9.]+) GB/gm, (m) => `add float32 ${m[1]}`);
  take(
    /^ADD f32 16, 2000 in one command list, a barrier after each: GPU ([0-9.]+) us/gm,
    () => "add of 16, compiled chain of 200, replayed",
  );
  return figures;
}

const status = (part: Part | undefined) => {
  if (part === undefined) return "not run";
  if (part.notRun !== undefined) return `not run: ${part.notRun}`;
  const how = part.code === 0 ? "passed" : "**failed**";
  const told = part.counts ? `${how}: ${part.counts.passed} passed, ${part.counts.failed} failed` : how;
  return `${told}, ${part.seconds.toFixed(0)} s${part.note ? ` (${part.note})` : ""}`;
};

function correctness({ parts }: { readonly parts: Parts }) {
  const lines = [
    table(
      ["part", "result"],
      [
        ["Vulkan runtime's own tests", status(parts.runtime)],
        ["tests in TypeScript on this device", status(parts.tests)],
        ["`dxtensor verify` against the software adapter", status(parts.verify)],
        ["quickstart", status(parts.quickstart)],
        ["DirectML.dll under Wine", status(parts.windows)],
      ],
    ),
  ];
  for (const name of ["tests", "verify"] as const)
    for (const failure of parts[name]?.failures?.slice(0, 40) ?? [])
      lines.push(`- ${name}, failed: ${failure.name}: ${failure.message.split("\n")[0]!.slice(0, 300)}`);
  const done = parts.quickstart?.summary;
  if (done)
    lines.push(
      `The quickstart reached ${(done.accuracy * 100).toFixed(2)} % of the held-out digits at ${Math.round(done.imagesPerSecondEager)} images a second eager, ${Math.round(done.imagesPerSecondCompiled)} compiled, in ${number(done.seconds)} s.`,
    );
  return lines.join("\n\n");
}

function trainingTable(
  steps: readonly TrainingStep[],
  torch: TorchFigures | null | undefined,
  peers: Readonly<Record<string, string>> | undefined,
) {
  return table(
    [
      "ms a step",
      "eager",
      "compiled",
      "unchecked",
      "a dispatch each",
      "graph and list",
      "dispatches",
      "barriers",
      "call, us (checked / not)",
      "PyTorch eager",
      "PyTorch CUDA graph",
      "DirectML alone, replayed: list / groups / graph",
    ],
    steps.map((s) => {
      const t = torch?.steps?.[s.name];
      const p = replayedForms(peers?.[s.name]);
      return [
        s.name,
        number(s.eager.ms),
        number(s.compiled.ms),
        number(s.unchecked.ms),
        number(s.operators.ms),
        number(s.head.ms),
        s.dispatches,
        s.barriers,
        `${number(s.compiled.callUs)} / ${number(s.unchecked.callUs)}`,
        number(t?.eager),
        number(t?.cudaGraph),
        p.list === null ? "–" : `${number(p.list)} / ${number(p.groups)} / ${number(p.graph)}`,
      ];
    }),
  );
}

function kernelTable(kernels: Figures["kernels"], torch: TorchFigures | null | undefined, raw: ReadonlyMap<string, number>) {
  const torchValues = new Map((torch?.kernels ?? []).map((k) => [k.name, k.value]));
  return table(
    ["measurement", "unit", "dxtensor", "DirectML alone", "PyTorch CUDA"],
    kernels.map((k) => [k.name, k.unit, number(k.value), number(raw.get(k.name)), number(torchValues.get(k.name))]),
  );
}

const profiles = (steps: readonly TrainingStep[]) =>
  steps
    .map((s) => `<details><summary>${s.name}</summary>\n\n\`\`\`\n${s.profile.split("\n").slice(0, 14).join("\n")}\n\`\`\`\n\n</details>`)
    .join("\n\n");

export function markdown(report: Report): string {
  const { parts } = report;
  const bench = parts.bench?.figures;
  const torch = parts.torch?.figures;
  const title = bench?.device?.name ?? windowsDevice(parts.windows) ?? report.driver.split(",")[0];
  const sections = [
    `# ${title}`,
    `Made by a run of \`start.sh\` (npm run pack:gpu) on ${report.date.slice(0, 10)}: ${report.driver}; ${report.processor}, ${report.cores} cores; Node ${report.node}; commit ${report.commit}${report.quick ? "; quick set" : ""}. Microsoft's libdirectml.so (feature level 6.2) over the Vulkan runtime.`,
    "Vendors' metacommands (tensor cores) do not exist on this path: float32 is DirectML's own kernels, and nothing here in float16 says anything about Windows.",
    "## Correctness",
    correctness(report),
  ];
  if (bench) {
    const raw = rawFigures(parts.directml?.operators);
    sections.push(
      "## Training steps",
      `Forward, backward and update in float32; steps queued behind each other. ${torch ? `PyTorch ${torch.torch}, CUDA ${torch.cuda}, TF32 off. ` : "PyTorch: not run. "}"DirectML alone" are programs without this library (bench/peers/directml): closed lists in node order, in groups with few barriers, and one graph.`,
      trainingTable(bench.steps, torch, parts.directml?.steps),
      "## Operations",
      "Wall time of many calls queued behind each other, through the whole library.",
      kernelTable(bench.kernels, torch, raw),
      "## Where a step's time goes",
      "Each dispatch alone between two barriers, by the device's timestamps; a replay overlaps some of them.",
      profiles(bench.steps),
    );
    for (const failure of bench.failures) sections.push(`- not measured: ${failure.name}: ${failure.message}`);
  }
  const { steps, versions, counts } = parts.windows ?? {};
  if (parts.windows !== undefined && steps !== undefined && versions !== undefined && counts)
    sections.push(windowsSection({ ...parts.windows, steps, versions, counts }, bench));
  return `${sections.join("\n\n")}\n`;
}
