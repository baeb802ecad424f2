// npm run release: every package that this machine can build, packed, and checked as a user has it.
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ScriptError, at, main, say } from "./tools/project.ts";
import { buildTypeScript } from "./build.ts";
import { ensureBuilt, ensureSetup } from "./lib/ensure.ts";
import { systemNeeds } from "./lib/glibc.ts";
import { shipped } from "./lib/native-files.ts";
import { buildPlatform, cannotBuild, sysrootSettings } from "./lib/native-builds.ts";
import { buildVulkan, vulkanLibraries } from "./vulkan/build.ts";
import { fetchDirectml } from "./lib/directml.ts";
import { cannotBuildEngine, companions, engines, stageCompanion, stageEngine } from "./lib/companions.ts";
import { manifest } from "./lib/manifest.ts";
import { optional, pack, platforms, sizeOf, stageDirectml, stageMain, stagePlatform, stageVulkan } from "./lib/packages.ts";
import { publish, treeProblems } from "./lib/publish.ts";
import { checkElectronArchive, checkJest, checkNext } from "./lib/release-hosts.ts";
import { cannotRunWindows, checkWindows, checkWindowsFiles } from "./lib/release-win32.ts";
import { cannotEmulate, checkArm64, checkKernels } from "./lib/release-arm64.ts";
import { checkCompanions } from "./lib/release-companions.ts";
import { checkEngine, checkEngineEmulated, checkRanksEmulated } from "./lib/release-engines.ts";
import {
  checkBundlers,
  checkNode,
  checkOldSystem,
  checkScripts,
  checkTypes,
  ensureNode,
  installed,
  startUp,
} from "./lib/release-checks.ts";

const help = `npm run release -- --dry-run | --publish [OPTIONS]

Builds the packages of a release that this machine can build, packs them into build/packages, and checks them: which glibc and
libraries the binaries need, sizes and start-up, types, and small programs installed from the tarballs into an empty folder, offline, on
Node 20, 22, 24 and 26, as ES module and CommonJS, through each bundler, in jest, in
Next's server build and from an archive as Electron's packers make it, and in a system with glibc 2.31 (needs root). The conformance tests
run some of their tests on openreg, from their tarballs. Two ranks compute with the package of
dx.distributed's engines; that for arm64 is cross-compiled, and two ranks of it compute under emulation.
The package for Windows runs under its own node.exe in the Wine cell (needs root; verify:windows makes the same cell); the files of the package for Windows on
arm64 are only read.

  --dry-run       publish nothing
  --publish       then publish all of them, the main package after those that it brings, with provenance: in a CI job whose identity npm trusts (docs/releases.md)
  --only NAMES    these platform packages only, such as linux-x64,vulkan-linux-x64
  --own           this machine's own build instead of one against glibc 2.31, for tests
  --short         Node 20 and 26 (Windows: 24), one bundler, not Next
  --no-check      build and pack only
  --no-companions without openreg and the conformance tests
  --out FOLDER    where the tarballs go (build/packages)
  --json          one line of JSON on stdout: {ok, tarballs, left, problems}
  --help          this text`;

/** Bytes of a tarball, milliseconds of processor time. */
const budgets: Readonly<Record<string, number>> & { readonly startUp: number } = {
  dxtensor: 3.75e6,
  "linux-x64": 5e6,
  "linux-arm64": 5e6,
  "win32-x64": 6e6,
  "win32-arm64": 5e6,
  "directml-linux-x64": 26e6,
  "vulkan-linux-x64": 4e6,
  openreg: 0.1e6,
  conformance: 8e6,
  "distributed-linux-x64": 1e6,
  "distributed-linux-arm64": 1e6,
  startUp: 250,
};

/** A platform package's folder; throws where it can't be made. */
async function stageOne(name: string, isOwn: boolean) {
  if (name === "directml-linux-x64") {
    const to = at("build", "packages", "from-microsoft");
    if ((await fetchDirectml({ to })) !== 0) throw new ScriptError("DIRECTML", "Microsoft's libdirectml.so could not be fetched.");
    return stageDirectml(to);
  }
  if (name === "vulkan-linux-x64") {
    const folder = at("build", "vulkan-linux-x64");
    await buildVulkan({ folder, settings: await sysrootSettings("x64") });
    return stageVulkan(vulkanLibraries.map((file) => join(folder, basename(file))));
  }
  return stagePlatform(name, isOwn ? shipped : await buildPlatform(name));
}

interface Packing {
  readonly names: readonly string[];
  readonly isOwn: boolean;
  readonly hasCompanions: boolean;
  readonly out: string;
}

