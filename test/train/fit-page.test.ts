/** The page of fit(): served while it runs, or written as a file. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { apply, point, type PageState } from "../../src/train/page/page-data.ts";
import { clean, eachDevice } from "../device.ts";

const folder = mkdtempSync(join(tmpdir(), "dxtensor-page-"));
afterAll(() => rmSync(folder, { recursive: true }));

type Options = Parameters<typeof dx.train.fit<dx.Tensor>>[1];

/** A training of eight steps; dispose() frees its tensors. */
function training(more: Partial<Options> = {}) {
  const model = dx.nn.linear(2, 1, { generator: new dx.Generator(1) });
  const optimizer = dx.optim.adam(model.parameters(), { lr: 0.01 });
  const batches = Array.from({ length: 4 }, (_, i) => dx.tensor([[i, 1]]));
  const text: string[] = [];
  const options: Options = {
    model,
    optimizer,
    loss: (x) => model.forward(x).square().mean(),
    epochs: 2,
    reportEvery: 2,
    output: { write: (line) => void text.push(line.trimEnd()) },
    evaluate: { loader: batches.slice(0, 2) },
    ...more,
  };
  const dispose = (): void => {
    optimizer.dispose();
    for (const tensor of [...batches, ...model.parameters()]) tensor.dispose();
  };
  return { run: () => dx.train.fit(batches, options), text, dispose };
}

/** The state in a page. */
const stateOf = (html: string): PageState =>
  JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(html)![1]!) as PageState;

/** The state that a page has after its events. */
function followed(events: string): PageState {
  const state = JSON.parse(/^event: state\ndata: (.*)$/m.exec(events)![1]!) as PageState;
  for (const [, data] of events.matchAll(/\n\ndata: (.*)$/gm)) apply(state, JSON.parse(data!) as never);
  return state;
}

/** The status of a request with another Host. */
const statusOf = (url: string, host: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request(url, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });

eachDevice("train.fit's page", (device) => {
  test("is served on loopback while the training runs, with all of its values", () =>
    clean(
      device,
      async () => {
        let address = "";
        let events: Promise<string> | null = null;
        const { run, text, dispose } = training({
          page: true,
          onStep: async ({ step }) => {
            if (step !== 2) return;
            address = text.find((line) => line.startsWith("page: "))!.slice("page: ".length);
            const response = await fetch(address);
            expect(response.status).toBe(200);
            const html = await response.text();
            expect(stateOf(html)).toMatchObject({ status: "running", steps: 8, epochs: 2 });
            // It asks nobody else for anything.
            expect([...html.matchAll(/https?:\/\/[^"'\s<]+/g)].map(([url]) => url)).toEqual(["http://www.w3.org/2000/svg"]);
            expect((await fetch(`${address}nothing`)).status).toBe(404);
            expect((await fetch(address, { method: "POST" })).status).toBe(405);
            expect(await statusOf(address, "example.com")).toBe(403);
            const stream = await fetch(`${address}events`);
            events = stream.text();
          },
        });
        const result = await run();
        expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
        const all = await events!;
        expect(all).toMatch(/event: end\ndata: \{\}\n\n$/);
        const { curves, status, step, configuration, best } = followed(all);
        expect(status).toMatch(/^done after 2 epochs/);
        expect(step).toBe(8);
        expect(curves.loss!.training!.map(([s]) => s)).toEqual([2, 4, 6, 8]);
        expect(curves.loss!.evaluation!.map(([s]) => s)).toEqual([4, 8]);
        expect(curves["learning rate"]!["learning rate"]!.map(([, v]) => v)).toEqual([0.01, 0.01, 0.01, 0.01]);
        expect(curves["memory of tensors in MiB"]!.memory!.every(([, v]) => v! > 0)).toBe(true);
        expect(best).toEqual([result.best!.step, result.best!.value]);
        expect(configuration.map(([name]) => name)).toEqual(["device", "seed", "parameters", "reportEvery", "optimizer", "model"]);
        await expect(fetch(address)).rejects.toThrow("fetch failed");
        dispose();
      },
      { collect: true },
    ));

  test("a file has the same and needs no server; other runs replace it", () =>
    clean(
      device,
      async () => {
        const file = join(folder, "run.html");
        for (const page of [file, pathToFileURL(file)]) {
          const { run, text, dispose } = training({ page });
          await run();
          expect(text).toContain(`page: ${file}`);
          const html = readFileSync(file, "utf8");
          expect(html).toContain('data-live="false"');
          expect(stateOf(html).curves.loss!.evaluation).toHaveLength(2);
          dispose();
        }
        expect(readdirSync(folder)).toEqual(["run.html"]);
      },
      { collect: true },
    ));
});

test("a training that fails closes its page and says so in its file", async () => {
  const file = join(folder, "failed.html");
  const failing = training({ page: file, onStep: () => Promise.reject(new Error("mine")) });
  await expect(failing.run()).rejects.toThrow("mine");
  expect(stateOf(readFileSync(file, "utf8")).status).toBe("failed");
  // The training's error is the one that is thrown.
  const both = training({ page: join(folder, "none", "run.html"), onStep: () => Promise.reject(new Error("mine")) });
  await expect(both.run()).rejects.toThrow("mine");
  const unwritable = training({ page: join(folder, "none", "run.html") });
  await expect(unwritable.run()).rejects.toThrow(/ENOENT/);
  for (const { dispose } of [failing, both, unwritable]) dispose();
});

test("a port that is taken, and other wrong pages, are typed errors", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  for (const [page, argument] of [
    [{ port }, "page.port"],
    [{ port: 65536 }, "page.port"],
    [{ port: 1.5 }, "page.port"],
  ] as const) {
    const { run, dispose } = training({ page });
    await expect(run()).rejects.toThrow(dx.ValueError);
    await expect(run()).rejects.toMatchObject({ operation: "fit", argument });
    dispose();
  }
  const { run, dispose } = training({ page: 5 as never });
  await expect(run()).rejects.toThrow(dx.DTypeError);
  dispose();
  taken.close();
});

test("text of the training cannot leave its element", async () => {
  const file = join(folder, "escaped.html");
  class Odd extends dx.nn.Linear {
    protected override describeOptions(): string {
      return "</script><script>alert(1)</script>";
    }
  }
  const model = new Odd(2, 1);
  const { run, dispose } = training({ model, page: file });
  await run();
  const html = readFileSync(file, "utf8");
  expect(html.match(/<\/script>/g)).toHaveLength(2);
  expect(stateOf(html).configuration.find(([name]) => name === "model")![1]).toContain("</script>");
  dispose();
  for (const p of model.parameters()) p.dispose();
});

test("long curves keep every second point, and the last", () => {
  const state = { curves: {} } as PageState;
  for (let step = 1; step <= 5000; step++)
    apply(state, { points: [["loss", "training", point(step, step % 7 === 0 ? Number.NaN : step)]] });
  const points = state.curves.loss!.training!;
  expect(points.length).toBeLessThanOrEqual(2000);
  expect(points.at(-1)).toEqual([5000, 5000]);
  expect(points.some(([, v]) => v === null)).toBe(true);
});

test("an open page does not keep the process, and Ctrl-C ends training and page", async () => {
  const file = join(folder, "program.mjs");
  const main = new URL("../../dist/index.js", import.meta.url).href;
  writeFileSync(
    file,
    `import * as dx from ${JSON.stringify(main)};
const model = dx.nn.linear(1, 1);
const optimizer = dx.optim.sgd(model.parameters(), { lr: 1e-3 });
const result = await dx.train.fit(Array(1000).fill(dx.tensor([[1]])), { model, optimizer, loss: (x) => model.forward(x).mean(), epochs: 1e6, page: true, reportEvery: 1000, json: true,
  onStep: async ({ step }) => { if (step % 100 === 0) await new Promise((resolve) => setImmediate(resolve)); } });
console.log(result.reason);
`,
  );
  const child = spawn(process.execPath, [file], { stdio: ["ignore", "pipe", "inherit"] });
  let out = "";
  let open: Promise<string> | null = null;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    const page = /"page":"([^"]+)"/.exec(out)?.[1];
    if (page === undefined || open !== null) return;
    open = fetch(`${page}events`).then((response) => {
      child.kill("SIGINT");
      return response.text();
    });
  });
  const [code] = (await once(child, "exit")) as [number];
  expect(code).toBe(0);
  expect(out.trimEnd().endsWith("interrupt")).toBe(true);
  expect(await open!).toContain("event: end");
});
