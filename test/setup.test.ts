import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

/** A copy of the scripts in a folder of its own, and a PATH that holds only what a test puts there. */
let project: string;
let bin: string;
beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), "dxtensor-setup-"));
  bin = join(project, "bin");
  cpSync("scripts", join(project, "scripts"), { recursive: true });
  symlinkSync(join(process.cwd(), "node_modules"), join(project, "node_modules"));
});
afterAll(() => {
  rmSync(project, { recursive: true });
});
beforeEach(() => {
  mkdirSync(bin);
  for (const shell of ["bash", "sh"]) symlinkSync(`/bin/${shell}`, join(bin, shell));
});
/** Only the compiled scripts of a test stay: each test would compile them again. */
afterEach(() => {
  const kept = ["scripts", "node_modules", "build", "typescript"];
  for (const folder of [project, join(project, "build")])
    for (const name of existsSync(folder) ? readdirSync(folder) : [])
      if (!kept.includes(name)) rmSync(join(folder, name), { recursive: true });
});

function program(name: string, body: string): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
  chmodSync(join(bin, name), 0o755);
}
const speaks = (name: string, version: string): void => program(name, `echo '${version}'`);

const tools = { "c++": "c++ (Ubuntu 9.4.0-1ubuntu1~20.04.2) 9.4.0", cmake: "cmake version 3.16.3", make: "GNU Make 4.2.1" };
function install(names: Partial<typeof tools> = tools): void {
  for (const [name, version] of Object.entries(names)) speaks(name, version);
}

/** A folder that looks like the DirectX headers. */
function headers(name: string, { level = "DML_FEATURE_LEVEL_6_4" } = {}): string {
  const folder = join(project, name);
  for (const file of [
    "directx/DirectML.h",
    "directx/d3d12.h",
    "directx/dxcore.h",
    "dxguids/dxguids.h",
    "wsl/winadapter.h",
    "wsl/stubs/unknwn.h",
  ]) {
    mkdirSync(join(folder, file, ".."), { recursive: true });
    writeFileSync(join(folder, file), file === "directx/DirectML.h" ? `${level} = 0x6400` : "");
  }
  return folder;
}

const linked = (): string => join(project, "build/headers/usr/include");

