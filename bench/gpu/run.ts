// node bench/gpu/run.mjs: on a machine with a GPU, with the files of scripts/pack-gpu.ts: tests of correctness, then measurements of dxtensor and its peers.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { quickFiles } from "../../scripts/cells/wine/steps.ts";
import { at, counts, failuresOf, isStopped, json, lastJson, node, program, stopPrograms, type Done } from "./program.ts";
import { markdown } from "./report.ts";
import type { Options, Part, Parts, Report, Summary } from "./results.ts";
import { windows } from "./windows.ts";

const help = `sh start.sh [OPTIONS]

  --out FOLDER   where report.md, report.json and the logs go (default: $OUT, else the current folder)
  --only LIST    only these parts, by commas: runtime, tests, shaders, fusion, verify, quickstart, bench, torch, directml, windows;
                 shaders and fusion run by --only alone. shaders: test/shader, then the shaders' part of bench, over in six minutes. fusion: the tests of
                 fused regions, then five training steps without fusion, with it and by choice, over in five minutes
  --quick        the quick set of verify, and of the Windows tests; ResNet-18 and the encoder are left out of the peers' replayed lists
  --small        sizes for a processor, a quarter of verify's quick set, a quick set of the tests, the
                 quickstart on cpu
  --patience N   N times the limits, for a slow device (default: 1)
  --device NAME  the device (default: dml:0)
  --help         this text

The part windows needs windows.tar.xz, windows-node.tar.xz and root; it is over in six minutes.
Exit status 1 when a test, a comparison, a training or a program of DirectML alone fails, or a part that --only names cannot run here; 130 after Ctrl-C. A peer that is not
there, PyTorch say, is reported as not run, and so is windows where it cannot run.`;

class UsageError extends Error {}

/** A part with what it said. */
type PartDone = Part & { readonly text: string };

const notRun = (reason: string): PartDone => ({ code: null, notRun: reason, seconds: 0, note: reason, text: "" });

