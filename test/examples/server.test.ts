import { expect, it } from "vitest";
import { raw, start } from "./run.ts";

interface Status {
  readonly steps: number;
  readonly loss: number | null;
  readonly answered: number;
}
interface Answer {
  readonly steps: number;
  readonly probabilities: readonly number[];
}

it("answers while it trains, and learns on between two answers", async () => {
  const { child, line } = start("server", ["--port", "0", "--steps", "100000"]);
  try {
    const { address } = (await line()) as { address: string };
    const ask = async (body: string, method = "POST"): Promise<Response> =>
      fetch(`${address}/answer`, method === "POST" ? { method, body } : { method });
    const points = [
      [0.25, 0],
      [-0.25, 0],
    ];
    const answers: Answer[] = [];
    for (let i = 0; i < 5; i++) answers.push((await (await ask(JSON.stringify({ points }))).json()) as Answer);
    for (const { probabilities } of answers) {
      expect(probabilities).toHaveLength(2);
      for (const p of probabilities) expect(p >= 0 && p <= 1).toBe(true);
    }
    let status: Status;
    do status = (await (await fetch(`${address}/status`)).json()) as Status;
    while (status.steps < 50);
    expect(status.answered).toBe(5);
    expect(status.loss).toBeLessThan(0.8);
    const last = (await (await ask(JSON.stringify({ points }))).json()) as Answer;
    expect(last.steps).toBeGreaterThanOrEqual(50);
    expect(last.probabilities).not.toEqual(answers[0]!.probabilities);

    for (const [body, code, message] of [
      ["{", 400, "The body must be JSON."],
      ["{}", 400, 'The body must be {"points": [[x, y], ...]}.'],
      ['{"points": [[1, "2"]]}', 400, 'The body must be {"points": [[x, y], ...]}.'],
      [`"${"x".repeat(1 << 21)}"`, 413, "The body must have at most 1 MiB."],
    ] as const) {
      const refused = await ask(body);
      expect([refused.status, await refused.json()]).toEqual([code, { error: message }]);
    }
    expect((await ask("", "GET")).status).toBe(405);
    expect((await fetch(`${address}/nothing`)).status).toBe(404);

    const taken = await raw("server", ["--device", "cpu", "--port", new URL(address).port]);
    expect(taken.exitCode).toBe(1);
    expect(taken.stderr).toMatch(/^No server at port \d+: .*EADDRINUSE/);

    child.kill("SIGTERM");
    const end = (await line()) as Status;
    expect(end.answered).toBe(6);
    expect((await child).exitCode).toBe(0);
  } finally {
    child.kill("SIGKILL");
  }
});
