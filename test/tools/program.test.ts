/** Programs that scripts and the matrix start: limits, ends of all that they started, bounded output. */
import { execPath } from "node:process";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { ask, problemOf, runProgram, startProgram, type ProgramOptions } from "../../scripts/tools/program.ts";
import { typescript } from "../scripts.ts";

const isWindows = process.platform === "win32";
const node = (code: string, options?: ProgramOptions) => runProgram(execPath, ["-e", code], options);
const forever = "setInterval(() => {}, 1000);";
/** A program whose child says "up" and holds its output open: a result is there when both have ended. */
const family = `require("child_process").spawn(process.execPath, ["-e", 'console.log("up"); ${forever}'], { stdio: "inherit" }); ${forever}`;

describe("a program", () => {
  it("gives its status, what it said, and each line without colours as it comes", async () => {
    const lines: string[] = [];
    const ended = await node(
      `process.stdout.write("\\x1b[32mgrün\\x1b[0m\\r\\nrest", () => { console.error("no"); process.exitCode = 3; })`,
      {
        onLine: (line, from) => lines.push(`${from}: ${line}`),
      },
    );
    expect(ended).toMatchObject({ code: 3, signal: null, isLate: false, isCancelled: false, error: null });
    expect(ended.stdout).toBe("\x1b[32mgrün\x1b[0m\r\nrest");
    expect(ended.text).toHaveLength(ended.stdout.length + 3);
    expect(lines.toSorted()).toEqual(["stderr: no", "stdout: grün", "stdout: rest"]);
    expect(problemOf(ended)).toBe("ended with status 3");
    expect(problemOf(await node(""))).toBeNull();
  });

  it("that is not there, or whose folder is not, is a result with the reason", async () => {
    const missing = await runProgram("dxtensor-no-such-program", []);
    expect(missing).toMatchObject({ code: null, signal: null, isLate: false, text: "" });
    expect(problemOf(missing)).toMatch(/^could not be started: .*ENOENT/);
    expect(problemOf(await node("", { cwd: "/no/such/folder" }))).toMatch(/^could not be started: .*\/no\/such\/folder/s);
  });

  it.skipIf(isWindows)("that a signal ends tells which", async () => {
    const ended = await node(`process.kill(process.pid, "SIGTERM"); ${forever}`);
    expect(ended).toMatchObject({ code: null, signal: "SIGTERM", isLate: false, isCancelled: false });
    expect(problemOf(ended)).toBe("ended with signal SIGTERM");
  });

  it("is ended with its children at its limit", async () => {
    const ended = await node(family, { limitMs: 1500 });
    expect(ended).toMatchObject({ isLate: true, isCancelled: false });
    expect(problemOf(ended)).toBe("was not done in time");
  });

  it("is ended with its children when it is cancelled, and is not started after that", async () => {
    const abort = new AbortController();
    const ended = await node(family, { signal: abort.signal, onLine: () => abort.abort() });
    expect(ended).toMatchObject({ isCancelled: true, isLate: false, text: "up\n" });
    expect(problemOf(ended)).toBe("was interrupted");
    const late = await node(`console.log("up")`, { signal: abort.signal });
    expect(late).toMatchObject({ isCancelled: true, code: null, text: "" });
  });

  it.skipIf(isWindows)("takes what it leaves in the background along when it ends", async () => {
    const ended = await node(`${family.replace(`; ${forever}`, ";")} process.stdout.write("", () => process.exit(0));`);
    expect(ended.code).toBe(0);
  });

  it("that shares this process's group is ended at its limit, whoever still holds its output", async () => {
    const holder = new AbortController();
    let pid = 0;
    const held = family.replace('console.log("up")', "console.log(process.pid)");
    const ended = await node(held, { isGroup: false, signal: holder.signal, onLine: (line) => ((pid = Number(line)), holder.abort()) });
    expect(ended.isCancelled).toBe(true);
    // Its child was not its to end.
    expect(process.kill(pid, 0)).toBe(true);
    process.kill(pid, "SIGKILL");
  });

  it("may say any amount: the end of it is kept, in whole characters", async () => {
    const code = `for (let i = 0; i < 200; i++) process.stdout.write("é".repeat(50_000)); process.stdout.write("the end")`;
    let length = 0;
    const ended = await node(code, { keep: 1000, onText: (text) => (length += text.length) });
    expect(length).toBe(200 * 50_000 + 7);
    expect(ended.text).toBe(`${"é".repeat(993)}the end`);
    expect((await node(code, { keep: 0 })).text).toBe("");
  });

  it("is told its input, and need not read it", async () => {
    const long = "x".repeat(1 << 20);
    expect(
      (await node(`process.stdin.on("data", (d) => (n += d.length)).on("end", () => console.log(n)); let n = 0`, { input: long })).text,
    ).toBe(`${1 << 20}\n`);
    expect((await node("process.exit(4)", { input: long })).code).toBe(4);
    // Without, there is none to wait for.
    expect((await node(`process.stdin.on("data", () => {}).on("end", () => console.log("over"))`)).text).toBe("over\n");
  });

  it("is talked to while it runs", async () => {
    const answers: string[] = [];
    const running = startProgram(execPath, ["-e", `process.stdin.on("data", (d) => console.log("got " + d))`], {
      input: "open",
      onLine: (line) => {
        answers.push(line);
        running.stdin!.end();
      },
    });
    running.stdin!.write("this");
    expect((await running.done).code).toBe(0);
    expect(answers).toEqual(["got this"]);
    // Its end was before.
    running.end();
    expect((await running.done).isCancelled).toBe(false);
  });

  it("sees this process's variables with its own, or its own alone", async () => {
    const code = "console.log([process.env.DXTENSOR_ONE, process.env.DXTENSOR_TWO, process.env.HOME === undefined].join())";
    const env = { DXTENSOR_ONE: "1", DXTENSOR_TWO: undefined };
    process.env.DXTENSOR_TWO = "2";
    try {
      expect((await node(code, { env })).text).toBe("1,,false\n");
      if (!isWindows) expect((await node(code, { env, isAlone: true })).text).toBe("1,,true\n");
    } finally {
      delete process.env.DXTENSOR_TWO;
    }
  });

  it.skipIf(isWindows).each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "ends with its children when %s ends who started it",
    async (signal) => {
      const tools = new URL("../../scripts/tools/program.ts", import.meta.url).href;
      const code = `const { runProgram } = await import(${JSON.stringify(tools)});
      await runProgram(process.execPath, ["-e", ${JSON.stringify(family)}], { stdout: "inherit" });`;
      const starter = execa(execPath, [...typescript, "--input-type=module", "-e", code], { reject: false, stdin: "ignore" });
      starter.stdout.once("data", () => starter.kill(signal));
      // The grandchild holds the output, too.
      expect(await starter).toMatchObject({ signal, stdout: "up" });
    },
  );
});

