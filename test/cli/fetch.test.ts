import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { strToU8, zipSync } from "fflate";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-fetch-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

interface Answer {
  readonly ok: boolean;
  readonly code?: string;
  readonly message?: string;
  readonly hint?: string;
  readonly changed?: boolean;
  readonly licences?: string[];
}

const target = (): string => join(folder, "directml");

/** Runs the script with --json; its status must agree with its answer. */
async function run(args: readonly string[], env: Record<string, string> = {}): Promise<Answer> {
  const done = await execa(process.execPath, ["scripts/run.mjs", "fetch-directml", "--json", "--to", target(), ...args], {
    reject: false,
    env,
  });
  const answer = JSON.parse(done.stdout) as Answer;
  expect(done.exitCode).toBe(answer.ok ? 0 : 1);
  expect(!answer.ok && existsSync(target())).toBe(false);
  return answer;
}

/** A minimal ELF file: 64-bit, little-endian, one loaded segment that covers it. */
function elf({ machine = 62, type = 3, entry = "DMLCreateDevice1" } = {}): Buffer {
  const bytes = Buffer.alloc(256);
  bytes.write("\x7fELF\x02\x01\x01", 0, "latin1");
  bytes.writeUInt16LE(type, 16);
  bytes.writeUInt16LE(machine, 18);
  bytes.writeBigUInt64LE(64n, 32);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(1, 56);
  bytes.writeUInt32LE(1, 64);
  bytes.writeBigUInt64LE(256n, 64 + 32);
  bytes.write(entry, 160, "latin1");
  return bytes;
}

const digest = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const wheel = (library: Uint8Array): Uint8Array =>
  zipSync({
    "torch_directml/libdirectml.so": library,
    "torch_directml/other.py": strToU8("x"),
    "torch_directml-0.2.5.dist-info/LICENSE": strToU8("MIT"),
    "torch_directml-0.2.5.dist-info/NOTICE": strToU8("notice"),
  });