/** name: what to run, and what of its output belongs in the report. */
const parts: Readonly<Record<keyof Parts, (o: Options) => Promise<PartDone>>> = {
  async runtime(o: Options): Promise<PartDone> {
    const done = await program("runtime", at("peers", "vulkan_test"), [at("lib", "libdxcore.so"), at("lib", "libd3d12.so")], {
      ...o,
      limitMs: 60_000 * o.patience,
    });
    return { ...done, counts: counts(done.text) };
  },
  async tests(o: Options): Promise<PartDone> {
    const report = join(o.out, "tests-ctrf.json");
    const limits = ["--jobs", String(Math.min(8, availableParallelism())), "--timeout", String(480 * o.patience)];
    const chosen = o.small ? quickFiles.flatMap((file) => ["--filter", file]) : [];
    const args = ["--expose-gc", at("tests", "run.mjs"), "--report", report, ...limits, ...chosen];
    const env = { DXTENSOR_TEST_DEVICES: o.device, DXTENSOR_NATIVE: at("app", "prebuilds", "linux-x64", "dxtensor.node") };
    const done = await program("tests", node, args, { ...o, limitMs: 540_000 * o.patience, env });
    return { ...done, counts: counts(done.text), failures: failuresOf(json(report)) };
  },
  async verify(o: Options): Promise<PartDone> {
    const report = join(o.out, "verify-ctrf.json");
    const args = ["dist/bundle/cli.js", "verify", "--device", o.device, "--reference", "cpu", "--ctrf", report];
    const done = await program("verify", node, [...args, ...(o.small ? ["--quick", "--shard", "1/4"] : o.quick ? ["--quick"] : [])], {
      ...o,
      cwd: at("app"),
      limitMs: 400_000 * o.patience,
    });
    return { ...done, counts: counts(done.text), failures: failuresOf(json(report)) };
  },
  async quickstart(o: Options): Promise<PartDone> {
    // A processor's Vulkan driver takes half an hour for it.
    const device = o.small ? "cpu" : o.device;
    const done = await program("quickstart", node, ["build/examples/quickstart.js", "--device", device, "--json"], {
      ...o,
      cwd: at("app"),
      limitMs: 120_000 * o.patience,
    });
    return { ...done, summary: lastJson(done.text) as Summary | null };
  },
  async bench(o: Options): Promise<PartDone> {
    const file = join(o.out, "bench.json");
    const args = ["--expose-gc", "build/bench/device/index.js", "--device", o.device, "--json", file, ...(o.small ? ["--small"] : [])];
    const done = await program("bench", node, args, { ...o, cwd: at("app"), limitMs: 420_000 * o.patience });
    return { ...done, figures: json(file) };
  },
  async shaders(o: Options): Promise<PartDone> {
    const report = join(o.out, "shader-tests-ctrf.json");
    const env = { DXTENSOR_TEST_DEVICES: o.device, DXTENSOR_NATIVE: at("app", "prebuilds", "linux-x64", "dxtensor.node") };
    const chosen = ["--filter", "test/shader/kernels/device", "--filter", "test/native/shader"];
    const tests = await program("shader-tests", node, ["--expose-gc", at("tests", "run.mjs"), "--report", report, ...chosen], {
      ...o,
      limitMs: 90_000 * o.patience,
      env,
    });
    const file = join(o.out, "shaders.json");
    const args = ["--expose-gc", "build/bench/device/index.js", "--device", o.device, "--filter", "shaders", "--json", file];
    const done = await program("shaders", node, [...args, ...(o.small ? ["--small"] : [])], {
      ...o,
      cwd: at("app"),
      limitMs: 250_000 * o.patience,
    });
    console.log(done.text);
    const [tested, failures] = [counts(tests.text), failuresOf(json(report))];
    const code = tests.code === 0 && done.code === 0 ? 0 : 1;
    return { ...done, code, seconds: tests.seconds + done.seconds, text: tests.text, counts: tested, failures, figures: json(file) };
  },
  async fusion(o: Options): Promise<PartDone> {
    const report = join(o.out, "fusion-tests-ctrf.json");
    const env = { DXTENSOR_TEST_DEVICES: o.device, DXTENSOR_NATIVE: at("app", "prebuilds", "linux-x64", "dxtensor.node") };
    const tests = await program("fusion-tests", node, ["--expose-gc", at("tests", "run.mjs"), "--report", report, "--filter", "test/graph/passes/fuse"], {
      ...o,
      limitMs: 120_000 * o.patience,
      env,
    }); // prettier-ignore
    const file = join(o.out, "fusion.json");
    const args = ["--expose-gc", "build/bench/device/fusion.js", "--device", o.device, "--explain", "encoder", "--json", file];
    const done = await program("fusion", node, [...args, ...(o.small ? ["--filter", "mlp", "--seconds", "0.02"] : [])], {
      ...o,
      cwd: at("app"),
      limitMs: 240_000 * o.patience,
    });
    console.log(done.text);
    const [tested, failures] = [counts(tests.text), failuresOf(json(report))];
    const code = tests.code === 0 && done.code === 0 ? 0 : 1;
    return { ...done, code, seconds: tests.seconds + done.seconds, text: tests.text, counts: tested, failures, figures: json(file) };
  },
  async torch(o: Options): Promise<PartDone> {
    if (o.small) return { ...notRun("its sizes are a GPU's") };
    const done = await program("torch", "python3", [at("peers", "torch_peer.py")], { ...o, limitMs: 150_000 * o.patience });
    const lacks = /no CUDA device|No module named '?torch'?/.exec(done.text);
    return lacks === null ? { ...done, figures: lastJson(done.text) } : { ...done, ...notRun(lacks[0]) };
  },
  async directml(o: Options): Promise<PartDone> {
    const libraries = ["dxcore", "d3d12", "directml"].flatMap((name) => [`--${name}`, at("lib", `lib${name}.so`)]);
    const peer = (name: string, seconds: number, ...args: string[]) =>
      program(`directml-${args[0] ?? name}`, at("peers", `directml_${name}`), [...libraries, ...args, ...(o.small ? ["--small"] : [])], {
        ...o,
        limitMs: seconds * 1000 * o.patience,
      });
    const operators = await peer("operators", 100);
    const steps: Done[] = [];
    for (const name of o.quick ? ["mlp", "lenet"] : ["mlp", "lenet", "resnet", "encoder"]) steps.push(await peer("steps", 60, name));
    const all = [operators, ...steps];
    return {
      ...operators,
      code: all.every((d) => d.code === 0) ? 0 : 1,
      seconds: all.reduce((sum, d) => sum + d.seconds, 0),
      note: all.map((d) => d.note).find((note) => note !== "") ?? "",
      text: all.map((d) => d.text).join(""),
      operators: operators.text,
      steps: Object.fromEntries(steps.map((d) => [d.name.slice("directml-".length), d.text])),
    };
  },
  windows,
};

