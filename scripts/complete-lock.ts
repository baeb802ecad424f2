// node scripts/run.mjs complete-lock: adds the optional packages of other platforms that package-lock.json lacks. A registry mirror
// that does not carry them makes npm leave them out, and npm ci then refuses the file. Run it after npm install.
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { ScriptError, at, main, say } from "./tools/project.ts";

const help = `node scripts/run.mjs complete-lock [FILE]

Adds to package-lock.json the optional packages of other platforms that it lacks; run it after npm install. A registry's mirror that does
not carry them makes npm leave them out, and npm ci then refuses the file.

  FILE    another lock file
  --help  this text`;

const systems = ["android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const processors = ["arm64", "arm", "ia32", "loong64", "ppc64", "riscv64", "s390x", "x64"];

/** "@oxlint/binding-linux-arm64-musl" → os, cpu and libc; null for a name that is no platform's. */
function platformOf(name: string) {
  const words = name.split(/[/-]/);
  const os = systems.find((word) => words.includes(word));
  const cpu = processors.find((word) => words.includes(word));
  if (os === undefined || cpu === undefined) return null;
  const libc = words.some((word: string) => word.startsWith("musl"))
    ? "musl"
    : words.some((word: string) => word.startsWith("gnu"))
      ? "glibc"
      : null;
  return { os: [os], cpu: [cpu], ...(os === "linux" && libc !== null ? { libc: [libc] } : {}) };
}

interface Entry {
  readonly version?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

await main(() => {
  const { positionals } = parseArgs({ options: {}, allowPositionals: true });
  const file = positionals[0] ?? at("package-lock.json");
  const lock = JSON.parse(readFileSync(file, "utf8")) as { packages: Record<string, Entry> };
  const added = [];
  for (const entry of Object.values(lock.packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      const key = `node_modules/${name}`;
      const platform = platformOf(name);
      if (lock.packages[key] !== undefined || platform === null) continue;
      if (!/^\d/.test(version))
        throw new ScriptError("RANGE", `complete-lock: ${name} has the range ${version}: which version is meant can't be told.`);
      lock.packages[key] = { version, ...(entry.dev ? { dev: true } : {}), optional: true, ...platform };
      added.push(name);
    }
  }
  lock.packages = Object.fromEntries(Object.entries(lock.packages).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  say(`complete-lock: ${added.length === 0 ? "nothing was missing" : `added ${added.join(", ")}`}`);
}, help);
