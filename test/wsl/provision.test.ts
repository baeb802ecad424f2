/** wsl/provision.sh with stubs of everything that changes a system, in a folder that replaces "/". */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let root: string;
let bin: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "dxtensor-provision-"));
  bin = join(root, "stubs");
  for (const folder of ["stubs", "packages", "proc/sys/kernel", "etc/ld.so.conf.d", "usr/lib/wsl/lib"])
    mkdirSync(join(root, folder), { recursive: true });
  const tools =
    "bash env awk cat cut dirname find grep head id mkdir mv ln od printf readlink rm sed sha256sum sort stat tee timeout touch tr wc";
  for (const tool of tools.split(" "))
    symlinkSync(
      [`/usr/bin/${tool}`, `/bin/${tool}`].find((file) => existsSync(file))!,
      join(bin, tool),
    );
  stub("sudo", '"$@"');
  stub("dpkg-query", `for name; do :; done\n[ -e '${root}/packages/'"$name" ] && printf 'install ok installed'`);
  stub("apt-get", `for name; do case $name in -* | update | install) ;; *) touch '${root}/packages/'"$name";; esac; done`);
  stub("ldconfig", ":");
  // Stands for `sh scripts/install-node.sh VERSION SOURCE REGISTRY FOLDER`.
  const node = (name: string, text: string): string =>
    `printf '#!/bin/sh\\necho ${text}\\n' >"$5/bin/${name}"; /bin/chmod 755 "$5/bin/${name}"`;
  stub("sh", `mkdir -p "$5/bin"; ${node("node", "v24.21.0")}; ${node("npm", "11.0.0")}; ${node("npx", "11.0.0")}`);
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

function stub(name: string, body: string): void {
  writeFileSync(join(bin, name), `#!/bin/sh\necho "${name} $*" >>'${join(root, "log")}'\n${body}\n`);
  chmodSync(join(bin, name), 0o755);
}
const kernel = (release: string): void => writeFileSync(join(root, "proc/sys/kernel/osrelease"), `${release}\n`);
const log = (): string[] => (existsSync(join(root, "log")) ? readFileSync(join(root, "log"), "utf8").trim().split("\n") : []);
/** Calls that would change a system. */
const effects = (): string[] => log().filter((line) => /^(apt-get|sh|ldconfig|usermod) /.test(line));
const content = (): string[] => (readdirSync(root, { recursive: true }) as string[]).filter((name) => name !== "log").sort();

const provision = (args: readonly string[] = []) =>
  execa("wsl/provision.sh", ["--root", root, "--no-repository", ...args], {
    reject: false,
    all: true,
    extendEnv: false,
    env: { PATH: `${join(root, "usr/local/bin")}:${bin}` },
  });

