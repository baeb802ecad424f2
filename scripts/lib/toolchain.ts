// Compiler, CMake and build program: finds them, checks their versions, and names the packages to install.
import { ask } from "../tools/program.ts";

const minimum = { "g++": 9, clang: 10, cmake: [3, 16] } as const;

/** First line of `command --version`, null when it does not run. */
function versionLine(command: string) {
  return ask(command, ["--version"])?.split("\n")[0]!.trim() ?? null;
}

/** "g++ (Debian 12.2.0-14) 12.2.0" → { family, version, isNewEnough }; null when it is no compiler that we know. */
export function readCompiler(line: string) {
  const clang = /clang version (\d+)/.exec(line);
  if (clang) return { family: "clang", version: Number(clang[1]), isNewEnough: Number(clang[1]) >= minimum.clang };
  const gcc = /(?:g\+\+|c\+\+|gcc|GCC).*\s(\d+)\.\d+(?:\.\d+)?(?:\s|$)/.exec(line);
  if (gcc) return { family: "g++", version: Number(gcc[1]), isNewEnough: Number(gcc[1]) >= minimum["g++"] };
  return null;
}

export function readCMake(line: string) {
  const match = /cmake version (\d+)\.(\d+)/.exec(line);
  if (!match) return null;
  const [major, minor] = [Number(match[1]), Number(match[2])];
  return {
    version: `${major}.${minor}`,
    isNewEnough: major > minimum.cmake[0] || (major === minimum.cmake[0] && minor >= minimum.cmake[1]),
  };
}

export type Part = "compiler" | "cmake" | "builder";

export interface Tools {
  readonly compiler: { readonly command: string; readonly line: string } | null;
  readonly cmake: string | null;
  readonly builder: string | null;
  /** What is there and too old, in words. */
  readonly old: readonly string[];
}

/** What a build has: all of them. */
export type AllTools = { readonly [K in Part]: NonNullable<Tools[K]> };

export const hasAll = (tools: Tools): tools is Tools & AllTools => missingTools(tools).length === 0;

/** What the machine has. `version` gives a command's first line of --version, or null. */
export function findTools(version = versionLine, env = process.env): Tools {
  const old: string[] = [];
  let compiler: Tools["compiler"] = null;
  const newer = [14, 13, 12, 11, 10, 9].map((n) => `g++-${n}`);
  for (const command of env.CXX ? [env.CXX] : ["c++", "g++", "clang++", ...newer]) {
    const line = version(command);
    const found = line === null ? null : readCompiler(line);
    if (line !== null && found?.isNewEnough) {
      compiler = { command, line };
      break;
    }
    if (found) old.push(`${command} is ${found.family} ${found.version}`);
  }
  const cmakeLine = version("cmake");
  const cmake = cmakeLine === null ? null : readCMake(cmakeLine);
  if (cmake && !cmake.isNewEnough) old.push(`cmake is ${cmake.version}`);
  const builder = ["ninja", "make"].find((command) => version(command) !== null) ?? null;
  return { compiler, cmake: cmake?.isNewEnough ? cmake.version : null, builder, old };
}

/** The missing things, by what they are: ["compiler", "cmake", "builder"]. */
export function missingTools(tools: Tools): Part[] {
  return (["compiler", "cmake", "builder"] as const).filter((name) => tools[name] === null);
}

const packages = {
  apt: { compiler: "g++", cmake: "cmake", builder: "ninja-build" },
  dnf: { compiler: "gcc-c++", cmake: "cmake", builder: "ninja-build" },
};
const needs = { compiler: "a C++17 compiler (g++ 9 or clang 10, or later)", cmake: "CMake 3.16 or later", builder: "ninja or make" };

export const aptPackages = (missing: readonly Part[]) => missing.map((name) => packages.apt[name]);

/** What a person has to type where the script may not. */
export function explainMissing(missing: readonly Part[], old: readonly string[] = []): string {
  return [
    `Missing: ${missing.map((name) => needs[name]).join(", ")}.${old.length > 0 ? ` Too old: ${old.join(", ")}.` : ""}`,
    `  Debian, Ubuntu:  sudo apt-get install -y ${aptPackages(missing).join(" ")}`,
    `  Fedora:          sudo dnf install -y ${missing.map((name) => packages.dnf[name]).join(" ")}`,
    "Then run again: npm run setup",
  ].join("\n");
}
