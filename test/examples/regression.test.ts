import { expect, it } from "vitest";
import { start } from "./run.ts";

interface Point {
  readonly step: number;
  readonly training: number;
  readonly heldOut: number;
}

it("the page is there while it learns, and its events are the curve", async () => {
  const { child, line } = start("regression", ["--epochs", "20", "--goal", "0.9"]);
  const { page } = (await line()) as { page: string };
  const response = await fetch(page);
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  const text = await response.text();
  for (const part of ["<h1>Regression on a table</h1>", "uPlot", 'new EventSource("events")']) expect(text).toContain(part);
  expect((await fetch(`${page}nothing`)).status).toBe(404);

  // Ends when the training does.
  const events = await (await fetch(`${page}events`)).text();
  const points = [...events.matchAll(/^data: (\{"step".*\})$/gm)].map((m) => JSON.parse(m[1]!) as Point);
  expect(points).toHaveLength(20);
  expect(points.map((p) => p.step)).toEqual(Array.from({ length: 20 }, (_, i) => 32 * (i + 1)));
  expect(points.at(-1)!.heldOut).toBeLessThan(points[0]!.heldOut / 5);
  expect(events).toMatch(/event: end\ndata: \{\}\n\n$/);

  const { r2 } = (await line()) as { r2: number };
  expect(r2).toBeGreaterThan(0.9);
  expect((await child).exitCode).toBe(0);
});
