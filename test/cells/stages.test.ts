/** A cell is made by one process at a time, stage by stage. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hasState, isMade, makeStages, removeStages } from "../../scripts/cells/wine/stages.ts";
import { startProgram, type Running } from "../../scripts/tools/program.ts";
import { typescript } from "../scripts.ts";

let work: string;
let folder: string;
beforeEach(() => {
  work = mkdtempSync(join(tmpdir(), "dxtensor-stages-"));
  folder = join(work, "cell");
});
afterEach(() => rmSync(work, { recursive: true, force: true }));

const wanted = { root: "1", bridge: "1", prefix: "1" };

/** Makes the folder; gives what was made, in order. */
async function make(digests: Record<string, string> = wanted, { isFromScratch = false, fails = "" } = {}): Promise<string[]> {
  const made: string[] = [];
  const makers = Object.fromEntries(
    Object.keys(digests).map((name) => [
      name,
      () => {
        if (name === fails) throw new Error(`${name} failed`);
        made.push(name);
        return Promise.resolve();
      },
    ]),
  );
  const hasMade = await makeStages(folder, {
    wanted: digests,
    isFromScratch,
    makers,
    prepare: () => Promise.resolve(void made.push("prepare")),
  });
  expect(hasMade).toBe(made.length > 0);
  return made;
}

describe("stages", () => {
  it("are made if they are missing, changed, or requested", async () => {
    expect(await make()).toEqual(["prepare", "root", "bridge", "prefix"]);
    expect(isMade(folder, wanted)).toBe(true);
    expect(await make()).toEqual([]);
    expect(await make({ ...wanted, bridge: "2" })).toEqual(["prepare", "bridge"]);
    // The first one holds all the others.
    expect(await make({ ...wanted, root: "2", bridge: "2" })).toEqual(["prepare", "root", "bridge", "prefix"]);
    expect(await make({ ...wanted, root: "2", bridge: "2" }, { isFromScratch: true })).toEqual(["prepare", "root", "bridge", "prefix"]);
  });

  it("that failed are made the next time, those before them are kept", async () => {
    await expect(make(wanted, { fails: "bridge" })).rejects.toThrow("bridge failed");
    expect(isMade(folder, wanted)).toBe(false);
    expect(await make()).toEqual(["prepare", "bridge", "prefix"]);
  });

  it("go with their folder, which leaves no lock", async () => {
    await make();
    expect(hasState(folder)).toBe(true);
    await removeStages(folder);
    expect([existsSync(folder), existsSync(`${folder}.lock`)]).toEqual([false, false]);
  });
});

/** Something that is waited for. */
function moment() {
  let resolve!: () => void;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

describe("two processes that make the same", () => {
  /** A process that makes the folder: it says "NAME is made" at each stage and waits for a line before it continues. */
  function maker(onLine: (line: string) => void): Running {
    const code = `import { makeStages } from ${JSON.stringify(new URL("../../scripts/cells/wine/stages.ts", import.meta.url).href)};
      import { createInterface } from "node:readline";
      const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
      const wanted = ${JSON.stringify(wanted)};
      const making = (name) => async () => {
        console.log(name + " is made");
        await lines.next();
      };
      const makers = Object.fromEntries(Object.keys(wanted).map((name) => [name, making(name)]));
      console.log("made: " + (await makeStages(${JSON.stringify(folder)}, { wanted, makers, prepare: async () => {} })));
      process.exit();`;
    return startProgram(process.execPath, [...typescript, "--input-type=module", "-e", code], { input: "open", onLine });
  }

  it("take turns: the second waits, and finds everything made", async () => {
    const said: string[] = [];
    const waiting = moment();
    const inside = moment();
    const first = maker((line) => {
      said.push(`first: ${line}`);
      if (line === "root is made") inside.resolve();
      else first.stdin!.write("go\n");
    });
    await inside.promise;
    const second = maker((line) => {
      said.push(`second: ${line.replace(/\(.*/, "")}`);
      waiting.resolve();
      second.stdin!.write("go\n");
    });
    await waiting.promise;
    first.stdin!.write("go\n");
    expect([(await first.done).code, (await second.done).code]).toEqual([0, 0]);
    expect(said.filter((line) => line.startsWith("second"))).toEqual([
      `second: waiting for the build of process ${first.pid} `,
      "second: made: false",
    ]);
    expect(said.filter((line) => line.startsWith("first"))).toEqual([
      "first: root is made",
      "first: bridge is made",
      "first: prefix is made",
      "first: made: true",
    ]);
  });

  it("do not wait for a dead process: its stage is made again", async () => {
    const dying = maker((line) => {
      if (line === "bridge is made") dying.end();
      else dying.stdin!.write("go\n");
    });
    expect((await dying.done).isCancelled).toBe(true);
    expect(readFileSync(`${folder}.lock`, "utf8")).toBe(String(dying.pid));
    expect(await make()).toEqual(["prepare", "bridge", "prefix"]);
    expect(existsSync(`${folder}.lock`)).toBe(false);
  });
});