describe("a question", () => {
  it("is answered by what a program says, by nothing where it fails, is late or is not there", () => {
    expect(ask(execPath, ["-p", "40 + 2"])).toBe("42");
    expect(ask(execPath, ["-e", "console.log(1); process.exit(1)"])).toBeNull();
    expect(ask(execPath, ["-e", forever], { limitMs: 200 })).toBeNull();
    expect(ask("dxtensor-no-such-program", [])).toBeNull();
  });
});

describe("a program that replaces this process", () => {
  const tools = new URL("../../scripts/tools/program.ts", import.meta.url).href;
  const taking = (code: string) => `const { takeOver } = await import(${JSON.stringify(tools)});
    process.exitCode = await takeOver(process.execPath, ["-e", ${JSON.stringify(code)}]);`;
  const start = (code: string) => execa(execPath, [...typescript, "--input-type=module", "-e", taking(code)], { reject: false });

  it("has its streams and gives its status", async () => {
    const running = start(`process.stdin.on("data", (d) => { console.log("got " + d); process.exitCode = 5; })`);
    running.stdin.end("this");
    expect(await running).toMatchObject({ exitCode: 5, stdout: "got this" });
  });

  it.skipIf(isWindows)("gets its signals, and its end by one is a status", async () => {
    const told = start(`process.on("SIGTERM", () => process.exit(7)); console.log("up"); ${forever}`);
    told.stdout.once("data", () => told.kill("SIGTERM"));
    expect((await told).exitCode).toBe(7);
    expect((await start(`process.kill(process.pid, "SIGKILL"); ${forever}`)).exitCode).toBe(137);
  });
});