async function packAll({ names, isOwn, hasCompanions, out }: Packing) {
  const tarballs: Record<string, string> = {};
  const problems: string[] = [];
  const left: string[] = [];
  if (isOwn) await ensureBuilt(["src"]);
  else {
    await ensureSetup();
    await buildTypeScript(["src"]);
  }
  for (const name of names) {
    const why = platforms.includes(name) && !isOwn ? cannotBuild(name) : null;
    if (why !== null) {
      left.push(`${name}: ${why}`);
      continue;
    }
    const folder = await stageOne(name, isOwn);
    for (const file of readdirSync(folder).filter((file) => /\.(so|node)$/.test(file))) {
      if (!name.includes("linux") || name.startsWith("directml") || isOwn) continue;
      problems.push(...(await systemNeeds(join(folder, file))).problems.map((problem) => `@dxtensor/${name}/${file} ${problem}`));
    }
    tarballs[name] = await pack(folder, out);
  }
  tarballs.dxtensor = await pack(await stageMain(), out);
  for (const name of hasCompanions ? companions : []) tarballs[name] = await pack(await stageCompanion(name), out);
  for (const name of hasCompanions ? engines : []) {
    const why = cannotBuildEngine(name);
    if (why === null) tarballs[name] = await pack(await stageEngine(name), out);
    else left.push(`${name}: ${why}`);
  }
  for (const [name, file] of Object.entries(tarballs)) {
    say(`release: ${basename(file)}  ${(sizeOf(file) / 1e6).toFixed(2)} MB`);
    if (sizeOf(file) > budgets[name]!) problems.push(`${basename(file)} has ${sizeOf(file)} bytes; ${budgets[name]} is the limit`);
  }
  return { tarballs, problems, left };
}

type Tarballs = Readonly<Record<string, string>>;
type Part = (what: string, body: () => Promise<readonly string[]>) => Promise<void>;

/** Runs parts, each of which gives its problems, and counts them. */
function counter() {
  const counts = { problems: [] as string[], passed: 0, failed: 0 };
  const part: Part = async (what, body) => {
    const start = performance.now();
    const found = await body();
    counts[found.length === 0 ? "passed" : "failed"]++;
    counts.problems.push(...found);
    say(`release: ${found.length === 0 ? "ok    " : "FAILED"} ${what} (${((performance.now() - start) / 1000).toFixed(0)} s)`);
  };
  return { counts, part };
}

interface Depth {
  part: Part;
  majors: readonly number[];
  isShort: boolean;
  isOwn: boolean;
}

/** The tarballs of the main package and of what it brings on this machine. */
const ownTarballs = (tarballs: Tarballs): string[] =>
  Object.entries(tarballs).flatMap(([name, file]) =>
    name === "dxtensor" || (name.endsWith(`${process.platform}-${process.arch}`) && !name.startsWith("distributed")) ? [file] : [],
  );

/** What runs on this machine's own processor. */
async function checkHere(tarballs: Tarballs, { part, majors, isShort, isOwn }: Depth) {
  const own = ownTarballs(tarballs);
  if (companions.every((name) => tarballs[name] !== undefined))
    await part("openreg and the conformance tests", async () => {
      const nodes = Object.fromEntries(await Promise.all(majors.map(async (major) => [`Node ${major}`, await ensureNode(major)] as const)));
      return checkCompanions([...own, ...companions.map((name) => tarballs[name]!)], nodes);
    });
  const engine = tarballs[`distributed-${process.platform}-${process.arch}`];
  if (engine !== undefined) await part("the engines of dx.distributed", () => checkEngine([...own, engine]));
  const app = await installed(own);
  try {
    for (const major of majors) await part(`Node ${major}`, () => checkNode(app, major));
    await part("no scripts", async () => checkScripts(app));
    await part("types", () => checkTypes(app));
    await part("start-up", async () => {
      const ms = await startUp(app, 'await import("dxtensor")');
      return ms > budgets.startUp ? [`importing takes ${ms.toFixed(0)} ms of processor time; ${budgets.startUp} is the limit`] : [];
    });
    if (isOwn) say("release: !!!! not checked on glibc 2.31: this is the machine's own build");
    else if (process.getuid?.() === 0) await part("glibc 2.31", () => checkOldSystem(app, majors));
    else say("release: !!!! not checked on glibc 2.31: a system of its own needs root");
    await part("bundlers", () => checkBundlers(app, isShort ? ["esbuild, ES module", "esbuild, CommonJS"] : undefined));
    await part("jest", () => checkJest(app));
    await part("an archive for Electron", () => checkElectronArchive(app));
    if (!isShort) await part("Next's server build", () => checkNext(app));
  } finally {
    rmSync(app, { recursive: true });
  }
}

