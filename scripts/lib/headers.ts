// The official DirectX headers (DirectML.h, d3d12.h, dxcore.h), MIT licence, as Debian packages them.
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  lstatSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { $, which } from "zx";
import { causeOf } from "../tools/cause.ts";
import { ownApt } from "../tools/own-apt.ts";
import { ScriptError, headers as ours, say } from "../tools/project.ts";

const shell = $({ quiet: true, nothrow: true });
const needed = ["directx/DirectML.h", "directx/d3d12.h", "directx/dxcore.h", "dxguids/dxguids.h", "wsl/winadapter.h", "wsl/stubs"];

/** null when the folder has headers that are new enough, else what is wrong with it. */
export function headersProblem(folder: string) {
  const lacking = needed.filter((name) => !existsSync(join(folder, name)));
  if (lacking.length > 0) return `${folder} has no ${lacking[0]}`;
  // 1.611 is the first version that has it.
  if (!readFileSync(join(folder, "directx/DirectML.h"), "utf8").includes("DML_FEATURE_LEVEL_6_4"))
    return `${folder} is older than DirectX headers 1.611 (no DML_FEATURE_LEVEL_6_4)`;
  return null;
}

function osRelease() {
  try {
    return Object.fromEntries([...readFileSync("/etc/os-release", "utf8").matchAll(/^(\w+)="?([^"\n]*)"?$/gm)].map((m) => [m[1], m[2]]));
  } catch {
    return {};
  }
}

/** Downloads the package with apt from the machine's own mirror, with lists and cache of its own. */
async function fetchWithApt(work: string) {
  const { ID: id, VERSION_CODENAME: codename } = osRelease();
  if (id !== "debian" || !codename || !(await which("apt-get", { nothrow: true }))) return "no apt with Debian's archive";
  const uris = await shell`apt-get update --print-uris -o Dir::State::lists=${work}/none -o Debug::NoLocking=1`;
  const mirror = uris.stdout.match(new RegExp(`^'(.*)/dists/${codename}/InRelease'`, "m"))?.[1];
  if (!mirror) return `no ${codename} among apt's sources`;
  let problem = "";
  for (const suite of [`${codename}-backports`, codename]) {
    const options = ownApt(join(work, "apt"), { mirror, suite });
    for (const step of [["update"], ["download", "directx-headers-dev"]]) {
      const done = await shell({ cwd: work })`apt-get -qq ${options} ${step}`;
      problem = done.exitCode === 0 ? "" : `${suite}: ${done.stderr.trim().split("\n").at(-1)}`;
      if (problem !== "") break;
    }
    if (problem === "") return null;
  }
  return problem;
}

// For machines whose apt has no such package, and for those without apt; the digest makes any mirror as good as another.
const files: readonly (readonly [name: string, sha256: string])[] = [
  ["directx-headers-dev_1.614.1-1_amd64.deb", "d9c13bb2392f26c9dcfcc2a078ca3704a1189a83a62d3b981c03a7f077042538"],
  ["directx-headers-dev_1.614.1-1~bpo12+1_amd64.deb", "36986b4e53d396f2e615ba716e0310102488d99674e62b80d95f1adb25fc4a88"],
];

async function fetchDirectly(work: string) {
  const mirror = (process.env.DXTENSOR_DEBIAN_MIRROR ?? "http://deb.debian.org/debian").replace(/\/$/, "");
  const problems: string[] = [];
  for (const [name, sha256] of files) {
    const url = `${mirror}/pool/main/d/directx-headers/${name}`;
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(60_000) });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const bytes = Buffer.from(await answer.arrayBuffer());
      if (createHash("sha256").update(bytes).digest("hex") !== sha256) throw new Error("another SHA-256 than expected");
      writeFileSync(join(work, name), bytes);
      return null;
    } catch (error) {
      problems.push(`${url}: ${causeOf(error)}`);
    }
  }
  return problems.join("; ");
}

async function unpack(deb: string, into: string) {
  mkdirSync(into, { recursive: true });
  if (await which("dpkg-deb", { nothrow: true })) return shell`dpkg-deb -x ${deb} ${into}`;
  // Elsewhere: a .deb is an ar archive around data.tar.xz.
  return shell`cd ${dirname(deb)} && ar x ${deb} && tar -xf data.tar.* -C ${into}`;
}

async function fetchHeaders() {
  const base = resolve(ours, "../../..");
  mkdirSync(base, { recursive: true });
  const work = mkdtempSync(join(base, "headers-"));
  try {
    const byApt = await fetchWithApt(work);
    const direct = byApt === null ? null : await fetchDirectly(work);
    if (direct !== null) {
      throw new ScriptError(
        "HEADERS_FETCH",
        `The DirectX headers could not be fetched.\n  apt: ${byApt}\n  direct: ${direct}`,
        "Set DXTENSOR_DEBIAN_MIRROR to a Debian mirror, or take them from a folder: npm run setup -- --headers DIR (the include folder of github.com/microsoft/DirectX-Headers or of directx-headers-dev 1.611 or later)",
      );
    }
    const deb = readdirSync(work).find((name) => name.endsWith(".deb"))!;
    const into = join(work, "root");
    const done = await unpack(join(work, deb), into);
    if (done.exitCode !== 0)
      throw new ScriptError(
        "HEADERS_UNPACK",
        `${deb} could not be unpacked: ${done.stderr.trim()}`,
        "Install dpkg, or binutils, tar and xz.",
      );
    const problem = headersProblem(join(into, "usr/include"));
    if (problem !== null) throw new ScriptError("HEADERS_OLD", problem);
    rmSync(ours, { recursive: true, force: true });
    mkdirSync(dirname(ours), { recursive: true });
    renameSync(join(into, "usr/include"), ours);
    const licence = join(into, "usr/share/doc/directx-headers-dev/copyright");
    if (existsSync(licence)) copyFileSync(licence, join(ours, "copyright"));
    return deb.split("_")[1]!;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

const linkTarget = (path: string) => (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : null);

function link(folder: string) {
  rmSync(ours, { recursive: true, force: true });
  mkdirSync(dirname(ours), { recursive: true });
  symlinkSync(folder, ours, "dir");
}

type Plan = { readonly do: "nothing" | "fetch" } | { readonly do: "link"; readonly from: string };

/** What would be done: {do: "nothing" | "link" | "fetch", from?}. Throws when the user's folder is no good. */
export function planHeaders(source: string | undefined): Plan {
  if (source !== undefined) {
    const folder =
      [resolve(source), resolve(source, "include"), resolve(source, "usr/include")].find((path) =>
        existsSync(join(path, "directx/DirectML.h")),
      ) ?? resolve(source);
    const problem = headersProblem(folder);
    if (problem !== null)
      throw new ScriptError(
        "HEADERS_GIVEN",
        `${problem}.`,
        "Give the folder that holds directx/DirectML.h, of DirectX headers 1.611 or later.",
      );
    return linkTarget(ours) === folder ? { do: "nothing" } : { do: "link", from: folder };
  }
  if (headersProblem(ours) === null) return { do: "nothing" };
  if (headersProblem("/usr/include") === null) return { do: "link", from: "/usr/include" };
  return { do: "fetch" };
}

/** Carries the plan out; returns what was changed, in words, or null. */
export async function installHeaders(plan: Plan): Promise<string | null> {
  if (plan.do === "nothing") return null;
  if (plan.do === "link") {
    link(plan.from);
    return `DirectX headers: taken from ${plan.from}`;
  }
  say("setup: fetching the DirectX headers");
  return `DirectX headers: ${await fetchHeaders()} in ${ours}`;
}
