// node gpu/run.mjs: on a machine with a GPU, from what scripts/pack-gpu.mjs packed: correctness first, then figures beside their peers'.
import { spawn } from "node:child_process";
import { createWriteStream, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { markdown } from "./report.mjs";

const help = `sh start.sh [OPTIONS]

  --out FOLDER   where report.md, report.json and the logs go (default: $OUT, else the current folder)
  --only LIST    only these parts, by commas: runtime, tests, verify, quickstart, bench, torch, directml
  --quick        the quick set of verify; ResNet-18 and the encoder are left out of the peers' replayed lists
  --device NAME  the device (default: dml:0)
  --help         this text

Exit code 1 when a test, a comparison or a training fails. A peer that is not there, PyTorch say, is reported as not run.`;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const at = (...parts) => join(root, ...parts);
const node = at("bin", "node");

/** Runs a program with a limit; its output goes to a log and comes back. */
function program(name, command, args, { limitMs, out, env = {}, cwd = root }) {
  return new Promise((done) => {
    const log = createWriteStream(join(out, `${name}.log`));
    const start = performance.now();
    let text = "";
    let isLate = false;
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    const timer = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, limitMs);
    const end = (code, message) => {
      clearTimeout(timer);
      log.end();
      const seconds = (performance.now() - start) / 1000;
      done({ name, code, seconds, text, note: isLate ? `stopped after ${limitMs / 1000} s` : (message ?? "") });
    };
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        log.write(chunk);
        text += chunk;
      });
    child.on("error", (error) => end(null, error.message));
    child.on("close", (code) => end(code));
  });
}

const json = (file) => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : null);
const counts = (text) => {
  const found = [...text.matchAll(/^(\d+) passed, (\d+) failed$/gm)].at(-1);
  return found === undefined ? null : { passed: Number(found[1]), failed: Number(found[2]) };
};
const lastJson = (text) => {
  for (const line of text.trimEnd().split("\n").toReversed())
    if (line.startsWith("{"))
      try {
        return JSON.parse(line);
      } catch {
        // A line of a log that begins like an object.
      }
  return null;
};

/** name: what to run, and what of its output belongs in the report. */
const parts = {
  async runtime(o) {
    const done = await program("runtime", at("peers", "vulkan_test"), [at("lib", "libdxcore.so"), at("lib", "libd3d12.so")], {
      ...o,
      limitMs: 60_000,
    });
    return { ...done, counts: counts(done.text) };
  },
  async tests(o) {
    const report = join(o.out, "tests-ctrf.json");
    const done = await program(
      "tests",
      node,
      ["--expose-gc", at("tests", "run.mjs"), "--report", report, "--jobs", "6", "--timeout", "240"],
      {
        ...o,
        limitMs: 300_000,
        env: { DXTENSOR_TEST_DEVICES: o.device, DXTENSOR_NATIVE: at("app", "prebuilds", "linux-x64", "dxtensor.node") },
      },
    );
    return { ...done, counts: counts(done.text), failures: failuresOf(json(report)) };
  },
  async verify(o) {
    const report = join(o.out, "verify-ctrf.json");
    const args = ["dist/bundle/cli.js", "verify", "--device", o.device, "--reference", "cpu", "--ctrf", report];
    const done = await program("verify", node, o.quick ? [...args, "--quick"] : args, { ...o, cwd: at("app"), limitMs: 400_000 });
    return { ...done, counts: counts(done.text), failures: failuresOf(json(report)) };
  },
  async quickstart(o) {
    const done = await program("quickstart", node, ["build/examples/quickstart.js", "--device", o.device, "--json"], {
      ...o,
      cwd: at("app"),
      limitMs: 120_000,
    });
    return { ...done, summary: lastJson(done.text) };
  },
  async bench(o) {
    const file = join(o.out, "bench.json");
    const done = await program("bench", node, ["--expose-gc", "build/bench/device/index.js", "--device", o.device, "--json", file], {
      ...o,
      cwd: at("app"),
      limitMs: 240_000,
    });
    return { ...done, figures: json(file) };
  },
  async torch(o) {
    const done = await program("torch", "python3", [at("peers", "torch_peer.py")], { ...o, limitMs: 150_000 });
    return { ...done, figures: lastJson(done.text) };
  },
  async directml(o) {
    const env = { DXTENSOR_PEER_DIRECTML: at("lib", "libdirectml.so") };
    const operators = await program("directml-operators", at("peers", "directml_operators"), [], { ...o, env, limitMs: 100_000 });
    const steps = [];
    for (const name of o.quick ? ["mlp", "lenet"] : ["mlp", "lenet", "resnet", "encoder"])
      steps.push(await program(`directml-${name}`, at("peers", "directml_steps"), ["wgrad=conv", name], { ...o, env, limitMs: 60_000 }));
    return {
      ...operators,
      code: [operators, ...steps].every((d) => d.code === 0) ? 0 : 1,
      operators: operators.text,
      steps: Object.fromEntries(steps.map((d) => [d.name.slice("directml-".length), d.text])),
    };
  },
};

const failuresOf = (report) =>
  report === null ? [] : report.results.tests.filter((t) => t.status === "failed").map((t) => ({ name: t.name, message: t.message ?? "" }));

/** Parts whose failure is this library's. */
const ours = new Set(["runtime", "tests", "verify", "quickstart", "bench"]);

async function main() {
  const { values } = parseArgs({
    options: {
      out: { type: "string", default: process.env.OUT ?? "." },
      only: { type: "string", default: Object.keys(parts).join(",") },
      quick: { type: "boolean", default: false },
      device: { type: "string", default: "dml:0" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  const out = resolve(values.out);
  mkdirSync(out, { recursive: true });
  process.env.DXTENSOR_LIBRARY_FOLDER = at("lib");
  const options = { out, quick: values.quick, device: values.device };
  const driver = await program("driver", "nvidia-smi", ["--query-gpu=name,driver_version", "--format=csv,noheader"], {
    out,
    limitMs: 20_000,
  });
  const report = {
    date: new Date().toISOString(),
    commit: readFileSync(at("gpu", "commit"), "utf8").trim(),
    node: process.version,
    processor: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    driver: driver.code === 0 ? driver.text.trim() : "unknown",
    quick: values.quick,
    parts: {},
  };
  for (const name of values.only.split(",")) {
    if (parts[name] === undefined) throw new Error(`There is no part "${name}": ${Object.keys(parts).join(", ")}.`);
    const { text, ...rest } = await parts[name](options);
    report.parts[name] = rest;
    const told =
      rest.counts === null || rest.counts === undefined
        ? `exit code ${rest.code}`
        : `${rest.counts.passed} passed, ${rest.counts.failed} failed`;
    console.log(`${name}: ${told}, ${rest.seconds.toFixed(1)} s${rest.note === "" ? "" : `, ${rest.note}`}`);
    if (rest.code !== 0) console.log(text.split("\n").slice(-12).join("\n"));
    writeFileSync(join(out, "report.json"), `${JSON.stringify(report, null, 1)}\n`);
  }
  const page = markdown(report);
  writeFileSync(join(out, "report.md"), page);
  console.log(page);
  return Object.entries(report.parts).some(([name, part]) => ours.has(name) && part.code !== 0) ? 1 : 0;
}

process.exitCode = await main();