/** Parts whose failure is this library's. */
const ours = new Set(["runtime", "tests", "shaders", "fusion", "verify", "quickstart", "bench", "directml", "windows"]);

function told({ counts: found, code, seconds, note, notRun }: Part): string {
  if (notRun !== undefined) return `not run: ${notRun}`;
  const result = found === null || found === undefined ? `exit status ${code}` : `${found.passed} passed, ${found.failed} failed`;
  return `${result}, ${seconds.toFixed(1)} s${note === "" ? "" : `, ${note}`}`;
}

async function main() {
  const { values } = parseArgs({
    options: {
      out: { type: "string", default: process.env.OUT ?? "." },
      only: { type: "string" },
      quick: { type: "boolean", default: false },
      small: { type: "boolean", default: false },
      patience: { type: "string", default: "1" },
      device: { type: "string", default: "dml:0" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  const patience = Number(values.patience);
  if (!(patience > 0)) throw new UsageError("--patience is a positive number.");
  // bench has what shaders measures; fusion compares forms that bench has one of.
  const usual = Object.keys(parts).filter((name) => name !== "shaders" && name !== "fusion");
  const names = (values.only?.split(",") ?? usual) as (keyof Parts)[];
  const unknown = names.find((name) => !Object.hasOwn(parts, name));
  if (unknown !== undefined) throw new UsageError(`There is no part "${unknown}": ${Object.keys(parts).join(", ")}.`);
  const out = resolve(values.out);
  mkdirSync(out, { recursive: true });
  process.env.DXTENSOR_LIBRARY_FOLDER = at("lib");
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, stopPrograms);
  const options = { out, quick: values.quick, small: values.small, device: values.device, patience };
  const driver = await program("driver", "nvidia-smi", ["--query-gpu=name,driver_version", "--format=csv,noheader"], {
    out,
    limitMs: 20_000,
  });
  const report: Report = {
    date: new Date().toISOString(),
    commit: readFileSync(at("bench", "gpu", "commit"), "utf8").trim(),
    node: process.version,
    processor: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    driver: driver.code === 0 ? driver.text.trim() : "unknown",
    quick: values.quick,
    parts: {},
  };
  for (const name of names) {
    if (isStopped()) break;
    const { text, ...part } = await parts[name](options);
    Object.assign(report.parts, { [name]: part });
    console.log(`${name}: ${told(part)}`);
    if (part.code !== 0 && part.notRun === undefined) console.log(text.split("\n").slice(-12).join("\n"));
    writeFileSync(join(out, "report.json"), `${JSON.stringify(report, null, 1)}\n`);
  }
  const page = markdown(report);
  writeFileSync(join(out, "report.md"), page);
  console.log(page);
  // A part that counts nothing is one.
  const ran = (Object.values(report.parts) as Part[]).filter((part) => part.notRun === undefined);
  const sum = (key: "passed" | "failed", isIt: (part: Part) => boolean) =>
    ran.reduce((n, part) => n + (part.counts?.[key] ?? (isIt(part) ? 1 : 0)), 0);
  const [passed, failed] = [sum("passed", ({ code }) => code === 0), sum("failed", ({ code }) => code !== 0)];
  console.log(`${passed} passed, ${failed} failed`);
  if (isStopped()) return 130;
  const fails = ([name, part]: [string, Part]) =>
    ours.has(name) && part.code !== 0 && (part.notRun === undefined || values.only !== undefined);
  return Object.entries(report.parts).some(fails) ? 1 : 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  const isUsage =
    error instanceof UsageError || (error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS"));
  if (!isUsage) throw error;
  console.error(`start.sh: ${error.message} (--help lists the options)`);
  process.exitCode = 1;
}
