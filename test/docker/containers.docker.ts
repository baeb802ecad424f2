/** Docker on a real engine: images, and containers that leave nothing, however they end. */
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, connect as dial, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import * as tar from "tar";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  containerProblem,
  listContainers,
  runContainer,
  withStill,
  type ContainerEnd,
  type ContainerRequest,
} from "../../scripts/tools/docker/containers.ts";
import { openDefaultEngine, openEngine, type Engine } from "../../scripts/tools/docker/engine.ts";
import { EngineError } from "../../scripts/tools/docker/errors.ts";
import { buildImage, findImage, importImage, listImages, pullImage, removeImage } from "../../scripts/tools/docker/images.ts";
import { ensureVolume, listVolumes, removeVolume } from "../../scripts/tools/docker/volumes.ts";
import { typescript } from "../scripts.ts";
import { baseImage } from "./docker.ts";

const labels = { "dxtensor.test": `containers-${process.pid}` };
let engine: Engine;
let image: string;
let folder: string;
beforeAll(async () => {
  image = await baseImage("bookworm");
  engine = await openDefaultEngine();
  folder = mkdtempSync(join(tmpdir(), "dxtensor-test-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});
afterEach(async () => {
  const left = await listContainers(engine, labels);
  if (left.length > 0) throw new Error(`containers left behind: ${left.map(({ id }) => id).join(", ")}`);
});

const request = (script: string, more: Partial<ContainerRequest> = {}): ContainerRequest => ({
  image,
  labels,
  command: ["bash", "-c", script],
  limitMs: 60_000,
  ...more,
});
const run = (script: string, more?: Partial<ContainerRequest>): Promise<ContainerEnd> => runContainer(engine, request(script, more));
const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "no error",
    (error: unknown) => (error instanceof EngineError ? error.code : error),
  );

describe("a container", () => {
  it("gives its lines, its status and its files, and is gone", async () => {
    mkdirSync(join(folder, "in"));
    mkdirSync(join(folder, "out"));
    writeFileSync(join(folder, "in", "text"), "from outside");
    const lines: string[] = [];
    let has: boolean[] = [];
    const end = await run("cat /srv/in/text; echo; echo grün >&2; mkdir /srv/out; echo made >/srv/out/file; pwd; exit 3", {
      folder: "/srv",
      archives: [["/srv", Buffer.concat(await Readable.from(tar.c({ cwd: folder, portable: true }, ["in"])).toArray())]],
      onLine: (line, from) => lines.push(`${from} ${line}`),
      after: async (container, { code }) => {
        has = [await container.has("/srv/out"), await container.has("/srv/none"), await container.copyOut("/srv/none", folder)];
        expect(await container.copyOut("/srv/out", join(folder, "out"))).toBe(true);
        expect(code).toBe(3);
      },
    });
    expect(end).toMatchObject({ code: 3, isLate: false, isOutOfMemory: false, stdout: "from outside\n/srv\n" });
    expect(lines.toSorted()).toEqual(["stderr grün", "stdout /srv", "stdout from outside"]);
    expect(has).toEqual([true, false, false]);
    expect(readFileSync(join(folder, "out", "file"), "utf8")).toBe("made\n");
    expect(containerProblem(end, request(""))).toBe("ended with status 3");
  });

  it("sees what is mounted, and no network where there is none", async () => {
    const volume = `dxtensor-test-${process.pid}`;
    await ensureVolume(engine, volume, labels);
    await ensureVolume(engine, volume, labels);
    expect(await listVolumes(engine, labels)).toEqual([volume]);
    const mounts = { "/bound": folder, "/volume": volume };
    const end = await run("touch /volume/x && ! touch /bound/x 2>/dev/null && ls /sys/class/net", {
      mounts,
      writable: ["/volume"],
      network: "none",
    });
    expect(end).toMatchObject({ code: 0, stdout: "lo\n" });
    expect(await withStill(engine, { image, labels, mounts }, (container) => container.has("/volume/x"))).toBe(true);
    expect(await removeVolume(engine, volume)).toBe(true);
    expect(await removeVolume(engine, volume)).toBe(false);
  });

  it("is ended when its time is over, though it ignores signals", async () => {
    const late = request("trap '' TERM INT; echo up; while :; do sleep 1; done", { limitMs: 2000 });
    const end = await runContainer(engine, late);
    expect(end).toMatchObject({ isLate: true, stdout: "up\n" });
    expect(containerProblem(end, late)).toBe("was not done after 2 s");
  });

  it("is ended when it takes too much memory", async () => {
    const greedy = request("a=x; while :; do a=$a$a; done", { memoryInBytes: 64 * 1024 ** 2, after: () => Promise.resolve() });
    const end = await runContainer(engine, greedy);
    expect(end.code).not.toBe(0);
  });

  it("is ended by its signal", async () => {
    const controller = new AbortController();
    const end = run("echo up; exec sleep 1000", { signal: controller.signal, onLine: () => controller.abort(new Error("enough")) });
    await expect(end).rejects.toThrow("enough");
    await expect(run("true", { signal: controller.signal })).rejects.toThrow("enough");
  });

  it("may say 100 MB, of which the end is kept", async () => {
    let [characters, lines] = [0, 0];
    const whole = await run("yes 0123456789abcde | head -c 100000000", {
      keep: 1000,
      onLine: (line) => void ((characters += line.length + 1), lines++),
    });
    expect(whole).toMatchObject({ code: 0 });
    expect(whole.stdout).toHaveLength(1000);
    expect(characters).toBe(100_000_000);
    expect(lines).toBe(100_000_000 / 16);
    let longest = 0;
    const one = await run("head -c 100000000 /dev/zero | tr '\\0' x", {
      onLine: (line) => void (longest = Math.max(longest, line.length)),
    });
    expect(one.stdout).toHaveLength(1 << 24);
    expect(longest).toBeLessThan(1 << 18);
    const small = await run("for i in {1..20000}; do echo $i; done");
    expect(small.stdout.split("\n").slice(-3)).toEqual(["19999", "20000", ""]);
  });

  it("of an image that is not there, of a command or a folder that is not", async () => {
    expect(await codeOf(runContainer(engine, { ...request("true"), image: "localhost/nothing:here" }))).toBe("NO_IMAGE");
    // The init program is what the engine starts.
    const lacking = await runContainer(engine, { ...request("true"), command: ["/nothing"] });
    expect(lacking).toMatchObject({ code: 127, text: expect.stringMatching(/\/nothing.*No such file or directory/) });
    expect(await codeOf(run("true", { mounts: { "/x": "/nothing/there" } }))).toBe("ENGINE_REFUSED");
    await expect(run("true", { mounts: { "/x": "/nothing/there" } })).rejects.toThrow(
      /^The engine local could not make a container of localhost\/dxtensor-base:bookworm: .*bind source path does not exist: \/nothing\/there$/,
    );
  });
});

describe("a program with a container", () => {
  const program = `
import { runContainer } from "./scripts/tools/docker/containers.ts";
import { withEngine } from "./scripts/tools/docker/engine.ts";
const request = { image: "IMAGE", labels: LABELS, limitMs: 60_000, command: ["bash", "-c", "echo up; exec sleep 1000"] };
await withEngine((engine) => Promise.all([1, 2].map(() => runContainer(engine, { ...request, onLine: console.log }))));
console.log("not reached");`;
  const start = () => {
    const text = program.replace("IMAGE", image).replace("LABELS", JSON.stringify(labels));
    return execa("node", [...typescript, "--input-type=module", "--eval", text], { reject: false });
  };
  const untilUp = async (child: ReturnType<typeof start>): Promise<void> => {
    let said = "";
    await new Promise<void>((resolve) => {
      child.stdout.on("data", (piece: Buffer) => {
        said += piece.toString();
        if (said.split("up").length > 2) resolve();
      });
    });
  };

  it.each(["SIGINT", "SIGTERM"] as const)("leaves none after %s, and ends by it", async (name) => {
    const child = start();
    await untilUp(child);
    expect(await listContainers(engine, labels)).toHaveLength(2);
    child.kill(name);
    const done = await child;
    expect(done.signal).toBe(name);
    expect(done.stdout).not.toContain("not reached");
    expect(await listContainers(engine, labels)).toEqual([]);
  });
});

describe("an engine that is lost", () => {
  /** Stands before the real engine, and can be cut off. */
  class Way {
    readonly socket = join(folder, `way-${Math.random()}.sock`);
    readonly #connections = new Set<Socket>();
    readonly #server: Server = createServer((near) => {
      const far = dial("/var/run/docker.sock");
      for (const end of [near, far]) {
        this.#connections.add(end);
        end.on("error", () => undefined).on("close", () => this.#connections.delete(end));
      }
      near.pipe(far).pipe(near);
    });
    async open(): Promise<Engine> {
      await new Promise<void>((resolve) => {
        this.#server.listen(this.socket, resolve);
      });
      return openEngine("far", { kind: "socket", path: this.socket });
    }
    cut(): void {
      this.#server.close();
      for (const end of this.#connections) end.destroy();
    }
  }
  const sweep = async (): Promise<void> => {
    // The engine itself still runs: only the connection was lost.
    for (const { id } of await listContainers(engine, labels)) await engine.client.getContainer(id).remove({ force: true });
  };

  it("in the middle of a run is an error that says so", async () => {
    const way = new Way();
    const far = await way.open();
    const lost = runContainer(far, request("echo up; exec sleep 1000", { onLine: () => way.cut() }));
    await expect(lost).rejects.toMatchObject({
      code: "ENGINE_LOST",
      message: expect.stringMatching(/^The engine far was lost and could not run bash/),
    });
    await expect(findImage(far, image)).rejects.toMatchObject({ code: "ENGINE_LOST" });
    await sweep();
  });

  it("in the middle of a build is no success", async () => {
    const way = new Way();
    const far = await way.open();
    const dockerfile = `FROM ${image}\nRUN echo up; sleep 30\n`;
    const lost = buildImage(far, {
      image: "dxtensor-test-lost",
      context: { dockerfile },
      onLine: (line) => void (line === "up" && way.cut()),
    });
    expect(await codeOf(lost)).toBe("ENGINE_LOST");
    expect(await findImage(engine, "dxtensor-test-lost")).toBeNull();
  });

  it("was never there: one error for all who ask", async () => {
    const none = openEngine("none", { kind: "socket", path: join(folder, "none.sock") });
    await expect(none).rejects.toMatchObject({ code: "NO_ENGINE", problem: expect.stringMatching(/^none does not answer \(.*ENOENT/) });
  });

  it("is not looked for where DOCKER_HOST says, when it was named", async () => {
    process.env.DOCKER_HOST = "tcp://127.0.0.1:9";
    try {
      expect((await openEngine("named", { kind: "socket", path: "/var/run/docker.sock" })).version).toBe(engine.version);
    } finally {
      delete process.env.DOCKER_HOST;
    }
  });
});

describe("an image", () => {
  const made = `dxtensor-test-image-${process.pid}`;
  afterAll(async () => {
    await removeImage(engine, made, { force: true });
  });

  it("is built of what its folder's .dockerignore leaves", async () => {
    const context = join(folder, "context");
    mkdirSync(join(context, "left", "deep"), { recursive: true });
    mkdirSync(join(context, "taken"));
    for (const name of ["left/x", "left/deep/back", "taken/x", "a.log", "@odd", "Dockerfile"]) writeFileSync(join(context, name), "");
    symlinkSync("x", join(context, "taken", "link"));
    writeFileSync(join(context, ".dockerignore"), "left\n!left/deep/back\n*.log\n");
    writeFileSync(
      join(context, "Dockerfile"),
      `FROM ${image} AS first\nARG WORD\nRUN echo "$WORD" >/word\nCOPY . /context\nFROM first\nRUN false\n`,
    );
    const lines: string[] = [];
    const id = await buildImage(engine, {
      image: made,
      context: { folder: context },
      target: "first",
      arguments: { WORD: "said" },
      labels,
      onLine: (line) => lines.push(line),
    });
    expect(await findImage(engine, made)).toBe(id);
    expect(await listImages(engine, labels)).toEqual([{ id, tags: [`${made}:latest`] }]);
    expect(lines.join("\n")).toContain("Step 1/");
    const end = await runContainer(engine, { ...request("cat /word; cd /context; find . -type f -o -type l | sort"), image: made });
    expect(end.stdout.split("\n")).toEqual([
      "said",
      "./.dockerignore",
      "./@odd",
      "./Dockerfile",
      "./left/deep/back",
      "./taken/link",
      "./taken/x",
      "",
    ]);
    expect(await removeImage(engine, made)).toBe(true);
    expect(await removeImage(engine, made)).toBe(false);
  });

  it("that can't be built is an error with the step", async () => {
    const failing = buildImage(engine, { image: made, context: { dockerfile: `FROM ${image}\nRUN echo "what is wrong"; exit 7\n` } });
    await expect(failing).rejects.toMatchObject({
      code: "IMAGE_BUILD",
      message: expect.stringMatching(/exit 7.*returned a non-zero code: 7.*\n {2}\| what is wrong/s),
    });
    expect(await codeOf(buildImage(engine, { image: made, context: { dockerfile: "NONSENSE\n" } }))).not.toBe("no error");
    const controller = new AbortController();
    const context = { dockerfile: `FROM ${image}\nRUN echo up; sleep 60\n` };
    const onLine = (line: string): void => void (line === "up" && controller.abort(new Error("enough")));
    await expect(buildImage(engine, { image: made, context, signal: controller.signal, onLine })).rejects.toThrow("enough");
    expect(await findImage(engine, made)).toBeNull();
  });

  it("is imported of a tar, and no half of one", async () => {
    const id = await importImage(engine, {
      image: made,
      from: Readable.from(tar.c({ cwd: folder, portable: true }, ["in"])),
      changes: ["ENV A=b", 'CMD ["x"]'],
    });
    expect(await findImage(engine, made)).toBe(id);
    await removeImage(engine, made);
    expect(await codeOf(importImage(engine, { image: made, from: join(folder, "none.tar") }))).toBe("IMAGE_LOAD");
    const broken = new Readable({ read() {} });
    broken.push(Buffer.alloc(1 << 20));
    setTimeout(() => broken.destroy(new Error("the source broke")), 200);
    await expect(importImage(engine, { image: made, from: broken })).rejects.toMatchObject({
      code: "IMAGE_LOAD",
      message: expect.stringMatching(/the source broke$/),
    });
    expect(await findImage(engine, made)).toBeNull();
  });

  it("of a registry that is not there is an error", async () => {
    expect(await codeOf(pullImage(engine, "127.0.0.1:9/nothing:here"))).toMatch(/NO_IMAGE|ENGINE_REFUSED/);
  });

  it("leaves no container of a build behind", async () => {
    await delay(1000);
    const all = await engine.client.listContainers({ all: true });
    expect(all.filter(({ Command }) => /sleep (30|60)/.test(Command))).toEqual([]);
    expect(readdirSync(folder)).not.toContain("none.tar");
  });
});