async function check(tarballs: Tarballs, isShort: boolean, isOwn: boolean) {
  const { counts, part } = counter();
  const majors = isShort ? [20, 26] : [20, 22, 24, 26];
  if (tarballs[`${process.platform}-${process.arch}`] !== undefined) await checkHere(tarballs, { part, majors, isShort, isOwn });
  if (tarballs["linux-arm64"] !== undefined && process.arch !== "arm64") {
    const why = cannotEmulate();
    if (why !== null) say(`release: !!!! arm64 was not run: ${why}`);
    else {
      await part("arm64 under emulation", () => checkArm64([tarballs.dxtensor!, tarballs["linux-arm64"]!], majors));
      await part("arm64's kernels", () => checkKernels(isShort ? 5 : 50));
    }
  }
  const engine = tarballs["distributed-linux-arm64"];
  if (process.arch !== "arm64") {
    const why = engine === undefined ? cannotBuildEngine("distributed-linux-arm64") : cannotEmulate();
    if (why !== null) say(`release: !!!! the engines for arm64 were not run: ${why}`);
    else if (engine !== undefined) {
      await part("two ranks of the engines for arm64 under emulation", () => checkEngineEmulated(engine));
      const platform = tarballs["linux-arm64"];
      if (platform !== undefined)
        await part("two ranks of dx.distributed on arm64 under emulation", () =>
          checkRanksEmulated([tarballs.dxtensor!, platform, engine]),
        );
    }
  }
  if (tarballs["win32-x64"] !== undefined) {
    const why = cannotRunWindows();
    if (why !== null) say(`release: !!!! Windows' package was not run: ${why}`);
    // Other versions of Node are in no cell: one of these in a hurry.
    else await part("Windows, in the Wine cell", () => checkWindows([tarballs.dxtensor!, tarballs["win32-x64"]!], isShort ? [24] : majors));
  }
  if (tarballs["win32-arm64"] !== undefined) {
    await part("the files for Windows on arm64", () => checkWindowsFiles([tarballs.dxtensor!, tarballs["win32-arm64"]!], "arm64"));
    say("release: !!!! Windows' package for arm64 was not run: there is no cell for that processor");
  }
  return counts;
}

await main(
  async () => {
    const { values } = parseArgs({
      options: {
        "dry-run": { type: "boolean", default: false },
        publish: { type: "boolean", default: false },
        only: { type: "string" },
        own: { type: "boolean", default: false },
        short: { type: "boolean", default: false },
        "no-check": { type: "boolean", default: false },
        "no-companions": { type: "boolean", default: false },
        out: { type: "string", default: at("build", "packages") },
        json: { type: "boolean", default: false },
      },
    });
    if (values["dry-run"] === values.publish)
      throw new ScriptError("USAGE", "Say whether to publish (docs/releases.md).", "npm run release -- --dry-run");
    const notReady = treeProblems();
    if (values.publish && notReady.length > 0) throw new ScriptError("NOT_READY", `This is no release: ${notReady.join("; ")}.`);
    if (values.publish && (values.only !== undefined || values.own || values.short || values["no-check"] || values["no-companions"]))
      throw new ScriptError(
        "USAGE",
        "A release is published whole and checked: --publish goes with none of --only, --own, --short, --no-check, --no-companions.",
      );
    const here = `${process.platform}-${process.arch}`;
    const names = values.only?.split(",").filter(Boolean) ?? (values.own ? [here] : optional);
    const unknown = names.find((name) => !optional.includes(name));
    if (unknown !== undefined) throw new ScriptError("USAGE", `There is no package "${unknown}".`, `There are ${optional.join(", ")}.`);
    const out = resolve(values.out);
    mkdirSync(out, { recursive: true });
    const { tarballs, problems, left } = await packAll({ names, isOwn: values.own, hasCompanions: !values["no-companions"], out });
    const checked =
      values["no-check"] || process.platform !== "linux"
        ? { problems: [], passed: 1, failed: 0 }
        : await check(tarballs, values.short, values.own);
    const all = [...problems, ...checked.problems];
    for (const problem of all) say(`release: FAILED ${problem}`);
    for (const reason of left) say(`release: not built: ${reason}`);
    for (const reason of notReady) say(`release: before it is published: ${reason}`);
    if (values.publish && all.length === 0) await publish(tarballs);
    if (values.json) console.log(JSON.stringify({ ok: all.length === 0, version: manifest.version, tarballs, left, problems: all }));
    else console.log(`${checked.passed} passed, ${checked.failed + problems.length} failed`);
    return all.length === 0 ? 0 : 1;
  },
  help,
  { tellsFailures: true },
);