async function setup(
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<{ status: number | undefined; text: string }> {
  const done = await execa(process.execPath, ["scripts/run.mjs", "setup", ...args], {
    cwd: project,
    reject: false,
    extendEnv: false,
    env: { PATH: bin, DXTENSOR_DEBIAN_MIRROR: "http://127.0.0.1:9/debian", ...env },
  });
  return { status: done.exitCode, text: `${done.stdout}${done.stderr}` };
}

const isRoot = process.getuid?.() === 0;

describe("programs", () => {
  it("says what to install on each distribution when something is missing", async () => {
    install({ make: tools.make });
    const { status, text } = await setup();
    expect(status).toBe(1);
    expect(text).toContain("a C++17 compiler (g++ 9 or clang 10, or later), CMake 3.16 or later");
    expect(text).toContain("sudo apt-get install -y g++ cmake\n");
    expect(text).toContain("sudo dnf install -y gcc-c++ cmake\n");
    expect(text).not.toContain("    at ");
  });

  it("names what is too old", async () => {
    install({ ...tools, "c++": "c++ (Debian 8.3.0-6) 8.3.0", cmake: "cmake version 3.10.2" });
    const { status, text } = await setup();
    expect(status).toBe(1);
    expect(text).toContain("Too old: c++ is g++ 8, cmake is 3.10.");
  });

  it.each([
    [
      "g++ with a version in its name, next to an old one",
      { "c++": "c++ (Debian 8.3.0-6) 8.3.0", "g++-10": "g++-10 (Ubuntu 10.5.0-1ubuntu1~20.04) 10.5.0" },
    ],
    ["clang", { "clang++": "Debian clang version 14.0.6" }],
    ["Fedora's g++", { "g++": "g++ (GCC) 14.2.1 20240912 (Red Hat 14.2.1-3)" }],
  ])("takes %s", async (_name, compilers) => {
    install({ cmake: tools.cmake, make: tools.make });
    for (const [name, version] of Object.entries(compilers)) speaks(name, version);
    expect(await setup(["--headers", headers("given")])).toMatchObject({ status: 0 });
  });

  it("uses the compiler of CXX alone", async () => {
    install();
    const { status, text } = await setup([], { CXX: "my-compiler" });
    expect(status).toBe(1);
    expect(text).toContain("a C++17 compiler");
  });

  it.runIf(isRoot)("installs what is missing as root where apt is, and says so", async () => {
    install({ "c++": tools["c++"], make: tools.make });
    const folder = headers("given");
    // Installing makes the program appear.
    program(
      "apt-get",
      `case "$*" in *install*cmake*) printf '#!/bin/sh\\necho cmake version 3.25.1\\n' >${bin}/cmake; /bin/chmod 755 ${bin}/cmake;; esac`,
    );
    const dry = await setup(["--headers", folder, "--dry-run"]);
    expect(dry).toEqual({ status: 0, text: expect.stringContaining("would install with apt: cmake") });
    expect(existsSync(join(bin, "cmake"))).toBe(false);
    expect((await setup(["--headers", folder])).text).toContain("installed with apt: cmake");
    expect((await setup(["--headers", folder])).text).toContain("nothing was changed");
  });

  it.runIf(isRoot)("fails with the explanation when apt does not bring it", async () => {
    install({ "c++": tools["c++"], make: tools.make });
    program("apt-get", "exit 0");
    expect(await setup()).toEqual({ status: 1, text: expect.stringContaining("Missing: CMake 3.16 or later.") });
  });
});

describe("headers", () => {
  beforeEach(() => install());

  it("links the folder of --headers or DXTENSOR_HEADERS once, and follows another one", async () => {
    const [first, second] = [headers("one"), headers("two/include")];
    expect((await setup(["--headers", first])).text).toContain(`taken from ${first}`);
    expect(readlinkSync(linked())).toBe(first);
    expect((await setup(["--headers", first])).text).toContain("nothing was changed");
    expect(await setup([], { DXTENSOR_HEADERS: join(project, "two") })).toMatchObject({ status: 0 });
    expect(readlinkSync(linked())).toBe(second);
    expect((await setup()).text).toContain("nothing was changed");
    expect(await setup(["--quiet"])).toEqual({ status: 0, text: "" });
  });

  it("refuses a folder without them, and headers that are too old", async () => {
    expect(await setup(["--headers", join(project, "bin")])).toEqual({
      status: 1,
      text: expect.stringContaining("has no directx/DirectML.h"),
    });
    const old = await setup(["--headers", headers("old", { level: "DML_FEATURE_LEVEL_6_1" })]);
    expect(old).toEqual({ status: 1, text: expect.stringContaining("older than DirectX headers 1.611") });
    expect(existsSync(linked())).toBe(false);
  });

  // Where the system has new headers of its own, nothing has to be fetched.
  const hasOwn = existsSync("/usr/include/directx/DirectML.h");

  it.skipIf(hasOwn)("says both ways and the remedy when nothing can be fetched", async () => {
    const { status, text } = await setup();
    expect(status).toBe(1);
    expect(text).toMatch(/apt: no apt with Debian's archive/);
    expect(text).toContain("http://127.0.0.1:9/debian/pool/main/d/directx-headers/");
    expect(text).toContain("npm run setup -- --headers DIR");
  });

  it.skipIf(hasOwn)("refuses a download with another digest", async () => {
    const server = createServer((_request, response) => response.end("not the package"));
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    const { port } = server.address() as AddressInfo;
    const answer = await setup([], { DXTENSOR_DEBIAN_MIRROR: `http://127.0.0.1:${port}` });
    server.close();
    expect(answer).toEqual({ status: 1, text: expect.stringContaining("another SHA-256 than expected") });
    expect(existsSync(linked())).toBe(false);
  });

  it.skipIf(hasOwn)("changes nothing with --dry-run", async () => {
    const { status, text } = await setup(["--dry-run"]);
    expect(status).toBe(0);
    expect(text).toContain("would fetch the DirectX headers");
    expect(existsSync(join(project, "build", "headers"))).toBe(false);
  });
});

it("explains itself, and refuses what it does not know", async () => {
  expect((await setup(["--help"])).text).toContain("--headers DIR");
  expect(await setup(["--header"])).toEqual({ status: 1, text: expect.stringContaining("--help lists the options") });
});

it("the package runs nothing when it is installed", () => {
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };
  const names = ["preinstall", "install", "postinstall", "prepare", "preprepare", "postprepare", "dependencies"];
  expect(names.filter((name) => name in scripts)).toEqual([]);
});
