/** A save over an existing target: links, modes, owners, devices, pipes, and files of killed processes. */
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { open, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { unfinishedName } from "../../src/io/unfinished.ts";
import { writeWhole } from "../../src/io/whole-file.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-whole-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const write = (path: string, text: string): Promise<void> => writeWhole("test", path, (file) => file.writeFile(text));
const at = (...names: string[]): string => join(folder, ...names);
const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8);
const isPosix = process.platform !== "win32";
const isRoot = isPosix && process.getuid!() === 0;

describe.skipIf(!isPosix)("what is there keeps what it is (POSIX)", () => {
  test("a private file stays private, while it is written too; a new one gets the umask's mode", async () => {
    writeFileSync(at("private"), "old");
    for (const mode of [0o600, 0o640, 0o755]) {
      chmodSync(at("private"), mode);
      let seen = 0;
      await writeWhole("test", at("private"), async (file) => {
        seen = (await file.stat()).mode & 0o777;
        await file.writeFile("new");
      });
      expect([seen & ~mode, modeOf(at("private")), readFileSync(at("private"), "utf8")]).toEqual([0, mode.toString(8), "new"]);
    }
    const umask = process.umask(0o027);
    try {
      await write(at("fresh"), "new");
    } finally {
      process.umask(umask);
    }
    expect(modeOf(at("fresh"))).toBe("640");
  });

  test("a link stays a link, to a file that is there or not, through folders and other links", async () => {
    mkdirSync(at("inner"));
    symlinkSync("inner/target", at("link"));
    symlinkSync(at("link"), at("second"));
    for (const text of ["first", "second"]) {
      await write(at("second"), text);
      expect(readFileSync(at("inner", "target"), "utf8")).toBe(text);
      expect([lstatSync(at("link")).isSymbolicLink(), lstatSync(at("second")).isSymbolicLink()]).toEqual([true, true]);
    }
    expect(readdirSync(at("inner"))).toEqual(["target"]);
    symlinkSync("round", at("round"));
    await expect(write(at("round"), "x")).rejects.toThrow(dx.ValueError);
  });

  test.skipIf(process.platform !== "linux")("a deleted file that is open gets the bytes: it has no path", async () => {
    const fd = openSync(at("gone"), "w+");
    try {
      rmSync(at("gone"));
      await write(`/proc/self/fd/${fd}`, "through");
      expect(readFileSync(`/proc/self/fd/${fd}`, "utf8")).toBe("through");
    } finally {
      closeSync(fd);
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  test("many saves under one name at once: an open file never changes", async () => {
    const SIZE = 100_000;
    await write(at("same"), "0".repeat(SIZE));
    let isOver = false;
    const writers = Promise.all(
      Array.from({ length: 6 }, async (_, i) => {
        for (let n = 0; n < 60; n++) await write(at("same"), String(i).repeat(SIZE));
      }),
    ).finally(() => (isOver = true));
    let seen = 0;
    while (!isOver) {
      const file = await open(at("same"));
      const text = (await file.readFile()).toString();
      await file.close();
      expect(text).toBe(text[0]!.repeat(SIZE));
      seen++;
    }
    await writers;
    expect(seen).toBeGreaterThan(0);
  });

  test("a FIFO hands the bytes to who reads it", async () => {
    expect(spawnSync("mkfifo", [at("fifo")]).status).toBe(0);
    const read = readFile(at("fifo"), "utf8");
    await write(at("fifo"), "through");
    expect(await read).toBe("through");
    expect(lstatSync(at("fifo")).isFIFO()).toBe(true);
    expect(readdirSync(folder)).toEqual(["fifo"]);
  });

  test.skipIf(!isRoot || spawnSync("mknod", [join(tmpdir(), `dxtensor-node-${process.pid}`), "c", "1", "3"]).status !== 0)(
    "a device stays a device (only who may make one can try)",
    async () => {
      rmSync(join(tmpdir(), `dxtensor-node-${process.pid}`));
      spawnSync("mknod", [at("null"), "c", "1", "3"]);
      symlinkSync("null", at("link"));
      for (const name of ["null", "link"]) await dx.io.safetensors.save(at(name), { a: dx.ones([2], { device: "cpu" }) });
      expect(lstatSync(at("null")).isCharacterDevice()).toBe(true);
    },
  );

  test.skipIf(!isRoot)("the owner stays (only root has files of others)", async () => {
    writeFileSync(at("theirs"), "old", { mode: 0o640 });
    chownSync(at("theirs"), 12345, 23456);
    await write(at("theirs"), "new");
    const { uid, gid } = statSync(at("theirs"));
    expect([uid, gid, modeOf(at("theirs"))]).toEqual([12345, 23456, "640"]);
  });

  test.skipIf(isRoot)("a file that may not be written is refused (root may write any)", async () => {
    writeFileSync(at("protected"), "old", { mode: 0o444 });
    await expect(write(at("protected"), "new")).rejects.toThrow(dx.ValueError);
    expect(readFileSync(at("protected"), "utf8")).toBe("old");
  });

  test("another name of the same file keeps the old bytes", async () => {
    writeFileSync(at("one"), "old");
    linkSync(at("one"), at("other"));
    await write(at("one"), "new");
    expect([readFileSync(at("one"), "utf8"), readFileSync(at("other"), "utf8")]).toEqual(["new", "old"]);
  });
});

test("what cannot be written is a typed error with the file system's as its cause, and nothing is left", async () => {
  for (const path of [folder, at("none", "file"), at("x".repeat(300)), at("file", "below")]) {
    writeFileSync(at("file"), "");
    const error: unknown = await dx.io.safetensors.save(path, { a: dx.ones([2], { device: "cpu" }) }).catch((e: unknown) => e);
    expect([path, error instanceof dx.ValueError]).toEqual([path, true]);
    expect(error).toMatchObject({ operation: "safetensors.save", expected: "a file that can be written" });
  }
  await expect(
    writeWhole("test", at("file"), async (file) => {
      await file.writeFile("part");
      throw new Error("mine");
    }),
  ).rejects.toThrow("mine");
  expect([readdirSync(folder), readFileSync(at("file"), "utf8")]).toEqual([["file"], ""]);
});

describe("what killed saves leave", () => {
  const library = new URL("io/whole-file.js", new URL("../../dist/", import.meta.url)).href;
  /** A process in the middle of a save. */
  const saving = async (): Promise<{ readonly kill: () => Promise<void> }> => {
    const child = spawn(process.execPath, [
      "--input-type=module",
      "-e",
      `const { writeWhole } = await import(${JSON.stringify(library)});
       await writeWhole("test", ${JSON.stringify(at("model"))}, async (f) => { await f.writeFile("part"); console.log("writing"); await new Promise((r) => setTimeout(r, 1e6)); });`,
    ]);
    await new Promise<void>((resolve, reject) => {
      child.stdout.once("data", () => resolve());
      child.once("exit", () => reject(new Error("the child has ended")));
    });
    return {
      kill: () =>
        new Promise<void>((resolve) => {
          child.removeAllListeners("exit");
          child.once("exit", () => resolve());
          child.kill("SIGKILL");
        }),
    };
  };

  test("goes with the next save into the folder, and what a live process writes stays", async () => {
    const [dead, live] = [await saving(), await saving()];
    await dead.kill();
    expect(readdirSync(folder)).toHaveLength(2);
    await write(at("model"), "whole");
    expect(readdirSync(folder)).toHaveLength(2);
    expect(readFileSync(at("model"), "utf8")).toBe("whole");
    await live.kill();
    await write(at("model"), "again");
    expect(readdirSync(folder)).toEqual(["model"]);
  });

  test("of a process whose id another one has now goes too; of another machine after a week", async () => {
    const own = unfinishedName();
    const [, host, pid, start] = /^\.dxtensor-(\w+)-(\d+)-(\d+)-/.exec(own)!;
    const reused = own.replace(`-${pid}-${start}-`, `-${pid}-${Number(start) + 1}-`);
    const [foreign, old] = [own, unfinishedName()].map((name) => name.replace(host!, "0123456789abcdef"));
    for (const name of [own, reused, foreign!, old!, ".other.part", `.dxtensor-${host}-notes.part`]) writeFileSync(at(name), "");
    utimesSync(at(old!), 0, 0);
    await write(at("model"), "whole");
    expect(existsSync(at(own)), "of this process").toBe(true);
    // Where nobody says when a process began, its id alone decides.
    expect(existsSync(at(reused))).toBe(start === "0");
    expect([existsSync(at(foreign!)), existsSync(at(old!))]).toEqual([true, false]);
    expect([existsSync(at(".other.part")), existsSync(at(`.dxtensor-${host}-notes.part`))]).toEqual([true, true]);
  });
});
