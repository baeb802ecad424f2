/** The bar of fit() and evaluate(): what it shows on a terminal, and when there is none. */
import { Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { Bar } from "../../src/train/loop/bar.ts";
import { BarPrinter, TextPrinter, JsonPrinter, printerOf } from "../../src/train/loop/printer.ts";

/** A terminal of so many columns, and what was written to it since the last call. */
function terminal(columns = 120) {
  let written = "";
  const write = (chunk: Buffer, _: string, done: () => void): void => {
    written += chunk.toString();
    done();
  };
  const stream = Object.assign(new Writable({ write }), { isTTY: true, columns });
  const raw = (): string => {
    const text = written;
    written = "";
    return text;
  };
  return { stream, raw, text: () => stripVTControlCharacters(raw()) };
}

const beginning = { epochs: 2, steps: 20, seed: "1", device: "cpu", resumed: null, page: null, step: 0, epoch: 0 };
const report = { step: 10, epoch: 0, loss: 0.25, lr: 0.02, stepsPerSecond: 100, secondsLeft: 4 };

test("a bar stands for reports: steps, loss, rate, estimate and metrics", async () => {
  const { stream, text } = terminal(200);
  const lines: string[] = [];
  const printer = new BarPrinter((line) => lines.push(line), stream);
  await printer.begin(beginning);
  expect(text()).toContain(`[${" ".repeat(24)}] 0/20`);
  printer.report(report);
  printer.evaluation({ step: 10, epoch: 0, values: { loss: 0.5, accuracy: 0.75 }, isBest: true });
  printer.epoch({ epoch: 0, step: 10, loss: 0.3, evaluation: null });
  const drawn = text();
  expect(drawn).toContain(`[${"=".repeat(12)}${" ".repeat(12)}] 10/20  loss 0.25  lr 0.02  100 steps/s  4 s left`);
  expect(drawn).toContain("evaluation: loss 0.5  accuracy 0.75");
  printer.end({ reason: "done", step: 20, epochs: 2, seconds: 1, checkpoint: null });
  printer.close();
  expect(lines).toEqual([
    "training: 2 epochs, 20 steps, seed 1, on cpu",
    "epoch 1/2  step 10/20  evaluation: loss 0.5  accuracy 0.75  (best)",
    "epoch 1/2 ended: mean loss 0.3",
    "done: 2 epochs, 20 steps, 1 s",
  ]);
});

test("lines are printed while the bar is away, and the cursor stays visible", async () => {
  const { stream, raw } = terminal();
  const before = process.listenerCount("SIGINT");
  const bar = await Bar.draw(3, 0, stream);
  bar.away(() => stream.write("LINE\n"));
  bar.update(3, "facts");
  bar.stop();
  bar.stop();
  expect(process.listenerCount("SIGINT")).toBe(before);
  const written = raw();
  expect(written.slice(0, written.indexOf("LINE")).endsWith("\u001b[2K")).toBe(true);
  for (const setting of ["\x1b[?25l", "\x1b[?7l"]) expect(written).not.toContain(setting);
  expect(written.endsWith("\x1b[2K")).toBe(true);
});

test("narrow terminals get a cut line, unknown lengths a count", async () => {
  const { stream, text } = terminal(20);
  const bar = await Bar.draw(null, 7, stream);
  expect(text()).toBe("7  ");
  bar.update(8, "x".repeat(100));
  bar.stop();
  expect(text()).toBe(`8  ${"x".repeat(16)}`);
  const empty = await Bar.draw(0, 0, terminal().stream);
  empty.stop();
});

test("json, quiet, output and a standard error that is no terminal have no bar", () => {
  const { isTTY } = process.stderr;
  try {
    for (const is of [true, false]) {
      Object.defineProperty(process.stderr, "isTTY", { value: is, configurable: true });
      const output = { write: () => {} };
      expect(printerOf({})).toBeInstanceOf(is ? BarPrinter : TextPrinter);
      expect(printerOf({ output, progress: true })).toBeInstanceOf(is ? BarPrinter : TextPrinter);
      for (const options of [{ output }, { quiet: true }, { progress: false }]) expect(printerOf(options)).toBeInstanceOf(TextPrinter);
      expect(printerOf({ json: true, progress: true })).toBeInstanceOf(JsonPrinter);
    }
  } finally {
    Object.defineProperty(process.stderr, "isTTY", { value: isTTY, configurable: true });
  }
});

test("evaluate prints nothing where standard error is no terminal", async () => {
  const model = dx.nn.linear(1, 1);
  const batches = [dx.tensor([[1]]), dx.tensor([[2]])];
  const options = { model, loss: (x: dx.Tensor) => model.forward(x).mean() };
  const [one, two] = [await dx.train.evaluate(batches, options), await dx.train.evaluate(batches, { ...options, progress: false })];
  expect(one).toEqual(two);
  for (const tensor of [...batches, ...model.parameters()]) tensor.dispose();
});
