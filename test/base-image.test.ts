/** Where base images come from: the part without an engine. */
import { execa } from "execa";
import { expect, it } from "vitest";
import { typescript } from "./scripts.ts";

const ask = async (expression: string): Promise<unknown> => {
  const code = `import { mirrorsOf, readAptMirror } from "./scripts/tools/suites.ts"; console.log(JSON.stringify(${expression} ?? null))`;
  return JSON.parse((await execa(process.execPath, [...typescript, "--input-type=module", "-e", code])).stdout) as unknown;
};

it.each([
  ["deb http://mirror.example/debian bookworm main", "http://mirror.example/debian"],
  ["deb [arch=amd64 signed-by=/k.gpg] https://mirror.example/debian/ bookworm main", "https://mirror.example/debian"],
  ["Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm", "http://mirror.example/debian"],
  ["# deb http://old.example/debian bookworm main\ndeb https://packages.example/tool stable main", null],
  ["Types: deb\nURIs: http://mirror.example/debian-security\nSuites: bookworm-security", null],
  ["deb http://archive.ubuntu.com/ubuntu noble main", null],
])("apt's mirror in %j", async (text, mirror) => {
  expect(await ask(`readAptMirror(${JSON.stringify(text)})`)).toBe(mirror);
});

it("tries apt's mirror, the usual one, the archive of old suites; a variable or an option replaces them", async () => {
  const usual = ["http://deb.debian.org/debian", "http://archive.debian.org/debian"];
  expect(await ask('mirrorsOf("bullseye")')).toEqual(usual);
  expect(await ask('mirrorsOf("bullseye", { apt: "http://a/debian" })')).toEqual(["http://a/debian", ...usual]);
  expect(await ask('mirrorsOf("bullseye", { variable: "http://b/debian/", apt: "http://a/debian" })')).toEqual(["http://b/debian"]);
  expect(await ask('mirrorsOf("bullseye", { variable: "sid=http://s,bullseye=http://c" })')).toEqual(["http://c"]);
  expect(await ask('mirrorsOf("trixie", { variable: "sid=http://s,bullseye=http://c" })')).toEqual(usual);
  expect(await ask('mirrorsOf("trixie", { explicit: "http://g", variable: "http://b" })')).toEqual(["http://g"]);
});

it("knows no other suites", async () => {
  const done = await execa(process.execPath, ["scripts/run.mjs", "base-image", "slink"], { reject: false });
  expect(done.exitCode).toBe(1);
  expect(done.stderr).toMatch(/Unknown suite slink.*\n.*bullseye, bookworm, trixie, sid/);
});
