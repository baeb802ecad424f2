// The system requirements of a Linux library, read from its ELF file by objdump and readelf (of binutils).
import { execa } from "execa";
import { ScriptError } from "../tools/project.ts";
import { glibc } from "./sysroot.ts";

/** Libraries of glibc itself and, of WSL's names, those that come with the package. */
const known = [/^lib(c|m|dl|pthread|rt)\.so\.\d$/, /^ld-linux-(x86-64|aarch64)\.so\.\d$/, /^lib(dxcore|d3d12)\.so$/];

const isNewer = (a: string, b: string): boolean => {
  const numbers = (text: string) => text.split(".").map(Number);
  const [x, y] = [numbers(a), numbers(b)];
  const i = x.findIndex((part, at) => part !== (y[at] ?? 0));
  return i >= 0 && x[i]! > (y[i] ?? 0);
};

async function lines(command: string, args: readonly string[]) {
  const done = await execa(command, args, { reject: false });
  if (done.failed)
    throw new ScriptError(
      "BINUTILS",
      `${command} failed: ${done.stderr || done.shortMessage}`,
      "Debian, Ubuntu: sudo apt-get install -y binutils",
    );
  return done.stdout.split("\n");
}

/** {needed: libraries, newest: the glibc it asks for, problems: what a system with that glibc lacks}. */
export async function systemNeeds(file: string, limit = glibc) {
  const needed = (await lines("readelf", ["-dW", file])).flatMap((line) => /\(NEEDED\).*\[(.+)\]/.exec(line)?.[1] ?? []);
  const wanted = (await lines("readelf", ["-VW", file])).flatMap((line) =>
    [...line.matchAll(/Name: (\w+)_([\d.]+)/g)].map((match) => [match[1]!, match[2]!] as const),
  );
  const newest = wanted
    .filter(([kind]) => kind === "GLIBC")
    .map(([, version]) => version)
    .reduce((a, b) => (isNewer(b, a) ? b : a), "0");
  const problems = [
    ...(isNewer(newest, limit) ? [`asks for glibc ${newest}; ${limit} is the limit`] : []),
    ...wanted
      .filter(([kind]) => kind === "GLIBCXX" || kind === "CXXABI")
      .slice(0, 1)
      .map(([kind, version]) => `asks for the system's C++ library (${kind}_${version})`),
    ...needed.filter((name) => !known.some((pattern) => pattern.test(name))).map((name) => `needs ${name}`),
  ];
  return { needed, newest, problems };
}
