/** The Dockerfile's stages, built from a local base, and programs that run in them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withEngine } from "../../scripts/tools/docker/engine.ts";
import { findImage } from "../../scripts/tools/docker/images.ts";
import { baseImage, build, run } from "./docker.ts";

describe("a base image", () => {
  it("is made once, and kept", async () => {
    const image = await baseImage("bullseye");
    const idOf = (): Promise<string | null> => withEngine((engine) => findImage(engine, image));
    const id = await idOf();
    expect(id).toMatch(/^sha256:/);
    expect(await baseImage("bullseye")).toBe(image);
    expect(await idOf()).toBe(id);
  });

  it("of an unknown suite is refused with those that are known", async () => {
    const done = await execa("node", ["scripts/run.mjs", "base-image", "slink"], { reject: false });
    expect(done.exitCode).toBe(1);
    expect(done.stderr).toMatch(/Known are bullseye, bookworm, trixie, sid/);
  });
});

describe("the development stage", () => {
  let image: string;
  beforeAll(async () => {
    image = await build("development", await baseImage("bullseye"));
  });

  it("has the tools for a user who is not root", async () => {
    const done = await run(image, [
      "sh",
      "-c",
      "id -un; node --version; npm --version; g++ --version; cmake --version; ninja --version; sudo -n id -un",
    ]);
    expect(done.code).toBe(0);
    const lines = done.stdout.trimEnd().split("\n");
    expect(lines[0]).toBe("dx");
    expect(lines[1]).toMatch(/^v2\d\.\d+\.\d+$/);
    expect(lines.at(-1)).toBe("root");
  });

  it("has headers and Microsoft's library, which a checkout takes without a network", async () => {
    const script = "npm run setup && npm run fetch:directml -- --from /opt/directml --to /tmp/x && ls /tmp/x";
    const copy = "cp -r package.json scripts src /dxtensor && ln -s /repository/node_modules /dxtensor && cd /dxtensor";
    const done = await run(image, ["sh", "-c", `cd /repository && ${copy} && ${script}`], {
      network: "none",
      mounts: { "/repository": process.cwd() },
    });
    expect(done.text).toMatch(/DirectX headers: taken from \/opt\/directx-headers/);
    expect(done.stdout).toMatch(/libdirectml\.so/);
  });
});

describe("the runtime stage", () => {
  let image: string;
  let folder: string;
  beforeAll(async () => {
    image = await build("runtime", await baseImage("bullseye"));
    folder = mkdtempSync(join(tmpdir(), "dxtensor-image-"));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  it("runs a program of ten lines", async () => {
    const program = `import * as dx from "dxtensor";
const x = dx.tensor([[0, 0], [0, 1], [1, 0], [1, 1]]), y = dx.tensor([[0], [1], [1], [0]]);
dx.manualSeed(1);
const model = dx.nn.sequential(dx.nn.linear(2, 16), dx.nn.tanh(), dx.nn.linear(16, 1));
const optimizer = dx.optim.adam(model.parameters(), { lr: 0.05 });
const losses = [];
for (let i = 0; i < 200; i++) {
  const loss = dx.nn.functional.mseLoss(model.forward(x), y);
  loss.backward(); optimizer.step(); optimizer.zeroGrad();
  losses.push(await loss.item());
}
console.log(JSON.stringify([losses[0], losses.at(-1)]));`;
    writeFileSync(join(folder, "main.mjs"), program);
    const done = await run(image, ["node", "main.mjs"], {
      mounts: { "/app/main.mjs": join(folder, "main.mjs") },
      network: "none",
    });
    expect(done.text).toBe(done.stdout);
    const [first, last] = JSON.parse(done.stdout) as [number, number];
    expect(last).toBeLessThan(0.01);
    expect(first).toBeGreaterThan(0.1);
  });

  it("has the doctor, Microsoft's library with its licence, no root and no compiler", async () => {
    const done = await run(image, ["dxtensor", "doctor", "--json"], { network: "none" });
    const answer = JSON.parse(done.stdout) as {
      ok: boolean;
      verdict: string;
      problems: { code: string }[];
      facts: { libraries: { name: string; version: string }[] };
    };
    expect(answer).toMatchObject({ ok: true, verdict: "cpu" });
    expect(answer.problems.map(({ code }) => code)).toEqual(["container.noGpu"]);
    expect(answer.facts.libraries.find(({ name }) => name === "directml")?.version).toMatch(/feature level 6\.2/);
    const inside = await run(image, ["sh", "-c", "id -u; command -v g++ npm python3; ls node_modules/dxtensor/directml"]);
    expect(inside.stdout.trimEnd().split("\n")).toEqual(["1000", "LICENSE", "NOTICE", "libdirectml.so"]);
  });
});

describe("wsl/provision.sh in a bare Debian", () => {
  it("installs packages and Node, and finds nothing to do the second time", async () => {
    const script =
      "cp -r /repository/wsl /repository/scripts . && uname -r >/dev/null && for i in 1 2; do wsl/provision.sh --no-repository --node-source npm; done && g++ --version && node --version && npm --version";
    const done = await run(await baseImage("bookworm"), ["bash", "-c", `mkdir /r && cd /r && ${script}`], {
      mounts: { "/repository": process.cwd() },
    });
    expect(done.code).toBe(0);
    expect(done.stdout).toMatch(/provision: steps done: 2\nprovision: everything is there, nothing was changed/);
  });
});
