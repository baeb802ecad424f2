// Chromium without a window, over the pipe of its debugging protocol: no package and no port is needed.
import { spawn } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { Readable, Writable } from "node:stream";

/** The path of a Chromium, or Chrome; null: there is none. */
export function findChromium(path = process.env.PATH ?? ""): string | null {
  for (const name of ["chromium", "chromium-browser", "google-chrome", "chrome"])
    for (const folder of path.split(delimiter)) {
      const file = join(folder, name);
      try {
        accessSync(file, constants.X_OK);
        return file;
      } catch {
        // The next folder.
      }
    }
  return null;
}

interface Answer {
  readonly id?: number;
  readonly method?: string;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

/** Within this time it answers, or it never will. */
const LIMIT_MS = 60_000;

/** The promise, with an error where it is not settled in time. */
async function inTime<T>(what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`${what}: Chromium did not answer in ${LIMIT_MS / 1000} s`));
    }, LIMIT_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** One page of a browser of its own. */
export class Chromium {
  #next = 1;
  #session: string | undefined;
  readonly #waiting = new Map<
    number,
    { readonly resolve: (result: Readonly<Record<string, unknown>>) => void; readonly reject: (error: Error) => void }
  >();
  readonly #loaded: (() => void)[] = [];
  readonly #process;
  readonly #profile = mkdtempSync(join(tmpdir(), "dxtensor-chromium-"));
  readonly #ended: Promise<void>;

  private constructor(program: string) {
    const args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run"];
    this.#process = spawn(program, [...args, "--remote-debugging-pipe", `--user-data-dir=${this.#profile}`], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    this.#ended = new Promise((resolve) => {
      this.#process.once("close", () => {
        for (const { reject } of this.#waiting.values()) reject(new Error("Chromium ended."));
        resolve();
      });
      this.#process.once("error", (error) => {
        for (const { reject } of this.#waiting.values()) reject(error);
        resolve();
      });
    });
    let rest = "";
    const answers = this.#process.stdio[4] as Readable;
    answers.setEncoding("utf8");
    answers.on("data", (text: string) => {
      const parts = (rest + text).split("\0");
      rest = parts.pop()!;
      for (const part of parts) this.#receive(JSON.parse(part) as Answer);
    });
    // A browser that ended is told by "close".
    this.#process.stdio[3]!.on("error", () => {});
  }

  /** Rejects where it does not start: without the rights that its sandbox needs, or without its libraries. */
  static async start(program: string): Promise<Chromium> {
    const browser = new Chromium(program);
    try {
      const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
      const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
      browser.#session = sessionId as string;
      await browser.send("Page.enable");
      return browser;
    } catch (error) {
      await browser.close();
      throw error;
    }
  }

  #receive({ id, method, result, error }: Answer): void {
    if (method === "Page.loadEventFired") for (const resolve of this.#loaded.splice(0)) resolve();
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id!);
    if (error === undefined) waiting.resolve(result ?? {});
    else waiting.reject(new Error(error.message));
  }

  /** A command of the protocol. */
  send(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<Readonly<Record<string, unknown>>> {
    const id = this.#next++;
    const answer = new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      (this.#process.stdio[3] as Writable).write(`${JSON.stringify({ id, method, params, sessionId: this.#session })}\0`);
    });
    return inTime(method, answer);
  }

  async open(url: string): Promise<void> {
    const loaded = new Promise<void>((resolve) => this.#loaded.push(resolve));
    await this.send("Page.navigate", { url });
    await inTime(url, loaded);
  }

  /** The value of an expression, which may be a promise. */
  async evaluate<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = (await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true })) as {
      readonly result: { readonly value: T };
      readonly exceptionDetails?: { readonly exception?: { readonly description?: string }; readonly text: string };
    };
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async resize(width: number, height = 900): Promise<void> {
    await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
  }

  async press(key: string, code: number): Promise<void> {
    for (const type of ["keyDown", "keyUp"])
      await this.send("Input.dispatchKeyEvent", { type, key, code: key, windowsVirtualKeyCode: code });
  }

  async close(): Promise<void> {
    // Asked to, it ends its own processes first; of a killed one they write into the profile for a while.
    this.#session = undefined;
    this.send("Browser.close").catch(() => {});
    await inTime("close", this.#ended).catch(() => this.#process.kill("SIGKILL"));
    await this.#ended;
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 10 });
  }
}