describe("what is refused, with a code and a remedy", () => {
  const cases: readonly [name: string, code: string, text: RegExp, make: () => string][] = [
    ["a path that is not there", "NOT_FOUND", /does not exist/, () => join(folder, "absent.so")],
    ["a folder without the library", "NOT_FOUND", /holds neither/, () => folder],
    ["an empty file", "TRUNCATED", /it is empty/, () => file("libdirectml.so", "")],
    ["the start of a library", "TRUNCATED", /40 bytes are too few/, () => file("libdirectml.so", elf().subarray(0, 40))],
    ["a library without its end", "TRUNCATED", /250 bytes of at least 256/, () => file("libdirectml.so", elf().subarray(0, 250))],
    ["a text", "FOREIGN", /not an ELF file/, () => file("libdirectml.so", "<html>moved</html>")],
    ["a Windows library", "FOREIGN", /Windows library/, () => file("DirectML.dll", "MZ and so on")],
    ["a library for another CPU", "FOREIGN", /ELF machine 183/, () => file("libdirectml.so", elf({ machine: 183 }))],
    ["a program", "FOREIGN", /not a shared library/, () => file("libdirectml.so", elf({ type: 2 }))],
    ["another library", "FOREIGN", /no DMLCreateDevice/, () => file("libdirectml.so", elf({ entry: "cublasCreate" }))],
    ["an older version", "OLD", /older than DirectML feature level 2\.1/, () => file("libdirectml.so", elf({ entry: "DMLCreateDevice" }))],
    ["another version", "DIGEST", /expected fd54a8c5/, () => file("libdirectml.so", elf())],
    [
      "a wheel without the library",
      "FOREIGN",
      /no torch_directml\/libdirectml\.so/,
      () => file("torch_directml-0.1.whl", zipSync({ "torch_directml/DirectML.dll": strToU8("MZ") })),
    ],
    ["a wheel that is cut off", "TRUNCATED", /not a complete wheel/, () => file("torch_directml-0.1.whl", wheel(elf()).subarray(0, 120))],
    ["a wheel that is none", "FOREIGN", /not a complete wheel/, () => file("torch_directml-0.1.whl", "text")],
    ["a wheel of another version", "DIGEST", /expected fd54a8c5/, () => file("torch_directml-0.1.whl", wheel(elf()))],
  ];
  it.each(cases)("%s", async (_name, code, text, make) => {
    const answer = await run(["--from", make()]);
    expect(answer).toMatchObject({ ok: false, code });
    expect(answer.message).toMatch(text);
    expect(answer.hint).not.toBe("");
  });

  it("a digest that is none", async () => {
    expect(await run(["--from", file("libdirectml.so", elf()), "--sha256", "abc"])).toMatchObject({ ok: false, code: "USAGE" });
  });

  it("an index that does not have it, is not there, or gives something else", async () => {
    const page = (href: string) => `<a href="${href}">wheel</a>`;
    const name = "torch_directml-0.2.5.dev240914-cp310-cp310-manylinux2010_x86_64.whl";
    const answers: Record<string, string> = {
      "/empty/torch-directml/": page("torch_directml-0.1.whl"),
      "/broken/torch-directml/": page(`/files/${name}#sha256=${"0".repeat(64)}`),
      [`/files/${name}`]: "not the wheel",
    };
    const server = createServer((request, response) => {
      const text = answers[request.url!];
      response.writeHead(text === undefined ? 404 : 200).end(text);
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      for (const [index, code, text] of [
        ["empty", "DOWNLOAD", /does not have torch_directml-0\.2\.5/],
        ["absent", "DOWNLOAD", /status 404/],
        ["broken", "TRUNCATED", /does not have the digest/],
      ] as const) {
        const answer = await run([], { PIP_INDEX_URL: `${url}/${index}/` });
        expect(answer).toMatchObject({ ok: false, code, hint: expect.stringContaining("--from") });
        expect(answer.message).toMatch(text);
      }
    } finally {
      server.close();
    }
    expect(await run([], { PIP_INDEX_URL: url })).toMatchObject({
      ok: false,
      code: "DOWNLOAD",
      message: expect.stringContaining("does not answer"),
    });
  });
});

describe("what is taken", () => {
  it("a file with the licence next to it", async () => {
    mkdirSync(join(folder, "from"));
    const path = file("from/libdirectml.so", elf());
    file("from/LICENSE", "MIT");
    file("from/other.txt", "x");
    expect(await run(["--from", path, "--sha256", digest(elf())])).toMatchObject({ ok: true, changed: true, licences: ["LICENSE"] });
    expect(readdirSync(target()).toSorted()).toEqual(["LICENSE", "libdirectml.so"]);
    expect(readFileSync(join(target(), "libdirectml.so"))).toEqual(elf());
  });

  it("a wheel, or a folder that holds one: library, licence and notice, nothing else", async () => {
    file("torch_directml-0.2.5-cp310.whl", wheel(elf()));
    expect(await run(["--from", folder, "--sha256", digest(elf())])).toMatchObject({ ok: true, changed: true });
    expect(readdirSync(target()).toSorted()).toEqual(["LICENSE", "NOTICE", "libdirectml.so"]);
  });

  it("nothing the second time, unless forced", async () => {
    const args = ["--from", file("libdirectml.so", elf()), "--sha256", digest(elf())];
    expect(await run(args)).toMatchObject({ changed: true });
    expect(await run(args)).toMatchObject({ changed: false });
    expect(await run([...args, "--force"])).toMatchObject({ changed: true });
  });

  it("replaces a copy that was damaged", async () => {
    mkdirSync(target());
    writeFileSync(join(target(), "libdirectml.so"), "damaged");
    expect(await run(["--from", file("libdirectml.so", elf()), "--sha256", digest(elf())])).toMatchObject({ ok: true, changed: true });
  });
});

it("speaks plainly without --json, and explains itself with --help", async () => {
  const done = await execa(
    process.execPath,
    ["scripts/run.mjs", "fetch-directml", "--to", target(), "--from", file("libdirectml.so", "text")],
    {
      reject: false,
    },
  );
  expect(done.exitCode).toBe(1);
  expect(done.stderr).toContain("is not Microsoft's libdirectml.so");
  expect(done.stderr).not.toContain("    at ");
  const help = await execa(process.execPath, ["scripts/run.mjs", "fetch-directml", "--help"]);
  expect(help.stdout).toContain("--sha256 HEX");
});