describe.runIf(process.platform === "linux")("wsl/provision.sh", () => {
  it("does every step once, says what it changed, and finds nothing to do the second time", async () => {
    kernel("5.15.167.4-microsoft-standard-WSL2");
    const first = await provision();
    expect(first.exitCode).toBe(0);
    expect(first.all).toMatch(/provision: install ca-certificates cmake curl g\+\+ .*python3-pip/);
    expect(first.all).toMatch(/provision: install Node 24 from nodejs\.org into \/opt\/node$/m);
    expect(first.all).toMatch(/tell the dynamic loader of \/usr\/lib\/wsl\/lib/);
    expect(first.all).toMatch(/^provision: steps done: 3$/m);
    expect(readFileSync(join(root, "etc/ld.so.conf.d/dxtensor-wsl.conf"), "utf8")).toMatch(/^\/usr\/lib\/wsl\/lib$/m);
    expect(lstatSync(join(root, "usr/local/bin/npm")).isSymbolicLink()).toBe(true);
    expect(effects()).toEqual([
      "apt-get -qq update",
      expect.stringMatching(/^apt-get -qq install -y --no-install-recommends .*g\+\+/),
      expect.stringMatching(/^sh scripts\/install-node\.sh 24 nodejs\.org https:\/\/registry\.npmjs\.org .*\/opt\/node\.new$/),
      "ldconfig ",
    ]);
    // Under WSL it ends with the check, which has no GPU to show here.
    expect(first.all).toMatch(/^NOT OK:$/m);

    rmSync(join(root, "log"));
    const second = await provision();
    expect(second.exitCode).toBe(0);
    expect(second.all).toMatch(/^provision: everything is there, nothing was changed$/m);
    expect(effects()).toEqual([]);
  });

  it("with --dry-run says the same steps and changes nothing", async () => {
    kernel("5.15.167.4-microsoft-standard-WSL2");
    const before = content();
    const done = await provision(["--dry-run"]);
    expect(done.exitCode).toBe(0);
    expect(done.all?.match(/^provision: would /gm)).toHaveLength(3);
    expect(done.all).toMatch(/^provision: steps to do: 3; nothing was changed$/m);
    expect(content()).toEqual(before);
    expect(effects()).toEqual([]);
  });

  it("installs only the packages that are missing, and replaces an old Node", async () => {
    kernel("6.1.0-28-amd64");
    for (const name of "ca-certificates curl g++ git libatomic1 make ninja-build python3 python3-pip xz-utils".split(" "))
      writeFileSync(join(root, "packages", name), "");
    stub("node", "echo v18.20.4");
    stub("npm", "echo 10");
    const done = await provision(["--node", "22", "--node-source", "npm", "--registry", "https://registry.example"]);
    expect(done.exitCode).toBe(0);
    expect(done.all).toMatch(/^provision: install cmake$/m);
    expect(done.all).toMatch(/install Node 22 from npm into \/opt\/node \(there is v18\.20\.4\)/);
    expect(effects().some((line) => line.startsWith("sh scripts/install-node.sh 22 npm https://registry.example "))).toBe(true);
    // No WSL: no library path, no check.
    expect(existsSync(join(root, "etc/ld.so.conf.d/dxtensor-wsl.conf"))).toBe(false);
    expect(done.all).not.toMatch(/NOT OK/);
  });

  it("keeps a supported Node and a library path that is there", async () => {
    kernel("5.15.167.4-microsoft-standard-WSL2");
    stub("node", "echo v22.23.3");
    stub("npm", "echo 11");
    writeFileSync(join(root, "etc/ld.so.conf.d/ld.wsl.conf"), "# WSL\n/usr/lib/wsl/lib\n");
    const done = await provision();
    expect(done.all).toMatch(/^provision: steps done: 1$/m);
    expect(effects().map((line) => line.split(" ")[0])).not.toContain("sh");
  });

  it("stops where a step fails, with what was done before", async () => {
    kernel("5.15.167.4-microsoft-standard-WSL2");
    stub("apt-get", "exit 100");
    const done = await provision();
    expect(done.exitCode).toBe(1);
    expect(done.all).toMatch(/could not install ca-certificates .*\(status 100\)/);
    expect(effects().map((line) => line.split(" ")[0])).not.toContain("sh");
  });

  it("keeps the Node that is there when the new one can't be had", async () => {
    kernel("6.1.0-28-amd64");
    mkdirSync(join(root, "opt/node/bin"), { recursive: true });
    writeFileSync(join(root, "opt/node/bin/node"), "old");
    stub("sh", "exit 22");
    const done = await provision();
    expect(done.exitCode).toBe(1);
    expect(readFileSync(join(root, "opt/node/bin/node"), "utf8")).toBe("old");
  });

  it("refuses WSL 1 with the command that converts it", async () => {
    kernel("4.4.0-19041-Microsoft");
    const done = await provision();
    expect(done.exitCode).toBe(1);
    expect(done.all).toMatch(/wsl --set-version <distribution> 2/);
    expect(effects()).toEqual([]);
  });

  it("warns of a display driver inside WSL, and leaves it", async () => {
    kernel("5.15.167.4-microsoft-standard-WSL2");
    stub(
      "dpkg-query",
      `case "$*" in *libnvidia*) printf 'install ok installed nvidia-driver-535\\n';; *) printf 'install ok installed';; esac`,
    );
    const done = await provision(["--dry-run"]);
    expect(done.all).toMatch(/nvidia-driver-535 is installed here and hides the driver of Windows/);
  });

  it("refuses an unknown option, and one without its value", async () => {
    for (const args of [["--jason"], ["--node"]]) expect((await provision(args)).exitCode).toBe(2);
  });
});
