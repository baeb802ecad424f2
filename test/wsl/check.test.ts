/** wsl/check.sh on the same trees as the doctor: the same problems, the same commands to fix them. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { gather } from "../../src/doctor/facts.ts";
import { runProbe } from "../../src/doctor/probe.ts";
import { judge } from "../../src/doctor/verdict.ts";
import { hostOf, lay, packageFolder, probeLines, type Tree } from "../doctor/tree.ts";
import { linuxTrees } from "../doctor/trees/linux.ts";
import { wslTrees } from "../doctor/trees/wsl.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "dxtensor-check-"));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

interface Answer {
  readonly ok: boolean;
  readonly wsl: number | null;
  readonly problems: readonly { readonly code: string; readonly text: string; readonly mend: string }[];
  readonly facts: readonly { readonly name: string; readonly value: string }[];
}

/** A Node that says its version and what the devices answer. */
function layNode(tree: Tree): void {
  mkdirSync(join(root, "usr/bin"), { recursive: true });
  mkdirSync(join(root, packageFolder.linux, "dist/bundle"), { recursive: true });
  writeFileSync(join(root, packageFolder.linux, "dist/bundle/cli.js"), "");
  writeFileSync(join(root, "probe"), probeLines(tree));
  const fall = tree.fall === undefined ? "" : "\nkill -KILL $$";
  writeFileSync(
    join(root, "usr/bin/node"),
    `#!/bin/sh\n[ "$1" = --version ] && { echo ${tree.node ?? "v24.21.0"}; exit; }\ncat '${join(root, "probe")}'${fall}\n`,
  );
  chmodSync(join(root, "usr/bin/node"), 0o755);
}

/** What the script itself runs, and no Node. */
function layTools(): void {
  mkdirSync(join(root, "tools"));
  const tools = "bash sh env awk cat dirname grep head od sed sha256sum sort stat timeout tr wc";
  for (const tool of tools.split(" "))
    symlinkSync(
      [`/usr/bin/${tool}`, `/bin/${tool}`].find((file) => existsSync(file))!,
      join(root, "tools", tool),
    );
}

async function check(tree: Tree, args: readonly string[] = ["--json"], withNode = true) {
  lay(tree, root);
  if (withNode) layNode(tree);
  else layTools();
  return execa("wsl/check.sh", [...args, "--root", root, "--package", packageFolder.linux], {
    reject: false,
    extendEnv: false,
    env: { PATH: withNode ? `${join(root, "usr/bin")}:/usr/bin:/bin` : `${join(root, "usr/bin")}:${join(root, "tools")}`, ...tree.env },
  });
}

describe.runIf(process.platform === "linux")("wsl/check.sh", () => {
  it.each(wslTrees.map((tree) => [tree.name, tree] as const))("%s", async (_, tree) => {
    const done = await check(tree);
    const answer = JSON.parse(done.stdout) as Answer;
    const host = hostOf(tree, root);
    const verdict = judge(await gather(host, "0.1.0", await runProbe(host, "cli.js")));
    expect(answer.problems.map(({ code }) => code)).toEqual(tree.expected.codes);
    expect(answer.problems.map(({ mend }) => mend)).toEqual(verdict.problems.map(({ mend }) => mend));
    expect(answer.ok).toBe(tree.expected.ok);
    expect(done.exitCode).toBe(tree.expected.ok ? 0 : 1);
    expect(done.stderr).toBe("");
  });

  it("the screen of a healthy WSL 2", async () => {
    const { stdout, exitCode } = await check(wslTrees[0]!, []);
    expect(exitCode).toBe(0);
    for (const pattern of [
      /^Kernel +5\.15\.167\.4-microsoft-standard-WSL2$/m,
      /^WSL app +2\.3\.26\.0$/m,
      /^Direct3D +1\.611\.1-81528511$/m,
      /^Windows +10\.0\.22631\.4391$/m,
      /^GPU +NVIDIA GeForce RTX 3070, driver 31\.0\.15\.5222$/m,
      /^\/dev\/dxg +there$/m,
      /^libd3d12\.so +\/usr\/lib\/wsl\/lib\/libd3d12\.so, \d+ bytes$/m,
      /^dml:0 +NVIDIA GeForce RTX 3070, feature level 6\.2$/m,
      /^OK: /m,
    ])
      expect(stdout).toMatch(pattern);
  });

  it.each(linuxTrees.filter(({ platform }) => platform !== "win32").map((tree) => [tree.name, tree] as const))(
    "is not for %s",
    async (_, tree) => {
      const done = await check(tree);
      expect(JSON.parse(done.stdout)).toEqual({ ok: true, wsl: null, problems: [] });
      expect(done.exitCode).toBe(3);
    },
  );

  it("without Node it says so, and judges the rest", async () => {
    const answer = JSON.parse((await check(wslTrees[0]!, ["--json"], false)).stdout) as Answer;
    expect(answer.problems.map(({ code, mend }) => [code, mend])).toEqual([["node.missing", "wsl/provision.sh"]]);
    expect(answer.facts.find(({ name }) => name === "libdxcore.so")?.value).toMatch(/^\/usr\/lib\/wsl\/lib\/libdxcore\.so/);
  });

  it("changes nothing", async () => {
    await check(wslTrees[0]!);
    const before = (await execa("find", [root, "-printf", "%P %s %T@\n"])).stdout;
    await execa("wsl/check.sh", ["--root", root], { reject: false });
    expect((await execa("find", [root, "-printf", "%P %s %T@\n"])).stdout).toBe(before);
  });

  it("refuses an unknown option, and one without its folder", async () => {
    for (const args of [["--jason"], ["--root"]]) expect((await execa("wsl/check.sh", args, { reject: false })).exitCode).toBe(2);
  });

  it("knows the libdirectml.so that is fetched", () => {
    const digest = /sha256: "([0-9a-f]{64})"/.exec(readFileSync("src/fetch/directml-library.ts", "utf8"))?.[1];
    expect(readFileSync("wsl/lib/library.sh", "utf8")).toContain(digest);
  });
});
